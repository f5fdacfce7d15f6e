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
use super::{CommandError, exit};

const EXAMPLES: &str = "Examples:
  stuntdouble search --listen 127.0.0.1:9200
  stuntdouble search --listen 127.0.0.1:0 --clock frozen:2015-06-26T12:00:00Z
  stuntdouble search --data-dir my-logs

  curl -X POST --data-binary @lines.ndjson http://127.0.0.1:9200/_bulk
  curl 'http://127.0.0.1:9200/logstash-*/_search?q=log:error&pretty=true'

It prints `ready: URL` on standard output when it accepts requests. Ctrl-C or SIGTERM stops it.";

/// Arguments of `stuntdouble search`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Address to listen on, on the loopback interface only. With port 0 the system chooses one
    #[arg(long, value_name = "[ADDRESS:]PORT", default_value = "127.0.0.1:9200", value_parser = listen::address)]
    listen: SocketAddr,

    /// Clock for `now` in queries: real, at:TIME (starts there and runs) or frozen:TIME (does not run)
    #[arg(long, value_name = "CLOCK", default_value = "real")]
    clock: Clock,

    /// Directory for the indices, read at start and created if it does not exist. Indices, mappings and templates are
    /// on disk when they are acknowledged, documents after a flush or within 5 seconds (the index setting
    /// index.gateway.local.sync; 0: when they are acknowledged). `serve --data-dir` keeps its indices in the
    /// subdirectory `search` [default: memory only]
    #[arg(long, value_name = "DIRECTORY")]
    data_dir: Option<PathBuf>,

    #[command(flatten)]
    retention: RetentionArguments,

    #[command(flatten)]
    origins: OriginArguments,
}

/// Runs the backend until a signal stops it.
pub(super) async fn search(arguments: Arguments) -> Result<u8, CommandError> {
    let Arguments {
        listen,
        clock,
        data_dir,
        retention,
        origins,
    } = arguments;
    if !listen.ip().is_loopback() {
        return Err(CommandError::usage(format!(
            "{listen} is not a loopback address, and the log search backend has no authentication: \
             listen on 127.0.0.1"
        )));
    }
    let signal = listen::stop_signal()?;
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| CommandError::unreachable(format!("cannot listen on {listen}: {error}")))?;
    let address = listener.local_addr().map_err(CommandError::unreachable)?;
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
            opened
                .map_err(CommandError::unreachable)?
                .map_err(CommandError::unreachable)?
        }
    };
    let next = format!(
        "curl -X POST --data-binary @lines.ndjson http://{address}/_bulk\n\
         curl 'http://{address}/_search?q=log:error&pretty'\n\
         Ctrl-C stops it."
    );
    listen::ready(format_args!("http://{address}"), &next);
    tokio::select! {
        served = server.serve(listener) => served.map_err(CommandError::unreachable)?,
        () = signal.received() => {}
    }
    let closed = tokio::task::spawn_blocking(move || server.close()).await;
    closed
        .map_err(CommandError::unreachable)?
        .map_err(CommandError::unreachable)?;
    listen::stopped();
    Ok(exit::OK)
}
