//! The environment of one trial: its namespaces, its objects, and what the server returned about them.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::environment_error::EnvironmentError;
use super::run::{LABEL, Run, deletion};
use super::state::{State, TestObject};
use crate::catalog::{Case, Level, Part, Scope};
use crate::check::{Answer, Mismatch, WrittenObjects, contains, is_later, number};
use crate::request::{Bindings, Request, merge};
use crate::target::Target;

/// Annotation of every object of a trial; its value is the object's name.
const ANNOTATION: &str = "stuntdouble.example/object";
/// Lengths to which names are filled up: the limits of names, and one character more.
const NAME_LENGTHS: [usize; 6] = [24, 25, 63, 64, 253, 254];
/// What has not come in time is waited for so many times as long as the target takes to answer, but no longer than this.
const REPRIEVE: (u32, Duration) = (20, Duration::from_secs(20));
/// Number of set-up requests that a failure shows.
const STEPS: usize = 20;

/// The environment of one trial.
#[derive(Debug)]
pub(super) struct Environment<'a> {
    target: &'a Target,
    run: &'a Run,
    case: &'a Case,
    stem: String,
    namespaces: Vec<String>,
    /// Whether controllers of the target have time to act on each new object.
    patient: bool,
    state: Mutex<State>,
}

/// How many namespaces a case needs.
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
    /// An environment whose objects do not exist yet. The stem begins every name in it.
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
            patient: false,
            state: Mutex::new(state),
        }
    }

    /// The same, in which controllers of the target have time to act on each new object.
    pub(super) fn patient(mut self, patient: bool) -> Self {
        self.patient = patient;
        self
    }

    /// Whether controllers of the target have time to act on each new object.
    pub(super) fn is_patient(&self) -> bool {
        self.patient
    }

    /// Removes what the trial created. Returns whether everything is gone.
    pub(super) async fn remove(&self) -> bool {
        let mut paths = self.lock().generated.clone();
        paths.extend(
            self.case
                .data
                .given
                .keys()
                .filter_map(|letter| self.path_of(letter).ok()),
        );
        let mut clean = true;
        for path in paths {
            // The run removes namespaces in the end.
            if let Some(namespace) = path
                .strip_prefix("/api/v1/namespaces/")
                .filter(|rest| !rest.contains('/'))
            {
                self.run.adopt(self.target, namespace);
            }
            let gone = |answer: Answer| answer.status == 404 || (200..300).contains(&answer.status);
            clean &= self.target.send(&deletion(path)).await.is_ok_and(gone);
        }
        clean
    }

    pub(super) fn target(&self) -> &'a Target {
        self.target
    }

    /// How much longer to wait for what has not come in time: a target that is busy now is late with everything.
    pub(super) async fn reprieve(&self) -> Duration {
        let asked = Instant::now();
        // How long it takes is asked, not what it answers.
        let _ = self.target.check_reachable().await;
        let (times, longest) = REPRIEVE;
        (asked.elapsed() * times).min(longest)
    }

    /// The same for who has not waited longer yet; none for who has.
    pub(super) async fn reprieve_once(&self, given: &mut bool) -> Option<Duration> {
        if std::mem::replace(given, true) {
            return None;
        }
        Some(self.reprieve().await)
    }

    pub(super) fn case(&self) -> &'a Case {
        self.case
    }

    /// What every name in it begins with.
    pub(super) fn stem(&self) -> &str {
        &self.stem
    }

    /// Name of the run.
    pub(super) fn run_name(&self) -> &str {
        // A recorded trial keeps the name of the run that recorded it.
        self.stem.split('-').nth(1).unwrap_or_else(|| self.run.name())
    }

    /// The set-up requests, as curl lines.
    pub(super) fn steps(&self) -> Vec<String> {
        self.lock().steps.clone()
    }

    /// Sends a set-up request.
    pub(super) async fn send(&self, request: &Request) -> Result<Answer, EnvironmentError> {
        {
            let mut state = self.lock();
            if state.steps.len() < STEPS {
                state.steps.push(self.target.curl(request));
            }
        }
        Ok(self.target.send(request).await?)
    }

    /// Name of the kind of its objects.
    pub(super) fn kind(&self) -> &str {
        &self.case.kind.name
    }

    /// Prefix of the names of its objects.
    pub(super) fn prefix(&self) -> String {
        format!("{}-", self.stem)
    }

    /// Name of an object.
    pub(super) fn name_of(&self, letter: &str) -> Result<String, EnvironmentError> {
        let name = self.lock().objects.get(letter).map(|object| object.name.clone());
        name.ok_or_else(|| no_object(letter))
    }

    /// What the server returned to the writes of an object, in order.
    pub(super) fn versions(&self, letter: &str) -> Vec<Value> {
        let state = self.lock();
        state
            .objects
            .get(letter)
            .map(|object| object.versions.clone())
            .unwrap_or_default()
    }

    /// Takes a version of an object for its first.
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

    /// Whether controllers of the target acted on a new object before the trial went on.
    pub(super) fn has_settled(&self) -> bool {
        self.lock().settled
    }

    /// The versions of an object that writes of the trial made.
    pub(super) fn own_versions(&self, letter: &str) -> BTreeSet<String> {
        let doubtful = self.lock().doubtful.clone();
        let versions = self.versions(letter);
        let numbers = versions.iter().map(|object| text(object, "/metadata/resourceVersion"));
        numbers.filter(|version| !doubtful.contains(version)).collect()
    }

    /// Remembers what the server returned to a write of `sent`. A write that changes nothing returns the version of
    /// another.
    pub(super) fn returned(&self, object: &Value, sent: &Value) {
        let version = text(object, "/metadata/resourceVersion");
        let is_in_last = || {
            let last = self.last_of(&text(object, "/metadata/name"));
            last.is_some_and(|last| contains("object", sent, &last).is_none())
        };
        // Only where controllers write is it asked whose a version is.
        if self.case.kind.controlled && (text(sent, "/metadata/resourceVersion") == version || is_in_last()) {
            self.lock().doubtful.insert(version);
        }
        self.remember(object);
    }

    /// What the server returned to the last write of the object of a name.
    pub(super) fn last_of(&self, name: &str) -> Option<Value> {
        let state = self.lock();
        let object = state.objects.values().find(|object| object.name == name)?;
        object.versions.last().cloned()
    }

    /// Latest version of all writes and lists; empty without one.
    pub(super) fn latest(&self) -> String {
        self.lock().latest.clone()
    }

    /// Remembers the version of a list: what is written after it has a later one.
    pub(super) fn listed(&self, list: &Value) {
        let version = text(list, "/metadata/resourceVersion");
        let mut state = self.lock();
        if number(&version).is_some() && number(&state.latest).is_some() && is_later(&state.latest, &version) {
            let expected = format!("{} or later, which was written before", state.latest);
            let mismatch = Mismatch::new("version of a list", expected, version.as_str());
            state.violations.push(mismatch.at(Level::Should));
        }
        state.reached(&version);
    }

    /// What the server returned to all writes.
    pub(super) fn written(&self) -> WrittenObjects {
        self.lock().written.clone()
    }

    /// What is wrong with the versions and uids that the server assigned.
    pub(super) fn violations(&self) -> Vec<Mismatch> {
        self.lock().violations.clone()
    }

    /// Binds a name to a value of a response.
    pub(super) fn save(&self, name: &str, value: String) {
        self.lock().saved.insert(name.to_owned(), value);
    }

    /// Names that templates of the case may use.
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

    /// A part of the kind's sample file, filled for an object.
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

    /// Labels an object with the run.
    pub(super) fn label(&self, object: &mut Value) {
        if object.get("metadata").is_some_and(Value::is_object) {
            merge(object, &json!({"metadata": {"labels": {LABEL: self.run_name()}}}));
        }
    }

    /// Path of an object.
    pub(super) fn path_of(&self, letter: &str) -> Result<String, EnvironmentError> {
        let object = self.object_of(letter)?;
        Ok(format!("{}/{}", self.collection_of(&object)?, object.name))
    }

    /// Path of the collection of an object.
    pub(super) fn collection_of(&self, object: &TestObject) -> Result<String, EnvironmentError> {
        let missing = || EnvironmentError::Case(format!("{} has no path", self.case.kind.name));
        let template = self.case.kind.path.as_deref().ok_or_else(missing)?;
        let namespace = object.namespace.as_deref().unwrap_or_default();
        Ok(Bindings::default().with("namespace", namespace).fill_path(template)?)
    }

    /// Reads what is at a path.
    pub(super) async fn read(&self, path: String) -> Result<(Request, Answer), EnvironmentError> {
        let request = Request::get(path);
        let answer = self.target.send(&request).await?;
        Ok((request, answer))
    }

    /// The object as it is now.
    pub(super) async fn current(&self, letter: &str) -> Result<Value, EnvironmentError> {
        self.must(&Request::get(self.path_of(letter)?)).await
    }

    /// Remembers a path to delete when the trial ends.
    pub(super) fn created(&self, path: String) {
        self.lock().generated.push(path);
    }

    /// Remembers an object that the server returned to a write, if it belongs to this environment.
    pub(super) fn remember(&self, object: &Value) {
        if text(object, "/kind") != self.case.kind.name {
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

    /// Asks for what must succeed.
    pub(super) async fn must(&self, request: &Request) -> Result<Value, EnvironmentError> {
        let answer = self.send(request).await?;
        EnvironmentError::object(self.target, request, &answer)
    }

    pub(super) fn object_of(&self, letter: &str) -> Result<TestObject, EnvironmentError> {
        let object = self.lock().objects.get(letter).cloned();
        object.ok_or_else(|| no_object(letter))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole after every change, whoever panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn no_object(letter: &str) -> EnvironmentError {
    EnvironmentError::Case(format!("there is no object {letter:?}"))
}

/// The text at a place of a value, or an empty one.
pub(super) fn text(value: &Value, pointer: &str) -> String {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}
