//! The program `stuntdouble`: one module per command.
//!
//! Guarantees:
//! - The exit codes are those of [`exit`].
//! - An error is one sentence on standard error.
//! - Colours and progress appear on a terminal only.

mod access;
mod cassette;
mod cluster_info;
mod conformance;
pub mod exit;
mod generate;
mod listen;
mod log;
mod log_search;
mod origins;
mod proxy;
mod report;
mod reports;
mod search;
mod serve;
mod session;
mod signal;
mod snapshot;
mod store;
mod thaw;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use stuntdouble_cassettes::terminal;

/// A simulator of a cluster's HTTP API, a conformance suite for servers that implement it, and a recorder of sessions.
#[derive(Debug, Parser)]
#[command(name = "stuntdouble", version, max_term_width = 110, after_help = EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    log: log::LogArguments,

    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str =
    "Exit codes:\n  0  success\n  1  a check failed\n  2  usage\n  3  the target could not be reached";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the conformance suite against a server.
    Conformance(Box<conformance::Arguments>),
    /// Compare or merge results of the conformance suite.
    Report(report::Arguments),
    /// Run the simulator.
    Serve(Box<serve::Arguments>),
    /// Run the log search backend alone.
    Search(search::Arguments),
    /// Record a session between any client and any server.
    Record(Box<session::RecordArguments>),
    /// Replay a recorded session without the server.
    Replay(Box<session::ReplayArguments>),
    /// Check a server against recorded sessions.
    Verify(Box<session::VerifyArguments>),
    /// Compare two recorded sessions.
    Diff(session::DiffArguments),
    /// Convert a HAR file to a cassette.
    Import(cassette::ImportArguments),
    /// Convert a cassette to a HAR file.
    Export(cassette::ExportArguments),
    /// Remove the secrets from a cassette.
    Scrub(cassette::ScrubArguments),
    /// List the interactions of a cassette.
    Show(cassette::ShowArguments),
    /// Run a local proxy that presents credentials for its callers.
    Proxy(Box<proxy::Arguments>),
    /// Save all objects of a cluster.
    Snapshot(snapshot::Arguments),
    /// Check a data directory.
    Store(store::Arguments),
    /// Print the URLs of the API server and its add-ons.
    ClusterInfo(Box<cluster_info::Arguments>),
    /// Print the completions of a shell, or write the man pages.
    Generate(generate::Arguments),
}

/// The error of a command: the exit code and the message.
#[derive(Debug)]
struct CommandError {
    code: u8,
    message: String,
}

impl CommandError {
    fn usage(message: impl ToString) -> Self {
        Self {
            code: exit::USAGE,
            message: message.to_string(),
        }
    }

    fn unreachable(message: impl ToString) -> Self {
        Self {
            code: exit::UNREACHABLE,
            message: message.to_string(),
        }
    }
}

/// Runs the command that the command line of this process names.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // `--help` and `--version` are reported as errors, too; they go to standard output.
            let code = if error.use_stderr() { exit::USAGE } else { exit::OK };
            drop(error.print());
            return ExitCode::from(code);
        }
    };
    cli.log.start();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("stuntdouble: {error}");
            return ExitCode::from(exit::UNREACHABLE);
        }
    };
    let result = runtime.block_on(async {
        match cli.command {
            Command::Conformance(arguments) => conformance::conformance(*arguments).await,
            Command::Report(arguments) => report::report(&arguments),
            Command::Serve(arguments) => serve::serve(*arguments).await,
            Command::Search(arguments) => search::search(arguments).await,
            Command::Record(arguments) => session::record(*arguments).await,
            Command::Replay(arguments) => session::replay(*arguments).await,
            Command::Verify(arguments) => session::verify(*arguments).await,
            Command::Diff(arguments) => session::diff(&arguments),
            Command::Import(arguments) => cassette::import(&arguments),
            Command::Export(arguments) => cassette::export(&arguments),
            Command::Scrub(arguments) => cassette::scrub(&arguments),
            Command::Show(arguments) => cassette::show(&arguments),
            Command::Proxy(arguments) => proxy::proxy(*arguments).await,
            Command::Snapshot(arguments) => snapshot::snapshot(arguments).await,
            Command::Store(arguments) => store::store(&arguments),
            Command::ClusterInfo(arguments) => cluster_info::cluster_info(*arguments).await,
            Command::Generate(arguments) => generate::generate(&arguments, Cli::command()),
        }
    });
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("stuntdouble: {}", terminal::lines(&error.message));
            ExitCode::from(error.code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_definition_is_valid() {
        Cli::command().debug_assert();
    }
}
