//! Add-ons and controllers of a target: those of the target itself, or of an additional simulator of a full cluster.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::{Credentials, Target, TargetError, simulator};
use crate::catalog::Profile;
use crate::request::Request;

/// Path of the service of the log search add-on.
const SERVICE: &str = "/api/v1/namespaces/kube-system/services/elasticsearch-logging";

/// An object that only the service account controller creates.
const CONTROLLED: &str = "/api/v1/namespaces/default/serviceaccounts/default";
/// Path of the pods in which running a process is tested.
const PODS: &str = "/api/v1/namespaces/default/pods";
/// Time limit of the process, and polling interval.
const PROCESS_TIMEOUT_AND_INTERVAL: (Duration, Duration) = (Duration::from_secs(60), Duration::from_millis(100));

/// Server that has the log search add-on or the full cluster. The target itself is not stored: the same target can
/// later be behind another proxy.
#[derive(Debug)]
pub(super) enum Provider {
    /// An additional simulator.
    Simulator(Box<Target>),
    /// The target itself.
    Target,
    /// None.
    Missing,
}

/// Add-ons and controllers of a target, as far as it was probed.
#[derive(Debug, Clone, Default)]
pub(super) struct Logs {
    pub(super) search: Arc<OnceCell<Provider>>,
    /// Set when the log lines are loaded.
    pub(super) loaded: Arc<OnceCell<()>>,
    /// Provider of the full cluster, once probed.
    pub(super) living: Arc<OnceCell<Provider>>,
    /// Whether the target has controllers, once probed.
    pub(super) controllers: Arc<OnceCell<bool>>,
    /// Whether containers run processes, once probed.
    pub(super) processes: Arc<OnceCell<bool>>,
    /// Whether log lines may be loaded into a server that the suite did not start.
    pub(super) may_be_loaded: bool,
}

impl Target {
    /// Allows loading log lines, which are removed afterwards.
    pub fn loading_logs(mut self) -> Self {
        self.logs.may_be_loaded = true;
        self
    }

    /// Returns the target with the log search add-on: this one, or an additional simulator. `None` if there is none.
    ///
    /// # Errors
    /// If a simulator does not start, or the target does not respond.
    pub async fn with_log_search(&self) -> Result<Option<Self>, TargetError> {
        if self.recorded.is_some() || self.clock().is_some() {
            return Ok(Some(self.clone()));
        }
        let look = async || match &self.embedded {
            Some(embedded) => self.start_cluster(embedded.profile, simulator::NOW).await,
            None if self.serves(SERVICE).await? => Ok(Provider::Target),
            None => Ok(Provider::Missing),
        };
        Ok(match self.logs.search.get_or_try_init(look).await? {
            Provider::Simulator(other) => Some(Self {
                logs: self.logs.clone(),
                ..(**other).clone()
            }),
            Provider::Target => Some(self.clone()),
            Provider::Missing => None,
        })
    }

    /// Returns the target with nodes that run pods and with controllers: this one, or an additional simulator. `None`
    /// if there is none.
    ///
    /// # Errors
    /// If a simulator does not start, or the target does not respond.
    pub async fn with_living_cluster(&self) -> Result<Option<Self>, TargetError> {
        if self.recorded.is_some() || self.clock() == Some(simulator::RUNNING) {
            return Ok(Some(self.clone()));
        }
        let look = async || match &self.embedded {
            Some(embedded) => self.start_cluster(embedded.profile, simulator::RUNNING).await,
            None if self.has_ready_node().await? && self.serves(CONTROLLED).await? => Ok(Provider::Target),
            None => Ok(Provider::Missing),
        };
        Ok(match self.logs.living.get_or_try_init(look).await? {
            Provider::Simulator(other) => Some((**other).clone()),
            Provider::Target => Some(self.clone()),
            Provider::Missing => None,
        })
    }

    /// Whether the target has controllers of its own, which can write to the objects of a trial.
    ///
    /// # Errors
    /// If the target does not respond.
    pub async fn has_controllers(&self) -> Result<bool, TargetError> {
        if self.is_own() {
            return Ok(false);
        }
        let look = || self.serves(CONTROLLED);
        self.logs.controllers.get_or_try_init(look).await.copied()
    }

    /// Returns the clock of a full cluster that the suite started.
    fn clock(&self) -> Option<&'static str> {
        self.embedded.as_ref().and_then(|embedded| embedded.clock)
    }

    /// Whether a service of the system namespace exists, such as that of an add-on.
    ///
    /// # Errors
    /// If the target does not respond.
    pub async fn has_add_on(&self, service: &str) -> Result<bool, TargetError> {
        let path = format!("/api/v1/namespaces/kube-system/services/{service}");
        Ok(self.is_own() || self.serves(&path).await?)
    }

    /// Whether containers run processes. On a target that the suite did not start, a pod is run once to find out,
    /// because hollow nodes run nothing. The pod has the labels of the run, so that a clean-up finds it.
    ///
    /// # Errors
    /// If the target does not respond.
    pub async fn runs_processes(&self, labels: &Value) -> Result<bool, TargetError> {
        if self.is_own() {
            return Ok(true);
        }
        self.logs
            .processes
            .get_or_try_init(|| self.run_process(labels))
            .await
            .copied()
    }

    /// Whether the proxy reaches the kubelet of the first node.
    ///
    /// # Errors
    /// If the target does not respond.
    pub async fn reaches_kubelets(&self) -> Result<bool, TargetError> {
        if self.is_own() {
            return Ok(true);
        }
        let answer = self.send(&Request::get("/api/v1/nodes")).await?;
        let nodes: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        match nodes.pointer("/items/0/metadata/name").and_then(Value::as_str) {
            Some(name) => self.serves(&format!("/api/v1/proxy/nodes/{name}:10250/healthz")).await,
            None => Ok(false),
        }
    }

    async fn run_process(&self, labels: &Value) -> Result<bool, TargetError> {
        let container = json!({"name": "main", "image": "busybox", "command": ["sh", "-c", "exit 0"]});
        let pod = json!({
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"generateName": "sd-process-", "labels": labels},
            "spec": {"restartPolicy": "Never", "containers": [container]},
        });
        let create = Request::new(Method::POST, PODS).with_body("application/json", pod.to_string());
        let created: Value = serde_json::from_slice(&self.send(&create).await?.body).unwrap_or_default();
        let Some(name) = created.pointer("/metadata/name").and_then(Value::as_str) else {
            return Ok(false);
        };
        let path = format!("{PODS}/{name}");
        let (limit, pause) = PROCESS_TIMEOUT_AND_INTERVAL;
        let deadline = tokio::time::Instant::now() + limit;
        let ended = loop {
            let pod: Value = serde_json::from_slice(&self.send(&Request::get(&path)).await?.body).unwrap_or_default();
            let ended = pod.pointer("/status/phase").and_then(Value::as_str) == Some("Succeeded");
            if ended || tokio::time::Instant::now() > deadline {
                break ended;
            }
            tokio::time::sleep(pause).await;
        };
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0});
        let delete = Request::new(Method::DELETE, path).with_body("application/json", options.to_string());
        self.send(&delete).await?;
        Ok(ended)
    }

    async fn serves(&self, path: &str) -> Result<bool, TargetError> {
        Ok(self.send(&Request::get(path)).await?.status == 200)
    }

    async fn has_ready_node(&self) -> Result<bool, TargetError> {
        let answer = self.send(&Request::get("/api/v1/nodes")).await?;
        let list: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let items = |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_array).cloned();
        let ready = |condition: &Value| condition["type"] == "Ready" && condition["status"] == "True";
        let is_ready = |node: &Value| {
            items(node, "/status/conditions")
                .into_iter()
                .flatten()
                .any(|each| ready(&each))
        };
        Ok(items(&list, "/items").into_iter().flatten().any(|node| is_ready(&node)))
    }

    /// Starts an additional simulator of a full cluster.
    async fn start_cluster(&self, profile: Profile, clock: &'static str) -> Result<Provider, TargetError> {
        let mut other = Self::at("http://127.0.0.1", &Credentials::default())?;
        let running = simulator::full_cluster(profile, clock).await?;
        other.base = running.url();
        other.embedded = Some(Arc::new(simulator::Embedded {
            profile,
            clock: Some(clock),
            _running: running,
        }));
        other.recording.clone_from(&self.recording);
        Ok(Provider::Simulator(Box::new(other)))
    }

    /// Runs `load` once, before the first log query.
    ///
    /// # Errors
    /// The error of `load`.
    pub async fn load_logs_once<E>(&self, load: impl Future<Output = Result<(), E>>) -> Result<(), E> {
        self.logs.loaded.get_or_try_init(|| load).await.map(drop)
    }

    /// Whether log lines were loaded into a server that the suite did not start, and must be removed.
    pub fn has_loaded_logs(&self) -> bool {
        self.embedded.is_none() && self.logs.loaded.initialized()
    }

    /// Whether its logs are those of a simulator that the suite started, without lines of others.
    pub fn owns_its_logs(&self) -> bool {
        self.embedded.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_full_cluster_is_reached_through_the_current_proxy() {
        let running = simulator::full_cluster(Profile::Documented, simulator::RUNNING)
            .await
            .expect("cannot start a cluster");
        let target = Target::at(&running.url(), &Credentials::default()).expect("invalid target");
        let first = target.clone().via(&running.url());
        assert!(first.with_living_cluster().await.expect("no response").is_some());
        let second = target.via("http://elsewhere.example");
        let found = second.with_living_cluster().await.expect("the result is cached");
        assert_eq!(
            found.and_then(|found| found.via).as_deref(),
            Some("http://elsewhere.example")
        );
    }
}
