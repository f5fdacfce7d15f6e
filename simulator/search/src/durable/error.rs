//! Why a data directory cannot be used.

use std::io;
use std::path::{Path, PathBuf};

/// Why a data directory cannot be used. Each error names what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataDirectoryError {
    /// Another process has it open.
    #[error("the data directory {0} is in use: stop the process that uses it, or take another directory")]
    InUse(PathBuf),
    /// It has a later format.
    #[error(
        "the data directory {directory} has format {found}, and this program writes format {expected} and reads no later one: \
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
    /// There are files, but none of search indices.
    #[error(
        "{0} is no directory of search indices: it has other files and no cluster.json; take an empty or a new directory"
    )]
    Foreign(PathBuf),
    /// What is in it is not what was written.
    #[error(
        "{} is damaged: {why}; restore the data directory from a copy, or take another one (it is not repaired or emptied)", .file.display()
    )]
    Damaged {
        /// The damaged file or folder.
        file: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The system refuses to read or write it.
    #[error("{} cannot be used: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl DataDirectoryError {
    pub(crate) fn damaged(file: &Path, why: impl ToString) -> DataDirectoryError {
        DataDirectoryError::Damaged {
            file: file.to_owned(),
            why: why.to_string(),
        }
    }

    /// The system's error about a path.
    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> DataDirectoryError + '_ {
        |source| DataDirectoryError::Io {
            path: path.to_owned(),
            source,
        }
    }
}
