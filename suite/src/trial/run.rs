//! A run: its name, the namespaces that its trials share, and their removal.
//!
//! Guarantees: a trial has its namespaces for itself while it runs; no namespace's name is a prefix of another's;
//! every object carries the label [`LABEL`] with the run's name.
//!
//! Limits: what the target does not delete in time is reported, not forced.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use http::Method;
use serde_json::{Value, json};
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};

use super::environment_error::EnvironmentError;
use crate::request::Request;
use crate::target::Target;

/// Label of every object of a run; its value is the run's name.
pub const LABEL: &str = "stuntdouble-run";
/// Number of namespaces that trials use at once.
const NAMESPACES: u32 = 48;
/// Time for a deleted namespace to disappear: longer than a pod in it takes to end.
const REMOVAL: Duration = Duration::from_secs(60);
/// Time that a namespace controller has before the run finalizes a namespace itself.
const CONTROLLER: Duration = Duration::from_millis(1500);
/// Number of namespaces that are removed at once.
const AT_ONCE: usize = 16;
/// Finalizer of a namespace that a trial deletes and that stays until the run removes it.
const FINALIZER: &str = "stuntdouble.example/keep";
/// Interval between looks at a namespace that is being removed.
const POLL: Duration = Duration::from_millis(50);

/// A run of trials against one target.
#[derive(Debug)]
pub struct Run {
    name: String,
    permits: Semaphore,
    /// Namespaces that no trial uses, by the address of their server: some trials are played on a server beside it.
    free: Mutex<BTreeMap<String, Vec<String>>>,
    /// Namespaces that the run created and has not removed, with the address of their server.
    created: Mutex<Vec<(String, String)>>,
    next: AtomicUsize,
    /// Whether the target finalizes namespaces by itself, once it is known.
    finalizes: OnceCell<bool>,
    /// Whether the target enforces limit ranges, once it was tried.
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
    /// The names of the namespaces.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the namespaces to the run. Without it, other trials do not use them.
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
    /// A run with a name of a few lower-case letters and digits.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            permits: Semaphore::new(NAMESPACES as usize),
            free: Mutex::default(),
            created: Mutex::default(),
            next: AtomicUsize::new(0),
            finalizes: OnceCell::new(),
            admission: OnceCell::new(),
        }
    }

    /// Name of the run.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Prefix of all names of a trial.
    pub(super) fn stem(&self, trial: usize, attempt: usize) -> String {
        let attempt = if attempt == 0 {
            String::new()
        } else {
            format!("r{attempt}")
        };
        format!("sd-{}-{trial:05}{attempt}", self.name)
    }

    /// Reserves namespaces for a trial, and creates those that do not exist yet.
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
                // It may exist all the same.
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

    /// Remembers a namespace that a trial created, so that it is removed in the end.
    pub(super) fn adopt(&self, target: &Target, namespace: &str) {
        let created = (target.base().to_owned(), namespace.to_owned());
        self.lock(&self.created).push(created);
    }

    /// Removes the namespaces of the run. Returns what could not be removed.
    pub async fn clean_up(&self, target: &Target) -> Vec<String> {
        if target.is_recorded() {
            return Vec::new();
        }
        // A server beside the target is the suite's own, and is stopped.
        let created = std::mem::take(&mut *self.lock(&self.created)).into_iter();
        let of_target = created.filter(|(base, _)| base == target.base());
        let mut namespaces: Vec<String> = of_target.map(|(_, namespace)| namespace).collect();
        namespaces.sort();
        namespaces.dedup();
        self.lock(&self.free).clear();
        let removed = futures::stream::iter(&namespaces)
            .map(|namespace| self.remove_namespace(target, namespace))
            .buffer_unordered(AT_ONCE);
        removed.filter_map(std::future::ready).collect().await
    }

    /// Removes a namespace; returns its path if it is still there.
    pub(super) async fn remove_namespace(&self, target: &Target, namespace: &str) -> Option<String> {
        let path = format!("/api/v1/namespaces/{namespace}");
        let began = tokio::time::Instant::now();
        let mut was_there = false;
        loop {
            let status = target.send(&deletion(path.clone())).await.map(|answer| answer.status);
            if matches!(status, Ok(404)) {
                // Whoever finalizes the first namespace finalizes them all. One that a trial has removed says nothing.
                if was_there {
                    drop(self.finalizes.set(true));
                }
                return None;
            }
            was_there |= status.is_ok();
            if began.elapsed() > REMOVAL {
                return Some(path);
            }
            let alone = self.finalizes.get() == Some(&false);
            let late = self.finalizes.get().is_none() && began.elapsed() > CONTROLLER;
            if finalize(target, &path, alone || late).await {
                if alone || late {
                    drop(self.finalizes.set(false));
                }
                continue;
            }
            tokio::time::sleep(POLL).await;
        }
    }

    fn lock<'a, T>(&self, names: &'a Mutex<T>) -> MutexGuard<'a, T> {
        names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Request that deletes an object at once.
pub(super) fn deletion(path: String) -> Request {
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
    Request::new(Method::DELETE, path).with_body("application/json", options.to_string())
}

/// Takes the run's own finalizer of a namespace away, or all of them, for a server without a namespace controller.
/// Returns whether there was one.
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
    async fn a_namespace_that_is_gone_already_says_nothing_about_controllers() {
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
