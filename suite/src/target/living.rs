//! The add-ons and the living cluster of a target: its own, or those of a simulator that lives beside it.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::{Credentials, Target, TargetError, simulator};
use crate::catalog::Profile;
use crate::request::Request;

/// The service of the log search add-on, without what comes before it.
const SERVICE: &str = "/api/v1/namespaces/kube-system/services/elasticsearch-logging";

/// The object that a service account controller makes; a server without controllers does not have it.
const CONTROLLED: &str = "/api/v1/namespaces/default/serviceaccounts/default";
/// Pods among which a process is tried out.
const PODS: &str = "/api/v1/namespaces/default/pods";
/// Time in which a container must have run to its end, and the interval between looks at it.
const PROCESS: (Duration, Duration) = (Duration::from_secs(60), Duration::from_millis(100));

/// Where the log search add-on, or the living cluster, of a target is. What is on the target is not kept with it: the
/// same target can be before another proxy later.
#[derive(Debug)]
pub(super) enum Place {
    /// On a simulator that lives beside it.
    Beside(Box<Target>),
    /// On the target.
    There,
    /// Nowhere.
    Missing,
}

/// What is known of a target's log search add-on, once it was looked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Logs {
    pub(super) search: Arc<OnceCell<Place>>,
    /// Whether the log lines were loaded.
    pub(super) loaded: Arc<OnceCell<()>>,
    /// The living cluster, once it was looked for.
    pub(super) living: Arc<OnceCell<Place>>,
    /// Whether the target has controllers, once they were looked for.
    pub(super) controllers: Arc<OnceCell<bool>>,
    /// Whether containers run processes, once one was run.
    pub(super) processes: Arc<OnceCell<bool>>,
    /// Whether they may be loaded into what is not the suite's own.
    pub(super) may_be_loaded: bool,
}

impl Target {
    /// The same, into which log lines may be loaded, to be removed after.
    pub fn loading_logs(mut self) -> Self {
        self.logs.may_be_loaded = true;
        self
    }

    /// The target that has the log search add-on: this one, or a simulator beside it; none where there is none.
    ///
    /// # Errors
    /// If a simulator does not start, or the target does not answer.
    pub async fn with_log_search(&self) -> Result<Option<Self>, TargetError> {
        if self.recorded.is_some() || self.clock().is_some() {
            return Ok(Some(self.clone()));
        }
        let look = async || match &self.embedded {
            Some(embedded) => self.beside(embedded.profile, simulator::NOW).await,
            None if self.serves(SERVICE).await? => Ok(Place::There),
            None => Ok(Place::Missing),
        };
        Ok(match self.logs.search.get_or_try_init(look).await? {
            Place::Beside(beside) => Some(Self {
                logs: self.logs.clone(),
                ..(**beside).clone()
            }),
            Place::There => Some(self.clone()),
            Place::Missing => None,
        })
    }

    /// The target whose nodes run pods and whose controllers act: this one, or a simulator beside it; none where there
    /// is none.
    ///
    /// # Errors
    /// If a simulator does not start, or the target does not answer.
    pub async fn with_living_cluster(&self) -> Result<Option<Self>, TargetError> {
        if self.recorded.is_some() || self.clock() == Some(simulator::RUNNING) {
            return Ok(Some(self.clone()));
        }
        let look = async || match &self.embedded {
            Some(embedded) => self.beside(embedded.profile, simulator::RUNNING).await,
            None if self.has_ready_node().await? && self.serves(CONTROLLED).await? => Ok(Place::There),
            None => Ok(Place::Missing),
        };
        Ok(match self.logs.living.get_or_try_init(look).await? {
            Place::Beside(beside) => Some((**beside).clone()),
            Place::There => Some(self.clone()),
            Place::Missing => None,
        })
    }

    /// Whether the target has controllers that the suite did not start, so that they can write to the objects of a trial.
    ///
    /// # Errors
    /// If the target does not answer.
    pub async fn has_controllers(&self) -> Result<bool, TargetError> {
        if self.is_own() {
            return Ok(false);
        }
        let look = || self.serves(CONTROLLED);
        self.logs.controllers.get_or_try_init(look).await.copied()
    }

    /// The clock of a whole cluster that the suite started.
    fn clock(&self) -> Option<&'static str> {
        self.embedded.as_ref().and_then(|embedded| embedded.clock)
    }

    /// Whether a service of the system namespace is there, such as that of an add-on.
    ///
    /// # Errors
    /// If the target does not answer.
    pub async fn has_add_on(&self, service: &str) -> Result<bool, TargetError> {
        let path = format!("/api/v1/namespaces/kube-system/services/{service}");
        Ok(self.is_own() || self.serves(&path).await?)
    }

    /// Whether containers run processes. On a target that the suite did not start, a pod is run once to find out: the
    /// containers of a hollow node run nothing. The pod has the labels of the run, so that a clean-up finds it.
    ///
    /// # Errors
    /// If the target does not answer.
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
    /// If the target does not answer.
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
        let (limit, pause) = PROCESS;
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

    /// A simulator of a whole cluster beside this one.
    async fn beside(&self, profile: Profile, clock: &'static str) -> Result<Place, TargetError> {
        let mut beside = Self::at("http://127.0.0.1", &Credentials::default())?;
        let running = simulator::living(profile, clock).await?;
        beside.base = running.url();
        beside.embedded = Some(Arc::new(simulator::Embedded {
            profile,
            clock: Some(clock),
            _running: running,
        }));
        beside.recording.clone_from(&self.recording);
        Ok(Place::Beside(Box::new(beside)))
    }

    /// What is done once before the first log query is asked.
    ///
    /// # Errors
    /// Those of what is done.
    pub async fn load_logs_once<E>(&self, load: impl Future<Output = Result<(), E>>) -> Result<(), E> {
        self.logs.loaded.get_or_try_init(|| load).await.map(drop)
    }

    /// Whether log lines were loaded into what is not the suite's own, and are to be removed.
    pub fn has_loaded_logs(&self) -> bool {
        self.embedded.is_none() && self.logs.loaded.initialized()
    }

    /// Whether its logs are those of a simulator that the suite started, or recorded from one: nobody else's are there.
    pub fn owns_its_logs(&self) -> bool {
        self.embedded.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_living_cluster_is_asked_by_way_of_the_proxy_that_is_before_it_now() {
        let running = simulator::living(Profile::Documented, simulator::RUNNING)
            .await
            .expect("a cluster");
        let target = Target::at(&running.url(), &Credentials::default()).expect("a target");
        let first = target.clone().via(&running.url());
        assert!(first.with_living_cluster().await.expect("an answer").is_some());
        let second = target.via("http://elsewhere.example");
        let found = second.with_living_cluster().await.expect("no need to ask again");
        assert_eq!(
            found.and_then(|found| found.via).as_deref(),
            Some("http://elsewhere.example")
        );
    }
}
