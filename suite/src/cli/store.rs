//! `stuntdouble store`: what is done with data directories.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use stuntdouble_simulator::{DataDirectory, DataDirectoryError, DataDirectorySummary};

use super::{Trouble, exit};

const EXIT_CODES: &str = "Exit codes:
  0  the directory is whole
  1  it is damaged, or has another format
  3  it cannot be opened";

/// Arguments of `stuntdouble store`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check a data directory that no process uses: every checksum, object and change. Nothing is repaired.
    #[command(after_help = EXIT_CODES)]
    Check {
        /// The directory given to `serve --data-dir`
        #[arg(value_name = "DIRECTORY")]
        directory: PathBuf,
    },
}

/// Carries out the command.
pub(super) fn store(arguments: &Arguments) -> Result<u8, Trouble> {
    let Command::Check { directory } = &arguments.command;
    match DataDirectory::check(directory) {
        Ok(DataDirectorySummary {
            objects,
            changes,
            revision,
        }) => {
            println!("whole: {objects} objects, {changes} changes of history, revision {revision}");
            Ok(exit::OK)
        }
        Err(error @ (DataDirectoryError::InUse(_) | DataDirectoryError::Io { .. })) => Err(Trouble::unreachable(error)),
        Err(error) => {
            eprintln!("stuntdouble: {error}");
            Ok(exit::FAILED)
        }
    }
}
