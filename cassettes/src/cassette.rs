//! Operations on cassettes: open, save, convert, redact, compare.

use crate::differ::{self, Diff};
use crate::format::{self, FormatError};
use crate::har::{self, HarError};
use crate::interaction::Cassette;
use crate::redactor::{self, Redaction};
use std::path::Path;

impl Cassette {
    /// Reads a cassette from a file. An incomplete end, as after a crash, is ignored.
    ///
    /// # Errors
    /// If the file cannot be read, is not a cassette, has a newer format version, or is malformed before its end.
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

    /// Writes a cassette to a file that only its owner can read. The file is replaced as a whole or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), FormatError> {
        format::write(path, self)
    }

    /// Writes a cassette as HAR 1.2 to a file, with the same guarantees as [`Cassette::save`].
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save_har(&self, path: &Path) -> Result<(), FormatError> {
        format::replace(path, self.to_har().as_bytes())
    }

    /// The text of a cassette: a YAML stream with a document per interaction.
    pub fn to_yaml(&self) -> String {
        format::to_string(self)
    }

    /// A summary for a terminal: the header and one line per interaction.
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

    /// Replaces secrets with placeholders and adds the names of the rules to the header.
    pub fn redact(&mut self, redaction: Redaction) {
        redactor::scrub(self, redaction);
    }

    /// The differences between two sessions, interaction by interaction.
    pub fn diff(&self, other: &Self) -> Diff {
        differ::diff(self, other)
    }
}
