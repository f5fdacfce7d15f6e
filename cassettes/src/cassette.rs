//! What can be done with a cassette.

use crate::differ::{self, Diff};
use crate::format::{self, FormatError};
use crate::har::{self, HarError};
use crate::interaction::Cassette;
use crate::redactor::{self, Redaction};
use std::path::Path;

impl Cassette {
    /// Reads a cassette from a file. The end may be missing: what a crash cut off is left out.
    ///
    /// # Errors
    /// If the file cannot be read, is not a cassette, is of a newer version, or is malformed elsewhere than at its end.
    pub fn open(path: &Path) -> Result<Self, FormatError> {
        format::read(path)
    }

    /// Reads a cassette from its text.
    ///
    /// # Errors
    /// As [`Cassette::open`].
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        format::parse(text)
    }

    /// Writes a cassette to a file that only its owner can read. The file has all of it or is as it was before.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), FormatError> {
        format::write(path, self)
    }

    /// Writes a cassette as HAR 1.2 to a file, under the same promises as [`Cassette::save`].
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save_har(&self, path: &Path) -> Result<(), FormatError> {
        format::replace(path, self.to_har().as_bytes())
    }

    /// The text of a cassette: a YAML stream, with a document for each interaction.
    pub fn to_yaml(&self) -> String {
        format::to_string(self)
    }

    /// The header and one line for each interaction, for a terminal.
    pub fn contents(&self) -> String {
        format::contents(self)
    }

    /// Reads a cassette from a HAR 1.2 file.
    ///
    /// # Errors
    /// If the text is not a HAR.
    pub fn from_har(text: &str) -> Result<Self, HarError> {
        har::import(text)
    }

    /// The cassette as HAR 1.2, indented. [`Cassette::from_har`] reads it back without loss.
    pub fn to_har(&self) -> String {
        har::export(self)
    }

    /// Replaces secrets by placeholders, and names the rules in the header.
    pub fn redact(&mut self, redaction: Redaction) {
        redactor::scrub(self, redaction);
    }

    /// The differences between two sessions, interaction by interaction.
    pub fn diff(&self, other: &Self) -> Diff {
        differ::diff(self, other)
    }
}
