//! Format v1: a YAML stream of a header and one document per interaction, which are appended during the recording.
//!
//! Guarantees:
//! - The bytes of every body are restored exactly. JSON is written as structure, other text as a literal block, other
//!   bytes as base64.
//! - If the end of a file is missing, only the last response and frames that were not yet appended are lost.
//! - Every released version of the format stays readable. A newer version is refused with the program version that
//!   reads it.
//!
//! Limit: JSON of more than 100 levels, with duplicate keys, or in the layout of no known encoder is written as text.
//! Source: DESIGN.md, decision 8; YAML 1.2.2.
//!
//! The document of a stream stays open while it is the last one of the file. When another document must be appended, it
//! is ended, and continued in a later document with the number of its interaction (`stream_of`). A document ends with
//! `...`, a frame with its `at_ms`. A document or frame without its end is incomplete and ignored.

mod contents;
mod document;
mod json;
mod node;
mod parse;
mod reader;
#[cfg(test)]
mod tests;
mod writer;
mod yaml;

pub(crate) use contents::contents;
pub(crate) use reader::{parse, read};
pub(crate) use writer::{CassetteWriter, End, Opening, replace, to_string, write};

use crate::interaction::Program;
use std::path::PathBuf;

/// The version of the format that is written. Versions up to it are read.
pub(crate) const VERSION: u64 = 1;

/// The oldest version of this program that reads [`VERSION`].
pub(crate) const READ_BY: &str = "0.1.0";

/// Errors of reading and writing cassettes.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The text does not begin with the header of a cassette.
    #[error("not a cassette: {0}")]
    NotACassette(String),
    /// The cassette has a newer format version.
    #[error(
        "this cassette has format {found}, and this is {this}, which reads formats up to {VERSION}: {reader} or later reads it"
    )]
    TooNew {
        /// The version of the cassette.
        found: u64,
        /// The program that reads it, according to the cassette.
        reader: String,
        /// This program.
        this: String,
    },
    /// A document is malformed.
    #[error("line {line}: {what}")]
    Malformed {
        /// The line of the file, from 1.
        line: usize,
        /// The error.
        what: String,
    },
    /// The writer was used after an error.
    #[error("the recording was stopped by an earlier error")]
    Stopped,
}

impl FormatError {
    fn too_new(found: u64, reader: Option<&str>) -> Self {
        let this = Program::this();
        Self::TooNew {
            found,
            reader: reader.unwrap_or("a newer stuntdouble").to_owned(),
            this: format!("{} {}", this.name, this.version),
        }
    }
}
