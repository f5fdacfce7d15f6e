//! Values of parameters and bodies that several parts of a request have.

use std::time::Duration;

use crate::cluster::duration;
use crate::error::{Result, SearchError};
use crate::query::Operator;

/// How terms without an operator between them are combined. Default: OR.
///
/// # Errors
/// Another word.
pub(crate) fn operator(text: Option<&str>) -> Result<Operator> {
    match text.map(str::to_ascii_lowercase).as_deref() {
        None | Some("or") => Ok(Operator::Or),
        Some("and") => Ok(Operator::And),
        Some(_) => Err(SearchError::illegal(format!(
            "Unsupported defaultOperator [{}], can either be [OR] or [AND]",
            text.unwrap_or("")
        ))),
    }
}

/// A length of time in a parameter or a body.
pub(crate) fn time(text: &str) -> Result<Duration> {
    duration(text).ok_or_else(|| {
        let digits =
            text.trim_end_matches(|c: char| c.is_ascii_alphabetic() && text.starts_with(|c: char| c.is_ascii_digit()));
        SearchError::parse(format!("Failed to parse [{text}]")).caused_by(SearchError::number(digits))
    })
}
