//! `stuntdouble store`: what is done with data directories.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use stuntdouble_simulator::search::{self, SearchServer};
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
    /// Check a data directory that no process uses: every checksum, object and change, and every file of search indices. Nothing is repaired.
    #[command(after_help = EXIT_CODES)]
    Check {
        /// The directory given to `serve --data-dir` or `search --data-dir`
        #[arg(value_name = "DIRECTORY")]
        directory: PathBuf,
    },
}

/// Folder of the search indices in the directory of a simulator.
const SEARCH: &str = "search";

/// Carries out the command.
pub(super) fn store(arguments: &Arguments) -> Result<u8, Trouble> {
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
            return Err(Trouble::unreachable(error));
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
fn search(directory: &Path) -> Result<u8, Trouble> {
    match SearchServer::check(directory) {
        Ok(summary) => {
            let search::DataDirectorySummary {
                indices,
                documents,
                operations,
                ..
            } = summary;
            println!(
                "whole: {indices} search indices, {documents} documents in segments, {operations} operations in translogs"
            );
            Ok(exit::OK)
        }
        Err(error @ (search::DataDirectoryError::InUse(_) | search::DataDirectoryError::Io { .. })) => {
            Err(Trouble::unreachable(error))
        }
        Err(error) => {
            eprintln!("stuntdouble: {error}");
            Ok(exit::FAILED)
        }
    }
}
