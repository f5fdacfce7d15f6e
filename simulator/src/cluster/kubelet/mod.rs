//! Kubelets: they run the pods that are bound to their nodes.
//!
//! - A kubelet admits a pod, starts its containers, probes them, restarts them with back-off, stops them on deletion,
//!   and updates the pod's status.
//! - A kubelet adopts the pods whose status says that they are already running, before it admits another one.
//! - The container engine runs the containers; their image and command decide the result of probes and hooks.
//! - Source of reasons and texts: `pkg/kubelet` of Kubernetes v1.2.

mod admit;
mod environment;
mod events;
mod hooks;
mod host_name;
mod network;
mod node_status;
mod pod_status;
mod probe;
mod server;
mod sources;
mod specs;
mod start;
mod state;
mod stop;
mod sync;
mod volumes;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{
    Node,
    container::Engine,
    runtime::{Queue, Reconcile, Runtime, ignore_not_found},
};
use crate::{
    api::{Object, Status, meta},
    client::{Api, EventRecorder, EventType, Informer, ObjectKey, reference},
    clock::{Clock, stamp},
};
use admit::{Admitted, Rejection};
use probe::Probes;
use sources::Sources;
use specs::Specs;
use state::PodState;
use volumes::LastingVolumes;

/// Interval at which a waiting pod is synced again.
const RESYNC: Duration = Duration::from_secs(10);

/// Registers the nodes.
pub(super) async fn register(runtime: &Runtime, nodes: &[Node]) -> Result<(), Status> {
    let api = runtime.api("v1", "nodes")?;
    for node in nodes {
        match api.create(node_status::registered(node, runtime.clock())).await {
            Err(status) if status.code != 409 => return Err(status),
            _ => {}
        }
    }
    Ok(())
}

/// Adds the kubelets of these nodes to the runtime.
pub(super) async fn add(runtime: &Arc<Runtime>, nodes: &[Node], engine: &Arc<Engine>) -> Result<(), Status> {
    let (queue, pods) = (runtime.queue(), runtime.informer("v1", "pods").await?);
    let names: BTreeSet<String> = nodes.iter().map(|node| node.name.clone()).collect();
    let keys = queue.clone();
    pods.on_change(move |change| {
        let node = change.object().map(|pod| meta::text(pod, "spec.nodeName"));
        if node.is_some_and(|node| names.contains(node)) {
            keys.extend(change.object().map(|pod| ObjectKey::of(pod)));
        }
    });
    let mut kubelets = BTreeMap::new();
    for node in nodes {
        let kubelet = Kubelet {
            node: node.clone(),
            recorder: runtime.recorder("kubelet", Some(&node.name))?,
            addresses: Mutex::default(),
            pods: Mutex::default(),
        };
        kubelets.insert(node.name.clone(), kubelet);
        server::serve(node, engine, &pods);
    }
    runtime.spawn(node_status::report(
        nodes.to_vec(),
        runtime.api("v1", "nodes")?,
        runtime.clock().clone(),
    ));
    let sources = Arc::new(Sources::new(runtime).await?);
    for informer in [&sources.config_maps, &sources.secrets] {
        let (pods, keys) = (pods.clone(), queue.clone());
        informer.on_change(move |change| {
            let Some(object) = change.object() else { return };
            let name = meta::text(object, "metadata.name");
            let of_namespace = pods.list_in(meta::text(object, "metadata.namespace"));
            let users = of_namespace.iter().filter(|pod| volumes::refers_to(pod, name));
            keys.extend(users.map(|pod| ObjectKey::of(pod)));
        });
    }
    network::connect(runtime, engine).await?;
    let executor = engine.clone();
    runtime.spawn(async move { executor.executor().run().await });
    let component = Kubelets {
        clock: runtime.clock().clone(),
        queue: queue.clone(),
        pods,
        sources,
        engine: engine.clone(),
        probes: Arc::default(),
        lasting: LastingVolumes::default(),
        specs: Specs::default(),
        nodes: runtime.informer("v1", "nodes").await?,
        api: runtime.api("v1", "pods")?,
        kubelets,
        states: Mutex::default(),
        ended: Mutex::default(),
    };
    component.adopt_running();
    runtime.work_low_priority(queue, component);
    Ok(())
}

struct Kubelets {
    clock: Clock,
    queue: Queue,
    pods: Arc<Informer>,
    nodes: Arc<Informer>,
    api: Api,
    kubelets: BTreeMap<String, Kubelet>,
    sources: Arc<Sources>,
    engine: Arc<Engine>,
    probes: Arc<Probes>,
    lasting: LastingVolumes,
    specs: Specs,
    states: Mutex<HashMap<ObjectKey, PodState>>,
    /// UIDs of the ended pods whose logs are kept.
    ended: Mutex<HashMap<ObjectKey, String>>,
}

/// State of one node's kubelet.
struct Kubelet {
    node: Node,
    recorder: EventRecorder,
    addresses: Mutex<Addresses>,
    /// The admitted pods.
    pods: Mutex<Admitted>,
}

/// The host parts of the pod addresses of a node.
#[derive(Default)]
struct Addresses {
    used: BTreeSet<u8>,
    last: u8,
}

impl Addresses {
    /// Allocates the next free number after the last allocated one.
    fn take(&mut self) -> u8 {
        let free = (1..=u8::MAX)
            .map(|step| self.last.wrapping_add(step))
            .find(|number| (3..255).contains(number) && !self.used.contains(number))
            .unwrap_or(u8::MAX);
        self.last = free;
        self.used.insert(free);
        free
    }
}

impl Reconcile for Kubelets {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        let Some(pod) = self.pods.get(key) else {
            self.kill_removed(key).await;
            return Ok(());
        };
        if self.keeps_another(key, meta::text(&pod, "metadata.uid")) {
            self.kill_removed(key).await;
        }
        let Some(kubelet) = self.kubelets.get(meta::text(&pod, "spec.nodeName")) else {
            return Ok(());
        };
        let known = self.states.lock().get(key).cloned();
        if !meta::text(&pod, "metadata.deletionTimestamp").is_empty() {
            return self.stop(key, &pod, kubelet, known).await;
        }
        if matches!(meta::text(&pod, "status.phase"), "Failed" | "Succeeded") {
            self.release(key);
            return Ok(());
        }
        let state = match known {
            Some(state) => state,
            None => match self.admit(key, &pod, kubelet).await? {
                Some(state) => state,
                None => return Ok(()),
            },
        };
        self.sync(key, &pod, kubelet, state).await
    }
}

impl Kubelets {
    /// Adopts the pods that an earlier process ran: their addresses and resources are taken.
    fn adopt_running(&self) {
        for pod in self.pods.list() {
            let ended = matches!(meta::text(&pod, "status.phase"), "Failed" | "Succeeded");
            let kubelet = self.kubelets.get(meta::text(&pod, "spec.nodeName"));
            if let Some(kubelet) = kubelet.filter(|_| !ended && !meta::text(&pod, "status.podIP").is_empty()) {
                let key = ObjectKey::of(&pod);
                let state = self.adopted(&key, &pod, kubelet);
                self.states.lock().insert(key, state);
            }
        }
    }

    /// Returns the state of a pod that its kubelet accepts, with the address of its status.
    fn adopted(&self, key: &ObjectKey, pod: &Object, kubelet: &Kubelet) -> PodState {
        kubelet.pods.lock().insert(key, pod);
        let mut state = PodState::new(pod, self.clock.now());
        if meta::lookup(pod, "spec.hostNetwork") == Some(&Value::Bool(true)) {
            state.address.get_or_insert_with(|| kubelet.node.address.to_string());
        } else if let Some(number) = number(&state) {
            kubelet.addresses.lock().used.insert(number);
        }
        state
    }

    /// Admits a pod, or rejects it.
    async fn admit(&self, key: &ObjectKey, pod: &Object, kubelet: &Kubelet) -> Result<Option<PodState>, Status> {
        let now = self.clock.now();
        let node = self.nodes.get(&ObjectKey::new("", kubelet.node.name.as_str()));
        if meta::text(pod, "status.phase") != "Running"
            && let Some(node) = node
            && let Some(rejection) = self.rejection(pod, &node, kubelet)
        {
            kubelet
                .event(&reference(pod), EventType::Warning, rejection.reason, rejection.message)
                .await;
            let status = json!({
                "phase": "Failed",
                "reason": rejection.reason,
                "message": format!("Pod {}", rejection.message),
                "startTime": stamp(now),
            });
            self.write(key, pod, status).await?;
            return Ok(None);
        }
        let mut state = self.adopted(key, pod, kubelet);
        if state.address.is_none() {
            let number = kubelet.addresses.lock().take();
            state.address = Some(kubelet.node.pod_address(number).to_string());
            let (status, _) = pod_status::status(pod, &state, &kubelet.node.address.to_string(), &self.probes, now);
            let status = Value::Object(status);
            // An earlier process may have written the status before it ended.
            if pod.get("status") != Some(&status) {
                self.states.lock().insert(key.clone(), state);
                self.write(key, pod, status).await?;
                // The status update enqueues the pod again; then it is run.
                return Ok(None);
            }
        }
        Ok(Some(state))
    }

    /// Returns why a pod is rejected. Reads the admitted pods only if their reserved resources leave too little,
    /// because some may have ended.
    fn rejection(&self, pod: &Object, node: &Object, kubelet: &Kubelet) -> Option<Rejection> {
        let admitted: Vec<_> = {
            let admitted = kubelet.pods.lock();
            if admitted.fits(pod, node) {
                return None;
            }
            admitted.keys().filter_map(|key| self.pods.get(key)).collect()
        };
        admit::rejection(pod, node, &admitted)
    }

    /// Updates a pod's status, if it differs.
    async fn write(&self, key: &ObjectKey, pod: &Object, status: Value) -> Result<(), Status> {
        if pod.get("status") == Some(&status) {
            return Ok(());
        }
        let mut changed = pod.clone();
        changed.insert("status".into(), status);
        ignore_not_found(self.api.in_namespace(&key.namespace).update_status(changed).await)
    }

    /// Removes the state of a pod, and kills its remaining containers.
    fn forget(&self, key: &ObjectKey) {
        self.release(key);
        if let Some(uid) = self.ended.lock().remove(key) {
            self.engine.remove_pod(&uid);
        }
    }

    /// Whether the kept state is that of an earlier pod with the same name.
    fn keeps_another(&self, key: &ObjectKey, uid: &str) -> bool {
        self.states.lock().get(key).is_some_and(|state| state.uid != uid)
            || self.ended.lock().get(key).is_some_and(|ended| ended != uid)
    }

    /// Releases the address of a pod whose containers have ended. Their logs are kept until the pod is deleted.
    fn release(&self, key: &ObjectKey) {
        let Some(state) = self.states.lock().remove(key) else {
            return;
        };
        self.ended.lock().insert(key.clone(), state.uid.clone());
        let Some(kubelet) = self.kubelets.get(&state.node) else {
            return;
        };
        kubelet.pods.lock().remove(key);
        if let Some(number) = number(&state) {
            kubelet.addresses.lock().used.remove(&number);
        }
        if let Some(address) = state.address.as_ref().and_then(|address| address.parse().ok())
            && address != kubelet.node.address
        {
            self.engine.network().remove(address);
        }
    }
}

/// Returns the host part of a pod's address.
fn number(state: &PodState) -> Option<u8> {
    let address = state.address.as_ref()?;
    if !address.starts_with("10.244.") {
        return None;
    }
    address.rsplit('.').next()?.parse().ok()
}
