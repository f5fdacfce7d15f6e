//! Values that occur both in parameters and in bodies.

use crate::error::{Result, SearchError};
use crate::query::Operator;

/// Parses the default operator of a query. Default: OR.
///
/// # Errors
/// Any other text.
pub(crate) fn operator(text: Option<&str>) -> Result<Operator> {
    text.map_or(Ok(Operator::default()), |text| {
        Operator::parse(text).ok_or_else(|| unknown_operator(text))
    })
}

/// Returns the error for an operator that does not exist.
pub(super) fn unknown_operator(text: &str) -> SearchError {
    SearchError::illegal(format!(
        "Unsupported defaultOperator [{text}], can either be [OR] or [AND]"
    ))
}
