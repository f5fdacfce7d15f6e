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
        Some(_) => Err(SearchError::illegal(format!(
            "Unsupported defaultOperator [{}], can either be [OR] or [AND]",
            text.unwrap_or("")
        ))),
    }
}
