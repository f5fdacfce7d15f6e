//! Detection of writes by the target's own controllers to the objects of a trial.
//!
//! Controllers of a cluster write to new objects: they add a token to a service account, correct a status, or delete
//! a pod on a node that does not exist. Such writes are no fault of the server, and a trial does not fail because of
//! them.
//!
//! Limits: only kinds that v1.2's controllers write to (`controlled` in the kind's file). Objects with generated names
//! are not checked.

use std::time::Duration;

use http::Method;
use serde_json::Value;

use super::environment::{Environment, text};
use super::environment_error::EnvironmentError;
use crate::catalog::{Action, Part};
use crate::check::is_later;
use crate::request::Request;

/// Pause between reads of an object that controllers write to, and the time limit for their writes.
const SETTLE_POLL: (Duration, Duration) = (Duration::from_millis(150), Duration::from_secs(3));
/// Time limit for reading the history of an object. It is longer on a busy target.
const HISTORY_TIMEOUT: Duration = Duration::from_secs(1);

impl Environment<'_> {
    /// Returns whether the target's own controllers, or its admission, wrote to an object of the trial. `conflicted`:
    /// the set-up failed because of another client's write.
    pub(super) async fn is_disturbed(&self, conflicted: bool) -> Result<bool, EnvironmentError> {
        if !self.case().kind.controlled || !self.target().has_controllers().await? {
            return Ok(false);
        }
        if conflicted || self.has_settled() {
            return Ok(true);
        }
        for letter in self.case().data.given.keys() {
            let sent = self.part(letter, Part::Sample)?;
            let is_admitted = |object: &Value| has_service_account(object) && !has_service_account(&sent);
            if self.versions(letter).iter().any(is_admitted) || self.is_written_by_others(letter).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether a watch shows a version of an object, or a removal, that no write of the trial produced.
    async fn is_written_by_others(&self, letter: &str) -> Result<bool, EnvironmentError> {
        let own = self.own_versions(letter);
        let Some(first) = self.versions(letter).first().map(version) else {
            return Ok(false);
        };
        let mut request = Request::get(self.collection_of(&self.object_of(letter)?)?);
        request.query = [("watch", "true"), ("resourceVersion", &first), ("timeoutSeconds", "60")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec();
        // Not every kind has a field selector for the name.
        let name = self.name_of(letter)?;
        let other = async {
            // Some servers respond at the first event only.
            let mut stream = self.target().open(&request).await?;
            // A version that is no longer kept may be from any client.
            if stream.status == 410 {
                return Ok(true);
            }
            while let Ok(Some(event)) = stream.next().await {
                let object = &event["object"];
                let is_change = matches!(event["type"].as_str(), Some("ADDED" | "MODIFIED"))
                    && text(object, "/metadata/name") == name
                    && object.pointer("/metadata/deletionTimestamp").is_none();
                let version = version(object);
                if event["type"] == "ERROR" {
                    return Ok(true);
                }
                // The node controller deletes pods on nodes that do not exist.
                let is_removal = event["type"] == "DELETED" && text(object, "/metadata/name") == name;
                if is_removal && object.pointer("/spec/nodeName").is_some() && !self.removes(letter) {
                    return Ok(true);
                }
                if is_change && is_later(&version, &first) && !own.contains(&version) {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        let limit = HISTORY_TIMEOUT + self.extra_wait().await;
        tokio::time::timeout(limit, other).await.unwrap_or(Ok(false))
    }

    /// Returns whether the case removes an object.
    fn removes(&self, letter: &str) -> bool {
        let data = &self.case().data;
        let mut actions = data.before.iter().chain(&data.during);
        self.case().operation.method == Method::DELETE
            || actions.any(|action| action.deletes(letter) || matches!(action, Action::Retire(x) if x == letter))
    }

    /// Waits until the target's controllers have written to a new object, and uses the result as its first version.
    pub(super) async fn settle(&self, letter: &str) -> Result<(), EnvironmentError> {
        if !self.case().kind.controlled || !self.target().has_controllers().await? {
            return Ok(());
        }
        let (pause, limit) = SETTLE_POLL;
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

/// Returns whether a pod has a service account, which admission adds together with a volume for the account's token.
fn has_service_account(object: &Value) -> bool {
    object.pointer("/spec/serviceAccountName").is_some()
}
