//! `stuntdouble import`, `export`, `scrub` and `show`: cassettes as files.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use stuntdouble_cassettes::Cassette;

use super::session::{SecretArguments, print, read};
use super::{CommandError, exit};

/// Arguments of `stuntdouble import`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  stuntdouble import browser.har -o session.yaml")]
pub(super) struct ImportArguments {
    /// A HAR 1.2 file, as browsers save it
    #[arg(value_name = "HAR")]
    har: PathBuf,

    /// Cassette to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Keep the secrets in the HAR file
    #[arg(long)]
    keep_secrets: bool,

    #[command(flatten)]
    secrets: SecretArguments,
}

fn text(path: &Path) -> Result<String, CommandError> {
    fs::read_to_string(path).map_err(|error| CommandError::usage(format!("{}: {error}", path.display())))
}

/// Converts a HAR file to a cassette.
pub(super) fn import(arguments: &ImportArguments) -> Result<u8, CommandError> {
    let mut cassette = Cassette::from_har(&text(&arguments.har)?)
        .map_err(|error| CommandError::usage(format!("{}: {error}", arguments.har.display())))?;
    if !arguments.keep_secrets {
        cassette.redact(arguments.secrets.redaction()?);
    }
    cassette.save(&arguments.output).map_err(CommandError::usage)?;
    Ok(exit::OK)
}

/// Arguments of `stuntdouble export`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  stuntdouble export session.yaml -o session.har

Secrets in the cassette are replaced by placeholders unless --keep-secrets is given.")]
pub(super) struct ExportArguments {
    /// Cassette
    #[arg(value_name = "FILE")]
    cassette: PathBuf,

    /// HAR file to write [default: standard output]
    #[arg(short, long, value_name = "HAR")]
    output: Option<PathBuf>,

    /// Keep the secrets in the cassette
    #[arg(long)]
    keep_secrets: bool,

    #[command(flatten)]
    secrets: SecretArguments,
}

/// Converts a cassette to a HAR file.
pub(super) fn export(arguments: &ExportArguments) -> Result<u8, CommandError> {
    let mut cassette = read(&arguments.cassette)?;
    if !arguments.keep_secrets {
        cassette.redact(arguments.secrets.redaction()?);
    }
    match &arguments.output {
        Some(path) => cassette.save_har(path).map_err(CommandError::usage)?,
        None => print(&cassette.to_har()),
    }
    Ok(exit::OK)
}

/// Arguments of `stuntdouble scrub`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stuntdouble scrub session.yaml
  stuntdouble scrub session.yaml -o clean.yaml --redact-header X-Session --redact-path '**.apiToken'")]
pub(super) struct ScrubArguments {
    /// Cassette
    #[arg(value_name = "FILE")]
    cassette: PathBuf,

    /// Cassette to write [default: FILE itself]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    secrets: SecretArguments,
}

/// Removes the secrets from a cassette.
pub(super) fn scrub(arguments: &ScrubArguments) -> Result<u8, CommandError> {
    let mut cassette = read(&arguments.cassette)?;
    cassette.redact(arguments.secrets.redaction()?);
    let output = arguments.output.as_ref().unwrap_or(&arguments.cassette);
    cassette.save(output).map_err(CommandError::usage)?;
    Ok(exit::OK)
}

/// Arguments of `stuntdouble show`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  stuntdouble show session.yaml")]
pub(super) struct ShowArguments {
    /// Cassette
    #[arg(value_name = "FILE")]
    cassette: PathBuf,
}

/// Lists the interactions of a cassette.
pub(super) fn show(arguments: &ShowArguments) -> Result<u8, CommandError> {
    print(&read(&arguments.cassette)?.contents());
    Ok(exit::OK)
}
