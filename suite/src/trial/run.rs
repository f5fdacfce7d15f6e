//! A run: its name, the namespaces that its trials share, and their removal.
//!
//! Guarantees: a trial has exclusive use of its namespaces while it runs. No namespace's name is a prefix of another's.
//! Every object has the label [`LABEL`] with the run's name.
//!
//! Limits: namespaces that the target does not delete in time are reported, not forced.

use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::{StreamExt, stream};
use http::Method;
use serde_json::{Value, json};
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};

use super::environment_error::EnvironmentError;
use crate::request::Request;
use crate::target::{Target, TargetError};

/// Label of every object of a run; its value is the run's name.
pub const LABEL: &str = "stuntdouble-run";
/// Maximum number of namespaces that trials use concurrently.
const MAX_NAMESPACES: u32 = 48;
/// Time limit for a deleted namespace to disappear. It is longer than the termination of a pod.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(60);
/// Time limit for a namespace controller, after which the run finalizes a namespace itself.
const CONTROLLER_TIMEOUT: Duration = Duration::from_millis(1500);
/// Number of namespaces that are removed concurrently.
const CONCURRENT_REMOVALS: usize = 16;
/// Finalizer of a namespace that a trial deletes and that must exist until the run removes it.
const FINALIZER: &str = "stuntdouble.example/keep";
/// Interval between reads of a namespace that is being removed.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A run of trials against one target.
#[derive(Debug)]
pub struct Run {
    name: String,
    permits: Semaphore,
    /// Free namespaces, by the address of their server, because some trials run on an additional server.
    free: Mutex<BTreeMap<String, Vec<String>>>,
    /// Namespaces that the run created and has not removed, with the address of their server.
    created: Mutex<Vec<(String, String)>>,
    /// Paths of objects that trials could not remove, with the address of their server.
    left: Mutex<Vec<(String, String)>>,
    next: AtomicUsize,
    /// Whether the target finalizes namespaces itself. Unset until known.
    finalizes: OnceCell<bool>,
    /// Whether the target enforces limit ranges. Unset until tested.
    pub(super) admission: OnceCell<bool>,
}

/// Namespaces that one trial uses.
#[derive(Debug)]
pub(super) struct Lease<'a> {
    run: &'a Run,
    base: String,
    names: Vec<String>,
    _permits: Option<SemaphorePermit<'a>>,
}

impl Lease<'_> {
    /// Returns the names of the namespaces.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the namespaces to the run. Without this call, no other trial uses them.
    pub(super) fn release(mut self) {
        let base = std::mem::take(&mut self.base);
        self.run
            .lock(&self.run.free)
            .entry(base)
            .or_default()
            .append(&mut self.names);
    }
}

impl Run {
    /// Creates a run. Its name has a few lower-case letters and digits.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            permits: Semaphore::new(MAX_NAMESPACES as usize),
            free: Mutex::default(),
            created: Mutex::default(),
            left: Mutex::default(),
            next: AtomicUsize::new(0),
            finalizes: OnceCell::new(),
            admission: OnceCell::new(),
        }
    }

    /// Returns the name of the run.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the prefix of all names of a trial.
    pub(super) fn stem(&self, trial: usize, attempt: usize) -> String {
        let attempt = if attempt == 0 {
            String::new()
        } else {
            format!("r{attempt}")
        };
        format!("sd-{}-{trial:05}{attempt}", self.name)
    }

    /// Reserves namespaces for a trial. Creates namespaces if too few are free.
    pub(super) async fn lease(&self, target: &Target, count: usize) -> Result<Lease<'_>, EnvironmentError> {
        if count == 0 {
            return Ok(Lease {
                run: self,
                base: target.base().to_owned(),
                names: Vec::new(),
                _permits: None,
            });
        }
        // The semaphore is never closed.
        let permits = self.permits.acquire_many(count as u32).await.ok();
        let mut lease = Lease {
            run: self,
            base: target.base().to_owned(),
            names: Vec::new(),
            _permits: permits,
        };
        for _ in 0..count {
            let known = self.lock(&self.free).get_mut(target.base()).and_then(Vec::pop);
            let name = match known {
                Some(name) => name,
                None => self.create(target).await?,
            };
            lease.names.push(name);
        }
        Ok(lease)
    }

    async fn create(&self, target: &Target) -> Result<String, EnvironmentError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("sd-{}-n{number:04}", self.name);
        let body =
            json!({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name, "labels": {LABEL: self.name}}});
        let request = Request::new(Method::POST, "/api/v1/namespaces").with_body("application/json", body.to_string());
        let answer = match target.send(&request).await {
            Ok(answer) => answer,
            Err(error) => {
                // The namespace may exist despite the error.
                self.adopt(target, &name);
                return Err(error.into());
            }
        };
        let object = EnvironmentError::object(target, &request, &answer)?;
        if object.pointer("/metadata/name").and_then(Value::as_str) != Some(&name) {
            return Err(EnvironmentError::not_an_object(target, &request, &answer));
        }
        self.adopt(target, &name);
        Ok(name)
    }

    /// Remembers a namespace that a trial created, so that the run removes it at its end.
    pub(super) fn adopt(&self, target: &Target, namespace: &str) {
        let created = (target.base().to_owned(), namespace.to_owned());
        self.lock(&self.created).push(created);
    }

    /// Remembers objects that a trial could not remove, so that the run removes them at its end.
    pub(super) fn leave(&self, target: &Target, paths: Vec<String>) {
        let left = paths.into_iter().map(|path| (target.base().to_owned(), path));
        self.lock(&self.left).extend(left);
    }

    /// Removes the objects that trials left, and the namespaces of the run. Returns the paths of what could not be
    /// removed.
    pub async fn clean_up(&self, target: &Target) -> Vec<String> {
        if target.is_recorded() {
            return Vec::new();
        }
        // Additional servers belong to the suite, which stops them.
        let of_target = |all: &Mutex<Vec<(String, String)>>| -> BTreeSet<String> {
            let all = std::mem::take(&mut *self.lock(all)).into_iter();
            all.filter_map(|(base, one)| (base == target.base()).then_some(one))
                .collect()
        };
        self.lock(&self.free).clear();
        // A server without a namespace controller does not remove them with their namespace.
        let objects = stream::iter(of_target(&self.left))
            .map(async |path| (!removed(target, &path).await.unwrap_or(false)).then_some(path))
            .buffer_unordered(CONCURRENT_REMOVALS);
        let mut left: Vec<String> = objects.filter_map(ready).collect().await;
        let namespaces = of_target(&self.created);
        let namespaces = stream::iter(&namespaces)
            .map(|namespace| self.remove_namespace(target, namespace))
            .buffer_unordered(CONCURRENT_REMOVALS);
        left.extend(namespaces.filter_map(ready).collect::<Vec<_>>().await);
        left
    }

    /// Removes a namespace. Returns its path if it still exists.
    pub(super) async fn remove_namespace(&self, target: &Target, namespace: &str) -> Option<String> {
        let path = format!("/api/v1/namespaces/{namespace}");
        // A namespace controller would wait for half of the pods' grace period. It removes what is left.
        remove_all(target, "/api/v1", namespace, "pods").await;
        let began = tokio::time::Instant::now();
        let mut existed = false;
        loop {
            let status = target.send(&deletion(path.clone())).await.map(|answer| answer.status);
            if matches!(status, Ok(404)) {
                // The first removal shows who finalizes namespaces. One that a trial has removed already shows nothing.
                if existed {
                    drop(self.finalizes.set(true));
                }
                return None;
            }
            existed |= status.is_ok();
            if began.elapsed() > REMOVAL_TIMEOUT {
                return Some(path);
            }
            let is_ours = self.finalizes.get() == Some(&false);
            let late = self.finalizes.get().is_none() && began.elapsed() > CONTROLLER_TIMEOUT;
            if finalize(target, &path, is_ours || late).await {
                if is_ours || late {
                    drop(self.finalizes.set(false));
                }
                continue;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    fn lock<'a, T>(&self, names: &'a Mutex<T>) -> MutexGuard<'a, T> {
        names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Deletes the objects of a kind in a namespace. One by one, because a faulty server may delete more than the
/// collection in that namespace. What is left is removed together with the namespace.
pub(super) async fn remove_all(target: &Target, group: &str, namespace: &str, plural: &str) {
    let collection = format!("{group}/namespaces/{namespace}/{plural}");
    let Ok(answer) = target.send(&Request::get(collection.clone())).await else {
        return;
    };
    let list: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    for item in list.get("items").and_then(Value::as_array).into_iter().flatten() {
        let field = |pointer| item.pointer(pointer).and_then(Value::as_str);
        if let (Some(name), true) = (field("/metadata/name"), field("/metadata/namespace") == Some(namespace)) {
            drop(target.send(&deletion(format!("{collection}/{name}"))).await);
        }
    }
}

/// Deletes an object. Returns whether it is gone.
pub(super) async fn removed(target: &Target, path: &str) -> Result<bool, TargetError> {
    let answer = target.send(&deletion(path.to_owned())).await?;
    Ok(answer.status == 404 || (200..300).contains(&answer.status))
}

/// Returns the name of the namespace at a path; `None` if the path is that of another object.
pub(super) fn namespace_at(path: &str) -> Option<&str> {
    path.strip_prefix("/api/v1/namespaces/")
        .filter(|name| !name.contains('/'))
}

/// Returns the request that deletes an object without a grace period.
pub(super) fn deletion(path: String) -> Request {
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
    Request::new(Method::DELETE, path).with_body("application/json", options.to_string())
}

/// Removes the run's own finalizer from a namespace, or all finalizers, for a server without a namespace controller.
/// Returns whether there were any.
async fn finalize(target: &Target, path: &str, all: bool) -> bool {
    let Ok(answer) = target.send(&Request::get(path)).await else {
        return false;
    };
    let Ok(mut namespace) = serde_json::from_slice::<Value>(&answer.body) else {
        return false;
    };
    if namespace.pointer("/status/phase").and_then(Value::as_str) != Some("Terminating") {
        return false;
    }
    let Some(finalizers) = namespace.pointer_mut("/spec/finalizers").and_then(Value::as_array_mut) else {
        return false;
    };
    let count = finalizers.len();
    finalizers.retain(|finalizer| !all && finalizer != FINALIZER);
    if finalizers.len() == count {
        return false;
    }
    let request =
        Request::new(Method::PUT, format!("{path}/finalize")).with_body("application/json", namespace.to_string());
    target.send(&request).await.is_ok_and(|answer| answer.status == 200)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Profile;

    #[tokio::test]
    async fn the_removal_of_an_absent_namespace_shows_nothing_about_controllers() {
        let target = Target::simulator(Profile::Documented).await.expect("a simulator");
        let run = Run::new("x");
        assert_eq!(run.remove_namespace(&target, "none").await, None);
        assert_eq!(run.finalizes.get(), None);
    }

    #[test]
    fn no_name_is_a_prefix_of_another() {
        let run = Run::new("x");
        let stems = [run.stem(1, 0), run.stem(11, 0), run.stem(1, 1), run.stem(1, 2)];
        let prefixes: Vec<String> = stems.iter().map(|stem| format!("{stem}-")).collect();
        for a in &prefixes {
            assert_eq!(prefixes.iter().filter(|b| b.starts_with(a.as_str())).count(), 1, "{a}");
        }
    }
}
