//! Values that occur both in parameters and in bodies.

use crate::error::{Result, SearchError};
use crate::query::Operator;

/// Parses the default operator of a query. Default: OR.
///
/// # Errors
/// Any other text.
pub(crate) fn operator(text: Option<&str>) -> Result<Operator> {
    match text.map(str::to_ascii_lowercase).as_deref() {
        None | Some("or") => Ok(Operator::Or),
        Some("and") => Ok(Operator::And),
        Some(_) => Err(unknown_operator(text.unwrap_or_default())),
    }
}

/// Returns the error for an operator that does not exist.
pub(super) fn unknown_operator(text: &str) -> SearchError {
    SearchError::illegal(format!(
        "Unsupported defaultOperator [{text}], can either be [OR] or [AND]"
    ))
}
