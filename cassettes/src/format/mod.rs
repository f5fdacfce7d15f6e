//! Format v1: a YAML stream, a header and then a document for each interaction, appended as they happen.
//!
//! Promises: the bytes of every body are restored exactly; JSON is kept as structure, other text as a literal block,
//! the rest as base64; a frame of a stream is in the file as soon as it is appended, and a file whose end is missing
//! lacks at most the response that was being written and the frames that had not been appended; every version that was
//! ever released stays readable, and a newer one is refused with the version of the program that reads it.
//! Limits: JSON of more than 100 levels, with a key twice, or laid out as no known encoder does is kept as text.
//! Source: DESIGN.md, decision 8; YAML 1.2.2.
//!
//! A document of an interaction that streams stays open while it is the last of the file. When another must be written
//! in between, it is ended, and goes on in a document of its own that names it (`stream_of`). A document ends with
//! `...`, a frame with its `at_ms`: what lacks its end was cut off by a crash and is left out.

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

/// The version of the format that is written; every one up to it is read.
pub(crate) const VERSION: u64 = 1;

/// The oldest version of this program that reads [`VERSION`].
pub(crate) const READ_BY: &str = "0.1.0";

/// Why a cassette could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It does not begin with a cassette's header.
    #[error("this is no cassette: {0}")]
    NotACassette(String),
    /// It is of a newer version.
    #[error(
        "this cassette has format {found}, and this is {this}, which reads formats up to {VERSION}: {reader} or later reads it"
    )]
    TooNew {
        /// The version of the cassette.
        found: u64,
        /// The program that reads it, as the cassette says.
        reader: String,
        /// This program.
        this: String,
    },
    /// A document is not what it should be.
    #[error("line {line}: {what}")]
    Malformed {
        /// The line of the file, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// The writer was written to after an error.
    #[error("the recording stopped at an earlier error")]
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
