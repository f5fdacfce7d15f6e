//! What the backend refuses, and how it says so.
//!
//! Promises: one value per refusal, turned into `{"error": "Kind[reason]", "status": N}` in one place.
//! Source: the exceptions of Elasticsearch 1.5, by name and status.

use thiserror::Error;

/// A refusal: its status, the name of the exception that the real backend would raise, and what it says.
#[derive(Clone, Debug, Error)]
#[error("{kind}[{reason}]")]
pub struct SearchError {
    /// The HTTP status.
    pub status: u16,
    /// The exception's name.
    pub kind: &'static str,
    /// What it says.
    pub reason: String,
}

/// The answer of anything that can refuse.
pub type Result<T> = std::result::Result<T, SearchError>;

impl SearchError {
    /// A refusal with all its parts.
    pub fn new(status: u16, kind: &'static str, reason: impl Into<String>) -> SearchError {
        SearchError {
            status,
            kind,
            reason: reason.into(),
        }
    }

    pub(crate) fn illegal(reason: impl Into<String>) -> SearchError {
        SearchError::new(400, "ElasticsearchIllegalArgumentException", reason)
    }

    pub(crate) fn parse(reason: impl Into<String>) -> SearchError {
        SearchError::new(400, "ElasticsearchParseException", reason)
    }

    /// What a query says that cannot be understood.
    pub(crate) fn query(reason: impl Into<String>) -> SearchError {
        SearchError::new(400, "QueryParsingException", reason)
    }

    pub(crate) fn number(text: &str) -> SearchError {
        SearchError::new(400, "NumberFormatException", format!("For input string: \"{text}\""))
    }

    pub(crate) fn mapping(reason: impl Into<String>) -> SearchError {
        SearchError::new(400, "MapperParsingException", reason)
    }

    pub(crate) fn index_missing(index: &str) -> SearchError {
        SearchError::new(404, "IndexMissingException", format!("[{index}] missing"))
    }

    pub(crate) fn too_large(reason: impl Into<String>) -> SearchError {
        SearchError::new(413, "TooLongFrameException", reason)
    }

    /// The index itself failed, which no request should bring about.
    pub(crate) fn engine(error: impl std::fmt::Display) -> SearchError {
        SearchError::new(500, "EngineException", error.to_string())
    }
}

impl From<tantivy::TantivyError> for SearchError {
    fn from(error: tantivy::TantivyError) -> SearchError {
        SearchError::engine(error)
    }
}

impl From<std::io::Error> for SearchError {
    fn from(error: std::io::Error) -> SearchError {
        SearchError::engine(error)
    }
}
