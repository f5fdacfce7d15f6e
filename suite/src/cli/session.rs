//! `stuntdouble record`, `replay`, `verify` and `diff`: recorded sessions.

use std::fs;
use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use stuntdouble_cassettes::{
    Cassette, OnMiss, Recorder, RecorderError, RecorderOptions, Redaction, Replayer, ReplayerOptions, Speed, Tally,
    Verifier, terminal, transport,
};

use super::access::Access;
use super::listen;
use super::origins::{OriginArguments, RemoteArguments};
use super::thaw::{self, Simulators};
use super::{CommandError, exit};

/// Arguments of `stuntdouble record`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stuntdouble record --upstream http://127.0.0.1:8080 --listen 127.0.0.1:8001 -o session.yaml
  stuntdouble record --kubeconfig ~/.kube/config -o session.yaml
  stuntdouble record --once --upstream http://127.0.0.1:8080 --listen 127.0.0.1:8001 -o session.yaml
  kubectl --server http://127.0.0.1:8001 get pods     (every request is recorded)

Secrets are not written: credentials and the data of Secrets become stable placeholders. Ctrl-C or SIGTERM stops it.")]
pub(super) struct RecordArguments {
    /// Server to record [default: that of the kubeconfig]
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,

    /// Address to listen on. With port 0 the system chooses one
    #[arg(long, value_name = "[ADDRESS:]PORT", default_value = "127.0.0.1:0", value_parser = listen::address)]
    listen: SocketAddr,

    /// Cassette to write. It must not exist, unless --force or --once is given
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Replace the cassette if it exists
    #[arg(long, conflicts_with = "once")]
    force: bool,

    /// Replay the cassette if it exists, else record it: the server is needed for the first run only
    #[arg(long)]
    once: bool,

    /// Description of the session
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,

    /// Profile of the server: documented or kubernetes-1.2
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,

    /// Listen with TLS (HTTP/2 and HTTP/1.1) and this certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// Private key of the certificate of --tls-cert (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    #[command(flatten)]
    secrets: SecretArguments,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    remote: RemoteArguments,

    #[command(flatten)]
    origins: OriginArguments,
}

/// Additional secrets, besides those that are always redacted.
#[derive(Debug, Args)]
#[command(next_help_heading = "Secrets")]
pub(super) struct SecretArguments {
    /// Redact the values of this header
    #[arg(long, value_name = "NAME")]
    redact_header: Vec<String>,

    /// Redact the values of this query parameter
    #[arg(long, value_name = "NAME")]
    redact_query: Vec<String>,

    /// Redact the values at this path in JSON bodies: spec.*.apiToken, or **.password at any depth
    #[arg(long, value_name = "PATH")]
    redact_path: Vec<String>,

    /// Redact the matches of this regular expression
    #[arg(long, value_name = "REGEX")]
    redact_pattern: Vec<String>,
}

impl SecretArguments {
    pub(super) fn redaction(&self) -> Result<Redaction, CommandError> {
        let rules = self
            .redact_header
            .iter()
            .fold(Redaction::default(), |rules, name| rules.header(name));
        let rules = self.redact_query.iter().fold(rules, |rules, name| rules.query(name));
        let rules = self.redact_path.iter().fold(rules, |rules, path| rules.path(path));
        self.redact_pattern
            .iter()
            .try_fold(rules, |rules, pattern| rules.pattern(pattern))
            .map_err(CommandError::usage)
    }
}

pub(super) fn read(path: &Path) -> Result<Cassette, CommandError> {
    Cassette::open(path).map_err(|error| CommandError::usage(format!("{}: {error}", path.display())))
}

fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    fs::write(path, text).map_err(|error| CommandError::usage(format!("{}: {error}", path.display())))
}

/// Runs `stuntdouble record`, or replays if `--once` is given and the cassette exists.
pub(super) async fn record(arguments: RecordArguments) -> Result<u8, CommandError> {
    let (upstream, credentials) = arguments.access.upstream(arguments.upstream.as_deref())?;
    arguments.remote.check_with(arguments.listen, &credentials)?;
    let signal = listen::stop_signal()?;
    let mut options = RecorderOptions::new(upstream);
    options.listen = arguments.listen;
    options.origins = arguments.origins.origins();
    options.credentials = credentials;
    options.redaction = arguments.secrets.redaction()?;
    options.profile = arguments.profile;
    options.comment = arguments.comment;
    options.overwrite = arguments.force;
    options.identity = identity(arguments.tls_cert.as_deref(), arguments.tls_key.as_deref())?;
    if arguments.once && arguments.output.exists() {
        let mut replay = ReplayerOptions::default();
        replay.listen = arguments.listen;
        replay.origins = options.origins;
        return replay_until_stopped(read(&arguments.output)?, replay).await;
    }
    let recorder = Recorder::start(options, &arguments.output)
        .await
        .map_err(recorder_error)?;
    let url = recorder.url();
    listen::ready(
        &url,
        &format!("kubectl --server {url} get pods\nCtrl-C ends the recording."),
    );
    signal.received().await;
    let (requests, path) = (recorder.requests(), recorder.path());
    let failure = recorder.stop().await;
    eprintln!("stuntdouble: {requests} requests recorded in {}", path.display());
    listen::stopped();
    match failure {
        Some(why) => Err(CommandError {
            code: exit::FAILED,
            message: format!("the cassette is incomplete: {why}"),
        }),
        None => Ok(exit::OK),
    }
}

/// A certificate chain and its key, in PEM.
type Pem = (Vec<u8>, Vec<u8>);

/// Reads the certificate chain and the key of a listener.
fn identity(certificate: Option<&Path>, key: Option<&Path>) -> Result<Option<Pem>, CommandError> {
    let pem = |path: &Path| fs::read(path).map_err(|error| CommandError::usage(format!("{}: {error}", path.display())));
    certificate
        .zip(key)
        .map(|(certificate, key)| Ok((pem(certificate)?, pem(key)?)))
        .transpose()
}

/// Maps an error of the recorder: a cassette that cannot be written is a usage error, any other one is not.
fn recorder_error(error: RecorderError) -> CommandError {
    match error {
        RecorderError::Format(error) => CommandError::usage(error),
        error => CommandError::unreachable(error),
    }
}

/// Arguments of `stuntdouble replay`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stuntdouble replay session.yaml --listen 127.0.0.1:8001
  stuntdouble replay session.yaml --speed instant --on-miss forward:http://127.0.0.1:8080
  stuntdouble replay session.yaml --on-miss thaw     (a simulator with the cassette's objects answers the rest)

Ctrl-C or SIGTERM stops it. It then prints the requests that were not recorded; with `--on-miss fail` they make the
exit code 1.")]
pub(super) struct ReplayArguments {
    /// Cassette
    #[arg(value_name = "FILE")]
    cassette: PathBuf,

    /// Address to listen on. With port 0 the system chooses one
    #[arg(long, value_name = "[ADDRESS:]PORT", default_value = "127.0.0.1:0", value_parser = listen::address)]
    listen: SocketAddr,

    /// Speed of streams: a factor of the recorded speed, or instant
    #[arg(long, value_name = "FACTOR|instant", default_value = "1", value_parser = speed)]
    speed: Speed,

    /// Handling of a request that was not recorded: fail, forward:URL or thaw
    #[arg(long, value_name = "fail|forward:URL|thaw", default_value = "fail")]
    on_miss: String,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    remote: RemoteArguments,

    #[command(flatten)]
    origins: OriginArguments,
}

fn speed(text: &str) -> Result<Speed, String> {
    if text == "instant" {
        return Ok(Speed::Instant);
    }
    match text.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor > 0.0 => Ok(Speed::Factor(factor)),
        _ => Err("expected a number above 0, or instant".to_owned()),
    }
}

/// Runs `stuntdouble replay`.
pub(super) async fn replay(arguments: ReplayArguments) -> Result<u8, CommandError> {
    let cassette = read(&arguments.cassette)?;
    let on_miss = match arguments.on_miss.as_str() {
        "fail" => OnMiss::Fail,
        "thaw" => OnMiss::Thaw(Arc::new(Simulators::new(cassette.header.profile.as_deref()))),
        other => match other.strip_prefix("forward:") {
            Some(upstream) => OnMiss::Forward(upstream.to_owned(), arguments.access.transport()?.1),
            None => {
                return Err(CommandError::usage(format!(
                    "--on-miss {other}: expected fail, forward:URL or thaw"
                )));
            }
        },
    };
    if let OnMiss::Forward(_, credentials) = &on_miss {
        arguments.remote.check_with(arguments.listen, credentials)?;
    }
    let mut options = ReplayerOptions::default();
    options.listen = arguments.listen;
    options.origins = arguments.origins.origins();
    options.speed = arguments.speed;
    options.on_miss = on_miss;
    replay_until_stopped(cassette, options).await
}

/// Replays a cassette until a signal stops it.
async fn replay_until_stopped(cassette: Cassette, options: ReplayerOptions) -> Result<u8, CommandError> {
    let misses_are_failures = matches!(options.on_miss, OnMiss::Fail);
    let signal = listen::stop_signal()?;
    let replayer = Replayer::start(cassette, options)
        .await
        .map_err(CommandError::unreachable)?;
    let url = replayer.url();
    listen::ready(&url, &format!("kubectl --server {url} get pods\nCtrl-C stops it."));
    signal.received().await;
    let misses = replayer.misses();
    replayer.stop().await;
    misses
        .iter()
        .for_each(|miss| eprintln!("stuntdouble: {}", terminal::lines(miss)));
    listen::stopped();
    Ok(if misses_are_failures && !misses.is_empty() {
        exit::FAILED
    } else {
        exit::OK
    })
}

/// Arguments of `stuntdouble verify`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stuntdouble verify session.yaml --against http://127.0.0.1:8080
  stuntdouble verify cassettes/sessions/kubernetes-1.2/life-pods.yaml --against simulator
  stuntdouble verify *.yaml --against simulator --junit verified.xml

The server must be in the state it was in when the session was recorded.

Exit codes:
  0  every response is as recorded
  1  a response differs
  2  usage
  3  the server could not be reached")]
pub(super) struct VerifyArguments {
    /// Cassettes to verify: each against a fresh simulator, or one after the other against the server
    #[arg(value_name = "FILE", required = true)]
    cassettes: Vec<PathBuf>,

    /// Server to check: a URL, or simulator to start one per cassette
    #[arg(long, value_name = "URL|simulator")]
    against: String,

    /// Expected behaviour: documented or kubernetes-1.2 [default: that of the cassette]
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,

    /// Maximum time without data within a response, in seconds
    #[arg(
        long,
        visible_alias = "patience",
        value_name = "SECONDS",
        default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(1..=3600)
    )]
    timeout: u64,

    /// Write the verdicts as JSON, one report per line
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write the verdicts as JUnit XML, one suite per cassette
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    #[command(flatten)]
    access: Access,
}

/// Runs `stuntdouble verify`.
pub(super) async fn verify(arguments: VerifyArguments) -> Result<u8, CommandError> {
    let (mut exact, mut json, mut junit) = (true, String::new(), Vec::new());
    let mut total = Tally::default();
    for path in &arguments.cassettes {
        let cassette = read(path)?;
        let profile = arguments.profile.clone().or_else(|| cassette.header.profile.clone());
        let simulator = if arguments.against == "simulator" {
            Some(
                thaw::start(profile.as_deref())
                    .await
                    .map_err(CommandError::unreachable)?,
            )
        } else {
            None
        };
        let against = simulator
            .as_ref()
            .map_or_else(|| arguments.against.clone(), |s| s.url());
        let mut verifier = Verifier::new(against);
        verifier.credentials = arguments.access.transport()?.1;
        verifier.profile = profile;
        verifier.timeout = Duration::from_secs(arguments.timeout);
        let report = verifier.verify(&cassette).await.map_err(CommandError::unreachable)?;
        let name = path.display().to_string();
        print(&format!("{name}\n{}", report.to_text()));
        let tally = report.tally();
        total.interactions += tally.interactions;
        total.answer += tally.answer;
        total.shape += tally.shape;
        total.exact += tally.exact;
        exact &= report.is_exact();
        json.push_str(&format!("{}\n", report.to_json()));
        junit.push(report.to_junit(&name));
    }
    if arguments.cassettes.len() > 1 {
        print(&format!(
            "all: {} interactions: answer {}, shape {}, exact {}\n",
            total.interactions, total.answer, total.shape, total.exact
        ));
    }
    if let Some(path) = &arguments.json {
        write(path, &json)?;
    }
    if let Some(path) = &arguments.junit {
        write(path, &merge_junit(&junit))?;
    }
    Ok(if exact { exit::OK } else { exit::FAILED })
}

/// Merges the JUnit reports of several cassettes into one document.
fn merge_junit(reports: &[String]) -> String {
    let body = |report: &String| {
        let start = report
            .find("<testsuites")
            .and_then(|at| report[at..].find('>').map(|end| at + end + 1))
            .unwrap_or(0);
        let end = report.rfind("</testsuites>").unwrap_or(report.len());
        report.get(start..end).unwrap_or_default().trim().to_owned()
    };
    let bodies: Vec<String> = reports.iter().map(body).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"verify\">\n{}\n</testsuites>\n",
        bodies.join("\n")
    )
}

/// Output format of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DiffFormat {
    /// Text for a terminal.
    Text,
    /// JSON.
    Json,
    /// An HTML page with both cassettes side by side.
    Html,
}

/// Arguments of `stuntdouble diff`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stuntdouble diff before.yaml after.yaml
  stuntdouble diff before.yaml after.yaml --format html > diff.html

Interactions are aligned by their requests. Values that differ from run to run (uids, versions, times, generated names)
are bound to each other, one to one.

Exit codes:
  0  at most headers and timing differ
  1  something else differs
  2  usage")]
pub(super) struct DiffArguments {
    /// First cassette
    a: PathBuf,

    /// Second cassette
    b: PathBuf,

    /// Output format
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    format: DiffFormat,
}

/// Runs `stuntdouble diff`.
pub(super) fn diff(arguments: &DiffArguments) -> Result<u8, CommandError> {
    let (a, b) = (read(&arguments.a)?, read(&arguments.b)?);
    let found = a.diff(&b);
    let name = |path: &Path| path.display().to_string();
    print(&match arguments.format {
        DiffFormat::Text => coloured(&found.to_text()),
        DiffFormat::Json => format!("{}\n", found.to_json()),
        DiffFormat::Html => found.to_html(&name(&arguments.a), &name(&arguments.b)),
    });
    Ok(if found.is_same() { exit::OK } else { exit::FAILED })
}

/// Colours the lines of a diff if standard output is a terminal.
fn coloured(text: &str) -> String {
    if !std::io::stdout().is_terminal() || std::env::var_os("NO_COLOR").is_some() {
        return text.to_owned();
    }
    let style = |line: &str| {
        let colour = match line.trim_start().chars().next() {
            Some('+') => anstyle::AnsiColor::Green,
            Some('-') => anstyle::AnsiColor::Red,
            _ => return format!("{line}\n"),
        };
        let style = colour.on_default();
        format!("{style}{line}{style:#}\n")
    };
    text.lines().map(style).collect()
}

/// Writes to standard output. A closed pipe is not an error.
pub(super) fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Setting up a client or a listener failed.
impl From<transport::TransportError> for CommandError {
    fn from(error: transport::TransportError) -> Self {
        Self::unreachable(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_a_factor_or_instant() {
        assert_eq!(speed("instant"), Ok(Speed::Instant));
        assert_eq!(speed("2.5"), Ok(Speed::Factor(2.5)));
        assert!(speed("0").is_err() && speed("fast").is_err() && speed("inf").is_err());
    }

    #[test]
    fn junit_reports_are_merged_into_one_document() {
        let one = |n: u8| {
            format!(
                "<?xml version=\"1.0\"?>\n\
                 <testsuites name=\"x\" tests=\"1\">\n  <testsuite name=\"{n}\"/>\n</testsuites>\n"
            )
        };
        let both = merge_junit(&[one(1), one(2)]);
        assert_eq!(both.matches("<testsuites").count(), 1);
        assert!(both.contains("name=\"1\"") && both.contains("name=\"2\""));
    }
}
