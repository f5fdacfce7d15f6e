//! Actions of a trial on its environment: set-up, and changes of objects.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::build_request;
use super::environment::{Environment, text};
use super::environment_error::EnvironmentError;
use crate::catalog::{Action, Part, Step};
use crate::check::{self, Answer};
use crate::request::{Request, merge};

use super::run::deletion;

/// Maximum number of attempts of a write that conflicts with another client's.
const MAX_WRITE_ATTEMPTS: usize = 5;
/// Maximum number of attempts of a request while the namespace has no service account, and the pause between them.
pub(super) const NOT_READY_RETRIES: (usize, Duration) = (50, Duration::from_millis(100));
/// Pause between the requests that wait for a state of the cluster, and their time limit.
const STATE_POLL: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60));
/// Grace period of a retired object, in seconds. It is longer than a trial.
const RETIRED_GRACE_SECONDS: u64 = 300;
/// Time limit for a watch to show a change.
const WATCH_TIMEOUT: Duration = Duration::from_secs(5);

impl Environment<'_> {
    /// Creates the objects of the case and sends its set-up requests.
    pub(super) async fn set_up(&self) -> Result<(), EnvironmentError> {
        for (letter, precondition) in &self.case().data.given {
            if !precondition.later {
                self.create(letter).await?;
            }
        }
        for step in &self.case().data.setup {
            if self.serves(step.if_served.as_deref()).await? {
                self.run_step(step).await?;
            }
        }
        Ok(())
    }

    /// Returns whether the target serves a collection. `None` counts as served.
    pub(super) async fn serves(&self, collection: Option<&str>) -> Result<bool, EnvironmentError> {
        let Some(path) = collection else { return Ok(true) };
        let plural = path.rsplit('/').next().unwrap_or_default();
        let path = path.replace("${namespace}", "{namespace}");
        Ok(self.target().has_collection(&path, plural).await?)
    }

    /// Sends a set-up request. The object that it creates is removed at the end of the trial.
    async fn run_step(&self, step: &Step) -> Result<(), EnvironmentError> {
        let (method, path) = step.request.split_once(' ').unwrap_or(("GET", &step.request));
        let unknown = |_| EnvironmentError::Case(format!("unknown method {method:?}"));
        let method: Method = method.parse().map_err(unknown)?;
        let mut request = Request::new(method, self.bindings().fill(path)?);
        if let Some(body) = &step.body {
            let body = build_request::bytes(self, body, &request.path).await?;
            let mut value: Value = serde_json::from_slice(&body).unwrap_or_default();
            if request.method == Method::POST {
                self.label(&mut value);
            }
            let media = match (&step.content_type, &request.method) {
                (Some(media), _) => media,
                (None, &Method::PATCH) => "application/merge-patch+json",
                (None, _) => "application/json",
            };
            request = request.with_body(media, value.to_string());
        }
        let answer = match &step.until {
            Some(until) => self.send_until(&request, &self.bindings().fill_value(until)?).await?,
            None => self.send_when_ready(&request).await?,
        };
        let done = EnvironmentError::object(self.target(), &request, &answer)?;
        if request.method == Method::POST
            && let Some(name) = done.pointer("/metadata/name").and_then(Value::as_str)
        {
            self.created(format!("{}/{name}", request.path));
        }
        for (name, pointer) in &step.save {
            let value = match done.pointer(pointer) {
                Some(Value::String(text)) => text.clone(),
                Some(value) => value.to_string(),
                None => return Err(EnvironmentError::Case(format!("{} has no {pointer}", step.request))),
            };
            self.save(name, value);
        }
        self.remember(&done);
        if done.get("items").is_some() {
            self.listed(&done);
        }
        Ok(())
    }

    /// Performs an action.
    pub(super) async fn act(&self, action: &Action) -> Result<(), EnvironmentError> {
        let labelled = |key: &str, value: &str| {
            let labels: BTreeMap<&str, &str> = BTreeMap::from([(key, value)]);
            json!({"metadata": {"labels": labels}})
        };
        match action {
            Action::Create(letter) => self.create(letter).await,
            Action::Change(letter) => {
                let change = self.part(letter, Part::Change)?;
                self.replace(letter, &change).await
            }
            Action::Relabel(letter) => self.replace(letter, &labelled("relabelled", "yes")).await,
            Action::Label(letter, key, value) => self.replace(letter, &labelled(key, value)).await,
            Action::Churn(letter, times) => {
                for time in 0..*times {
                    self.replace(letter, &labelled("churned", &time.to_string())).await?;
                }
                self.until_watched(letter).await
            }
            Action::Touch(letter) => self.patch(letter, &json!({})).await,
            Action::Patch(letter) => self.patch(letter, &labelled("patched", "yes")).await,
            Action::Elsewhere(letter) => self.patch_elsewhere(letter, &labelled("elsewhere", "yes")).await,
            Action::Status(letter) => {
                let status = self.part(letter, Part::Status)?;
                self.replace_status(letter, &status).await
            }
            Action::Retire(letter) => self.retire(letter).await,
            Action::Collect(letter) => {
                let request = deletion(self.collection_of(&self.object_of(letter)?)?);
                self.must(&request).await.map(drop)
            }
            Action::Delete(letter) | Action::Remove(letter) => {
                let request = deletion(self.path_of(letter)?);
                self.must(&request).await.map(drop)
            }
        }
    }

    /// Waits until a watch shows the last change of an object, because a watch cache lags behind writes. Ignores a
    /// watch that does not show it in time.
    async fn until_watched(&self, letter: &str) -> Result<(), EnvironmentError> {
        let versions = self.versions(letter);
        let [.., before, last] = versions.as_slice() else {
            return Ok(());
        };
        let [before, last] = [before, last].map(|object| text(object, "/metadata/resourceVersion"));
        let mut request = Request::get(self.collection_of(&self.object_of(letter)?)?);
        request.query = vec![
            ("watch".to_owned(), "true".to_owned()),
            ("resourceVersion".to_owned(), before),
        ];
        let mut stream = self.target().open(&request).await?;
        let shown = async {
            while let Ok(Some(event)) = stream.next().await {
                if text(&event, "/object/metadata/resourceVersion") == last {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(WATCH_TIMEOUT, shown).await;
        Ok(())
    }

    async fn create(&self, letter: &str) -> Result<(), EnvironmentError> {
        let object = self.part(letter, Part::Sample)?;
        let request = json_request(Method::POST, self.collection_of(&self.object_of(letter)?)?, &object);
        let answer = self.send_when_ready(&request).await?;
        let created = EnvironmentError::object(self.target(), &request, &answer)?;
        self.created_object(&created, &request, &answer)?;
        if self.waits_for_controllers() {
            self.settle(letter).await?;
        }
        Ok(())
    }

    /// Sends a set-up request, and repeats it while the namespace has no service account: the account is created some
    /// time after the namespace.
    async fn send_when_ready(&self, request: &Request) -> Result<Answer, EnvironmentError> {
        let (attempts, pause) = NOT_READY_RETRIES;
        for _ in 0..attempts {
            let answer = self.send(request).await?;
            if !is_not_ready(&answer) {
                return Ok(answer);
            }
            tokio::time::sleep(pause).await;
        }
        self.send(request).await
    }

    /// Deletes the object of a creation that the target should have refused.
    pub(super) async fn undo(&self, request: &Request, answer: &Answer) -> Result<(), EnvironmentError> {
        let created: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let name = text(&created, "/metadata/name");
        if request.method == Method::POST && !name.is_empty() {
            self.send(&deletion(format!("{}/{name}", request.path))).await?;
        }
        Ok(())
    }

    /// Sends a request until its response contains a value.
    async fn send_until(&self, request: &Request, until: &Value) -> Result<Answer, EnvironmentError> {
        let (pause, limit) = STATE_POLL;
        let deadline = tokio::time::Instant::now() + limit;
        loop {
            let answer = self.target().send(request).await?;
            let value: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            let Some(missing) = check::contains("response", until, &value) else {
                return Ok(answer);
            };
            if tokio::time::Instant::now() > deadline {
                let waited = format!("{} s for {}", limit.as_secs(), missing.expected);
                return Err(EnvironmentError::Late(
                    format!("{} {}", request.method, request.target()),
                    waited,
                ));
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Remembers a created object. Fails if the response has no object name.
    fn created_object(&self, object: &Value, request: &Request, answer: &Answer) -> Result<(), EnvironmentError> {
        if object
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .is_none_or(str::is_empty)
        {
            return Err(EnvironmentError::not_an_object(self.target(), request, answer));
        }
        self.remember(object);
        Ok(())
    }

    /// Deletes an object with a grace period, and remembers the state that it has until it goes.
    async fn retire(&self, letter: &str) -> Result<(), EnvironmentError> {
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": RETIRED_GRACE_SECONDS});
        self.must(&json_request(Method::DELETE, self.path_of(letter)?, &options))
            .await?;
        let leaving = json!({"metadata": {"deletionGracePeriodSeconds": RETIRED_GRACE_SECONDS}});
        self.returned(&self.current(letter).await?, &leaving);
        Ok(())
    }

    async fn patch(&self, letter: &str, patch: &Value) -> Result<(), EnvironmentError> {
        let request = Request::new(Method::PATCH, self.path_of(letter)?);
        let request = request.with_body("application/merge-patch+json", patch.to_string());
        self.returned(&self.must(&request).await?, patch);
        Ok(())
    }

    /// Patches an object by way of the other API group that serves it, and reads it from its own group.
    async fn patch_elsewhere(&self, letter: &str, patch: &Value) -> Result<(), EnvironmentError> {
        let missing = || EnvironmentError::Case(format!("{} has no other group", self.kind()));
        let template = self.case().kind.other_group.as_deref().ok_or_else(missing)?;
        let object = self.object_of(letter)?;
        let own = self
            .bindings()
            .with("namespace", object.namespace.as_deref().unwrap_or_default());
        let path = format!("{}/{}", own.fill_path(template)?, object.name);
        let request = Request::new(Method::PATCH, path).with_body("application/merge-patch+json", patch.to_string());
        self.must(&request).await?;
        self.returned(&self.current(letter).await?, patch);
        Ok(())
    }

    async fn replace_status(&self, letter: &str, status: &Value) -> Result<(), EnvironmentError> {
        let path = self.path_of(letter)?;
        let mut attempt = 0;
        loop {
            let mut object = self.current(letter).await?;
            merge(&mut object, status);
            let request = json_request(Method::PUT, format!("{path}/status"), &object);
            let answer = self.send(&request).await?;
            attempt += 1;
            if answer.status == 409 && attempt < MAX_WRITE_ATTEMPTS {
                continue;
            }
            let sent = object;
            let mut object = EnvironmentError::object(self.target(), &request, &answer)?;
            // The response to a status replacement has the self link of the status.
            if let Some(link) = object.pointer_mut("/metadata/selfLink") {
                *link = path.into();
            }
            self.returned(&object, &sent);
            return Ok(());
        }
    }

    async fn replace(&self, letter: &str, change: &Value) -> Result<(), EnvironmentError> {
        let path = self.path_of(letter)?;
        let mut attempt = 0;
        loop {
            let known = self.versions(letter).pop().filter(|_| attempt == 0);
            let mut object = match known {
                Some(known) => known,
                None => self.current(letter).await?,
            };
            merge(&mut object, change);
            let request = json_request(Method::PUT, path.clone(), &object);
            let answer = self.send(&request).await?;
            attempt += 1;
            if answer.status == 409 && attempt < MAX_WRITE_ATTEMPTS {
                continue;
            }
            self.returned(&EnvironmentError::object(self.target(), &request, &answer)?, &object);
            return Ok(());
        }
    }
}

/// Returns whether a response says that the namespace has no service account yet.
pub(super) fn is_not_ready(answer: &Answer) -> bool {
    answer.status == 403 && answer.text().contains("retry")
}

fn json_request(method: Method, path: String, body: &Value) -> Request {
    Request::new(method, path).with_body("application/json", body.to_string())
}
