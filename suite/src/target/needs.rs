//! Features of a target: those that cases need, and the kinds that it serves.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::StatusCode;
use serde_json::Value;
use tokio::sync::{Mutex, OnceCell};

use super::{Target, TargetError};
use crate::catalog::{Credential, Kind, Need};
use crate::request::Request;

/// Features of a target, as far as they are known.
#[derive(Debug, Clone, Default)]
pub(super) struct Features {
    /// Whether cluster-wide objects may be created.
    cluster_objects: bool,
    /// Whether collections are served, by path, once probed.
    collections: Arc<Mutex<BTreeMap<String, Arc<OnceCell<bool>>>>>,
}

impl Target {
    /// Allows creating cluster-wide objects.
    pub fn allowing_cluster_objects(mut self) -> Self {
        self.features.cluster_objects = true;
        self
    }

    /// Returns the reason why a case with these needs cannot be run, if there is one.
    pub fn missing_need(&self, trial: &str, needs: &[Need], credential: Option<Credential>) -> Option<String> {
        if let Some(recorded) = &self.recorded {
            return (!recorded.has(trial)).then(|| "the trial is not on the cassette".to_owned());
        }
        let reason = |need: &Need| match need {
            Need::Backend if self.backend_address.is_none() => {
                Some("it needs a backend behind the target's proxy: use --backend")
            }
            Need::Container if self.embedded.is_none() => {
                Some("it needs a pod with a running container, which only the embedded simulator provides")
            }
            Need::ClusterObjects if self.embedded.is_none() && !self.features.cluster_objects => {
                Some("it creates cluster-wide objects: use --allow-cluster-wide")
            }
            Need::LogLines if self.embedded.is_none() && !self.logs.may_be_loaded => {
                Some("it loads log lines, and removes them afterwards: use --seed-logs")
            }
            Need::Clock if self.embedded.is_none() => Some("it needs the clock of the embedded simulator"),
            _ => None,
        };
        let client = |credential| self.credential_clients.as_ref()?.client_for(credential);
        let lacking = needs.iter().find_map(reason);
        let unknown = credential.is_some_and(|credential| client(credential).is_none());
        let reason =
            lacking.or(unknown.then_some("it needs a server that requires credentials, and credentials of this kind"));
        reason.map(str::to_owned)
    }

    /// Returns the kind, as `group/plural`, that a case needs and the target does not serve: its collection gives 404
    /// or 405, and discovery does not list it.
    ///
    /// # Errors
    /// If the target does not respond.
    pub async fn absent(&self, kind: &Kind, needs: &[Need]) -> Result<Option<String>, TargetError> {
        if let Some(path) = &kind.path
            && !self.has_collection(path, &kind.plural).await?
        {
            return Ok(Some(format!("{}/{}", kind.group, kind.plural)));
        }
        match kind
            .other_group
            .as_deref()
            .filter(|_| needs.contains(&Need::OtherGroup))
        {
            Some(path) if !self.has_collection(path, &kind.plural).await? => {
                let group: Vec<&str> = path.split('/').skip(2).take(2).collect();
                Ok(Some(format!("{}/{}", group.join("/"), kind.plural)))
            }
            _ => Ok(None),
        }
    }

    /// Whether the target serves a collection. For a recorded run always true.
    ///
    /// # Errors
    /// If the target does not respond.
    pub async fn has_collection(&self, template: &str, plural: &str) -> Result<bool, TargetError> {
        if self.recorded.is_some() {
            return Ok(true);
        }
        let path = template.replace("{namespace}", "default");
        let known = Arc::clone(self.features.collections.lock().await.entry(path.clone()).or_default());
        let served = known.get_or_try_init(async || {
            let status = self.send(&Request::get(&path)).await?.status;
            let missing = [StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED].map(|status| status.as_u16());
            Ok::<_, TargetError>(!missing.contains(&status) || self.discovers(&path, plural).await?)
        });
        served.await.copied()
    }

    /// Whether discovery lists the resource of a collection.
    async fn discovers(&self, collection: &str, plural: &str) -> Result<bool, TargetError> {
        let group = if collection.starts_with("/api/") { 3 } else { 4 };
        let path: Vec<&str> = collection.split('/').take(group).collect();
        let answer = self.send(&Request::get(path.join("/"))).await?;
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let resources = body.get("resources").and_then(Value::as_array);
        let named = |resource: &Value| resource.get("name").and_then(Value::as_str) == Some(plural);
        Ok(answer.status == 200 && resources.is_some_and(|resources| resources.iter().any(named)))
    }
}
