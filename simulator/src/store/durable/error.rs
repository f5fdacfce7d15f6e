//! Errors of a data directory.

use std::{io, path::PathBuf};

use crate::store::codec::Malformed;

/// Error of a data directory. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum DataDirectoryError {
    /// Another process has the directory open.
    #[error("the data directory {0} is in use: stop the process that uses it, or use another directory")]
    InUse(PathBuf),
    /// The directory has another format.
    #[error(
        "the data directory {directory} has format {found}, and this program reads and writes format {expected}: \
         use the program that wrote it, or use another directory"
    )]
    OtherFormat {
        /// Data directory.
        directory: PathBuf,
        /// Format of the directory.
        found: u64,
        /// Format of this program.
        expected: u64,
    },
    /// The directory contains other files, but no store.
    #[error("{0} is not a data directory: it has other files and no objects.redb; use an empty or a new directory")]
    Foreign(PathBuf),
    /// The contents are not what was written.
    #[error(
        "the data directory {directory} is damaged: {why}; restore it from a copy, or use another directory \
         (it is not repaired or emptied)"
    )]
    Damaged {
        /// Data directory.
        directory: PathBuf,
        /// Description of the damage.
        why: String,
    },
    /// An earlier start found damage.
    #[error(
        "the data directory {directory} was found damaged before: {why}; restore it from a copy, \
         use another directory, or remove the file {} to continue with the remaining data",
        .directory.join("damaged").display()
    )]
    FoundDamaged {
        /// Data directory.
        directory: PathBuf,
        /// Description of the damage.
        why: String,
    },
    /// The directory cannot be read or written.
    #[error("the data directory {directory} cannot be used: {source}")]
    Io {
        /// Data directory.
        directory: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl From<Malformed> for redb::Error {
    fn from(error: Malformed) -> Self {
        Self::Corrupted(error.to_string())
    }
}
