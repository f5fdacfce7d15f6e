//! Kubelets: they run the pods that are bound to their nodes.
//!
//! - A pod is admitted, its containers are started, watched, restarted with back-off, and stopped when it is deleted; its status says so.
//! - A kubelet that finds a pod whose status says that it runs goes on with it.
//! - Limits: images are always there; probes succeed after their delay; volumes are not looked at.
//! - Source of reasons and texts: `pkg/kubelet` of Kubernetes v1.2.

mod admit;
mod node_status;
mod pod_status;
mod state;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use md5::{Digest, Md5};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{
    Node,
    runtime::{Queue, Reconcile, Runtime},
};
use crate::{
    api::{Object, Status, meta},
    client::{Api, EventRecorder, EventType, Informer, ObjectKey, reference},
    clock::{Clock, stamp},
};
use state::PodState;

/// How often a pod is looked at again that waits for a restart.
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
pub(super) async fn add(runtime: &Arc<Runtime>, nodes: &[Node]) -> Result<(), Status> {
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
    }
    runtime.spawn(node_status::report(
        nodes.to_vec(),
        runtime.api("v1", "nodes")?,
        runtime.clock().clone(),
    ));
    let component = Kubelets {
        clock: runtime.clock().clone(),
        queue: queue.clone(),
        pods,
        nodes: runtime.informer("v1", "nodes").await?,
        api: runtime.api("v1", "pods")?,
        kubelets,
        states: Mutex::default(),
    };
    runtime.work(queue, component);
    Ok(())
}

struct Kubelets {
    clock: Clock,
    queue: Queue,
    pods: Arc<Informer>,
    nodes: Arc<Informer>,
    api: Api,
    kubelets: BTreeMap<String, Kubelet>,
    states: Mutex<HashMap<ObjectKey, PodState>>,
}

/// What belongs to one node.
struct Kubelet {
    node: Node,
    recorder: EventRecorder,
    addresses: Mutex<Addresses>,
    /// The pods that it has taken on.
    pods: Mutex<BTreeSet<ObjectKey>>,
}

/// The numbers of the addresses that a node's pods have.
#[derive(Default)]
struct Addresses {
    used: BTreeSet<u8>,
    last: u8,
}

impl Addresses {
    /// The next free number after the last one that was taken.
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
            self.forget(key);
            return Ok(());
        };
        let Some(kubelet) = self.kubelets.get(meta::text(&pod, "spec.nodeName")) else {
            return Ok(());
        };
        let known = self.states.lock().get(key).cloned();
        let known = known.filter(|state| state.uid == meta::text(&pod, "metadata.uid"));
        if !meta::text(&pod, "metadata.deletionTimestamp").is_empty() {
            return self.stop(key, &pod, kubelet, known).await;
        }
        if matches!(meta::text(&pod, "status.phase"), "Failed" | "Succeeded") {
            self.forget(key);
            return Ok(());
        }
        let state = match known {
            Some(state) => state,
            None => match self.admit(key, &pod, kubelet).await? {
                Some(state) => state,
                None => return Ok(()),
            },
        };
        self.run(key, &pod, kubelet, state).await
    }
}

impl Kubelets {
    /// Stops a pod's containers, and takes the pod away.
    async fn stop(
        &self,
        key: &ObjectKey,
        pod: &Object,
        kubelet: &Kubelet,
        known: Option<PodState>,
    ) -> Result<(), Status> {
        let state = known.unwrap_or_else(|| PodState::new(pod, self.clock.now()));
        let now = self.clock.now();
        for container in &state.containers {
            // One that has ended by itself need not be killed, even if that has not been noticed yet.
            let runs = |run: &&state::Run| run.exit.is_none_or(|(end, _)| end > now);
            if let Some(run) = container.running.as_ref().filter(runs) {
                let message = format!("Killing container with docker id {}: Need to kill pod.", short(&run.id));
                let involved = involved(pod, &container.name);
                kubelet.event(&involved, EventType::Normal, "Killing", &message).await;
            }
        }
        self.forget(key);
        match self.api.in_namespace(&key.namespace).delete(&key.name, Some(0)).await {
            Err(gone) if gone.code == 404 => Ok(()),
            other => other,
        }
    }

    /// Takes a pod on, or refuses it.
    async fn admit(&self, key: &ObjectKey, pod: &Object, kubelet: &Kubelet) -> Result<Option<PodState>, Status> {
        let now = self.clock.now();
        let others: Vec<_> = kubelet
            .pods
            .lock()
            .iter()
            .filter_map(|key| self.pods.get(key))
            .collect();
        let node = self.nodes.get(&ObjectKey::new("", kubelet.node.name.as_str()));
        if meta::text(pod, "status.phase") != "Running"
            && let Some(node) = node
            && let Some(refusal) = admit::refusal(pod, &node, &others)
        {
            kubelet
                .event(&reference(pod), EventType::Warning, refusal.reason, refusal.message)
                .await;
            let status = json!({
                "phase": "Failed",
                "reason": refusal.reason,
                "message": format!("Pod {}", refusal.message),
                "startTime": stamp(now),
            });
            self.write(key, pod, status).await?;
            return Ok(None);
        }
        kubelet.pods.lock().insert(key.clone());
        let mut state = PodState::new(pod, now);
        if let Some(number) = state.address.as_ref().and_then(|a| a.rsplit('.').next()?.parse().ok()) {
            kubelet.addresses.lock().used.insert(number);
        }
        if state.address.is_none() {
            let number = kubelet.addresses.lock().take();
            state.address = Some(kubelet.node.pod_address(number).to_string());
            let (status, _) = pod_status::status(pod, &state, &kubelet.node.address.to_string(), now);
            self.states.lock().insert(key.clone(), state.clone());
            self.write(key, pod, Value::Object(status)).await?;
            // The change of the status brings the pod here again, to be run.
            return Ok(None);
        }
        Ok(Some(state))
    }

    /// Brings a pod's containers to where they should be, and its status with them.
    async fn run(&self, key: &ObjectKey, pod: &Object, kubelet: &Kubelet, mut state: PodState) -> Result<(), Status> {
        let now = self.clock.now();
        let containers = meta::lookup(pod, "spec.containers").and_then(Value::as_array);
        let policy = meta::text(pod, "spec.restartPolicy");
        let mut wait: Option<Duration> = None;
        for (at, container) in containers.into_iter().flatten().enumerate() {
            let Some(current) = state.containers.get_mut(at) else {
                continue;
            };
            current.end(now);
            if current.running.is_some() {
                continue;
            }
            let again = match policy {
                "Always" => true,
                "OnFailure" => current.failed(),
                _ => false,
            };
            if current.last.is_some() && !again {
                continue;
            }
            if let Some(left) = current.back_off(now) {
                current.waits = true;
                wait = Some(wait.unwrap_or(RESYNC).min(left));
                let message = current.waiting_message(&pod_status::long_name(pod));
                kubelet.back_off(pod, &current.name, &message).await;
                continue;
            }
            let id = container_id(&state.uid, &current.name, current.restarts);
            kubelet.started(pod, container, &id).await;
            current.start(container, id, now);
        }
        self.states.lock().insert(key.clone(), state.clone());
        let (status, next) = pod_status::status(pod, &state, &kubelet.node.address.to_string(), now);
        if let Some(delay) = next.into_iter().chain(wait).min() {
            self.queue.add_after(key.clone(), delay.max(Duration::from_millis(1)));
        }
        // Where every container has ended before anyone has seen it run, none is shown as running.
        let gone = |container: &state::ContainerState| {
            let exit = container.running.as_ref().and_then(|run| run.exit);
            exit.is_some_and(|(end, _)| end <= now)
        };
        if policy == "Never" && state.containers.iter().all(gone) {
            return Ok(());
        }
        self.write(key, pod, Value::Object(status)).await
    }

    /// Writes a pod's status, if it differs.
    async fn write(&self, key: &ObjectKey, pod: &Object, status: Value) -> Result<(), Status> {
        if pod.get("status") == Some(&status) {
            return Ok(());
        }
        let mut changed = pod.clone();
        changed.insert("status".into(), status);
        match self.api.in_namespace(&key.namespace).update_status(changed).await {
            Err(gone) if gone.code == 404 => Ok(()),
            other => other.map(drop),
        }
    }

    fn forget(&self, key: &ObjectKey) {
        let Some(state) = self.states.lock().remove(key) else {
            return;
        };
        let Some(kubelet) = self.kubelets.get(&state.node) else {
            return;
        };
        kubelet.pods.lock().remove(key);
        if let Some(number) = state.address.as_ref().and_then(|a| a.rsplit('.').next()?.parse().ok()) {
            kubelet.addresses.lock().used.remove(&number);
        }
    }
}

impl Kubelet {
    /// Events are no reason to stop: where one cannot be recorded, the pod runs all the same.
    async fn event(&self, involved: &Value, kind: EventType, reason: &str, message: &str) {
        let _ = self.recorder.record(involved, kind, reason, message).await;
    }

    /// Records that a container is started.
    async fn started(&self, pod: &Object, container: &Value, id: &str) {
        let image = container["image"].as_str().unwrap_or_default();
        let involved = involved(pod, container["name"].as_str().unwrap_or_default());
        let normal = |reason: &'static str, message: String| (reason, message);
        let mut events = Vec::new();
        if container["imagePullPolicy"] == "Always" {
            events.push(normal("Pulling", format!("pulling image {image:?}")));
            events.push(normal("Pulled", format!("Successfully pulled image {image:?}")));
        } else {
            events.push(normal(
                "Pulled",
                format!("Container image {image:?} already present on machine"),
            ));
        }
        let id = short(id);
        events.push(normal("Created", format!("Created container with docker id {id}")));
        events.push(normal("Started", format!("Started container with docker id {id}")));
        for (reason, message) in events {
            self.event(&involved, EventType::Normal, reason, &message).await;
        }
    }

    /// Records that a container is not restarted yet.
    async fn back_off(&self, pod: &Object, container: &str, message: &str) {
        let involved = involved(pod, container);
        self.event(
            &involved,
            EventType::Warning,
            "BackOff",
            "Back-off restarting failed docker container",
        )
        .await;
        let message = format!(
            "Error syncing pod, skipping: failed to \"StartContainer\" for {container:?} with CrashLoopBackOff: {message:?}\n"
        );
        self.event(&reference(pod), EventType::Warning, "FailedSync", &message)
            .await;
    }
}

/// The reference to a container of a pod.
fn involved(pod: &Object, container: &str) -> Value {
    let mut reference = reference(pod);
    reference["fieldPath"] = format!("spec.containers{{{container}}}").into();
    reference
}

/// The id of a run of a container. All runs of a container begin alike, so that their events count together.
fn container_id(uid: &str, container: &str, restarts: u64) -> String {
    let half = |restarts: Option<u64>| {
        let digest = Md5::digest(format!("{uid}/{container}/{restarts:?}"));
        digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    format!("docker://{}{}", half(None), half(Some(restarts)))
}

/// An id as events show it.
fn short(id: &str) -> &str {
    let id = id.strip_prefix("docker://").unwrap_or(id);
    id.get(..12).unwrap_or(id)
}
