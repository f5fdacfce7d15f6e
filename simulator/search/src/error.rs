//! Errors, with the names and statuses of Elasticsearch 1.5's exceptions.
//!
//! Guarantees: one value per error, converted to `{"error": "Kind[reason]; nested: ...", "status": N}` in one place.
//! Source: `ExceptionsHelper.detailedMessage` of Elasticsearch 1.5 for the text of nested exceptions.

use crate::exception::Exception;
use std::fmt;

/// An error: HTTP status, exception of Elasticsearch 1.5, message, and cause.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SearchError {
    /// HTTP status.
    pub status: u16,
    /// Exception.
    pub kind: Exception,
    /// Message.
    pub reason: String,
    /// The exception that caused this one.
    pub cause: Option<Box<SearchError>>,
}

/// Returns the problems that a request has.
pub(crate) fn problems<const N: usize>(checks: [(bool, &str); N]) -> impl Iterator<Item = &str> {
    let found = checks.into_iter().filter(|(is_found, _)| *is_found);
    found.map(|(_, problem)| problem)
}

impl fmt::Display for SearchError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.cause.is_none() && self.reason.is_empty() {
            return write!(formatter, "{}", self.kind);
        }
        if self.cause.is_none() {
            return write!(formatter, "{}[{}]", self.kind, self.reason);
        }
        let mut next = Some(self);
        while let Some(error) = next {
            write!(formatter, "{}", error.kind)?;
            if !error.reason.is_empty() {
                write!(formatter, "[{}]", error.reason)?;
            }
            next = error.cause.as_deref();
            formatter.write_str(if next.is_some() { "; nested: " } else { "; " })?;
        }
        Ok(())
    }
}

impl std::error::Error for SearchError {}

/// Result of a search operation.
pub type Result<T, E = SearchError> = std::result::Result<T, E>;

impl SearchError {
    /// Creates an error without a cause.
    pub fn new(status: u16, kind: Exception, reason: impl Into<String>) -> SearchError {
        SearchError {
            status,
            kind,
            reason: reason.into(),
            cause: None,
        }
    }

    /// The error of a missing value that Elasticsearch does not check.
    pub(crate) fn null_pointer() -> SearchError {
        SearchError::new(500, Exception::NullPointer, "null")
    }

    /// The same error where Elasticsearch takes it for one of the request.
    pub(crate) fn null_pointer_of_request() -> SearchError {
        SearchError::new(400, Exception::NullPointer, "null")
    }

    /// Returns the text of an exception and of its causes, with full class names.
    pub(crate) fn qualified(&self) -> String {
        // The causes of an exception of another library are not told.
        let cause = self.cause.as_ref().filter(|_| self.kind.is_elasticsearch());
        let cause = cause.map(|cause| format!("; {}", cause.qualified()));
        format!("{}: {}{}", self.kind.class(), self.reason, cause.unwrap_or_default())
    }

    /// Adds `cause` below the innermost cause.
    pub(crate) fn caused_by(mut self, cause: SearchError) -> SearchError {
        let mut innermost = &mut self.cause;
        while let Some(error) = innermost {
            innermost = &mut error.cause;
        }
        *innermost = Some(Box::new(cause));
        self
    }

    /// Returns whether it is an exception of Java or of its JSON parser, which has no status of its own.
    pub(crate) fn is_java(&self) -> bool {
        matches!(
            self.kind,
            Exception::NumberFormat
                | Exception::IllegalArgument
                | Exception::JsonParse
                | Exception::NullPointer
                | Exception::ClassCast
        )
    }

    pub(crate) fn illegal(reason: impl Into<String>) -> SearchError {
        SearchError::new(400, Exception::ElasticsearchIllegalArgument, reason)
    }

    /// Java's `IllegalArgumentException`.
    pub(crate) fn argument(reason: impl Into<String>) -> SearchError {
        SearchError::new(400, Exception::IllegalArgument, reason)
    }

    /// The texts of a field of numbers cannot be analyzed.
    pub(crate) fn no_texts() -> SearchError {
        SearchError::argument("NumericTokenStream does not support CharTermAttribute.")
    }

    pub(crate) fn parse(reason: impl Into<String>) -> SearchError {
        SearchError::new(400, Exception::ElasticsearchParse, reason)
    }

    /// An element of a search that is no object: the parser reads on to the end of the search.
    pub(crate) fn incomplete() -> SearchError {
        SearchError::parse("End of query source reached but query is not complete.")
    }

    /// An element of a search that there is not.
    pub(crate) fn no_element(name: &str) -> SearchError {
        SearchError::search(format!("No parser for element [{name}]"))
    }

    /// A token where an element of a search, or its end, is expected. `name` is that of the member before.
    pub(crate) fn unexpected(token: &str, name: &str) -> SearchError {
        SearchError::parse(format!("Expected field name but got {token} \"{name}\""))
    }

    /// A query that cannot be parsed.
    pub(crate) fn query(reason: impl Into<String>) -> SearchError {
        SearchError::new(400, Exception::QueryParsing, reason)
    }

    /// A part of a search request that cannot be parsed. The search adds its context to the reason.
    pub(crate) fn search(reason: impl Into<String>) -> SearchError {
        SearchError::new(400, Exception::SearchParse, reason)
    }

    /// Fails for a request with problems.
    pub(crate) fn validated<T: AsRef<str>>(problems: &[T]) -> Result<()> {
        match problems {
            [] => Ok(()),
            _ => Err(SearchError::invalid(problems)),
        }
    }

    /// A request with problems.
    pub(crate) fn invalid<T: AsRef<str>>(problems: &[T]) -> SearchError {
        let numbered = problems.iter().enumerate();
        let numbered = numbered.map(|(at, what)| format!("{}: {};", at + 1, what.as_ref()));
        let reason = format!("Validation Failed: {}", numbered.collect::<String>());
        SearchError::new(400, Exception::ActionRequestValidation, reason)
    }

    /// A request that lacks a required parameter.
    pub(crate) fn validation(reason: &str) -> SearchError {
        SearchError::invalid(&[reason])
    }

    /// A text that is no whole number.
    pub(crate) fn number(text: &str) -> SearchError {
        SearchError::new(400, Exception::NumberFormat, format!("For input string: \"{text}\""))
    }

    /// A text that is not a floating-point number.
    pub(crate) fn float(text: &str) -> SearchError {
        let reason = text.trim();
        let unsigned = reason.strip_prefix(['+', '-']).unwrap_or(reason);
        let start = unsigned.split(|c: char| !c.is_ascii_digit() && c != '.').next();
        match start {
            _ if reason.is_empty() => SearchError::new(400, Exception::NumberFormat, "empty String"),
            Some(start) if start.matches('.').count() > 1 => {
                SearchError::new(400, Exception::NumberFormat, "multiple points")
            }
            _ => SearchError::number(text),
        }
    }

    pub(crate) fn mapping(reason: impl Into<String>) -> SearchError {
        SearchError::new(400, Exception::MapperParsing, reason)
    }

    pub(crate) fn index_missing(index: &str) -> SearchError {
        SearchError::new(404, Exception::IndexMissing, format!("[{index}] missing"))
    }

    /// A document that needs a routing value or a parent, and has none.
    pub(crate) fn routing_missing(index: &str, type_name: &str, id: &str) -> SearchError {
        let reason = format!("routing is required for [{index}]/[{type_name}]/[{id}]");
        SearchError::new(400, Exception::RoutingMissing, reason)
    }

    pub(crate) fn too_large(reason: impl Into<String>) -> SearchError {
        SearchError::new(413, Exception::TooLongFrame, reason)
    }

    /// A request that is rejected because a queue or a limit is full.
    pub(crate) fn rejected(reason: impl Into<String>) -> SearchError {
        SearchError::new(429, Exception::EsRejectedExecution, reason)
    }

    /// An internal error of the index, which no request should be able to cause.
    pub(crate) fn engine(error: impl fmt::Display) -> SearchError {
        SearchError::new(500, Exception::Engine, error.to_string())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_no_numbers_are_refused_as_java_does() {
        let float = |text: &str| SearchError::float(text).reason;
        assert_eq!(float(" "), "empty String");
        assert_eq!(float("10.0.0.1"), "multiple points");
        assert_eq!(float("a.b.c"), "For input string: \"a.b.c\"");
        assert_eq!(SearchError::number("").reason, "For input string: \"\"");
    }

    #[test]
    fn causes_are_nested_in_the_text() {
        let error = SearchError::mapping("failed to parse [n]").caused_by(SearchError::number("abc"));
        assert_eq!(
            error.to_string(),
            "MapperParsingException[failed to parse [n]]; nested: NumberFormatException[For input string: \"abc\"]; "
        );
    }
}
