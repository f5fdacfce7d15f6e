//! The environment of one trial: its namespaces, its objects, and what was answered about them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Method;
use serde_json::Value;

use super::build_request;
use crate::catalog::{Action, Precondition, Part, Case, Scope, Step};
use crate::check::{Answer, WrittenObjects};
use crate::request::{Bindings, Request, UnboundName, merge};
use crate::target::{Target, TargetError};

/// How often a write is tried again that somebody else's write overtook.
const CONFLICT_RETRIES: usize = 5;
/// How often a creation is tried again that the cluster is not ready for, and after what pause.
const NOT_READY: (usize, Duration) = (50, Duration::from_millis(100));

/// Why a environment could not be made, or something in it not be done.
#[derive(Debug, thiserror::Error)]
pub(super) enum EnvironmentError {
    /// The target did not answer.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The target refused.
    #[error("{what} was answered with {status}: {body}\n{curl}")]
    Refused {
        what: String,
        status: u16,
        body: String,
        curl: String,
    },
    /// The target answered with no object.
    #[error("{what} was answered with what is no object: {body}\n{curl}")]
    NoObject { what: String, body: String, curl: String },
    /// The case names what the environment does not have.
    #[error(transparent)]
    Unbound(#[from] UnboundName),
    /// The case cannot be played.
    #[error("the catalog's case cannot be played: {0}")]
    Case(String),
}

/// An object of the environment.
#[derive(Debug, Clone)]
struct TestObject {
    name: String,
    namespace: Option<String>,
    given: Precondition,
    /// What was answered to each write of it.
    versions: Vec<Value>,
}

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<String, TestObject>,
    written: WrittenObjects,
    /// Paths of objects whose names the target chose.
    generated: Vec<String>,
}

/// The environment of one trial.
#[derive(Debug)]
pub(super) struct Environment<'a> {
    target: &'a Target,
    case: &'a Case,
    stem: String,
    state: Mutex<State>,
}

impl<'a> Environment<'a> {
    /// A environment that is only named yet. The stem begins every name in it.
    pub(super) fn named(target: &'a Target, case: &'a Case, stem: String) -> Self {
        let mut state = State::default();
        let namespaced = case.kind.scope() == Scope::Namespaced;
        for (letter, given) in &case.data.given {
            let namespace = if given.elsewhere {
                format!("{stem}-elsewhere")
            } else {
                stem.clone()
            };
            let object = TestObject {
                name: format!("{stem}-{letter}"),
                namespace: namespaced.then_some(namespace),
                given: given.clone(),
                versions: Vec::new(),
            };
            state.objects.insert(letter.clone(), object);
        }
        Self {
            target,
            case,
            stem,
            state: Mutex::new(state),
        }
    }

    /// Makes the namespaces and what is given.
    pub(super) async fn make(&self) -> Result<(), EnvironmentError> {
        for namespace in self.namespaces() {
            let body = serde_json::json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": namespace}});
            self.must(
                "creating the namespace",
                &json(Method::POST, "/api/v1/namespaces".to_owned(), &body),
            )
            .await?;
        }
        for (letter, given) in &self.case.data.given {
            if !given.later {
                self.create(letter).await?;
            }
        }
        for step in &self.case.data.setup {
            self.take(step).await?;
        }
        Ok(())
    }

    /// Makes a request that has to succeed. What it creates is removed in the end.
    async fn take(&self, step: &Step) -> Result<(), EnvironmentError> {
        let (method, path) = step.request.split_once(' ').unwrap_or(("GET", &step.request));
        let method: Method = method
            .parse()
            .map_err(|_| EnvironmentError::Case(format!("{method:?} is no method")))?;
        let mut request = Request::new(method, self.bindings().fill(path)?);
        if let Some(body) = &step.body {
            let body = build_request::bytes(self, body, &request.path).await?;
            request = request.with_body("application/json", body);
        }
        let done = self.must(&step.request, &request).await?;
        if request.method == Method::POST
            && let Some(name) = done.pointer("/metadata/name").and_then(Value::as_str)
        {
            self.lock().generated.push(format!("{}/{name}", request.path));
        }
        self.remember(&done);
        Ok(())
    }

    /// Removes whatever is or may be there. Nothing that goes wrong is told: the verdict stands by then.
    pub(super) async fn remove(&self) {
        let mut paths = self.lock().generated.clone();
        let letters: Vec<String> = self.case.data.given.keys().cloned().collect();
        paths.extend(letters.iter().filter_map(|letter| self.path_of(letter).ok()));
        let jobs = serde_json::json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
        for path in paths {
            drop(self.target.send(&json(Method::DELETE, path, &jobs)).await);
        }
        for namespace in self.namespaces() {
            let path = format!("/api/v1/namespaces/{namespace}");
            drop(self.target.send(&json(Method::DELETE, path, &jobs)).await);
        }
    }

    /// The namespaces that it needs.
    fn namespaces(&self) -> Vec<String> {
        let template = &self.case.operation.path;
        let of_another = self
            .case
            .data
            .namespace
            .as_deref()
            .is_some_and(|namespace| namespace != "absent");
        if self.case.data.log_query.is_some()
            || of_another
            || self.case.kind.scope() == Scope::Cluster && !template.contains("{namespace}")
        {
            return Vec::new();
        }
        let elsewhere = self.case.data.given.values().any(|given| given.elsewhere);
        let mut names = vec![self.stem.clone()];
        names.extend(elsewhere.then(|| format!("{}-elsewhere", self.stem)));
        names
    }

    pub(super) fn target(&self) -> &'a Target {
        self.target
    }

    /// The name of the kind of its objects.
    pub(super) fn kind(&self) -> &str {
        &self.case.kind.name
    }

    /// What every name in this environment begins with.
    pub(super) fn stem(&self) -> &str {
        &self.stem
    }

    /// What every name of an object of this environment begins with, and is longer than.
    pub(super) fn prefix(&self) -> String {
        format!("{}-", self.stem)
    }

    /// The name of an object.
    pub(super) fn name_of(&self, letter: &str) -> Result<String, EnvironmentError> {
        self.object_of(letter).map(|object| object.name)
    }

    /// What was answered to the writes of an object, in their order.
    pub(super) fn versions(&self, letter: &str) -> Vec<Value> {
        self.lock()
            .objects
            .get(letter)
            .map(|object| object.versions.clone())
            .unwrap_or_default()
    }

    /// What was answered to all writes.
    pub(super) fn written(&self) -> WrittenObjects {
        self.lock().written.clone()
    }

    /// The names that cases may use.
    pub(super) fn bindings(&self) -> Bindings {
        let mut bindings = Bindings::default();
        bindings.bind("namespace", &self.stem);
        bindings.bind("absent", format!("{}-absent", self.stem));
        if let Some(place) = self.target.place() {
            bindings.bind("backend.host", &place.host);
            bindings.bind("backend.port", place.port.to_string());
        }
        for (letter, object) in &self.lock().objects {
            bindings.bind(format!("{letter}.name"), &object.name);
            if let Ok(collection) = self.collection_of(object) {
                bindings.bind(format!("{letter}.path"), format!("{collection}/{}", object.name));
            }
            let text = |object: &Value, field: &str| {
                object
                    .pointer(&format!("/metadata/{field}"))
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            if let (Some(first), Some(last)) = (object.versions.first(), object.versions.last()) {
                bindings.bind(format!("{letter}.uid"), text(last, "uid"));
                bindings.bind(format!("{letter}.resourceVersion"), text(last, "resourceVersion"));
                bindings.bind(format!("{letter}.first-version"), text(first, "resourceVersion"));
            }
        }
        bindings
    }

    /// One part of the kind's sample file, filled for an object.
    pub(super) fn part(&self, letter: &str, part: Part) -> Result<Value, EnvironmentError> {
        let sample = self
            .case
            .kind
            .sample
            .as_ref()
            .ok_or_else(|| EnvironmentError::Case(format!("{} has no sample", self.case.kind.name)))?;
        let object = self.object_of(letter)?;
        let own = self
            .bindings()
            .with("namespace", object.namespace.as_deref().unwrap_or_default());
        let mut value = own.fill_value(sample.part(part))?;
        if part == Part::Sample {
            merge(
                &mut value,
                &own.fill_value(object.given.set.as_ref().unwrap_or(&serde_json::json!({})))?,
            );
            merge(&mut value, &serde_json::json!({"metadata": {"name": object.name}}));
            if !object.given.labels.is_empty() {
                merge(
                    &mut value,
                    &serde_json::json!({"metadata": {"labels": object.given.labels}}),
                );
            }
        }
        Ok(value)
    }

    /// The path of an object.
    pub(super) fn path_of(&self, letter: &str) -> Result<String, EnvironmentError> {
        let object = self.object_of(letter)?;
        Ok(format!("{}/{}", self.collection_of(&object)?, object.name))
    }

    fn collection_of(&self, object: &TestObject) -> Result<String, EnvironmentError> {
        let template = self
            .case
            .kind
            .path
            .as_deref()
            .ok_or_else(|| EnvironmentError::Case(format!("{} has no path", self.case.kind.name)))?;
        Ok(Bindings::default()
            .with("namespace", object.namespace.as_deref().unwrap_or_default())
            .fill_path(template)?)
    }

    /// Reads what is at a path.
    pub(super) async fn read(&self, path: String) -> Result<(Request, Answer), EnvironmentError> {
        let request = Request::get(path);
        let answer = self.target.send(&request).await?;
        Ok((request, answer))
    }

    /// The object as it is now.
    pub(super) async fn current(&self, letter: &str) -> Result<Value, EnvironmentError> {
        self.must(&format!("reading {letter}"), &Request::get(self.path_of(letter)?))
            .await
    }

    /// Takes note of what was answered to a write, if it is an object of this environment.
    pub(super) fn remember(&self, object: &Value) {
        let text = |pointer| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        if text("/kind") != self.case.kind.name {
            return;
        }
        let (name, version) = (text("/metadata/name"), text("/metadata/resourceVersion"));
        let mut state = self.lock();
        if let Some(known) = state.objects.values_mut().find(|known| known.name == name) {
            let same = known
                .versions
                .last()
                .and_then(|last| last.pointer("/metadata/resourceVersion")?.as_str());
            if same != Some(&version) {
                known.versions.push(object.clone());
            }
            state.written.insert((name, version), object.clone());
        } else if !name.is_empty()
            && name.starts_with(&self.prefix())
            && let Some(template) = &self.case.kind.path
            && let Ok(collection) = Bindings::default().with("namespace", &self.stem).fill_path(template)
        {
            state.generated.push(format!("{collection}/{name}"));
        }
    }

    /// Does something to an object.
    pub(super) async fn act(&self, action: &Action) -> Result<(), EnvironmentError> {
        match action {
            Action::Create(letter) => self.create(letter).await,
            Action::Change(letter) => {
                let change = self.part(letter, Part::Change)?;
                self.replace(letter, &change).await
            }
            Action::Relabel(letter) => {
                self.replace(
                    letter,
                    &serde_json::json!({"metadata": {"labels": {"relabelled": "yes"}}}),
                )
                .await
            }
            Action::Label(letter, key, value) => {
                let labels: BTreeMap<&str, &str> = BTreeMap::from([(key.as_str(), value.as_str())]);
                self.replace(letter, &serde_json::json!({"metadata": {"labels": labels}}))
                    .await
            }
            Action::Churn(letter, times) => {
                for time in 0..*times {
                    self.replace(
                        letter,
                        &serde_json::json!({"metadata": {"labels": {"churned": time.to_string()}}}),
                    )
                    .await?;
                }
                Ok(())
            }
            Action::Delete(letter) | Action::Remove(letter) => {
                let jobs = serde_json::json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
                let request = json(Method::DELETE, self.path_of(letter)?, &jobs);
                self.must(&format!("deleting {letter}"), &request).await.map(drop)
            }
        }
    }

    async fn create(&self, letter: &str) -> Result<(), EnvironmentError> {
        let object = self.part(letter, Part::Sample)?;
        let request = json(Method::POST, self.collection_of(&self.object_of(letter)?)?, &object);
        let (attempts, pause) = NOT_READY;
        for _ in 0..attempts {
            let answer = self.target.send(&request).await?;
            // A cluster gives a new namespace its service account when it gets to it, and asks to be tried again.
            if answer.status == 403 && answer.text().contains("retry") {
                tokio::time::sleep(pause).await;
                continue;
            }
            self.remember(&self.object(&format!("creating {letter}"), &request, &answer)?);
            return Ok(());
        }
        self.must(&format!("creating {letter}"), &request)
            .await
            .map(|created| self.remember(&created))
    }

    async fn replace(&self, letter: &str, change: &Value) -> Result<(), EnvironmentError> {
        let path = self.path_of(letter)?;
        let what = format!("replacing {letter}");
        let mut attempt = 0;
        loop {
            let mut object = self.current(letter).await?;
            merge(&mut object, change);
            let request = json(Method::PUT, path.clone(), &object);
            let answer = self.target.send(&request).await?;
            attempt += 1;
            if answer.status == 409 && attempt < CONFLICT_RETRIES {
                continue;
            }
            self.remember(&self.object(&what, &request, &answer)?);
            return Ok(());
        }
    }

    /// Asks for what has to succeed.
    pub(super) async fn must(&self, what: &str, request: &Request) -> Result<Value, EnvironmentError> {
        let answer = self.target.send(request).await?;
        self.object(what, request, &answer)
    }

    fn object(&self, what: &str, request: &Request, answer: &Answer) -> Result<Value, EnvironmentError> {
        let curl = request.curl(self.target.base());
        let what = what.to_owned();
        if !(200..300).contains(&answer.status) {
            return Err(EnvironmentError::Refused {
                what,
                status: answer.status,
                body: answer.text(),
                curl,
            });
        }
        serde_json::from_slice(&answer.body).map_err(|_| EnvironmentError::NoObject {
            what,
            body: answer.text(),
            curl,
        })
    }

    fn object_of(&self, letter: &str) -> Result<TestObject, EnvironmentError> {
        let object = self.lock().objects.get(letter).cloned();
        object.ok_or_else(|| EnvironmentError::Case(format!("there is no object {letter:?}")))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // What was noted is whole whoever panicked beside it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn json(method: Method, path: String, body: &Value) -> Request {
    Request::new(method, path).with_body("application/json", body.to_string())
}
