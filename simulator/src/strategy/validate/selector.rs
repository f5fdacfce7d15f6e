//! Rules for the label selectors of controllers, and matching.

use super::cursor::{Cursor, Errors};
use super::metadata;
use crate::api::Object;
use crate::api::labels::Selector;

/// Validates the label selector at `at`, if there is one.
pub(crate) fn validate(at: &Cursor, errors: &mut Errors) {
    metadata::labels(&at.at("matchLabels"), errors);
    for requirement in at.at("matchExpressions").items() {
        validate_requirement(&requirement, &[], errors);
    }
}

/// Validates one requirement: operator and number of values, then the key. `ordering` contains the operators that
/// take one number.
pub(crate) fn validate_requirement(at: &Cursor, ordering: &[&str], errors: &mut Errors) {
    let (operator, values) = (at.at("operator"), at.at("values"));
    match operator.text() {
        "In" | "NotIn" => {
            if values.is_empty() {
                errors.push(values.required("must be specified when `operator` is 'In' or 'NotIn'"));
            }
        }
        "Exists" | "DoesNotExist" => {
            if !values.is_empty() {
                errors.push(values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
            }
        }
        text if ordering.contains(&text) => {
            if values.len() != 1 {
                errors.push(values.required("must be specified single value when `operator` is 'Lt' or 'Gt'"));
            }
        }
        text => errors.push(operator.invalid(text, "not a valid selector operator")),
    }
    let key = at.at("key");
    metadata::label_key(&key, key.text(), errors);
}

/// Whether the selector has neither labels nor expressions.
pub(crate) fn is_blank(at: &Cursor) -> bool {
    at.at("matchLabels").is_empty() && at.at("matchExpressions").is_empty()
}

/// Whether the selector at `at` matches `labels`. `None` if it is malformed. An absent selector matches nothing, an
/// empty one everything.
pub(crate) fn matches(at: &Cursor, labels: &Cursor) -> Option<bool> {
    let selector = Selector::from_label_selector(at.value()).ok()?;
    Some(selector.matches(labels.members().unwrap_or(&Object::new())))
}

/// Selector of the map at `at`.
pub(crate) fn of_map(at: &Cursor) -> Selector {
    at.members().map(Selector::from_map).unwrap_or_default()
}
