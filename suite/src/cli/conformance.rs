//! `stuntdouble conformance`: runs the conformance suite against a server.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;

use super::access::Access;
use super::reports::{Format, Reports, set_options};
use super::signal::StopSignal;
use super::{CommandError, exit};
use crate::catalog::{Catalog, Level, Profile};
use crate::report::{Provenance, Results, Summary, coverage, listed};
use crate::target::{Backend, BackendAddress, Target};
use crate::trial::{Expectation, Expectations, Partition, Runner, Selection, Trial, remove_leftovers};

/// Default number of concurrent trials: on the embedded simulator, and on any other server.
const DEFAULT_JOBS: (usize, usize) = (64, 16);

const EXAMPLES: &str = "Examples:
  stuntdouble conformance
  stuntdouble conformance --target http://127.0.0.1:8080
  stuntdouble conformance --kubeconfig ~/.kube/config --profile kubernetes-1.2 --junit conformance.xml
  stuntdouble conformance --target http://127.0.0.1:8080 core/v1/pods 'POST /api/v1/namespaces/{namespace}/bindings'
  stuntdouble conformance --target http://127.0.0.1:8080 --json first.jsonl
  stuntdouble conformance --target http://127.0.0.1:8080 --rerun-failed first.jsonl
  stuntdouble conformance --target http://127.0.0.1:8080 --clean-up
  stuntdouble conformance --record run && stuntdouble conformance --target cassette:run
  stuntdouble conformance --list --format json | jq -r .operation | sort -u

All objects of a run carry the label stuntdouble-run and names that begin with sd-; they are removed when the run ends,
also after Ctrl-C or SIGTERM. --clean-up removes what a killed run left behind. Trials that touch the whole cluster
(such as DELETE /api/v1/namespaces) or create nodes or volumes need --allow-cluster-wide.

Exit codes:
  0  no trial failed
  1  a trial failed, a documented kind is absent, or the run was interrupted
  2  usage
  3  the target could not be reached
  4  no trial failed, but one of level must was skipped: the verdict is incomplete";

/// Arguments of `stuntdouble conformance`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Trials whose id or operation (`GET /api/v1/pods`) contains one of these texts [default: all]
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,

    /// Server to check: the embedded simulator, a URL, or a recorded run (a cassette or a folder of cassettes)
    /// [default: simulator, or the server of the kubeconfig]
    #[arg(long, value_name = "simulator|URL|cassette:PATH")]
    target: Option<String>,

    /// Expected behaviour: documented (the documentation of the API) or kubernetes-1.2 (the recorded server) [default:
    /// documented, or that of the recorded run]
    #[arg(long, value_name = "PROFILE")]
    profile: Option<Profile>,

    /// Lowest level to check: must, should or may
    #[arg(long, value_name = "LEVEL", default_value = "may", value_parser = level)]
    level: Level,

    /// List the trials without running them
    #[arg(long)]
    list: bool,

    /// Print the number of cases that check each statement of the documentation and each operation
    #[arg(long)]
    coverage: bool,

    #[command(flatten)]
    reports: Reports,

    /// Known failures: a YAML list of {id, reason, expires}; an id may end in *
    #[arg(long, value_name = "FILE")]
    expectations: Option<PathBuf>,

    /// Write the failures of this run as an expectations file
    #[arg(long, value_name = "FILE")]
    write_expectations: Option<PathBuf>,

    /// Run only the trials that failed in these results (a file written by --json)
    #[arg(long, value_name = "FILE")]
    rerun_failed: Option<PathBuf>,

    /// Run part K of N equal parts of the trials
    #[arg(long, value_name = "K/N")]
    partition: Option<Partition>,

    /// Number of concurrent trials [default: 64 on the simulator, 16 on another server]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,

    /// Seconds to wait for a response
    #[arg(long, value_name = "S", default_value_t = 15)]
    timeout: u64,

    /// Number of times to retry a failed trial; one that passes on a retry is reported as flaky
    #[arg(long, value_name = "N", default_value_t = 0)]
    retries: usize,

    /// Also run trials that touch the whole cluster or create nodes and volumes
    #[arg(long)]
    allow_cluster_wide: bool,

    /// Remove the objects that earlier runs left behind, or those of RUN only; run no trial
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "")]
    clean_up: Option<String>,

    /// Load log lines into the target's log search add-on, into indices of this run, and run the log queries
    #[arg(long)]
    seed_logs: bool,

    /// Backend of the suite for proxy trials: the address at which the target's proxy reaches it (not loopback), and
    /// the address to listen on, such as 10.1.2.3:8080=0.0.0.0:8080
    #[arg(long, value_name = "HOST:PORT=LISTEN")]
    backend: Option<BackendArgument>,

    /// Record each trial as a cassette in this folder, without secrets; --target cassette:DIR replays it
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,

    /// Name of the run: 1 to 12 lower-case letters and digits [default: a generated one]
    #[arg(long, value_name = "NAME", value_parser = parse_run_name)]
    run: Option<String>,

    #[command(flatten)]
    access: Access,
}

/// Value of `--backend`.
#[derive(Debug, Clone)]
struct BackendArgument {
    address: BackendAddress,
    listen: SocketAddr,
}

impl FromStr for BackendArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || format!("{text:?} must be HOST:PORT=LISTEN, such as 10.1.2.3:8080=0.0.0.0:8080");
        let (address, listen) = text.split_once('=').ok_or_else(invalid)?;
        let (host, port) = address.rsplit_once(':').ok_or_else(invalid)?;
        let address = BackendAddress {
            host: host.to_owned(),
            port: port.parse().map_err(|_| invalid())?,
        };
        Ok(Self {
            address,
            listen: listen.parse().map_err(|_| invalid())?,
        })
    }
}

fn level(text: &str) -> Result<Level, String> {
    Level::ALL
        .into_iter()
        .find(|level| level.as_str() == text)
        .ok_or_else(|| "expected must, should or may".to_owned())
}

impl Arguments {
    /// Returns the options that reports show.
    fn options(&self) -> BTreeMap<String, String> {
        let text = |value: Option<String>| value.unwrap_or_default();
        set_options(&[
            ("filters", self.filters.join(" ")),
            ("level", self.level.as_str().to_owned()),
            ("partition", text(self.partition.map(|partition| partition.to_string()))),
            ("jobs", text(self.jobs.map(|jobs| jobs.to_string()))),
            ("timeout", self.timeout.to_string()),
            ("retries", self.retries.to_string()),
            ("rerun-failed", self.rerun_failed.is_some().to_string()),
            ("expectations", self.expectations.is_some().to_string()),
            ("allow-cluster-wide", self.allow_cluster_wide.to_string()),
            ("seed-logs", self.seed_logs.to_string()),
            ("backend", self.backend.is_some().to_string()),
        ])
    }
}

/// Runs the command.
pub(super) async fn conformance(arguments: Arguments) -> Result<u8, CommandError> {
    let catalog = Catalog::embedded().map_err(CommandError::usage)?;
    let selected = |profile| select(&arguments, &catalog, profile);
    let profile = arguments.profile.unwrap_or_default();
    if arguments.coverage {
        print!("{}", coverage(&catalog, profile));
        return Ok(exit::OK);
    }
    if arguments.list {
        return list(&selected(profile)?, arguments.reports.format)
            .map(|()| exit::OK)
            .map_err(CommandError::usage);
    }
    if let Some(run) = &arguments.clean_up {
        return clean_up(&arguments, &catalog, run).await;
    }
    let mut expectations = match &arguments.expectations {
        Some(path) => Expectations::read(path).map_err(CommandError::usage)?,
        None => Expectations::default(),
    };
    let (target, profile) = target(&arguments).await?;
    let trials = selected(profile)?;
    let ids: Vec<&str> = catalog.cases(profile).map(|case| case.id.as_str()).collect();
    expectations.find_unknown(&ids);
    let target = Arc::new(target);
    target.check_reachable().await.map_err(CommandError::unreachable)?;
    if let Some(folder) = &arguments.record {
        std::fs::create_dir_all(folder)
            .map_err(|error| CommandError::usage(format!("{}: {error}", folder.display())))?;
    }
    let provenance = Provenance::new(&catalog, target.version().await, arguments.options());
    let mut reports = arguments.reports.create(provenance)?;
    let stop = Arc::new(AtomicBool::new(false));
    let interrupt = tokio::spawn(interrupted(Arc::clone(&stop)));
    let (on_simulator, on_server) = DEFAULT_JOBS;
    let jobs = if target.is_own() { on_simulator } else { on_server };
    let runner = Runner {
        target: Arc::clone(&target),
        run: arguments.run.clone().unwrap_or_else(run_name),
        jobs: arguments.jobs.unwrap_or(jobs),
        retries: arguments.retries,
        allow_cluster_wide: arguments.allow_cluster_wide,
        level: arguments.level,
        expectations,
        stop: Arc::clone(&stop),
    };
    let mut summary = Summary::default();
    let mut write_error = None;
    runner
        .run(trials, profile, |event| {
            summary.handle(&event);
            let written = reports.iter_mut().try_for_each(|report| report.handle(&event));
            write_error = write_error.take().or(written.err());
        })
        .await;
    interrupt.abort();
    if let Some(path) = &arguments.write_expectations {
        write_expectations(path, &summary)?;
    }
    match write_error {
        Some(error) => Err(CommandError::usage(format!("cannot write a report: {error}"))),
        None if summary.succeeded() && summary.lacks_a_must() => Ok(exit::INCOMPLETE),
        None if summary.succeeded() => Ok(exit::OK),
        None => Ok(exit::FAILED),
    }
}

/// Returns the trials that the arguments select. None is an error.
fn select(arguments: &Arguments, catalog: &Catalog, profile: Profile) -> Result<Vec<Trial>, CommandError> {
    let results = arguments.rerun_failed.as_deref().map(Results::read).transpose();
    let selection = Selection {
        filters: arguments.filters.clone(),
        level: Some(arguments.level),
        partition: arguments.partition,
        only: results.map_err(CommandError::usage)?.map(|results| results.failed()),
    };
    let trials = selection.of(catalog, profile);
    if trials.is_empty() {
        Err(CommandError::usage(
            "no trial matches the filters: --list without filters prints all trials",
        ))
    } else {
        Ok(trials)
    }
}

/// Removes the objects that earlier runs left behind.
async fn clean_up(arguments: &Arguments, catalog: &Catalog, run: &str) -> Result<u8, CommandError> {
    let (target, _) = target(arguments).await?;
    target.check_reachable().await.map_err(CommandError::unreachable)?;
    let run = Some(run).filter(|run| !run.is_empty());
    let leftovers = remove_leftovers(&target, catalog, run)
        .await
        .map_err(CommandError::unreachable)?;
    for path in &leftovers.removed {
        println!("removed {path}");
    }
    for path in &leftovers.left {
        println!("NOT REMOVED {path}");
    }
    Ok(if leftovers.left.is_empty() {
        exit::OK
    } else {
        exit::FAILED
    })
}

/// Writes the failures of a run as an expectations file.
fn write_expectations(path: &Path, summary: &Summary) -> Result<(), CommandError> {
    let entry = |outcome: &crate::trial::Outcome| {
        let about = outcome.verdict.failure().and_then(|failure| failure.mismatches.first());
        Expectation {
            id: outcome.trial.case.id.clone(),
            reason: about.map_or_else(String::new, |mismatch| format!("not as expected: {}", mismatch.about)),
            expires: None,
        }
    };
    let entries: Vec<Expectation> = summary.failures().map(entry).collect();
    let text = Expectations::to_yaml(&entries).map_err(CommandError::usage)?;
    std::fs::write(path, text).map_err(|error| CommandError::usage(format!("{}: {error}", path.display())))
}

fn parse_run_name(text: &str) -> Result<String, String> {
    let is_valid = (1..=12).contains(&text.len()) && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    if is_valid {
        Ok(text.to_owned())
    } else {
        Err("expected 1 to 12 lower-case letters and digits".to_owned())
    }
}

/// Stops the run at the first stop signal, and ends the process at the second one.
async fn interrupted(stop: Arc<AtomicBool>) {
    if let Ok(signal) = StopSignal::catch() {
        signal.received().await;
        stop.store(true, Ordering::Relaxed);
        eprintln!("\nstuntdouble: interrupted; waiting for running trials to end and removing their objects");
    }
    if let Ok(signal) = StopSignal::catch() {
        signal.received().await;
        std::process::exit(exit::FAILED.into());
    }
}

fn list(trials: &[Trial], format: Format) -> std::io::Result<()> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut written = Ok(());
    for trial in trials {
        written = match format {
            Format::Json => writeln!(out, "{}", listed(trial)),
            Format::Text => writeln!(out, "{:6} {}", trial.case.level().as_str(), trial.case.id),
        };
        if written.is_err() {
            break;
        }
    }
    match written.and_then(|()| out.flush()) {
        // The reader has closed the pipe: not an error.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Returns the target and the profile.
async fn target(arguments: &Arguments) -> Result<(Target, Profile), CommandError> {
    let (server, credentials) = arguments.access.credentials()?;
    let named = arguments.target.clone().or(server);
    if let Some(path) = named.as_deref().and_then(|target| target.strip_prefix("cassette:")) {
        let target = Target::cassette(Path::new(path)).map_err(CommandError::usage)?;
        let profile = arguments.profile.or(target.profile()).unwrap_or_default();
        return Ok((target, profile));
    }
    let profile = arguments.profile.unwrap_or_default();
    let mut target = match named.as_deref() {
        None | Some("simulator") => Target::simulator(profile).await.map_err(CommandError::unreachable)?,
        Some(url) => Target::at(url, &credentials).map_err(CommandError::usage)?,
    };
    if let Some(BackendArgument { address, listen }) = arguments.backend.clone() {
        let backend = Backend::listen(listen)
            .await
            .map_err(|error| CommandError::usage(format!("{listen}: {error}")))?;
        target = target.with_backend(address).owning_backend(backend);
    }
    target = target.with_timeout(Duration::from_secs(arguments.timeout.max(1)));
    if arguments.allow_cluster_wide {
        target = target.allowing_cluster_objects();
    }
    if arguments.seed_logs {
        target = target.loading_logs();
    }
    if let Some(folder) = &arguments.record {
        target = target.recorded_in(folder, profile, credentials);
    }
    Ok((target, profile))
}

/// Generates a name for this run from the time and the process id.
fn run_name() -> String {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    let mut number = (since.as_millis() as u64) ^ (u64::from(std::process::id()) << 24);
    let mut name = String::new();
    for _ in 0..6 {
        name.extend(char::from_digit((number % 36) as u32, 36));
        number /= 36;
    }
    name
}
