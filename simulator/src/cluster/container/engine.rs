//! The container engine: it runs the containers of pods.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    net::Ipv4Addr,
    sync::Arc,
};

use parking_lot::Mutex;
use serde_json::{Map, Value};
use stuntdouble_shell::{Files, Machine, complete, is_known};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use super::{
    executor::Executor,
    fake_container::FakeContainers,
    image::{Image, Images},
    log_buffer::RunLogs,
    network::Network,
    process::{Container, Containers, Line, LogPages},
    program::{ClusterTime, ContainerPrograms},
    running::{Ended, Main, RunningContainer, State},
};
use crate::{clock::Clock, cluster::network::Backends};

/// Settings of one run of a container.
pub(crate) struct ContainerSpec {
    /// UID of the pod.
    pub(crate) uid: String,
    /// Namespace of the pod.
    pub(crate) namespace: String,
    /// Name of the container.
    pub(crate) name: String,
    /// Image.
    pub(crate) image: String,
    /// Command that replaces the image's entrypoint; empty for the image's own.
    pub(crate) command: Vec<String>,
    /// Arguments that replace the image's command.
    pub(crate) arguments: Vec<String>,
    /// Environment variables.
    pub(crate) environment: Vec<(String, String)>,
    /// Working directory; empty for the image's own.
    pub(crate) directory: String,
    /// Host name.
    pub(crate) hostname: String,
    /// IP address that its servers listen on.
    pub(crate) host: Ipv4Addr,
    /// Mounted volumes: mount path, files, and whether the mount is read-only.
    pub(crate) mounts: Vec<(String, Arc<Files>, bool)>,
    /// Initial files: path and content.
    pub(crate) files: Vec<(String, String)>,
    /// Whether it has a standard input (`stdin`), and whether that closes with the first client (`stdinOnce`).
    pub(crate) stdin: (bool, bool),
    /// Whether it has a terminal.
    pub(crate) tty: bool,
}

/// The runs of a container that are kept: the current or last one, and the one before it.
#[derive(Default)]
struct Runs {
    current: Option<Arc<RunningContainer>>,
    previous: Option<Arc<RunningContainer>>,
    logs: Arc<RunLogs>,
}

/// Runs the containers of pods, and the servers in them.
pub(crate) struct Engine {
    pub(super) clock: Clock,
    pub(super) executor: Executor,
    pub(super) network: Arc<Network>,
    images: Images,
    pods: Mutex<HashMap<String, BTreeMap<String, Runs>>>,
    elsewhere: FakeContainers,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("images", &self.images)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine without containers.
    pub(crate) fn new(clock: Clock, images: Images, backends: Backends) -> Arc<Self> {
        Arc::new(Self {
            elsewhere: FakeContainers::new(clock.clone()),
            clock,
            executor: Executor::new(),
            network: Arc::new(Network::new(backends)),
            images,
            pods: Mutex::default(),
        })
    }

    /// Executor of the processes.
    pub(crate) fn executor(&self) -> &Executor {
        &self.executor
    }

    /// Network of the pods.
    pub(crate) fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// Returns the image of this name.
    pub(crate) fn image(&self, name: &str) -> Image {
        self.images.find(name)
    }

    /// Starts a container; calls `on_end` when it ends.
    ///
    /// # Errors
    /// The reason why its program cannot be run.
    pub(crate) async fn start(
        self: &Arc<Self>,
        spec: ContainerSpec,
        on_end: impl FnOnce(&Ended) + Send + 'static,
    ) -> Result<Arc<RunningContainer>, String> {
        let uid = spec.uid.clone();
        let container = Arc::new(self.make(spec)?);
        container.state.lock().on_end = Some(Box::new(on_end));
        {
            let mut pods = self.pods.lock();
            let runs = pods.entry(uid).or_default();
            let runs = runs.entry(container.name.clone()).or_default();
            runs.logs.add(container.log.clone());
            runs.previous = runs.current.replace(container.clone());
        }
        container.start().await;
        Ok(container)
    }

    fn make(self: &Arc<Self>, spec: ContainerSpec) -> Result<RunningContainer, String> {
        let image = self.image(&spec.image);
        let data = image.data.clone();
        let mut machine = Machine::new(spec.hostname, Arc::new(ClusterTime(self.clock.clone())));
        let own_files = data.iter().flat_map(|data| &data.files);
        let files = own_files.chain(spec.files.iter().map(|(path, content)| (path, content)));
        for (path, content) in files {
            machine
                .files
                .mount(path, content.as_bytes(), false)
                .map_err(|why| format!("{path}: {why}"))?;
        }
        for (path, volume, read_only) in spec.mounts {
            machine
                .files
                .attach(&path, volume, read_only)
                .map_err(|why| format!("{path}: {why}"))?;
        }
        machine.programs = Some(Arc::new(ContainerPrograms {
            image: data.clone(),
            host: spec.host,
            namespace: spec.namespace.as_str().into(),
            network: self.network.clone(),
        }));
        let mut command = spec.command;
        if command.is_empty() {
            command = data.as_ref().map(|data| data.entrypoint.clone()).unwrap_or_default();
            match &data {
                Some(data) if spec.arguments.is_empty() => command.extend(data.command.iter().cloned()),
                _ => command.extend(spec.arguments),
            }
        } else {
            command.extend(spec.arguments);
        }
        let has_shell = data.as_ref().is_some_and(|data| data.shell);
        if command.is_empty() && has_shell && spec.stdin.0 {
            command.push("sh".to_owned());
        }
        let main = main_process(&image, &machine, &command)?;
        let mut environment: Vec<(String, String)> = data
            .iter()
            .flat_map(|data| &data.environment)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        environment.extend(spec.environment);
        let environment = complete(environment.into(), &machine.hostname);
        let directory = match (spec.directory.as_str(), &data) {
            ("", Some(data)) if !data.directory.is_empty() => data.directory.clone(),
            ("", _) => "/".to_owned(),
            (directory, _) => directory.to_owned(),
        };
        let (stdin_open, stdin_once) = spec.stdin;
        Ok(RunningContainer {
            name: spec.name,
            engine: self.clone(),
            image,
            machine: Arc::new(machine),
            environment,
            directory,
            host: spec.host,
            command,
            main,
            stdin_open,
            stdin_once,
            tty: spec.tty,
            log: Arc::default(),
            state: Mutex::new(State::default()),
            killed: CancellationToken::new(),
            termination: Arc::default(),
        })
    }

    /// Removes the containers of a pod, and kills those that still run.
    pub(crate) fn remove_pod(&self, uid: &str) {
        let runs = self.pods.lock().remove(uid);
        for container in runs.into_iter().flatten().filter_map(|(_, runs)| runs.current) {
            container.kill();
        }
    }

    /// Returns the last run of a container, or the run before it if `previous`.
    fn run_of(&self, pod: &Map<String, Value>, name: &str, previous: bool) -> Option<Arc<RunningContainer>> {
        let pods = self.pods.lock();
        let runs = pods.get(pod.get("metadata")?.get("uid")?.as_str()?)?.get(name)?;
        if !previous {
            return runs.current.clone();
        }
        // While a container waits for its restart, its last run counts as the previous one.
        let status = status(pod, name)?;
        status["lastState"].get("terminated")?;
        let waits = status["state"].get("waiting").is_some();
        let last = runs.current.clone().filter(|run| waits && run.ended().is_some());
        last.or_else(|| runs.previous.clone())
    }

    fn runs(&self, pod: &Map<String, Value>) -> bool {
        let uid = pod.get("metadata").and_then(|metadata| metadata.get("uid"));
        uid.and_then(Value::as_str)
            .is_some_and(|uid| self.pods.lock().contains_key(uid))
    }
}

/// Finds the first process of a container. Fails if the image is known and does not have the program.
fn main_process(image: &Image, machine: &Machine, command: &[String]) -> Result<Main, String> {
    if let Some(behaviour) = &image.behaviour {
        return Ok(Main::Behaviour(behaviour.clone()));
    }
    let program = match command.first() {
        None => return Ok(Main::Unknown),
        Some(program) => program.as_str(),
    };
    let own = machine.programs.as_ref().and_then(|all| all.find(program));
    let has_shell = image.data.as_ref().is_none_or(|data| data.shell);
    let is_file = program.contains('/') && machine.files.size(program).is_some();
    match (own, &image.data) {
        (Some(_), _) => Ok(Main::Command),
        (None, _) if has_shell && (is_known(program) || is_file) => Ok(Main::Command),
        (None, None) => Ok(Main::Unknown),
        (None, Some(_)) if program.contains('/') => {
            Err(format!("exec: {program:?}: stat {program}: no such file or directory"))
        }
        (None, Some(_)) => Err(format!("exec: {program:?}: executable file not found in $PATH")),
    }
}

/// Returns the status of a container from its pod's status.
fn status<'a>(pod: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let statuses = pod.get("status")?.get("containerStatuses")?.as_array()?;
    statuses.iter().find(|status| status["name"] == name)
}

impl Containers for Arc<Engine> {
    fn running(&self, pod: &Map<String, Value>, name: &str) -> Option<Arc<dyn Container>> {
        match self.run_of(pod, name, false) {
            Some(run) if run.ended().is_none() => Some(Arc::new(run)),
            _ if self.runs(pod) => None,
            _ => self.elsewhere.running(pod, name),
        }
    }

    fn log(
        &self,
        pod: &Map<String, Value>,
        name: &str,
        previous: bool,
    ) -> Result<(Vec<Line>, broadcast::Receiver<Line>), String> {
        let pod_name = pod.get("metadata").and_then(|metadata| metadata.get("name"));
        let pod_name = pod_name.and_then(Value::as_str).unwrap_or_default();
        if let Some(run) = self.run_of(pod, name, previous) {
            return Ok(run.log.follow());
        }
        if previous {
            return Err(format!(
                "previous terminated container {name:?} in pod {pod_name:?} not found"
            ));
        }
        if !self.runs(pod)
            && let Some(run) = self.elsewhere.running(pod, name)
        {
            return Ok(run.log());
        }
        let reason = status(pod, name).and_then(|status| status["state"]["waiting"]["reason"].as_str());
        let why = match reason {
            Some("ErrImagePull") => "image can't be pulled",
            Some("ImagePullBackOff") => "trying and failing to pull image",
            Some(reason) => reason,
            None => "ContainerCreating",
        };
        Err(format!(
            "container {name:?} in pod {pod_name:?} is waiting to start: {why}"
        ))
    }

    fn pages(&self, pod: &Map<String, Value>, name: &str) -> Option<Arc<dyn LogPages>> {
        if !self.runs(pod) {
            return self.elsewhere.pages(pod, name);
        }
        let uid = pod.get("metadata")?.get("uid")?.as_str()?;
        let pods = self.pods.lock();
        Some(pods.get(uid)?.get(name)?.logs.clone())
    }
}
