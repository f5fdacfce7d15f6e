//! The log search add-on and the living cluster of a target: its own, or those of a simulator that lives beside it.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::OnceCell;

use super::{Credentials, Target, TargetError, simulator};
use crate::catalog::Profile;
use crate::request::Request;

/// The service of the log search add-on, without what comes before it.
const SERVICE: &str = "/api/v1/namespaces/kube-system/services/elasticsearch-logging";

/// Where the log search add-on of a target is.
#[derive(Debug)]
pub(super) enum LogSearch {
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
    pub(super) search: Arc<OnceCell<LogSearch>>,
    /// Whether the log lines were loaded.
    pub(super) loaded: Arc<OnceCell<()>>,
    /// The living cluster, once it was looked for.
    pub(super) living: Arc<OnceCell<Option<Box<Target>>>>,
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
        if self.recorded.is_some() {
            return Ok(Some(self.clone()));
        }
        let look = async || match &self.embedded {
            Some(embedded) => Ok(LogSearch::Beside(Box::new(
                self.beside(embedded.profile, simulator::NOW).await?,
            ))),
            None if self.send(&Request::get(SERVICE)).await?.status == 200 => Ok(LogSearch::There),
            None => Ok(LogSearch::Missing),
        };
        Ok(match self.logs.search.get_or_try_init(look).await? {
            LogSearch::Beside(beside) => Some(Self {
                logs: self.logs.clone(),
                ..(**beside).clone()
            }),
            LogSearch::There => Some(self.clone()),
            LogSearch::Missing => None,
        })
    }

    /// The target whose nodes run pods and whose controllers act: this one, or a simulator beside it; none where there
    /// is none.
    ///
    /// # Errors
    /// If a simulator does not start, or the target does not answer.
    pub async fn with_living_cluster(&self) -> Result<Option<Self>, TargetError> {
        if self.recorded.is_some() {
            return Ok(Some(self.clone()));
        }
        let look = async || match &self.embedded {
            Some(embedded) => Ok(Some(self.beside(embedded.profile, "real").await?)),
            None => Ok(self.has_ready_node().await?.then(|| self.clone())),
        };
        self.logs
            .living
            .get_or_try_init(|| async { look().await.map(|found| found.map(Box::new)) })
            .await
            .map(|found| found.as_deref().cloned())
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
    async fn beside(&self, profile: Profile, clock: &str) -> Result<Self, TargetError> {
        let mut beside = Self::at("http://127.0.0.1", &Credentials::default())?;
        let running = simulator::living(profile, clock).await?;
        beside.base = running.url();
        beside.embedded = Some(Arc::new(simulator::Embedded {
            profile,
            _running: running,
        }));
        beside.recording.clone_from(&self.recording);
        Ok(beside)
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
