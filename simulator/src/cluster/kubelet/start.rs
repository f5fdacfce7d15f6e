//! Container start: image pull, container settings, `postStart` hook.

use std::sync::atomic::Ordering;

use jiff::Timestamp;
use serde_json::Value;

use super::{
    Kubelet, Kubelets, RESYNC,
    environment::{expand, variables},
    events::{container_id, short},
    hooks,
    host_name::HostName,
    state::{ContainerState, PodState, Run, Waiting, detected_at},
};
use crate::{
    api::{Object, meta},
    client::{EventType, ObjectKey},
    cluster::{
        NAME_SERVER,
        container::{ContainerSpec, RunningContainer},
    },
};

/// Exit code of a container that cannot be run.
const CANNOT_RUN: i32 = -1;

/// The reason and message of a failed start.
pub(super) struct Failure {
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Kubelets {
    /// Pulls the image of a container if necessary. Fails with the reason.
    pub(super) async fn pull(
        &self,
        pod: &Object,
        kubelet: &Kubelet,
        spec: &Value,
        state: &mut ContainerState,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let image = spec["image"].as_str().unwrap_or_default();
        let policy = spec["imagePullPolicy"].as_str().unwrap_or_default();
        let absent = self.engine.image(image);
        let absent = absent.behaviour.is_none() && absent.data.is_some_and(|data| data.absent);
        let name = state.name.clone();
        if !absent {
            let pulled = if policy == "Always" {
                let pulling = format!("pulling image {image:?}");
                kubelet
                    .container_event(pod, &name, EventType::Normal, "Pulling", &pulling)
                    .await;
                format!("Successfully pulled image {image:?}")
            } else {
                format!("Container image {image:?} already present on machine")
            };
            kubelet
                .container_event(pod, &name, EventType::Normal, "Pulled", &pulled)
                .await;
            return Ok(());
        }
        if policy == "Never" {
            let message = format!("Container image {image:?} is not present with pull policy of Never");
            kubelet
                .container_event(pod, &name, EventType::Warning, "ErrImageNeverPull", &message)
                .await;
            return Err(Failure {
                reason: "ErrImageNeverPull",
                message,
            });
        }
        let (back_off, last) = &mut state.pull;
        if let Some(last) = *last
            && back_off.wait(last, now).is_some()
        {
            let message = format!("Back-off pulling image {image:?}");
            kubelet
                .container_event(pod, &name, EventType::Normal, "BackOff", &message)
                .await;
            return Err(Failure {
                reason: "ImagePullBackOff",
                message,
            });
        }
        if last.is_none() {
            back_off.wait(Timestamp::MIN, now);
        }
        *last = Some(now);
        let message = not_found(image);
        for (kind, reason, message) in [
            (EventType::Normal, "Pulling", format!("pulling image {image:?}")),
            (
                EventType::Warning,
                "Failed",
                format!("Failed to pull image {image:?}: {message}"),
            ),
        ] {
            kubelet.container_event(pod, &name, kind, reason, &message).await;
        }
        Err(Failure {
            reason: "ErrImagePull",
            message,
        })
    }

    /// Starts a run of a container.
    #[expect(clippy::too_many_arguments, reason = "a container of a pod on a node, and the time")]
    pub(super) async fn start(
        &self,
        key: &ObjectKey,
        pod: &Object,
        kubelet: &Kubelet,
        spec: &Value,
        state: &PodState,
        restarts: u64,
        now: Timestamp,
    ) -> Result<Run, Failure> {
        let name = spec["name"].as_str().unwrap_or_default();
        let id = container_id(&state.uid, name, restarts);
        let mut run = Run::new(id.clone(), now, self.specs.share(spec));
        let failure = |message: String| Failure {
            reason: "RunContainerError",
            message,
        };
        let container_spec = self.container_spec(pod, kubelet, spec, state).map_err(failure)?;
        let short_id = short(&id);
        let created = format!("Created container with docker id {short_id}");
        kubelet
            .container_event(pod, name, EventType::Normal, "Created", &created)
            .await;
        match self.launch(key, &run, container_spec).await {
            Ok(container) => {
                run.container = Some(container);
                let started = format!("Started container with docker id {short_id}");
                kubelet
                    .container_event(pod, name, EventType::Normal, "Started", &started)
                    .await;
                self.probe(key, pod, kubelet, &run);
                self.post_start(pod, kubelet, name, &run).await;
            }
            Err(why) => {
                let long = id.strip_prefix("docker://").unwrap_or(&id);
                let system = format!("[8] System error: {why}");
                let error = format!("Error response from daemon: Cannot start container {long}: {system}");
                let message = format!("Failed to start container with docker id {short_id} with error: {error}");
                kubelet
                    .container_event(pod, name, EventType::Warning, "Failed", &message)
                    .await;
                run.failure = Some((CANNOT_RUN, system));
                run.start_error = Some(format!("runContainer: {error}"));
            }
        }
        Ok(run)
    }

    /// Starts the container of a run. The pod is enqueued when it ends.
    pub(super) async fn launch(
        &self,
        key: &ObjectKey,
        run: &Run,
        spec: ContainerSpec,
    ) -> Result<std::sync::Arc<RunningContainer>, String> {
        let (queue, key, started, stopping) = (self.queue.clone(), key.clone(), run.started, run.stopping.clone());
        let on_end = move |ended: &crate::cluster::container::Ended| {
            if stopping.load(Ordering::Acquire) {
                // A container takes less time to stop than another to start.
                return queue.add_first(key);
            }
            let detected = detected_at(started, ended.at);
            queue.add_after(key, detected.duration_since(ended.at).try_into().unwrap_or(RESYNC));
        };
        self.engine.start(spec, on_end).await
    }

    /// Runs the `postStart` hook of a started container, and kills the container if the hook fails.
    async fn post_start(&self, pod: &Object, kubelet: &Kubelet, name: &str, run: &Run) {
        let Some(container) = run.container.clone() else { return };
        let Some(hook) = run.spec["lifecycle"].get("postStart").cloned() else {
            return;
        };
        let (engine, spec, node) = (self.engine.clone(), run.spec.clone(), kubelet.node.address);
        let (recorder, stopping) = (kubelet.recorder.clone(), run.stopping.clone());
        let involved = super::events::involved(pod, name);
        let id = short(&run.id).to_owned();
        self.engine.executor().spawn(async move {
            let why = match hooks::run(&hook, &spec, &container, &engine, node).await {
                Ok(result) if result.succeeded => return,
                Ok(result) => result.output,
                Err(why) => why,
            };
            if stopping.swap(true, Ordering::AcqRel) {
                return;
            }
            let message = format!("Killing container with docker id {id}: PostStart handler: {why}");
            // Containers do not depend on events.
            let _ = recorder.record(&involved, EventType::Normal, "Killing", &message).await;
            container.kill();
        });
    }

    /// Returns the settings of a container's run.
    pub(super) fn container_spec(
        &self,
        pod: &Object,
        kubelet: &Kubelet,
        spec: &Value,
        state: &PodState,
    ) -> Result<ContainerSpec, String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let address = state.address.clone().unwrap_or_default();
        let host = address.parse().unwrap_or(kubelet.node.address);
        self.engine.network().add(host);
        let environment = variables(pod, spec, &address, &self.sources)
            .map_err(|why| format!("GenerateRunContainerOptions: {why}"))?;
        let value = |name: &str| {
            let found = environment.iter().rev().find(|(own, _)| own == name);
            found.map(|(_, value)| value.clone())
        };
        let words = |field: &str| -> Vec<String> {
            let words = spec[field].as_array().into_iter().flatten();
            words
                .filter_map(Value::as_str)
                .map(|word| expand(word, value))
                .collect()
        };
        let mut mounts = Vec::new();
        for mount in spec["volumeMounts"].as_array().into_iter().flatten() {
            let volume = state.volumes.as_ref().and_then(|all| all.get(mount["name"].as_str()?));
            if let Some(volume) = volume {
                mounts.push((text(&mount["mountPath"]), volume.clone(), mount["readOnly"] == true));
            }
        }
        let own_network = meta::lookup(pod, "spec.hostNetwork") != Some(&Value::Bool(true));
        let name = match own_network {
            true => HostName::of(pod),
            false => HostName::of_node(&kubelet.node),
        };
        let namespace = meta::text(pod, "metadata.namespace");
        let mut files = vec![(
            "/etc/resolv.conf".to_owned(),
            format!(
                "search {namespace}.svc.cluster.local svc.cluster.local cluster.local\n\
                 nameserver {NAME_SERVER}\noptions ndots:5\n"
            ),
        )];
        let hosts_mounted = mounts.iter().any(|(path, _, _)| path == "/etc/hosts");
        if own_network && !hosts_mounted {
            files.push(("/etc/hosts".to_owned(), name.hosts(&address)));
        }
        let message_path = spec["terminationMessagePath"].as_str().filter(|path| !path.is_empty());
        files.push((message_path.unwrap_or("/dev/termination-log").to_owned(), String::new()));
        Ok(ContainerSpec {
            command: words("command"),
            arguments: words("args"),
            uid: state.uid.clone(),
            namespace: namespace.to_owned(),
            name: text(&spec["name"]),
            image: text(&spec["image"]),
            environment,
            directory: text(&spec["workingDir"]),
            hostname: name.label,
            host,
            mounts,
            files,
            stdin: (spec["stdin"] == true, spec["stdinOnce"] == true),
            tty: spec["tty"] == true,
        })
    }
}

/// Returns the waiting state of a container whose start failed.
pub(super) fn waiting(failure: &Failure) -> Waiting {
    Waiting {
        reason: failure.reason,
        message: failure.message.clone(),
    }
}

/// Docker's error message for an image missing in its registry.
fn not_found(image: &str) -> String {
    let (repository, tag) = match image.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => (repository, tag),
        _ => (image, "latest"),
    };
    let parts: Vec<&str> = repository.split('/').collect();
    match parts.as_slice() {
        [name] => format!("Error: image library/{name}:{tag} not found"),
        [_registry, rest @ ..] if rest.len() > 1 => format!(
            "image pull failed for {image}, this may be because there are no credentials on this request.  details: \
                (Error: image {}:{tag} not found)",
            rest.join("/")
        ),
        _ => format!("Error: image {repository}:{tag} not found"),
    }
}
