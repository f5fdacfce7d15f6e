//! The world of one trial: its namespaces, its objects, and what was answered about them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Method;
use serde_json::Value;

use super::ask;
use crate::catalog::{Action, Given, Part, Row, Scope, Step};
use crate::check::{Answer, Written};
use crate::request::{Bindings, Request, UnboundName, merge};
use crate::target::{Target, TargetError};

/// How often a write is tried again that somebody else's write overtook.
const OVERTAKEN: usize = 5;
/// How often a creation is tried again that the cluster is not ready for, and after what pause.
const UNREADY: (usize, Duration) = (50, Duration::from_millis(100));

/// Why a world could not be made, or something in it not be done.
#[derive(Debug, thiserror::Error)]
pub(super) enum WorldError {
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
    /// The row names what the world does not have.
    #[error(transparent)]
    Unbound(#[from] UnboundName),
    /// The row cannot be played.
    #[error("the catalog's row cannot be played: {0}")]
    Row(String),
}

/// An object of the world.
#[derive(Debug, Clone)]
struct Thing {
    name: String,
    namespace: Option<String>,
    given: Given,
    /// What was answered to each write of it.
    versions: Vec<Value>,
}

#[derive(Debug, Default)]
struct State {
    things: BTreeMap<String, Thing>,
    written: Written,
    /// Paths of objects whose names the target chose.
    strays: Vec<String>,
}

/// The world of one trial.
#[derive(Debug)]
pub(super) struct World<'a> {
    target: &'a Target,
    row: &'a Row,
    stem: String,
    state: Mutex<State>,
}

impl<'a> World<'a> {
    /// A world that is only named yet. The stem begins every name in it.
    pub(super) fn named(target: &'a Target, row: &'a Row, stem: String) -> Self {
        let mut state = State::default();
        let namespaced = row.kind.scope() == Scope::Namespaced;
        for (letter, given) in &row.case.given {
            let namespace = if given.elsewhere {
                format!("{stem}-elsewhere")
            } else {
                stem.clone()
            };
            let thing = Thing {
                name: format!("{stem}-{letter}"),
                namespace: namespaced.then_some(namespace),
                given: given.clone(),
                versions: Vec::new(),
            };
            state.things.insert(letter.clone(), thing);
        }
        Self {
            target,
            row,
            stem,
            state: Mutex::new(state),
        }
    }

    /// Makes the namespaces and what is given.
    pub(super) async fn make(&self) -> Result<(), WorldError> {
        for namespace in self.namespaces() {
            let body = serde_json::json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": namespace}});
            self.must(
                "creating the namespace",
                &json(Method::POST, "/api/v1/namespaces".to_owned(), &body),
            )
            .await?;
        }
        for (letter, given) in &self.row.case.given {
            if !given.later {
                self.create(letter).await?;
            }
        }
        for step in &self.row.case.setup {
            self.take(step).await?;
        }
        Ok(())
    }

    /// Makes a request that has to succeed. What it creates is removed in the end.
    async fn take(&self, step: &Step) -> Result<(), WorldError> {
        let (method, path) = step.request.split_once(' ').unwrap_or(("GET", &step.request));
        let method: Method = method
            .parse()
            .map_err(|_| WorldError::Row(format!("{method:?} is no method")))?;
        let mut request = Request::new(method, self.bindings().fill(path)?);
        if let Some(body) = &step.body {
            let body = ask::bytes(self, body, &request.path).await?;
            request = request.with_body("application/json", body);
        }
        let done = self.must(&step.request, &request).await?;
        if request.method == Method::POST
            && let Some(name) = done.pointer("/metadata/name").and_then(Value::as_str)
        {
            self.lock().strays.push(format!("{}/{name}", request.path));
        }
        self.note(&done);
        Ok(())
    }

    /// Removes whatever is or may be there. Nothing that goes wrong is told: the verdict stands by then.
    pub(super) async fn remove(&self) {
        let mut paths = self.lock().strays.clone();
        let letters: Vec<String> = self.row.case.given.keys().cloned().collect();
        paths.extend(letters.iter().filter_map(|letter| self.path_of(letter).ok()));
        let at_once = serde_json::json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
        for path in paths {
            drop(self.target.send(&json(Method::DELETE, path, &at_once)).await);
        }
        for namespace in self.namespaces() {
            let path = format!("/api/v1/namespaces/{namespace}");
            drop(self.target.send(&json(Method::DELETE, path, &at_once)).await);
        }
    }

    /// The namespaces that it needs.
    fn namespaces(&self) -> Vec<String> {
        let template = &self.row.operation.path;
        let of_another = self
            .row
            .case
            .namespace
            .as_deref()
            .is_some_and(|namespace| namespace != "absent");
        if self.row.case.log_query.is_some()
            || of_another
            || self.row.kind.scope() == Scope::Cluster && !template.contains("{namespace}")
        {
            return Vec::new();
        }
        let elsewhere = self.row.case.given.values().any(|given| given.elsewhere);
        let mut names = vec![self.stem.clone()];
        names.extend(elsewhere.then(|| format!("{}-elsewhere", self.stem)));
        names
    }

    pub(super) fn target(&self) -> &'a Target {
        self.target
    }

    /// The name of the kind of its objects.
    pub(super) fn kind(&self) -> &str {
        &self.row.kind.name
    }

    /// What every name in this world begins with.
    pub(super) fn stem(&self) -> &str {
        &self.stem
    }

    /// What every name of an object of this world begins with, and is longer than.
    pub(super) fn prefix(&self) -> String {
        format!("{}-", self.stem)
    }

    /// The name of an object.
    pub(super) fn name_of(&self, letter: &str) -> Result<String, WorldError> {
        self.thing(letter).map(|thing| thing.name)
    }

    /// What was answered to the writes of an object, in their order.
    pub(super) fn versions(&self, letter: &str) -> Vec<Value> {
        self.lock()
            .things
            .get(letter)
            .map(|thing| thing.versions.clone())
            .unwrap_or_default()
    }

    /// What was answered to all writes.
    pub(super) fn written(&self) -> Written {
        self.lock().written.clone()
    }

    /// The names that rows may use.
    pub(super) fn bindings(&self) -> Bindings {
        let mut bindings = Bindings::default();
        bindings.bind("namespace", &self.stem);
        bindings.bind("absent", format!("{}-absent", self.stem));
        if let Some(place) = self.target.place() {
            bindings.bind("backend.host", &place.host);
            bindings.bind("backend.port", place.port.to_string());
        }
        for (letter, thing) in &self.lock().things {
            bindings.bind(format!("{letter}.name"), &thing.name);
            if let Ok(collection) = self.collection_of(thing) {
                bindings.bind(format!("{letter}.path"), format!("{collection}/{}", thing.name));
            }
            let text = |object: &Value, field: &str| {
                object
                    .pointer(&format!("/metadata/{field}"))
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            if let (Some(first), Some(last)) = (thing.versions.first(), thing.versions.last()) {
                bindings.bind(format!("{letter}.uid"), text(last, "uid"));
                bindings.bind(format!("{letter}.resourceVersion"), text(last, "resourceVersion"));
                bindings.bind(format!("{letter}.first-version"), text(first, "resourceVersion"));
            }
        }
        bindings
    }

    /// One part of the kind's sample file, filled for an object.
    pub(super) fn part(&self, letter: &str, part: Part) -> Result<Value, WorldError> {
        let sample = self
            .row
            .kind
            .sample
            .as_ref()
            .ok_or_else(|| WorldError::Row(format!("{} has no sample", self.row.kind.name)))?;
        let thing = self.thing(letter)?;
        let own = self
            .bindings()
            .with("namespace", thing.namespace.as_deref().unwrap_or_default());
        let mut value = own.fill_value(sample.part(part))?;
        if part == Part::Sample {
            merge(
                &mut value,
                &own.fill_value(thing.given.set.as_ref().unwrap_or(&serde_json::json!({})))?,
            );
            merge(&mut value, &serde_json::json!({"metadata": {"name": thing.name}}));
            if !thing.given.labels.is_empty() {
                merge(
                    &mut value,
                    &serde_json::json!({"metadata": {"labels": thing.given.labels}}),
                );
            }
        }
        Ok(value)
    }

    /// The path of an object.
    pub(super) fn path_of(&self, letter: &str) -> Result<String, WorldError> {
        let thing = self.thing(letter)?;
        Ok(format!("{}/{}", self.collection_of(&thing)?, thing.name))
    }

    fn collection_of(&self, thing: &Thing) -> Result<String, WorldError> {
        let template = self
            .row
            .kind
            .path
            .as_deref()
            .ok_or_else(|| WorldError::Row(format!("{} has no path", self.row.kind.name)))?;
        Ok(Bindings::default()
            .with("namespace", thing.namespace.as_deref().unwrap_or_default())
            .fill_path(template)?)
    }

    /// Reads what is at a path.
    pub(super) async fn read(&self, path: String) -> Result<(Request, Answer), WorldError> {
        let request = Request::get(path);
        let answer = self.target.send(&request).await?;
        Ok((request, answer))
    }

    /// The object as it is now.
    pub(super) async fn current(&self, letter: &str) -> Result<Value, WorldError> {
        self.must(&format!("reading {letter}"), &Request::get(self.path_of(letter)?))
            .await
    }

    /// Takes note of what was answered to a write, if it is an object of this world.
    pub(super) fn note(&self, object: &Value) {
        let text = |pointer| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        if text("/kind") != self.row.kind.name {
            return;
        }
        let (name, version) = (text("/metadata/name"), text("/metadata/resourceVersion"));
        let mut state = self.lock();
        if let Some(thing) = state.things.values_mut().find(|thing| thing.name == name) {
            let same = thing
                .versions
                .last()
                .and_then(|last| last.pointer("/metadata/resourceVersion")?.as_str());
            if same != Some(&version) {
                thing.versions.push(object.clone());
            }
            state.written.insert((name, version), object.clone());
        } else if !name.is_empty()
            && name.starts_with(&self.prefix())
            && let Some(template) = &self.row.kind.path
            && let Ok(collection) = Bindings::default().with("namespace", &self.stem).fill_path(template)
        {
            state.strays.push(format!("{collection}/{name}"));
        }
    }

    /// Does something to an object.
    pub(super) async fn act(&self, action: &Action) -> Result<(), WorldError> {
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
                let at_once = serde_json::json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
                let request = json(Method::DELETE, self.path_of(letter)?, &at_once);
                self.must(&format!("deleting {letter}"), &request).await.map(drop)
            }
        }
    }

    async fn create(&self, letter: &str) -> Result<(), WorldError> {
        let object = self.part(letter, Part::Sample)?;
        let request = json(Method::POST, self.collection_of(&self.thing(letter)?)?, &object);
        let (attempts, pause) = UNREADY;
        for _ in 0..attempts {
            let answer = self.target.send(&request).await?;
            // A cluster gives a new namespace its service account when it gets to it, and asks to be tried again.
            if answer.status == 403 && answer.text().contains("retry") {
                tokio::time::sleep(pause).await;
                continue;
            }
            self.note(&self.object(&format!("creating {letter}"), &request, &answer)?);
            return Ok(());
        }
        self.must(&format!("creating {letter}"), &request)
            .await
            .map(|created| self.note(&created))
    }

    async fn replace(&self, letter: &str, change: &Value) -> Result<(), WorldError> {
        let path = self.path_of(letter)?;
        let what = format!("replacing {letter}");
        let mut attempt = 0;
        loop {
            let mut object = self.current(letter).await?;
            merge(&mut object, change);
            let request = json(Method::PUT, path.clone(), &object);
            let answer = self.target.send(&request).await?;
            attempt += 1;
            if answer.status == 409 && attempt < OVERTAKEN {
                continue;
            }
            self.note(&self.object(&what, &request, &answer)?);
            return Ok(());
        }
    }

    /// Asks for what has to succeed.
    pub(super) async fn must(&self, what: &str, request: &Request) -> Result<Value, WorldError> {
        let answer = self.target.send(request).await?;
        self.object(what, request, &answer)
    }

    fn object(&self, what: &str, request: &Request, answer: &Answer) -> Result<Value, WorldError> {
        let curl = request.curl(self.target.base());
        let what = what.to_owned();
        if !(200..300).contains(&answer.status) {
            return Err(WorldError::Refused {
                what,
                status: answer.status,
                body: answer.text(),
                curl,
            });
        }
        serde_json::from_slice(&answer.body).map_err(|_| WorldError::NoObject {
            what,
            body: answer.text(),
            curl,
        })
    }

    fn thing(&self, letter: &str) -> Result<Thing, WorldError> {
        let thing = self.lock().things.get(letter).cloned();
        thing.ok_or_else(|| WorldError::Row(format!("there is no object {letter:?}")))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // What was noted is whole whoever panicked beside it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn json(method: Method, path: String, body: &Value) -> Request {
    Request::new(method, path).with_body("application/json", body.to_string())
}
