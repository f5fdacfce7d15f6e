//! `stuntdouble serve`: the simulator, until it is told to stop.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ValueEnum};
use stuntdouble_simulator::clock::Clock;
use stuntdouble_simulator::cluster::{Controllers, LOG_SEARCH};
use stuntdouble_simulator::http::{Credentials, DialOverride, Identity, Secret, kubeconfig};
use stuntdouble_simulator::profile::Profile;
use stuntdouble_simulator::registry::Cidr;
use stuntdouble_simulator::{Builder, Simulator, StartError};

use super::signal::Told;
use super::{Trouble, exit};

const EXAMPLES: &str = "Examples:
  stuntdouble serve
  stuntdouble serve --bare --profile kubernetes-1.2 --listen 127.0.0.1:0
  stuntdouble serve --seed 7 --clock frozen:2015-06-26T12:00:00Z
  stuntdouble serve --secure-listen 127.0.0.1:6443 --token-file tokens.csv --write-kubeconfig kubeconfig

When it answers, it says so in one line on standard output: ready, and the addresses. It ends on Ctrl-C or SIGTERM.

Exit codes:
  0  it was told to stop
  2  usage
  3  it could not start";

/// Arguments of `stuntdouble serve`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Where to listen without asking for credentials, on the loopback interface only; a port of 0 is chosen by the system
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    /// By which rule: documented (the texts win) or kubernetes-1.2 (the recorded server wins)
    #[arg(long, value_name = "PROFILE", default_value_t)]
    profile: Profile,

    /// An API server and nothing else: no nodes, controllers or add-ons
    #[arg(long)]
    bare: bool,

    /// Where chance starts: the same seed, clock and requests give the same answers
    #[arg(long, value_name = "N", default_value_t)]
    seed: u64,

    /// The time that is stamped: real, at:TIME (starts there and runs) or frozen:TIME (stands)
    #[arg(long, value_name = "CLOCK", default_value = "real")]
    clock: Clock,

    /// The address that the server says it has
    #[arg(long, value_name = "IP", default_value_t = Ipv4Addr::new(10, 99, 0, 1))]
    advertise_address: Ipv4Addr,

    /// Where services get their addresses from
    #[arg(long, value_name = "CIDR", default_value = "10.0.0.0/24")]
    service_cluster_ip_range: Cidr,

    /// Send what the proxy would send to one address to another, such as 10.99.0.1:9999=127.0.0.1:9999
    #[arg(long, value_name = "FROM=TO")]
    dial: Vec<DialOverride>,

    /// How many nodes there are
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=100), conflicts_with = "bare")]
    nodes: u8,

    /// Add-ons: all, none, or names with commas between them
    #[arg(long, value_name = "LIST", default_value = "all", conflicts_with = "bare")]
    addons: Addons,

    /// Controllers that run: names with commas between them, * for all, -NAME for all but that one; the scheduler counts as one
    #[arg(
        long,
        value_name = "LIST",
        default_value = "*",
        allow_hyphen_values = true,
        conflicts_with = "bare"
    )]
    controllers: Controllers,

    /// Where the containers' logs are to go: elasticsearch (the log search add-on is there) or none
    #[arg(
        long,
        value_name = "NAME",
        env = "KUBE_LOGGING_DESTINATION",
        default_value = "elasticsearch"
    )]
    logging_destination: Destination,

    /// The log search backend to reach instead of the one inside this process
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "bare")]
    search_upstream: Option<String>,

    #[command(flatten)]
    secure: SecureArguments,
}

/// Which add-ons a cluster has.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Addons {
    log_search: bool,
}

impl FromStr for Addons {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut addons = Self {
            log_search: text == "all",
        };
        if matches!(text, "all" | "none") {
            return Ok(addons);
        }
        for name in text.split(',') {
            match name {
                LOG_SEARCH => addons.log_search = true,
                _ => return Err(format!("there is no add-on {name:?}; there is {LOG_SEARCH}")),
            }
        }
        Ok(addons)
    }
}

/// Where the containers' logs go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Destination {
    /// To the log search add-on.
    Elasticsearch,
    /// Nowhere.
    None,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Secure listener")]
struct SecureArguments {
    /// Where to listen for TLS, asking for credentials
    #[arg(long, value_name = "ADDRESS:PORT")]
    secure_listen: Option<SocketAddr>,

    /// Bearer tokens that are let in: lines of token,user,uid
    #[arg(long, value_name = "FILE", requires = "secure_listen")]
    token_file: Option<PathBuf>,

    /// Passwords that are let in: lines of password,user,uid
    #[arg(long, value_name = "FILE", requires = "secure_listen")]
    basic_file: Option<PathBuf>,

    /// The authority whose client certificates are let in, as PEM
    #[arg(long, value_name = "FILE", requires = "secure_listen")]
    client_ca: Option<PathBuf>,

    /// The certificate to show, as PEM; one is made where none is given
    #[arg(long, value_name = "FILE", requires_all = ["secure_listen", "tls_key"])]
    tls_cert: Option<PathBuf>,

    /// The key of the certificate, as PEM
    #[arg(long, value_name = "FILE", requires_all = ["secure_listen", "tls_cert"])]
    tls_key: Option<PathBuf>,

    /// Write the configuration that clients read into this file
    #[arg(long, value_name = "FILE")]
    write_kubeconfig: Option<PathBuf>,
}

impl From<StartError> for Trouble {
    fn from(error: StartError) -> Self {
        match error {
            StartError::NotLoopback(_) | StartError::Tls(_) => Self::usage(error),
            _ => Self::unreachable(error),
        }
    }
}

/// Carries out the command.
pub(super) async fn serve(arguments: Arguments) -> Result<u8, Trouble> {
    let told =
        Told::listen().map_err(|error| Trouble::unreachable(format!("signals cannot be listened for: {error}")))?;
    let mut builder = Simulator::builder()
        .listen(arguments.listen)
        .profile(arguments.profile)
        .bare(arguments.bare)
        .nodes(arguments.nodes)
        .controllers(arguments.controllers)
        .log_search(arguments.addons.log_search && arguments.logging_destination == Destination::Elasticsearch)
        .seed(arguments.seed)
        .clock(arguments.clock)
        .advertise_address(arguments.advertise_address)
        .service_cluster_ip_range(arguments.service_cluster_ip_range);
    for DialOverride { from, to } in arguments.dial {
        builder = builder.dial(from, to);
    }
    if let Some(upstream) = arguments.search_upstream {
        builder = builder.search_upstream(upstream);
    }
    let simulator = secure(builder, &arguments.secure)?.start().await?;
    if let Some(file) = &arguments.secure.write_kubeconfig {
        let said = |error| Trouble::usage(format!("{}: {error}", file.display()));
        kubeconfig::write(file, &simulator.kubeconfig()).map_err(said)?;
    }
    let secure = simulator.secure_url().map(|url| format!(" {url}")).unwrap_or_default();
    let mut out = std::io::stdout();
    // Whoever has closed standard output does not wait for the line.
    let _ = writeln!(out, "ready: {}{secure}", simulator.url()).and_then(|()| out.flush());
    told.until_told().await;
    simulator.shutdown().await;
    Ok(exit::OK)
}

fn secure(mut builder: Builder, arguments: &SecureArguments) -> Result<Builder, Trouble> {
    let Some(address) = arguments.secure_listen else {
        return Ok(builder);
    };
    let mut credentials = Credentials::default();
    if let Some(file) = &arguments.token_file {
        credentials.read_tokens(file).map_err(Trouble::usage)?;
    }
    if let Some(file) = &arguments.basic_file {
        credentials.read_passwords(file).map_err(Trouble::usage)?;
    }
    builder = builder.secure_listen(address).credentials(credentials);
    if let Some(file) = &arguments.client_ca {
        builder = builder.client_authority(read(file)?);
    }
    if let (Some(certificate), Some(key)) = (&arguments.tls_cert, &arguments.tls_key) {
        builder = builder.identity(Identity::Given {
            certificate: read(certificate)?,
            key: Secret::new(read(key)?),
        });
    }
    Ok(builder)
}

fn read(file: &Path) -> Result<String, Trouble> {
    std::fs::read_to_string(file).map_err(|error| Trouble::usage(format!("{}: {error}", file.display())))
}
