//! Controllers. Each one can be disabled, so that a user's own controller replaces it.
//!
//! Source of behaviour, event reasons and texts: `pkg/controller` of Kubernetes v1.2.

mod daemon_set;
mod deployment;
mod endpoints;
mod horizontal_pod_autoscaler;
mod job;
mod namespace;
mod node;
mod node_pods;
mod persistent_volume;
mod pod_collector;
mod pods;
mod quota;
mod replication;
mod service_account;
mod volume_recycler;

use std::{collections::BTreeSet, str::FromStr, sync::Arc};

pub(crate) use horizontal_pod_autoscaler::cpu_usage;

use super::{runtime::Runtime, scheduler};
use crate::api::Status;

/// Names of all controllers and the scheduler.
const NAMES: [&str; 15] = [
    "daemonset",
    "deployment",
    "endpoints",
    "horizontalpodautoscaler",
    "job",
    "namespace",
    "node",
    "persistentvolume",
    "podcollector",
    "replicaset",
    "replicationcontroller",
    "resourcequota",
    "scheduler",
    "serviceaccount",
    "serviceaccounttoken",
];

/// The set of controllers that run. Default: all of them.
///
/// ```
/// use stuntdouble_simulator::Controllers;
///
/// let controllers: Controllers = "*,-replicaset".parse()?;
/// assert!(controllers.contains("replicationcontroller") && !controllers.contains("replicaset"));
/// assert!("-*".parse::<Controllers>()?.is_empty());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controllers(BTreeSet<&'static str>);

impl Default for Controllers {
    fn default() -> Self {
        Self(NAMES.into())
    }
}

impl Controllers {
    /// Returns the empty set.
    pub fn none() -> Self {
        Self(BTreeSet::new())
    }

    /// Whether this controller runs.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// Whether no controller runs.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromStr for Controllers {
    type Err = String;

    /// Parses comma-separated names. `*` means all, and `-NAME` excludes one. A list that begins with an exclusion
    /// starts from all.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut chosen = if text.starts_with('-') {
            Self::default()
        } else {
            Self::none()
        };
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, excluded) = part.strip_prefix('-').map_or((part, false), |name| (name, true));
            let names: Vec<_> = NAMES
                .into_iter()
                .filter(|known| name == "*" || name == *known)
                .collect();
            if names.is_empty() {
                return Err(format!(
                    "unknown controller {name:?}; the controllers are {}",
                    NAMES.join(", ")
                ));
            }
            for name in names {
                if excluded {
                    chosen.0.remove(name);
                } else {
                    chosen.0.insert(name);
                }
            }
        }
        Ok(chosen)
    }
}

/// Adds the controllers to the runtime.
pub(super) async fn add(
    runtime: &Arc<Runtime>,
    controllers: &Controllers,
    authority: Option<&str>,
) -> Result<(), Status> {
    for name in &controllers.0 {
        match *name {
            "daemonset" => daemon_set::add(runtime).await?,
            "deployment" => deployment::add(runtime).await?,
            "endpoints" => endpoints::add(runtime).await?,
            "horizontalpodautoscaler" => horizontal_pod_autoscaler::add(runtime).await?,
            "job" => job::add(runtime).await?,
            "namespace" => namespace::add(runtime).await?,
            "node" => node::add(runtime).await?,
            "persistentvolume" => persistent_volume::add(runtime).await?,
            "podcollector" => pod_collector::add(runtime).await?,
            "resourcequota" => quota::add(runtime).await?,
            "scheduler" => scheduler::add(runtime).await?,
            "serviceaccount" => service_account::add_accounts(runtime).await?,
            "serviceaccounttoken" => service_account::add_tokens(runtime, authority).await?,
            "replicationcontroller" => {
                replication::add(runtime, "v1", "replicationcontrollers", "replication-controller").await?;
            }
            "replicaset" => {
                replication::add(runtime, "extensions/v1beta1", "replicasets", "replicaset-controller").await?
            }
            other => return Err(Status::internal(format!("unknown controller {other}"))),
        }
    }
    Ok(())
}
