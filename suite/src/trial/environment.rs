//! The environment of one trial: its namespaces, its objects, and the server's responses about them.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::timeout_at;

use super::environment_error::EnvironmentError;
use super::run::{LABEL, Run, namespace_at, remove_all, removed};
use super::state::{State, TestObject};
use crate::catalog::{Case, Level, Part, Scope};
use crate::check::{Answer, Mismatch, WrittenObjects, contains, is_later, number};
use crate::request::{Bindings, Request, merge};
use crate::target::Target;

/// Annotation of every object of a trial; its value is the object's name.
const ANNOTATION: &str = "stuntdouble.example/object";
/// Lengths to which names are padded: the limits of names, and one character more.
const NAME_LENGTHS: [usize; 6] = [24, 25, 63, 64, 253, 254];
/// Extra wait for a late response: this many times the target's present response time, up to the limit.
const EXTRA_WAIT: (u32, Duration) = (20, Duration::from_secs(20));
/// Groups and kinds whose objects create pods. Each precedes those that it creates.
const POD_CREATORS: [(&str, &str); 5] = [
    ("/apis/extensions/v1beta1", "deployments"),
    ("/apis/extensions/v1beta1", "replicasets"),
    ("/apis/extensions/v1beta1", "daemonsets"),
    ("/apis/extensions/v1beta1", "jobs"),
    ("/api/v1", "replicationcontrollers"),
];
/// Time limit for the removal of the objects of a trial, after which the run removes them at its end.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of set-up requests that a failure shows.
const MAX_STEPS: usize = 20;

/// The environment of one trial.
#[derive(Debug)]
pub(super) struct Environment<'a> {
    target: &'a Target,
    run: &'a Run,
    case: &'a Case,
    stem: String,
    namespaces: Vec<String>,
    /// Whether the trial waits for the target's controllers after each creation.
    waits_for_controllers: bool,
    state: Mutex<State>,
}

/// Returns the number of namespaces that a case needs.
pub(super) fn namespaces_needed(case: &Case) -> usize {
    let of_another = |namespace: &str| namespace != "absent" && !namespace.contains("${");
    let of_another = case.data.namespace.as_deref().is_some_and(of_another);
    let of_cluster = case.kind.scope() == Scope::Cluster && !case.operation.path.contains("{namespace}");
    if case.data.log_query.is_some() || of_another || of_cluster {
        return 0;
    }
    1 + usize::from(case.data.given.values().any(|given| given.elsewhere))
}

impl<'a> Environment<'a> {
    /// Creates an environment. Its objects do not exist yet. Every name in it starts with the stem.
    pub(super) fn new(target: &'a Target, run: &'a Run, case: &'a Case, stem: String, namespaces: Vec<String>) -> Self {
        let mut state = State::default();
        let namespaced = case.kind.scope() == Scope::Namespaced;
        for (letter, precondition) in &case.data.given {
            let namespace = namespaces.get(usize::from(precondition.elsewhere)).cloned();
            let object = TestObject {
                name: format!("{stem}-{letter}"),
                namespace: namespace.filter(|_| namespaced),
                precondition: precondition.clone(),
                versions: Vec::new(),
            };
            state.objects.insert(letter.clone(), object);
        }
        Self {
            target,
            run,
            case,
            stem,
            namespaces,
            waits_for_controllers: false,
            state: Mutex::new(state),
        }
    }

    /// Sets whether the trial waits for the target's controllers after each creation.
    pub(super) fn with_wait_for_controllers(mut self, waits: bool) -> Self {
        self.waits_for_controllers = waits;
        self
    }

    /// Whether the trial waits for the target's controllers after each creation.
    pub(super) fn waits_for_controllers(&self) -> bool {
        self.waits_for_controllers
    }

    /// Removes the objects that the trial created. Returns whether all of them are gone. The run removes the others at
    /// its end.
    pub(super) async fn remove(&self) -> bool {
        let until = tokio::time::Instant::now() + REMOVAL_TIMEOUT;
        let mut paths = self.lock().generated.clone();
        paths.extend(
            self.case
                .data
                .given
                .keys()
                .filter_map(|letter| self.path_of(letter).ok()),
        );
        let (mut clean, mut left) = (true, Vec::new());
        for path in paths {
            let namespace = namespace_at(&path);
            if let Some(namespace) = namespace {
                self.run.adopt(self.target, namespace);
            }
            let is_removed = matches!(timeout_at(until, removed(self.target, &path)).await, Ok(Ok(true)));
            clean &= is_removed;
            if !is_removed && namespace.is_none() {
                left.push(path);
            }
        }
        self.run.leave(self.target, left);
        if self.case.data.needs_full_cluster() {
            clean &= timeout_at(until, self.remove_pods()).await.is_ok();
        }
        clean
    }

    /// Removes the pods in the namespaces of the trial, and what creates pods there. Otherwise they would occupy the
    /// nodes until the end of the run, because in v1.2 they stay when their controller is deleted.
    async fn remove_pods(&self) {
        for namespace in &self.namespaces {
            for (group, plural) in POD_CREATORS.into_iter().chain([("/api/v1", "pods")]) {
                remove_all(self.target, group, namespace, plural).await;
            }
        }
    }

    pub(super) fn target(&self) -> &'a Target {
        self.target
    }

    /// Returns how much longer to wait for a late response: a busy target is late with every response.
    pub(super) async fn extra_wait(&self) -> Duration {
        let asked = Instant::now();
        // Only the response time counts, not the response.
        let _ = self.target.check_reachable().await;
        let (times, longest) = EXTRA_WAIT;
        (asked.elapsed() * times).min(longest)
    }

    /// Returns [`Self::extra_wait`] at the first call with a flag, and `None` after that.
    pub(super) async fn extra_wait_once(&self, used: &mut bool) -> Option<Duration> {
        if std::mem::replace(used, true) {
            return None;
        }
        Some(self.extra_wait().await)
    }

    pub(super) fn case(&self) -> &'a Case {
        self.case
    }

    /// Returns the stem, with which every name in the environment starts.
    pub(super) fn stem(&self) -> &str {
        &self.stem
    }

    /// Returns the name of the run.
    pub(super) fn run_name(&self) -> &str {
        // A recorded trial has the name of the run that recorded it.
        self.stem.split('-').nth(1).unwrap_or_else(|| self.run.name())
    }

    /// Returns the set-up requests, as curl lines.
    pub(super) fn steps(&self) -> Vec<String> {
        self.lock().steps.clone()
    }

    /// Sends a set-up request.
    pub(super) async fn send(&self, request: &Request) -> Result<Answer, EnvironmentError> {
        {
            let mut state = self.lock();
            if state.steps.len() < MAX_STEPS {
                state.steps.push(self.target.curl(request));
            }
        }
        Ok(self.target.send(request).await?)
    }

    /// Returns the name of the kind of its objects.
    pub(super) fn kind(&self) -> &str {
        &self.case.kind.name
    }

    /// Returns the prefix of the names of its objects.
    pub(super) fn prefix(&self) -> String {
        format!("{}-", self.stem)
    }

    /// Returns the name of an object.
    pub(super) fn name_of(&self, letter: &str) -> Result<String, EnvironmentError> {
        let name = self.lock().objects.get(letter).map(|object| object.name.clone());
        name.ok_or_else(|| no_object(letter))
    }

    /// Returns the responses to the writes of an object, in order.
    pub(super) fn versions(&self, letter: &str) -> Vec<Value> {
        let state = self.lock();
        state
            .objects
            .get(letter)
            .map(|object| object.versions.clone())
            .unwrap_or_default()
    }

    /// Uses a version of an object as its first.
    pub(super) fn begin_with(&self, letter: &str, object: Value) {
        let mut state = self.lock();
        let version = text(&object, "/metadata/resourceVersion");
        if let Some(known) = state.objects.get_mut(letter) {
            known.versions = vec![object.clone()];
            let name = known.name.clone();
            state.reached(&version);
            state.written.insert((name, version), object);
            state.settled = true;
        }
    }

    /// Returns whether controllers of the target wrote to a new object before the trial continued.
    pub(super) fn has_settled(&self) -> bool {
        self.lock().settled
    }

    /// Returns the resource versions of an object that writes of the trial produced.
    pub(super) fn own_versions(&self, letter: &str) -> BTreeSet<String> {
        let doubtful = self.lock().doubtful.clone();
        let versions = self.versions(letter);
        let numbers = versions.iter().map(|object| text(object, "/metadata/resourceVersion"));
        numbers.filter(|version| !doubtful.contains(version)).collect()
    }

    /// Remembers the response to a write of `sent`. A write without effect returns the version of an earlier write.
    pub(super) fn returned(&self, object: &Value, sent: &Value) {
        let version = text(object, "/metadata/resourceVersion");
        let is_in_last = || {
            let last = self.last_of(&text(object, "/metadata/name"));
            last.is_some_and(|last| contains("object", sent, &last).is_none())
        };
        // The origin of a version matters only for kinds that controllers write to.
        if self.case.kind.controlled && (text(sent, "/metadata/resourceVersion") == version || is_in_last()) {
            self.lock().doubtful.insert(version);
        }
        self.remember(object);
    }

    /// Returns the response to the last write of the object with this name.
    pub(super) fn last_of(&self, name: &str) -> Option<Value> {
        let state = self.lock();
        let object = state.objects.values().find(|object| object.name == name)?;
        object.versions.last().cloned()
    }

    /// Returns the latest resource version of all writes and lists. Empty without any.
    pub(super) fn latest(&self) -> String {
        self.lock().latest.clone()
    }

    /// Remembers the version of a list: later writes have later versions.
    pub(super) fn listed(&self, list: &Value) {
        let version = text(list, "/metadata/resourceVersion");
        let mut state = self.lock();
        if number(&version).is_some() && number(&state.latest).is_some() && is_later(&state.latest, &version) {
            let expected = format!("{} or later, the version of an earlier response", state.latest);
            let mismatch = Mismatch::new("version of a list", expected, version.as_str());
            state.violations.push(mismatch.at(Level::Should));
        }
        state.reached(&version);
    }

    /// Returns the responses to all writes.
    pub(super) fn written(&self) -> WrittenObjects {
        self.lock().written.clone()
    }

    /// Returns the mismatches of the versions and uids that the server assigned.
    pub(super) fn violations(&self) -> Vec<Mismatch> {
        self.lock().violations.clone()
    }

    /// Binds a name to a value of a response.
    pub(super) fn save(&self, name: &str, value: String) {
        self.lock().saved.insert(name.to_owned(), value);
    }

    /// Returns the names that templates of the case may use.
    pub(super) fn bindings(&self) -> Bindings {
        let mut bindings = Bindings::default();
        bindings.bind("stem", &self.stem);
        bindings.bind("run", self.run_name());
        bindings.bind("namespace", self.namespaces.first().unwrap_or(&self.stem));
        if let Some(template) = &self.case.kind.path
            && let Ok(collection) = bindings.fill_path(template)
        {
            let slash = if collection.starts_with("/apis/") { 3 } else { 2 };
            if let Some((version, _)) = collection.match_indices('/').nth(slash) {
                bindings.bind(
                    "watch",
                    format!("{}/watch{}", &collection[..version], &collection[version..]),
                );
            }
            bindings.bind("everywhere", template.replace("/namespaces/{namespace}", ""));
            bindings.bind("collection", collection);
        }
        bindings.bind("absent", format!("{}-absent", self.stem));
        if let Some(backend) = self.target.backend_address() {
            bindings.bind("backend.host", &backend.host);
            bindings.bind("backend.port", backend.port.to_string());
        }
        let state = self.lock();
        for (letter, object) in &state.objects {
            bindings.bind(format!("{letter}.name"), &object.name);
            for length in NAME_LENGTHS {
                bindings.bind(format!("{letter}.name-{length}"), format!("{:x<length$}", object.name));
            }
            if let Ok(collection) = self.collection_of(object) {
                bindings.bind(format!("{letter}.path"), format!("{collection}/{}", object.name));
            }
            let metadata = |object: &Value, field: &str| text(object, &format!("/metadata/{field}"));
            if let (Some(first), Some(last)) = (object.versions.first(), object.versions.last()) {
                bindings.bind(format!("{letter}.uid"), metadata(last, "uid"));
                bindings.bind(format!("{letter}.resourceVersion"), metadata(last, "resourceVersion"));
                bindings.bind(format!("{letter}.first-version"), metadata(first, "resourceVersion"));
                if let Some(version) = number(&metadata(first, "resourceVersion")) {
                    bindings.bind(
                        format!("{letter}.version-before"),
                        version.saturating_sub(1).to_string(),
                    );
                }
                bindings.bind(
                    format!("{letter}.creationTimestamp"),
                    metadata(first, "creationTimestamp"),
                );
                for (number, port) in first
                    .pointer("/spec/ports")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                    .enumerate()
                {
                    let node_port = port.get("nodePort").and_then(Value::as_u64).unwrap_or_default();
                    bindings.bind(format!("{letter}.node-port-{number}"), node_port.to_string());
                }
            }
        }
        for (name, value) in &state.saved {
            bindings.bind(name, value);
        }
        bindings
    }

    /// Returns a part of the kind's sample file, filled for an object.
    pub(super) fn part(&self, letter: &str, part: Part) -> Result<Value, EnvironmentError> {
        let missing = || EnvironmentError::Case(format!("{} has no sample", self.case.kind.name));
        let sample = self.case.kind.sample.as_ref().ok_or_else(missing)?;
        let object = self.object_of(letter)?;
        let own = self
            .bindings()
            .with("namespace", object.namespace.as_deref().unwrap_or_default())
            .with("name", &object.name);
        let mut value = own.fill_value(sample.part(part))?;
        if part == Part::Sample {
            if object.precondition.full {
                merge(&mut value, &own.fill_value(sample.part(Part::Full))?);
            }
            merge(
                &mut value,
                &own.fill_value(object.precondition.set.as_ref().unwrap_or(&json!({})))?,
            );
            let annotations = json!({ANNOTATION: object.name});
            let metadata =
                json!({"name": object.name, "labels": object.precondition.labels, "annotations": annotations});
            let metadata = json!({"metadata": metadata});
            merge(&mut value, &metadata);
            self.label(&mut value);
        }
        Ok(value)
    }

    /// Adds the label of the run to an object.
    pub(super) fn label(&self, object: &mut Value) {
        if object.get("metadata").is_some_and(Value::is_object) {
            merge(object, &json!({"metadata": {"labels": {LABEL: self.run_name()}}}));
        }
    }

    /// Returns the path of an object.
    pub(super) fn path_of(&self, letter: &str) -> Result<String, EnvironmentError> {
        let object = self.object_of(letter)?;
        Ok(format!("{}/{}", self.collection_of(&object)?, object.name))
    }

    /// Returns the path of the collection of an object.
    pub(super) fn collection_of(&self, object: &TestObject) -> Result<String, EnvironmentError> {
        let missing = || EnvironmentError::Case(format!("{} has no path", self.case.kind.name));
        let template = self.case.kind.path.as_deref().ok_or_else(missing)?;
        let namespace = object.namespace.as_deref().unwrap_or_default();
        Ok(Bindings::default().with("namespace", namespace).fill_path(template)?)
    }

    /// Sends a GET request for a path.
    pub(super) async fn read(&self, path: String) -> Result<(Request, Answer), EnvironmentError> {
        let request = Request::get(path);
        let answer = self.target.send(&request).await?;
        Ok((request, answer))
    }

    /// Reads the current state of an object.
    pub(super) async fn current(&self, letter: &str) -> Result<Value, EnvironmentError> {
        self.must(&Request::get(self.path_of(letter)?)).await
    }

    /// Remembers a path to delete at the end of the trial.
    pub(super) fn created(&self, path: String) {
        self.lock().generated.push(path);
    }

    /// Remembers the object in the response to a write, if it belongs to this environment.
    pub(super) fn remember(&self, object: &Value) {
        if text(object, "/kind") != self.case.kind.object_kind() {
            return;
        }
        let (name, version) = (
            text(object, "/metadata/name"),
            text(object, "/metadata/resourceVersion"),
        );
        let mut state = self.lock();
        let last = state.objects.values().find(|known| known.name == name).map(|known| {
            known
                .versions
                .last()
                .map(|last| text(last, "/metadata/resourceVersion"))
                .unwrap_or_default()
        });
        if let Some(last) = last {
            state.assigned(&name, &version, &last, &text(object, "/metadata/uid"));
            if last != version
                && let Some(known) = state.objects.values_mut().find(|known| known.name == name)
            {
                known.versions.push(object.clone());
            }
            state.written.insert((name, version), object.clone());
        } else if !name.is_empty()
            && name.starts_with(&self.prefix())
            && let Some(template) = &self.case.kind.path
        {
            let namespace = self.namespaces.first().map(String::as_str).unwrap_or_default();
            if let Ok(collection) = Bindings::default().with("namespace", namespace).fill_path(template) {
                state.generated.push(format!("{collection}/{name}"));
            }
        }
    }

    /// Sends a request that must succeed, and returns the object in its response.
    pub(super) async fn must(&self, request: &Request) -> Result<Value, EnvironmentError> {
        let answer = self.send(request).await?;
        EnvironmentError::object(self.target, request, &answer)
    }

    pub(super) fn object_of(&self, letter: &str) -> Result<TestObject, EnvironmentError> {
        let object = self.lock().objects.get(letter).cloned();
        object.ok_or_else(|| no_object(letter))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent after every change, so a panic elsewhere does not matter.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn no_object(letter: &str) -> EnvironmentError {
    EnvironmentError::Case(format!("there is no object {letter:?}"))
}

/// Returns the string at a pointer of a value. Empty without one.
pub(super) fn text(value: &Value, pointer: &str) -> String {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}
