//! Validation of an object by the rules of its kind.
//!
//! - The `new` object of an update has the resource version that the storage fills in for an unconditional update.
//! - Limit: rules that depend on other objects (allocation of addresses and ports, quotas, existence) are not checked
//!   here.

use super::{
    generic::Strategy,
    validate::{
        cursor::{Cursor, Errors},
        metadata,
        name::NameRule,
    },
};
use crate::api::{FieldError, Object};

/// Validates a new object. `group` is that of the request.
pub(crate) fn create(strategy: &dyn Strategy, namespaced: bool, group: &str, object: &Object) -> Vec<FieldError> {
    let at = Cursor::root(object);
    let errors = Errors::of(|errors| strategy.validate(&at, group, errors));
    if !errors.is_empty() {
        return errors;
    }
    Errors::of(|errors| metadata::create(&at.at("metadata"), namespaced, NameRule::PathSegment, errors))
}

/// Validates an update from `old` to `new`.
pub(crate) fn update(strategy: &dyn Strategy, group: &str, new: &Object, old: &Object) -> Vec<FieldError> {
    let (new, old) = (Cursor::root(new), Cursor::root(old));
    Errors::of(|errors| {
        // A kind that is validated before its version is compared checks the common rules itself.
        if !strategy.validates_before_version() {
            metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        }
        strategy.validate_update(&new, &old, group, errors);
    })
}

/// Validates an update of the status from `old` to `new`.
pub(crate) fn update_status(strategy: &dyn Strategy, new: &Object, old: &Object) -> Vec<FieldError> {
    let (new, old) = (Cursor::root(new), Cursor::root(old));
    Errors::of(|errors| {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        strategy.validate_status_update(&new, &old, errors);
    })
}

/// Validates an update of the finalizers from `old` to `new`.
pub(crate) fn update_finalizers(strategy: &dyn Strategy, new: &Object, old: &Object) -> Vec<FieldError> {
    let (new, old) = (Cursor::root(new), Cursor::root(old));
    Errors::of(|errors| {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        strategy.validate_finalizers(&new, &old, errors);
    })
}
