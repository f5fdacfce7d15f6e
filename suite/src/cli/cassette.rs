//! `stuntdouble import`, `export`, `scrub` and `show`: cassettes as files.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use stuntdouble_cassettes::Cassette;

use super::session::{SecretArguments, print, read};
use super::{Trouble, exit};

/// Arguments of `stuntdouble import`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  stuntdouble import browser.har -o session.yaml")]
pub(super) struct ImportArguments {
    /// A HAR 1.2 file, as browsers save it
    #[arg(value_name = "HAR")]
    har: PathBuf,

    /// The cassette to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Keep the secrets that it holds
    #[arg(long)]
    keep_secrets: bool,

    #[command(flatten)]
    secrets: SecretArguments,
}

fn text(path: &Path) -> Result<String, Trouble> {
    fs::read_to_string(path).map_err(|error| Trouble::usage(format!("{}: {error}", path.display())))
}

/// Makes a cassette of a HAR.
pub(super) fn import(arguments: &ImportArguments) -> Result<u8, Trouble> {
    let mut cassette = Cassette::from_har(&text(&arguments.har)?)
        .map_err(|error| Trouble::usage(format!("{}: {error}", arguments.har.display())))?;
    if !arguments.keep_secrets {
        cassette.redact(arguments.secrets.redaction()?);
    }
    cassette.save(&arguments.output).map_err(Trouble::usage)?;
    Ok(exit::OK)
}

/// Arguments of `stuntdouble export`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  stuntdouble export session.yaml -o session.har

Secrets that the cassette still has are replaced, unless --keep-secrets is given.")]
pub(super) struct ExportArguments {
    /// The cassette
    #[arg(value_name = "FILE")]
    cassette: PathBuf,

    /// The HAR to write; standard output where none is given
    #[arg(short, long, value_name = "HAR")]
    output: Option<PathBuf>,

    /// Keep the secrets that it has
    #[arg(long)]
    keep_secrets: bool,

    #[command(flatten)]
    secrets: SecretArguments,
}

/// Makes a HAR of a cassette.
pub(super) fn export(arguments: &ExportArguments) -> Result<u8, Trouble> {
    let mut cassette = read(&arguments.cassette)?;
    if !arguments.keep_secrets {
        cassette.redact(arguments.secrets.redaction()?);
    }
    match &arguments.output {
        Some(path) => cassette.save_har(path).map_err(Trouble::usage)?,
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
    /// The cassette
    #[arg(value_name = "FILE")]
    cassette: PathBuf,

    /// The cassette to write; the same file where none is given
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    secrets: SecretArguments,
}

/// Takes the secrets out of a cassette.
pub(super) fn scrub(arguments: &ScrubArguments) -> Result<u8, Trouble> {
    let mut cassette = read(&arguments.cassette)?;
    cassette.redact(arguments.secrets.redaction()?);
    let output = arguments.output.as_ref().unwrap_or(&arguments.cassette);
    cassette.save(output).map_err(Trouble::usage)?;
    Ok(exit::OK)
}

/// Arguments of `stuntdouble show`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  stuntdouble show session.yaml")]
pub(super) struct ShowArguments {
    /// The cassette
    #[arg(value_name = "FILE")]
    cassette: PathBuf,
}

/// Lists what is on a cassette.
pub(super) fn show(arguments: &ShowArguments) -> Result<u8, Trouble> {
    print(&read(&arguments.cassette)?.contents());
    Ok(exit::OK)
}
