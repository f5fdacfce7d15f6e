//! `stuntdouble store`: operations on data directories.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use stuntdouble_simulator::search::{self, SearchServer};
use stuntdouble_simulator::{DataDirectory, DataDirectoryError, DataDirectorySummary};

use super::{CommandError, exit};

const EXIT_CODES: &str = "Exit codes:
  0  the directory is intact
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
    /// Check every checksum, object, change and search index of a data directory that no process uses. Repairs nothing.
    #[command(after_help = EXIT_CODES)]
    Check {
        /// The directory given to `serve --data-dir` or `search --data-dir`
        #[arg(value_name = "DIRECTORY")]
        directory: PathBuf,
    },
}

/// Subdirectory of the search indices in the data directory of a simulator.
const SEARCH: &str = "search";

/// Runs the command.
pub(super) fn store(arguments: &Arguments) -> Result<u8, CommandError> {
    let Command::Check { directory } = &arguments.command;
    // The directory of `search` has search indices only.
    if SearchServer::has_files(directory) {
        return search(directory);
    }
    let checked = match DataDirectory::check(directory) {
        Ok(DataDirectorySummary {
            objects,
            changes,
            revision,
        }) => {
            println!("whole: {objects} objects, {changes} changes of history, revision {revision}");
            exit::OK
        }
        Err(error @ (DataDirectoryError::InUse(_) | DataDirectoryError::Io { .. })) => {
            return Err(CommandError::unreachable(error));
        }
        Err(error) => {
            eprintln!("stuntdouble: {error}");
            exit::FAILED
        }
    };
    let indices = directory.join(SEARCH);
    if indices.exists() {
        Ok(checked.max(search(&indices)?))
    } else {
        Ok(checked)
    }
}

/// Checks a directory of search indices.
fn search(directory: &Path) -> Result<u8, CommandError> {
    match SearchServer::check(directory) {
        Ok(summary) => {
            let search::DataDirectorySummary {
                indices,
                documents,
                operations,
                ..
            } = summary;
            println!(
                "whole: {indices} search indices, {documents} documents in segments, \
                 {operations} operations in translogs"
            );
            Ok(exit::OK)
        }
        Err(error @ (search::DataDirectoryError::InUse(_) | search::DataDirectoryError::Io { .. })) => {
            Err(CommandError::unreachable(error))
        }
        Err(error) => {
            eprintln!("stuntdouble: {error}");
            Ok(exit::FAILED)
        }
    }
}
