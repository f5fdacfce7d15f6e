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
use super::{Trouble, exit};

const EXAMPLES: &str = "Examples:
  stuntdouble serve
  stuntdouble serve --bare --profile kubernetes-1.2 --listen 127.0.0.1:0
  stuntdouble serve --data-dir my-cluster
  stuntdouble serve --seed 7 --clock frozen:2015-06-26T12:00:00Z
  stuntdouble serve --secure-listen 127.0.0.1:6443 --token-file tokens.csv --write-kubeconfig kubeconfig

When it answers, it says so in one line on standard output: ready, and the addresses. It ends on Ctrl-C or SIGTERM.

Exit codes:
  0  it was told to stop
  2  usage
  3  it could not start
  5  it was stopped before everything had ended";

/// Arguments of `stuntdouble serve`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Address of the listener without credentials, on the loopback interface only. A port of 0 is chosen by the system
    #[arg(long, value_name = "[ADDRESS:]PORT", default_value = "127.0.0.1:8080", value_parser = listen::address)]
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

    /// The time that is stamped: real, at:TIME (starts there and runs) or frozen:TIME (does not run)
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

    /// How many changes of each kind are kept; a watch from before them is answered with 410 [default: the profile's]
    #[arg(long, value_name = "CHANGES")]
    history: Option<usize>,

    /// Let the proxy connect to pods and nodes whose address is loopback, link-local or unspecified, also without --dial
    #[arg(long)]
    allow_local_backends: bool,

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

    /// Where the containers' logs go: elasticsearch, or none (then there is no log search, viewer or collector)
    #[arg(
        long,
        value_name = "NAME",
        env = "KUBE_LOGGING_DESTINATION",
        default_value = "elasticsearch"
    )]
    logging_destination: Destination,

    /// Whether a log collector runs on each node
    #[arg(
        long,
        value_name = "true|false",
        env = "KUBE_ENABLE_NODE_LOGGING",
        default_value_t = true,
        action = ArgAction::Set
    )]
    node_logging: bool,

    /// Load more container images from a YAML file of the form of fixtures/images; may be given several times
    #[arg(long, value_name = "FILE", conflicts_with = "bare")]
    image: Vec<PathBuf>,

    /// Loopback address at which the names of the cluster resolve, over UDP and TCP, such as 127.0.0.1:5353
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = listen::address, conflicts_with = "bare")]
    dns_listen: Option<SocketAddr>,

    /// Directory that keeps the objects, their history and the indices of the log search service; a later start with it goes on
    /// where this one ended. It is made if it does not exist. Log lines are on the disk within 5 seconds. Default: memory only
    #[arg(long, value_name = "DIRECTORY")]
    data_dir: Option<PathBuf>,

    /// How many milliseconds the watch cache lags behind writes
    #[arg(long, value_name = "MS", default_value_t = 0)]
    watch_lag: u64,

    /// How many copies of the cluster there can be: /clusters/NAME/... addresses the copy NAME, which is made at the first
    /// request for it as the cluster is then
    #[arg(long, value_name = "N", default_value_t = 0)]
    clusters: usize,

    /// Start with the objects in this file, as `snapshot save` or `kubectl get -o yaml` writes them
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,

    /// When a write to the data directory is acknowledged: sync (when it is on the disk) or interval (at once; a crash
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

/// Where the containers' logs go.
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
    /// Keep the objects in the etcd cluster with these members, with commas between their URLs. All that serve the same etcd
    /// and prefix are one cluster; one of them at a time runs nodes, controllers and add-ons
    #[arg(long = "etcd", value_name = "URL,URL", value_delimiter = ',', conflicts_with_all = ["data_dir", "snapshot", "dns_listen"])]
    members: Vec<String>,

    /// What every key in etcd begins with
    #[arg(
        long = "etcd-prefix",
        value_name = "PATH",
        default_value = "/stuntdouble",
        requires = "members"
    )]
    prefix: String,

    /// The authority that signs the members' certificates, as PEM; https needs it
    #[arg(long = "etcd-ca", value_name = "FILE", requires = "members")]
    authority: Option<PathBuf>,

    /// The certificate to show to etcd, as PEM
    #[arg(long = "etcd-cert", value_name = "FILE", requires_all = ["members", "key"])]
    certificate: Option<PathBuf>,

    /// The key of the certificate, as PEM
    #[arg(long = "etcd-key", value_name = "FILE", requires_all = ["members", "certificate"])]
    key: Option<PathBuf>,

    /// Name and password of an etcd user
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
    /// Where to listen for TLS, asking for credentials
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = listen::address)]
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
            StartError::NotLoopback(_)
            | StartError::Tls(_)
            | StartError::Images(_)
            | StartError::Etcd(EtcdError::Settings(_)) => Self::usage(error),
            _ => Self::unreachable(error),
        }
    }
}

/// Carries out the command.
pub(super) async fn serve(arguments: Arguments) -> Result<u8, Trouble> {
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
        let wrong = |error: &dyn std::fmt::Display| Trouble::usage(format!("{}: {error}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| wrong(&error))?;
        builder = builder.snapshot(Snapshot::parse(&text).map_err(|error| wrong(&error))?);
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
        let said = |error| Trouble::usage(format!("{}: {error}", file.display()));
        kubeconfig::write(file, &simulator.kubeconfig()).map_err(said)?;
    }
    let secure = simulator.secure_url().map(|url| format!(" {url}")).unwrap_or_default();
    let next = next_steps(&simulator.url(), arguments.secure.write_kubeconfig.as_deref());
    listen::ready(format_args!("{}{secure}", simulator.url()), &next);
    signal.received().await;
    simulator.shutdown().await;
    listen::stopped();
    Ok(exit::OK)
}

/// How to use the server, for a terminal.
fn next_steps(url: &str, kubeconfig: Option<&Path>) -> String {
    let server = match kubeconfig {
        Some(file) => format!("--kubeconfig {}", file.display()),
        None => format!("--server {url}"),
    };
    format!(
        "kubectl {server} get pods --all-namespaces\ncurl {url}/api/v1/namespaces\nstuntdouble conformance --target {url}\nCtrl-C stops it."
    )
}

fn etcd(arguments: EtcdArguments) -> Result<Etcd, Trouble> {
    let mut etcd = Etcd::new(arguments.members).prefix(arguments.prefix);
    if let Some(file) = &arguments.authority {
        etcd = etcd.authority(read(file)?);
    }
    if let (Some(certificate), Some(key)) = (&arguments.certificate, &arguments.key) {
        etcd = etcd.identity(read(certificate)?, read(key)?);
    }
    if let Some(user) = &arguments.user {
        let wrong = || Trouble::usage("--etcd-user: NAME:PASSWORD, with a colon between them");
        let (name, password) = user.split_once(':').ok_or_else(wrong)?;
        etcd = etcd.user(name, password);
    }
    Ok(etcd)
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
