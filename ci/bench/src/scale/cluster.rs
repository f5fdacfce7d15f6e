//! What a cluster asks of its API servers.
//!
//! Source: the defaults of Kubernetes v1.2. A kubelet reads and writes its node's status every 10 s, and watches its pods, its node and the services;
//! the proxy of each node watches services and endpoints; scheduler and controllers watch everything.

use super::{costs::Costs, queue::Stream};

/// Pods of a node.
pub(super) const PODS: usize = 30;
/// Seconds between two reports of a node's status.
const HEARTBEAT: f64 = 10.0;
/// Seconds that a pod lives.
const LIFE: f64 = 3600.0;
/// Watches of a node: pods, node and services of the kubelet, services and endpoints of the proxy.
const NODE_WATCHES: usize = 5;
/// Watchers of each kind besides the nodes': scheduler, controllers, an operator's terminals.
const OTHERS: f64 = 6.0;
/// Creations in a pod's life: itself and its events.
const CREATES: f64 = 6.0;
/// Updates in a pod's life: binding, three of its status, the mark of its deletion.
const UPDATES: f64 = 5.0;
/// Changes of endpoints in a pod's life: it becomes ready, and goes. A controller joins changes of one service that come together.
const ENDPOINTS: f64 = 2.0;
/// Memory of other objects for each pod's: its events, endpoints, secrets.
const BESIDE: f64 = 2.0;

/// A cluster in its steady state.
pub(super) struct Cluster {
    nodes: f64,
}

impl Cluster {
    pub(super) fn of(nodes: usize) -> Self {
        Self { nodes: nodes as f64 }
    }

    /// Pods that begin, and end, in a second.
    fn churn(&self) -> f64 {
        self.nodes * PODS as f64 / LIFE
    }

    /// What one of `replicas` servers gets.
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
            // A node's status goes to its kubelet and to those who watch all nodes.
            (beats, 1.0 + OTHERS),
            (churn * (UPDATES + 2.0), 1.0 + OTHERS),
            // Events go to whoever watches events.
            (churn * (CREATES - 1.0), 1.0),
            // Endpoints go to every node.
            (churn * ENDPOINTS, self.nodes + OTHERS),
        ];
        for (rate, watchers) in changes {
            streams.push(Stream::deliveries(rate, watchers * share, costs.delivery));
            if has_etcd {
                streams.push(Stream::applied(rate, costs.apply));
            }
        }
        streams
    }

    /// MB of one of `replicas` servers, each of which has all objects.
    pub(super) fn memory(&self, replicas: usize, costs: &Costs) -> f64 {
        let watchers = (self.nodes * NODE_WATCHES as f64) / replicas as f64;
        costs.empty + self.nodes * PODS as f64 * costs.pod * BESIDE + watchers * costs.watcher
    }
}
