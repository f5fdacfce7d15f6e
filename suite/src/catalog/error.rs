//! The error of reading the catalog.

/// Error of reading the catalog.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// A file does not follow its format.
    #[error("{file}: {reason}")]
    Malformed {
        /// Path within the fixtures.
        file: String,
        /// Reason.
        reason: String,
    },
}

pub(super) fn malformed(file: &str, reason: impl ToString) -> CatalogError {
    CatalogError::Malformed {
        file: file.to_owned(),
        reason: reason.to_string(),
    }
}
