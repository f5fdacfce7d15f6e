//! Writes of the target's own controllers to the objects of a trial.
//!
//! A cluster's controllers write to what a trial makes: an account gets a token, a status is put right. What they wrote
//! meanwhile is no fault of the server, and a trial does not fail for it.
//!
//! Limits: only kinds that v1.2's controllers write (`controlled` in the kind's file); an object whose name the server
//! made up is not looked at.

use std::time::Duration;

use serde_json::Value;

use super::environment::{Environment, text};
use super::environment_error::EnvironmentError;
use crate::catalog::Part;
use crate::check::is_later;
use crate::request::Request;

/// Pause between looks at an object on which controllers act, and the longest wait for them to have done so.
const SETTLING: (Duration, Duration) = (Duration::from_millis(150), Duration::from_secs(3));
/// The longest look at the history of an object.
const HISTORY: Duration = Duration::from_secs(3);

impl Environment<'_> {
    /// Whether the target's own controllers, or its admission, wrote to an object of the trial. A set-up that was
    /// `forestalled` says that they did.
    pub(super) async fn is_disturbed(&self, forestalled: bool) -> Result<bool, EnvironmentError> {
        if !self.case().kind.controlled || !self.target().has_controllers().await? {
            return Ok(false);
        }
        if forestalled || self.has_settled() {
            return Ok(true);
        }
        for letter in self.case().data.given.keys() {
            let sent = self.part(letter, Part::Sample)?;
            let is_admitted = |object: &Value| gives_account(object) && !gives_account(&sent);
            if self.versions(letter).iter().any(is_admitted) || self.is_written_by_others(letter).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a watch shows a version of an object that no write of the trial made.
    async fn is_written_by_others(&self, letter: &str) -> Result<bool, EnvironmentError> {
        let own = self.own_versions(letter);
        let Some(first) = self.versions(letter).first().map(version) else {
            return Ok(false);
        };
        let mut request = Request::get(self.collection_of(&self.object_of(letter)?)?);
        request.query = [("watch", "true"), ("resourceVersion", &first), ("timeoutSeconds", "1")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec();
        // Not every kind can be selected by name.
        let name = self.name_of(letter)?;
        let mut stream = self.target().open(&request).await?;
        // What is no longer kept may have been anybody's.
        if stream.status == 410 {
            return Ok(true);
        }
        let other = async {
            while let Ok(Some(event)) = stream.next().await {
                let object = &event["object"];
                let is_change = matches!(event["type"].as_str(), Some("ADDED" | "MODIFIED"))
                    && text(object, "/metadata/name") == name
                    && object.pointer("/metadata/deletionTimestamp").is_none();
                let version = version(object);
                if event["type"] == "ERROR" {
                    return true;
                }
                if is_change && is_later(&version, &first) && !own.contains(&version) {
                    return true;
                }
            }
            false
        };
        Ok(tokio::time::timeout(HISTORY, other).await.unwrap_or(false))
    }

    /// Waits until the target's controllers have done what they do with a new object, and takes it as they left it for
    /// the one that was created.
    pub(super) async fn settle(&self, letter: &str) -> Result<(), EnvironmentError> {
        if !self.case().kind.controlled || !self.target().has_controllers().await? {
            return Ok(());
        }
        let (pause, limit) = SETTLING;
        let deadline = tokio::time::Instant::now() + limit;
        let created = self.versions(letter).pop().unwrap_or_default();
        let mut last = created.clone();
        while tokio::time::Instant::now() < deadline {
            tokio::time::sleep(pause).await;
            let now = self.current(letter).await?;
            let rests = version(&now) == version(&last);
            last = now;
            if rests && version(&last) != version(&created) {
                break;
            }
        }
        if version(&last) != version(&created) {
            self.begin_with(letter, last);
        }
        Ok(())
    }
}

fn version(object: &Value) -> String {
    text(object, "/metadata/resourceVersion")
}

/// Whether a pod runs under an account, as admission has every pod do; it then has a volume with the account's token too.
fn gives_account(object: &Value) -> bool {
    object.pointer("/spec/serviceAccountName").is_some()
}
