//! `stuntdouble generate`: shell completions and man pages.

use std::io;
use std::path::PathBuf;

use clap::{Args, Command, Subcommand};
use clap_complete::Shell;

use super::{CommandError, exit};

const EXAMPLES: &str = "Examples:
  stuntdouble generate completions bash > ~/.local/share/bash-completion/completions/stuntdouble
  stuntdouble generate man ~/.local/share/man/man1";

/// Arguments of `stuntdouble generate`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print the completions of a shell.
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the man pages, one per command, into a folder.
    Man {
        /// The folder, which must exist
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// Runs the command.
pub(super) fn generate(arguments: &Arguments, mut command: Command) -> Result<u8, CommandError> {
    match &arguments.what {
        What::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(*shell, &mut command, "stuntdouble", &mut text);
            // A reader may close the pipe before the end.
            let _ = io::Write::write_all(&mut io::stdout(), &text);
        }
        What::Man { folder } => clap_mangen::generate_to(command, folder)
            .map_err(|error| CommandError::usage(format!("{}: {error}", folder.display())))?,
    }
    Ok(exit::OK)
}
