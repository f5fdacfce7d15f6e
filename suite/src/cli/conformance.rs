//! `stuntdouble conformance`: judges a server, operation by operation.

use std::fs::File;
use std::io::{BufWriter, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use clap::{Args, ValueEnum};

use super::access::Access;
use super::{Trouble, exit};
use crate::catalog::{Catalog, Level, Profile};
use crate::report::{Html, JsonLines, Junit, Report, Style, Summary, Terminal, listed};
use crate::target::{Backend, BackendAddress, Target};
use crate::trial::{Expectations, Partition, Runner, Selection, Trial};

/// How many trials are played at once. Most of the time they wait.
const JOBS: usize = 64;

const EXAMPLES: &str = "Examples:
  stuntdouble conformance
  stuntdouble conformance --target http://127.0.0.1:8080
  stuntdouble conformance --kubeconfig ~/.kube/config --profile kubernetes-1.2 --junit conformance.xml
  stuntdouble conformance --target http://127.0.0.1:8080 core/v1/pods 'POST /api/v1/namespaces/{namespace}/bindings'
  stuntdouble conformance --record run && stuntdouble conformance --target cassette:run
  stuntdouble conformance --list --format json | jq -r .operation | sort -u

A trial makes namespaces of its own, named sd-…, and removes them. What touches the whole cluster (such as
DELETE /api/v1/namespaces) is skipped unless --allow-cluster-wide is given.

Exit codes:
  0  nothing failed
  1  a trial failed, or the run was interrupted
  2  usage
  3  the target could not be reached";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Arguments of `stuntdouble conformance`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Trials whose id or operation (`GET /api/v1/pods`) contains one of these; all without any
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,

    /// What is judged: the simulator, started for the purpose, the address of a server, or a recorded run (a cassette or
    /// a folder of them) [default: simulator, or the server of the kubeconfig]
    #[arg(long, value_name = "simulator|URL|cassette:PATH")]
    target: Option<String>,

    /// By which rule: documented (the texts win) or kubernetes-1.2 (the recorded server wins) [default: documented, or
    /// that of the recorded run]
    #[arg(long, value_name = "PROFILE")]
    profile: Option<Profile>,

    /// Leave out what is less binding: must, should or may
    #[arg(long, value_name = "LEVEL", default_value = "may", value_parser = level)]
    level: Level,

    /// Show the trials and do not play them
    #[arg(long)]
    list: bool,

    /// How standard output is written: text for people, json for programs (one object a line)
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Write a report as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Write a report as a web page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write a report as JSON, one object a line
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// ExpectedFailure failures: a YAML list of {id, reason}; an id may end in *
    #[arg(long, value_name = "FILE")]
    expectations: Option<PathBuf>,

    /// Play one of N equal parts of the trials
    #[arg(long, value_name = "K/N")]
    partition: Option<Partition>,

    /// Play also what touches the whole cluster
    #[arg(long)]
    allow_cluster_wide: bool,

    /// Load log lines into the target's log search add-on, into indices of this run that are removed after, and play the
    /// log queries
    #[arg(long)]
    seed_logs: bool,

    /// Where the proxy of a server that is not the simulator finds a backend of the suite, as an object of the cluster
    /// names it (no loopback address), and where the suite is to listen for it: 10.1.2.3:8080=0.0.0.0:8080
    #[arg(long, value_name = "HOST:PORT=LISTEN")]
    backend: Option<BackendArgument>,

    /// Record what is said in each trial on a cassette of its own in this folder, which --target cassette:DIR plays
    /// again; secrets do not reach it
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,

    /// What sets the names of this run apart from others': a few lower-case letters and digits [default: a new one]
    #[arg(long, value_name = "NAME", value_parser = name_of_run)]
    run: Option<String>,

    #[command(flatten)]
    access: Access,
}

/// Where the target finds a backend, and where that listens.
#[derive(Debug, Clone)]
struct BackendArgument {
    place: BackendAddress,
    listen: SocketAddr,
}

impl FromStr for BackendArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("{text:?} is to be HOST:PORT=LISTEN, such as 10.1.2.3:8080=0.0.0.0:8080");
        let (place, listen) = text.split_once('=').ok_or_else(wrong)?;
        let (host, port) = place.rsplit_once(':').ok_or_else(wrong)?;
        let place = BackendAddress {
            host: host.to_owned(),
            port: port.parse().map_err(|_| wrong())?,
        };
        Ok(Self {
            place,
            listen: listen.parse().map_err(|_| wrong())?,
        })
    }
}

fn level(text: &str) -> Result<Level, String> {
    let known = [Level::Must, Level::Should, Level::May];
    known
        .into_iter()
        .find(|level| level.as_str() == text)
        .ok_or_else(|| "it is to be must, should or may".to_owned())
}

/// Carries out the command.
pub(super) async fn conformance(arguments: Arguments) -> Result<u8, Trouble> {
    let catalog = Catalog::embedded().map_err(Trouble::usage)?;
    let selection = Selection {
        filters: arguments.filters.clone(),
        level: Some(arguments.level),
        partition: arguments.partition,
    };
    let meant = |profile| {
        let trials = selection.of(&catalog, profile);
        if trials.is_empty() {
            Err(Trouble::usage("no trial is meant; --list shows them all"))
        } else {
            Ok(trials)
        }
    };
    if arguments.list {
        return list(&meant(arguments.profile.unwrap_or_default())?, arguments.format)
            .map(|()| exit::OK)
            .map_err(Trouble::usage);
    }
    let expectations = match &arguments.expectations {
        Some(path) => Expectations::read(path).map_err(Trouble::usage)?,
        None => Expectations::default(),
    };
    let mut reports = reports(&arguments)?;
    let (target, profile) = target(&arguments).await?;
    let trials = meant(profile)?;
    let target = Arc::new(target);
    target.reach().await.map_err(Trouble::unreachable)?;
    let stop = Arc::new(AtomicBool::new(false));
    let interrupt = tokio::spawn(interrupted(Arc::clone(&stop)));
    let runner = Runner {
        target: Arc::clone(&target),
        run: arguments.run.clone().unwrap_or_else(run_name),
        jobs: JOBS,
        allow_cluster_wide: arguments.allow_cluster_wide,
        expectations,
        stop: Arc::clone(&stop),
    };
    let mut summary = Summary::default();
    let mut trouble = None;
    runner
        .run(trials, profile, |event| {
            summary.receive(&event);
            let told = reports.iter_mut().try_for_each(|report| report.receive(&event));
            trouble = trouble.take().or(told.err());
        })
        .await;
    interrupt.abort();
    match trouble {
        Some(error) => Err(Trouble::usage(format!("the report could not be written: {error}"))),
        None if summary.conforms() => Ok(exit::OK),
        None => Ok(exit::FAILED),
    }
}

fn name_of_run(text: &str) -> Result<String, String> {
    let fits = (1..=12).contains(&text.len()) && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    if fits {
        Ok(text.to_owned())
    } else {
        Err("it is to be of 1 to 12 lower-data letters and digits".to_owned())
    }
}

/// Waits for an interruption and lets no further trial begin; waits for another one and ends at once.
async fn interrupted(stop: Arc<AtomicBool>) {
    if tokio::signal::ctrl_c().await.is_ok() {
        stop.store(true, Ordering::Relaxed);
        eprintln!("\nstuntdouble: interrupted; the trials that have begun remove their environments");
    }
    if tokio::signal::ctrl_c().await.is_ok() {
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
        // Whoever reads has read enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

/// What is judged, and by which rule.
async fn target(arguments: &Arguments) -> Result<(Target, Profile), Trouble> {
    let (server, credentials) = arguments.access.credentials()?;
    let named = arguments.target.clone().or(server);
    if let Some(path) = named.as_deref().and_then(|target| target.strip_prefix("cassette:")) {
        let target = Target::cassette(Path::new(path)).map_err(Trouble::usage)?;
        let profile = arguments.profile.or(target.profile()).unwrap_or_default();
        return Ok((target, profile));
    }
    let profile = arguments.profile.unwrap_or_default();
    let mut target = match named.as_deref() {
        None | Some("simulator") => Target::simulator(profile).await.map_err(Trouble::unreachable)?,
        Some(url) => Target::at(url, &credentials).map_err(Trouble::usage)?,
    };
    if let Some(BackendArgument { place, listen }) = arguments.backend.clone() {
        let backend = Backend::listen(listen)
            .await
            .map_err(|error| Trouble::usage(format!("{listen}: {error}")))?;
        target = target.with_backend(place).owning_backend(backend);
    }
    if arguments.seed_logs {
        target = target.loading_logs();
    }
    if let Some(folder) = &arguments.record {
        target = target.recorded_in(folder, profile, credentials);
    }
    Ok((target, profile))
}

fn reports(arguments: &Arguments) -> Result<Vec<Box<dyn Report>>, Trouble> {
    let out = std::io::stdout();
    let coloured = out.is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let progress = std::io::stderr().is_terminal().then(std::io::stderr);
    let mut reports: Vec<Box<dyn Report>> = vec![match arguments.format {
        Format::Text => Box::new(Terminal::new(out, progress, Style { coloured })),
        Format::Json => Box::new(JsonLines::new(out)),
    }];
    if let Some(path) = &arguments.junit {
        reports.push(Box::new(Junit::new(create(path)?)));
    }
    if let Some(path) = &arguments.html {
        reports.push(Box::new(Html::new(create(path)?)));
    }
    if let Some(path) = &arguments.json {
        reports.push(Box::new(JsonLines::new(create(path)?)));
    }
    if let Some(folder) = &arguments.record {
        std::fs::create_dir_all(folder).map_err(|error| Trouble::usage(format!("{}: {error}", folder.display())))?;
    }
    Ok(reports)
}

fn create(path: &Path) -> Result<BufWriter<File>, Trouble> {
    File::create(path)
        .map(BufWriter::new)
        .map_err(|error| Trouble::usage(format!("{}: {error}", path.display())))
}

/// A name for this run that another run at the same time has not: the time and the process, in a few letters.
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
