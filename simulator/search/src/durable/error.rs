//! Errors of data directories.

use std::io;
use std::path::{Path, PathBuf};

/// The error of opening or writing a data directory. Each message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataDirectoryError {
    /// Another process has the data directory open.
    #[error("the data directory {0} is in use: stop the process that uses it, or use another directory")]
    InUse(PathBuf),
    /// The data directory has an unsupported format.
    #[error(
        "the data directory {directory} has format {found}, and this version supports only formats up to {expected}: \
         use the version that wrote it, or use another directory"
    )]
    OtherFormat {
        /// The data directory.
        directory: PathBuf,
        /// Format of the data directory.
        found: u64,
        /// The latest supported format.
        expected: u64,
    },
    /// The directory has files, but is not a data directory.
    #[error(
        "{0} is not a search data directory: it has other files and no cluster.json; use an empty or a new directory"
    )]
    Foreign(PathBuf),
    /// A file is missing or its content is invalid.
    #[error(
        "{} is damaged: {why}; restore the data directory from a copy, or use another one (it is not repaired or \
         emptied)",
        .file.display()
    )]
    Damaged {
        /// The damaged file or folder.
        file: PathBuf,
        /// What is wrong.
        why: String,
    },
    #[error("{} cannot be used: {source}", .path.display())]
    /// An I/O error.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error.
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

    /// Converts I/O errors of a path.
    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> DataDirectoryError + '_ {
        |source| DataDirectoryError::Io {
            path: path.to_owned(),
            source,
        }
    }
}
