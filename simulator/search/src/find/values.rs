//! Values of parameters and bodies that several parts of a request have.

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
