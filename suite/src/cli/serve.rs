//! `stuntdouble serve`: the simulator, until a signal stops it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};
use stuntdouble_simulator::{
    Addons, Builder, Cidr, Clock, Controllers, Credentials, DialOverride, Durability, Etcd, EtcdError, Identity,
    Profile, Secret, Simulator, Snapshot, StartError, kubeconfig,
};

use super::listen;
use super::log_search::{RetentionArguments, UpstreamArguments};
use super::origins::OriginArguments;
use super::{CommandError, exit};

const EXAMPLES: &str = "Examples:
  stuntdouble serve
  stuntdouble serve --bare --profile kubernetes-1.2 --listen 127.0.0.1:0
  stuntdouble serve --data-dir my-cluster
  stuntdouble serve --seed 7 --clock frozen:2015-06-26T12:00:00Z
  stuntdouble serve --secure-listen 127.0.0.1:6443 --token-file tokens.csv --write-kubeconfig kubeconfig

It prints `ready: URL`, with one URL per listener, on standard output when it accepts requests. Ctrl-C or SIGTERM
stops it.

Exit codes:
  0  stopped by a signal
  2  usage
  3  the server could not start
  5  forced to stop: by a second signal, or because its shutdown took too long";

/// Arguments of `stuntdouble serve`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Address of the listener without credentials, on the loopback interface only. With port 0 the system chooses one
    #[arg(long, value_name = "[ADDRESS:]PORT", default_value = "127.0.0.1:8080", value_parser = listen::address)]
    listen: SocketAddr,

    /// Behaviour: documented (the documentation of the API) or kubernetes-1.2 (the recorded server)
    #[arg(long, value_name = "PROFILE", default_value_t)]
    profile: Profile,

    /// Run the API server only: no nodes, controllers or add-ons
    #[arg(long)]
    bare: bool,

    /// Seed for UIDs, generated names and allocated ports: the same seed, clock and requests give the same responses
    #[arg(long, value_name = "N", default_value_t)]
    seed: u64,

    /// Clock for timestamps: real, at:TIME (starts there and runs) or frozen:TIME (does not run)
    #[arg(long, value_name = "CLOCK", default_value = "real")]
    clock: Clock,

    /// Address that the server advertises
    #[arg(long, value_name = "IP", default_value_t = Ipv4Addr::new(10, 99, 0, 1))]
    advertise_address: Ipv4Addr,

    /// Address range of services
    #[arg(long, value_name = "CIDR", default_value = "10.0.0.0/24")]
    service_cluster_ip_range: Cidr,

    /// Connect the proxy to TO instead of FROM, such as 10.99.0.1:9999=127.0.0.1:9999
    #[arg(long, value_name = "FROM=TO")]
    dial: Vec<DialOverride>,

    /// Number of changes kept per kind; a watch from an older version gets 410 [default: that of the profile]
    #[arg(long, value_name = "CHANGES")]
    history: Option<usize>,

    /// Let the proxy connect to pods and nodes whose address is loopback, link-local or unspecified, without --dial
    #[arg(long)]
    allow_local_backends: bool,

    /// Number of nodes
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2,
        value_parser = clap::value_parser!(u8).range(1..=100),
        conflicts_with = "bare"
    )]
    nodes: u8,

    /// Add-ons: all, none, or comma-separated names
    #[arg(long, value_name = "LIST", default_value = "all", conflicts_with = "bare")]
    addons: Addons,

    /// Controllers to run, the scheduler among them: comma-separated names, * for all, -NAME for all but that one
    #[arg(
        long,
        value_name = "LIST",
        default_value = "*",
        allow_hyphen_values = true,
        conflicts_with = "bare"
    )]
    controllers: Controllers,

    /// Destination of container logs: elasticsearch, or none (no log search, viewer or collectors)
    #[arg(
        long,
        value_name = "NAME",
        env = "KUBE_LOGGING_DESTINATION",
        default_value = "elasticsearch"
    )]
    logging_destination: Destination,

    /// Run a log collector on each node
    #[arg(
        long,
        value_name = "true|false",
        env = "KUBE_ENABLE_NODE_LOGGING",
        default_value_t = true,
        action = ArgAction::Set
    )]
    node_logging: bool,

    /// Load more container images from a YAML file in the format of fixtures/images; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "bare")]
    image: Vec<PathBuf>,

    /// Loopback address of the DNS server for the names of the cluster, over UDP and TCP, such as 127.0.0.1:5353
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = listen::address, conflicts_with = "bare")]
    dns_listen: Option<SocketAddr>,

    /// Directory for objects, their history and the log indices, read at start and created if it does not exist. Log
    /// lines are on disk within 5 seconds [default: memory only]
    #[arg(long, value_name = "DIRECTORY")]
    data_dir: Option<PathBuf>,

    /// Delay of the watch cache behind writes, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0)]
    watch_lag: u64,

    /// Maximum number of copies of the cluster. The first request for /clusters/NAME creates the copy NAME from the
    /// current state of the cluster
    #[arg(long, value_name = "N", default_value_t = 0)]
    clusters: usize,

    /// Start with the objects in this file, as `snapshot save` or `kubectl get -o yaml` writes them
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,

    /// When a write to the data directory is acknowledged: sync (when it is on disk) or interval (at once; a crash
    /// loses at most the last 100 ms)
    #[arg(long, value_name = "MODE", default_value = "sync", requires = "data_dir")]
    durability: Durability,

    #[command(flatten)]
    upstream: UpstreamArguments,

    #[command(flatten)]
    retention: RetentionArguments,

    #[command(flatten)]
    etcd: EtcdArguments,

    #[command(flatten)]
    secure: SecureArguments,

    #[command(flatten)]
    origins: OriginArguments,
}

/// Destination of container logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Destination {
    /// To the log search add-on.
    Elasticsearch,
    /// Nowhere.
    None,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "etcd")]
struct EtcdArguments {
    /// Store the objects in the etcd cluster with these members (comma-separated URLs). All servers with the same etcd
    /// and prefix are one cluster; one of them at a time runs nodes, controllers and add-ons
    #[arg(
        long = "etcd",
        value_name = "URL,URL",
        value_delimiter = ',',
        conflicts_with_all = ["data_dir", "snapshot", "dns_listen"]
    )]
    members: Vec<String>,

    /// Prefix of every key in etcd
    #[arg(
        long = "etcd-prefix",
        value_name = "PATH",
        default_value = "/stuntdouble",
        requires = "members"
    )]
    prefix: String,

    /// Certificate authority of the members (PEM); required for https
    #[arg(long = "etcd-ca", value_name = "FILE", requires = "members")]
    authority: Option<PathBuf>,

    /// Client certificate for etcd (PEM)
    #[arg(long = "etcd-cert", value_name = "FILE", requires_all = ["members", "key"])]
    certificate: Option<PathBuf>,

    /// Private key of the client certificate (PEM)
    #[arg(long = "etcd-key", value_name = "FILE", requires_all = ["members", "certificate"])]
    key: Option<PathBuf>,

    /// User name and password for etcd
    #[arg(
        long = "etcd-user",
        value_name = "USER:PASSWORD",
        env = "STUNTDOUBLE_ETCD_USER",
        hide_env_values = true,
        requires = "members"
    )]
    user: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Secure listener")]
struct SecureArguments {
    /// Address of the TLS listener, which requires credentials
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = listen::address)]
    secure_listen: Option<SocketAddr>,

    /// Accepted bearer tokens: lines of token,user,uid
    #[arg(long, value_name = "FILE", requires = "secure_listen")]
    token_file: Option<PathBuf>,

    /// Accepted passwords: lines of password,user,uid
    #[arg(long, value_name = "FILE", requires = "secure_listen")]
    basic_file: Option<PathBuf>,

    /// Certificate authority of accepted client certificates (PEM)
    #[arg(long, value_name = "FILE", requires = "secure_listen")]
    client_ca: Option<PathBuf>,

    /// Server certificate (PEM) [default: a generated one]
    #[arg(long, value_name = "FILE", requires_all = ["secure_listen", "tls_key"])]
    tls_cert: Option<PathBuf>,

    /// Private key of the server certificate (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["secure_listen", "tls_cert"])]
    tls_key: Option<PathBuf>,

    /// Write a kubeconfig for clients to this file
    #[arg(long, value_name = "FILE")]
    write_kubeconfig: Option<PathBuf>,
}

impl From<StartError> for CommandError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::NotLoopback(_)
            | StartError::Tls(_)
            | StartError::Images(_)
            | StartError::Etcd(EtcdError::Settings(_)) => Self::usage(error),
            _ => Self::unreachable(error),
        }
    }
}

/// Runs the server until a signal stops it.
pub(super) async fn serve(arguments: Arguments) -> Result<u8, CommandError> {
    let signal = listen::stop_signal()?;
    let mut addons = arguments.addons;
    if arguments.logging_destination == Destination::None {
        addons = addons.without_logging();
    }
    if !arguments.node_logging {
        addons = addons.without_collectors();
    }
    let mut builder = Simulator::builder()
        .listen(arguments.listen)
        .profile(arguments.profile)
        .bare(arguments.bare)
        .nodes(arguments.nodes)
        .controllers(arguments.controllers)
        .addons(addons)
        .seed(arguments.seed)
        .origins(arguments.origins.origins())
        .allow_local_backends(arguments.allow_local_backends)
        .clock(arguments.clock)
        .advertise_address(arguments.advertise_address)
        .service_cluster_ip_range(arguments.service_cluster_ip_range);
    builder = builder
        .clusters(arguments.clusters)
        .watch_lag(Duration::from_millis(arguments.watch_lag));
    if let Some(directory) = arguments.data_dir {
        builder = builder.data_dir(directory).durability(arguments.durability);
    }
    if !arguments.etcd.members.is_empty() {
        builder = builder.etcd(etcd(arguments.etcd)?);
    }
    if let Some(file) = &arguments.snapshot {
        let failed = |error: &dyn std::fmt::Display| CommandError::usage(format!("{}: {error}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| failed(&error))?;
        builder = builder.snapshot(Snapshot::parse(&text).map_err(|error| failed(&error))?);
    }
    for DialOverride { from, to } in arguments.dial {
        builder = builder.dial(from, to);
    }
    if let Some(changes) = arguments.history {
        builder = builder.history(changes);
    }
    for file in &arguments.image {
        builder = builder.images(file.display().to_string(), read(file)?);
    }
    if let Some(address) = arguments.dns_listen {
        builder = builder.dns_listen(address);
    }
    if let Some(upstream) = arguments.upstream.upstream()? {
        builder = builder.search_upstream(upstream);
    }
    if let Some(retention) = arguments.retention.retention() {
        builder = builder.log_retention(retention);
    }
    let simulator = secure(builder, &arguments.secure)?.start().await?;
    if let Some(file) = &arguments.secure.write_kubeconfig {
        let failed = |error| CommandError::usage(format!("{}: {error}", file.display()));
        kubeconfig::write(file, &simulator.kubeconfig()).map_err(failed)?;
    }
    let secure = simulator.secure_url().map(|url| format!(" {url}")).unwrap_or_default();
    let next = next_steps(&simulator.url(), arguments.secure.write_kubeconfig.as_deref());
    listen::ready(format_args!("{}{secure}", simulator.url()), &next);
    signal.received().await;
    simulator.shutdown().await;
    listen::stopped();
    Ok(exit::OK)
}

/// Returns hints how to use the server, for a terminal.
fn next_steps(url: &str, kubeconfig: Option<&Path>) -> String {
    let server = match kubeconfig {
        Some(file) => format!("--kubeconfig {}", file.display()),
        None => format!("--server {url}"),
    };
    format!(
        "kubectl {server} get pods --all-namespaces\n\
         curl {url}/api/v1/namespaces\n\
         stuntdouble conformance --target {url}\n\
         Ctrl-C stops it."
    )
}

fn etcd(arguments: EtcdArguments) -> Result<Etcd, CommandError> {
    let mut etcd = Etcd::new(arguments.members).prefix(arguments.prefix);
    if let Some(file) = &arguments.authority {
        etcd = etcd.authority(read(file)?);
    }
    if let (Some(certificate), Some(key)) = (&arguments.certificate, &arguments.key) {
        etcd = etcd.identity(read(certificate)?, read(key)?);
    }
    if let Some(user) = &arguments.user {
        let invalid = || CommandError::usage("--etcd-user: expected USER:PASSWORD");
        let (name, password) = user.split_once(':').ok_or_else(invalid)?;
        etcd = etcd.user(name, password);
    }
    Ok(etcd)
}

fn secure(mut builder: Builder, arguments: &SecureArguments) -> Result<Builder, CommandError> {
    let Some(address) = arguments.secure_listen else {
        return Ok(builder);
    };
    let mut credentials = Credentials::default();
    if let Some(file) = &arguments.token_file {
        credentials.read_tokens(file).map_err(CommandError::usage)?;
    }
    if let Some(file) = &arguments.basic_file {
        credentials.read_passwords(file).map_err(CommandError::usage)?;
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

fn read(file: &Path) -> Result<String, CommandError> {
    std::fs::read_to_string(file).map_err(|error| CommandError::usage(format!("{}: {error}", file.display())))
}
