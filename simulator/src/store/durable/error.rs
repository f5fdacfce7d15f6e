//! Why a data directory cannot be used.

use std::{io, path::PathBuf};

use crate::store::codec::Malformed;

/// Why a data directory cannot be used. Each error names what to do.
#[derive(Debug, thiserror::Error)]
pub enum DataDirectoryError {
    /// Another process has it open.
    #[error("the data directory {0} is in use: stop the process that uses it, or take another directory")]
    InUse(PathBuf),
    /// It has another format.
    #[error(
        "the data directory {directory} has format {found}, and this program reads and writes format {expected}: \
         use the program that wrote it, or take another directory"
    )]
    OtherFormat {
        /// The directory.
        directory: PathBuf,
        /// Its format.
        found: u64,
        /// The format of this program.
        expected: u64,
    },
    /// There are files, but none of a store.
    #[error("{0} is not a data directory: it has other files and no objects.redb; take an empty or a new directory")]
    Foreign(PathBuf),
    /// What is in it is not what was written.
    #[error(
        "the data directory {directory} is damaged: {why}; restore it from a copy, or take another directory (it is not repaired or emptied)"
    )]
    Damaged {
        /// The directory.
        directory: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// An earlier start found damage.
    #[error(
        "the data directory {directory} was found damaged before: {why}; restore it from a copy, take another directory, \
         or remove the file {} to go on with what is left", .directory.join("damaged").display()
    )]
    FoundDamaged {
        /// The directory.
        directory: PathBuf,
        /// What was wrong.
        why: String,
    },
    /// The system refuses to read or write it.
    #[error("the data directory {directory} cannot be used: {source}")]
    Io {
        /// The directory.
        directory: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl From<Malformed> for redb::Error {
    fn from(error: Malformed) -> Self {
        Self::Corrupted(error.to_string())
    }
}
