//! `stuntdouble report`: compares and merges results of the conformance suite.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::{CommandError, exit};
use crate::report::Results;

/// Arguments of `stuntdouble report`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stuntdouble report diff yesterday.jsonl today.jsonl
  stuntdouble report merge part-1.jsonl part-2.jsonl -o whole.jsonl

The files are those that `stuntdouble conformance --json FILE` writes.")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the trials whose verdict changed; exit code 1 if one got worse
    Diff {
        /// Older results
        #[arg(value_name = "OLD")]
        old: PathBuf,
        /// Newer results
        #[arg(value_name = "NEW")]
        new: PathBuf,
    },
    /// Merge the results of several parts of a run
    Merge {
        /// Results of the parts
        #[arg(value_name = "PART", required = true)]
        parts: Vec<PathBuf>,
        /// File to write [default: standard output]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

fn read(path: &Path) -> Result<Results, CommandError> {
    Results::read(path).map_err(CommandError::usage)
}

/// Runs the command.
pub(super) fn report(arguments: &Arguments) -> Result<u8, CommandError> {
    match &arguments.command {
        Command::Diff { old, new } => {
            let (text, worse) = read(new)?.diff(&read(old)?);
            print!("{text}");
            Ok(if worse { exit::FAILED } else { exit::OK })
        }
        Command::Merge { parts, output } => {
            let mut whole = Results::default();
            for part in parts {
                whole.merge(read(part)?);
            }
            let text = whole.to_lines();
            match output {
                Some(path) => std::fs::write(path, text)
                    .map_err(|error| CommandError::usage(format!("{}: {error}", path.display())))?,
                None => print!("{text}"),
            }
            Ok(if whole.failed().is_empty() {
                exit::OK
            } else {
                exit::FAILED
            })
        }
    }
}
