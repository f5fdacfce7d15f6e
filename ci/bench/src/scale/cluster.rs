//! Load of a cluster on its API servers.
//!
//! Source: the defaults of Kubernetes v1.2. A kubelet reads and writes the status of its node every 10 s, and watches
//! its pods, its node and the services. The proxy of each node watches services and endpoints. Scheduler and
//! controllers watch everything.

use super::{costs::Costs, queue::Stream};

/// Pods per node.
pub(super) const PODS: usize = 30;
/// Seconds between two status reports of a node.
const HEARTBEAT: f64 = 10.0;
/// Lifetime of a pod, in seconds.
const POD_LIFETIME: f64 = 3600.0;
/// Watches per node: pods, node and services by the kubelet, services and endpoints by the proxy.
const NODE_WATCHES: usize = 5;
/// Watchers of each kind besides those of nodes: scheduler, controllers, terminals of operators.
const OTHER_WATCHERS: f64 = 6.0;
/// Creations per pod lifetime: the pod and its events.
const CREATES: f64 = 6.0;
/// Updates per pod lifetime: binding, three of the status, deletion timestamp.
const UPDATES: f64 = 5.0;
/// Changes of endpoints per pod lifetime: it becomes ready, and ends. A controller merges simultaneous changes of one
/// service.
const ENDPOINTS: f64 = 2.0;
/// Memory of all objects relative to that of pods: events, endpoints, secrets are included.
const MEMORY_FACTOR: f64 = 2.0;

/// A cluster in its steady state.
pub(super) struct Cluster {
    nodes: f64,
}

impl Cluster {
    pub(super) fn of(nodes: usize) -> Self {
        Self { nodes: nodes as f64 }
    }

    /// Pods that start, and end, per second.
    fn churn(&self) -> f64 {
        self.nodes * PODS as f64 / POD_LIFETIME
    }

    /// Returns the load of one of `replicas` servers.
    pub(super) fn streams(&self, replicas: usize, has_etcd: bool, costs: &Costs) -> Vec<Stream> {
        let share = 1.0 / replicas as f64;
        let (beats, churn) = (self.nodes / HEARTBEAT, self.churn());
        let request = |rate: f64, cost: f64| Stream::request(rate * share, cost);
        let mut streams = vec![
            request(beats, costs.get),
            request(beats, costs.update),
            request(churn * CREATES, costs.create),
            request(churn * (UPDATES + ENDPOINTS), costs.update),
            request(churn, costs.delete),
        ];
        let changes = [
            // The status of a node goes to its kubelet and to the watchers of all nodes.
            (beats, 1.0 + OTHER_WATCHERS),
            (churn * (UPDATES + 2.0), 1.0 + OTHER_WATCHERS),
            // Events go to one watcher.
            (churn * (CREATES - 1.0), 1.0),
            // Endpoints go to every node.
            (churn * ENDPOINTS, self.nodes + OTHER_WATCHERS),
        ];
        for (rate, watchers) in changes {
            streams.push(Stream::deliveries(rate, watchers * share, costs.delivery));
            if has_etcd {
                streams.push(Stream::applied(rate, costs.apply));
            }
        }
        streams
    }

    /// Returns the memory of one of `replicas` servers in MB. Each server holds all objects.
    pub(super) fn memory(&self, replicas: usize, costs: &Costs) -> f64 {
        let watchers = (self.nodes * NODE_WATCHES as f64) / replicas as f64;
        costs.empty + self.nodes * PODS as f64 * costs.pod * MEMORY_FACTOR + watchers * costs.watcher
    }
}
