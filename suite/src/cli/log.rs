//! The program's log, on standard error.

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use tracing_subscriber::{filter::LevelFilter, fmt};

/// Flags of the log, for every command.
#[derive(Debug, Args)]
pub(super) struct LogArguments {
    /// Log on standard error from this level on: off, error, warn, info (one line per request), debug or trace
    #[arg(
        id = "log_level",
        long = "log",
        value_name = "LEVEL",
        env = "STUNTDOUBLE_LOG",
        global = true
    )]
    level: Option<LevelFilter>,

    /// Log more: -v is info, -vv debug, -vvv trace
    #[arg(short, long, action = clap::ArgAction::Count, global = true, conflicts_with = "log_level")]
    verbose: u8,

    /// Format of the log
    #[arg(long, value_name = "FORMAT", default_value = "text", global = true)]
    log_format: Format,
}

/// Format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A line of text per event.
    Text,
    /// A JSON object per event.
    Json,
}

impl LogArguments {
    fn level(&self) -> LevelFilter {
        match (self.level, self.verbose) {
            (Some(level), _) => level,
            (None, 0) => LevelFilter::WARN,
            (None, 1) => LevelFilter::INFO,
            (None, 2) => LevelFilter::DEBUG,
            (None, _) => LevelFilter::TRACE,
        }
    }

    /// Installs the log.
    pub(super) fn start(&self) {
        let log = fmt()
            .with_max_level(self.level())
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none());
        match self.log_format {
            Format::Text => log.init(),
            Format::Json => log.json().flatten_event(true).init(),
        }
    }
}
