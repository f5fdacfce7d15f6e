//! `stuntdouble search`: the log search backend alone, until a signal stops it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use stuntdouble_simulator::Clock;
use stuntdouble_simulator::search::{Options, SearchServer};
use tokio::net::TcpListener;

use super::listen;
use super::log_search::RetentionArguments;
use super::origins::OriginArguments;
use super::{Trouble, exit};

const EXAMPLES: &str = "Examples:
  stuntdouble search --listen 127.0.0.1:9200
  stuntdouble search --listen 127.0.0.1:0 --clock frozen:2015-06-26T12:00:00Z
  stuntdouble search --data-dir my-logs

  curl -X POST --data-binary @lines.ndjson http://127.0.0.1:9200/_bulk
  curl 'http://127.0.0.1:9200/logstash-*/_search?q=log:error&pretty=true'

When it answers, it says so in one line on standard output: ready, and the address. It ends on Ctrl-C or SIGTERM.";

/// Arguments of `stuntdouble search`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Where to listen, on the loopback interface only; a port of 0 is chosen by the system
    #[arg(long, value_name = "[ADDRESS:]PORT", default_value = "127.0.0.1:9200", value_parser = listen::address)]
    listen: SocketAddr,

    /// What `now` means in a query: real, at:TIME (starts there and runs) or frozen:TIME (does not run)
    #[arg(long, value_name = "CLOCK", default_value = "real")]
    clock: Clock,

    /// Directory that keeps the indices; a later start with it goes on where this one ended. It is made if it does not exist. Indices, mappings
    /// and templates are on the disk when they are acknowledged, documents after a flush or within 5 seconds (the setting
    /// index.gateway.local.sync of an index; 0: when they are acknowledged). The directory of `serve --data-dir` has one named search
    /// in it. Default: memory only
    #[arg(long, value_name = "DIRECTORY")]
    data_dir: Option<PathBuf>,

    #[command(flatten)]
    retention: RetentionArguments,

    #[command(flatten)]
    origins: OriginArguments,
}

/// Carries out the command.
pub(super) async fn search(arguments: Arguments) -> Result<u8, Trouble> {
    let Arguments {
        listen,
        clock,
        data_dir,
        retention,
        origins,
    } = arguments;
    if !listen.ip().is_loopback() {
        return Err(Trouble::usage(format!(
            "{listen} can be reached by others, and the log search backend asks nobody for credentials: listen on 127.0.0.1"
        )));
    }
    let signal = listen::stop_signal()?;
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| Trouble::unreachable(format!("cannot listen on {listen}: {error}")))?;
    let address = listener.local_addr().map_err(Trouble::unreachable)?;
    let options = Options {
        clock: Arc::new(move || clock.now()),
        retention: retention.retention(),
        origins: origins.origins(),
        ..Options::default()
    };
    let server = match data_dir {
        None => SearchServer::new(options),
        Some(directory) => {
            let opened = tokio::task::spawn_blocking(move || SearchServer::open(options, directory)).await;
            opened.map_err(Trouble::unreachable)?.map_err(Trouble::unreachable)?
        }
    };
    let next = format!(
        "curl -X POST --data-binary @lines.ndjson http://{address}/_bulk\ncurl 'http://{address}/_search?q=log:error&pretty'\nCtrl-C stops it."
    );
    listen::ready(format_args!("http://{address}"), &next);
    tokio::select! {
        served = server.serve(listener) => served.map_err(Trouble::unreachable)?,
        () = signal.received() => {}
    }
    let closed = tokio::task::spawn_blocking(move || server.close()).await;
    closed.map_err(Trouble::unreachable)?.map_err(Trouble::unreachable)?;
    listen::stopped();
    Ok(exit::OK)
}
