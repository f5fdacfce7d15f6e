//! Validation of an object by the rules of its kind.
//!
//! An update's `new` has the resource version that the storage fills in for an unconditional update.
//! Limits: what needs the rest of the cluster (allocation of addresses and ports, quotas, existence) is not checked here.

use super::{
    generic::Strategy,
    validate::{
        cursor::{Cursor, Errors},
        metadata,
        name::NameRule,
    },
};
use crate::api::{FieldError, Object};

/// Errors of a new object; `group` is that of the request.
pub(crate) fn create(strategy: &dyn Strategy, namespaced: bool, group: &str, object: &Object) -> Vec<FieldError> {
    let at = Cursor::root(object);
    let errors = Errors::of(|errors| strategy.validate(&at, group, errors));
    if !errors.is_empty() {
        return errors;
    }
    Errors::of(|errors| metadata::create(&at.at("metadata"), namespaced, NameRule::PathSegment, errors))
}

/// Errors of a change from `old` to `new`.
pub(crate) fn update(strategy: &dyn Strategy, group: &str, new: &Object, old: &Object) -> Vec<FieldError> {
    let (new, old) = (Cursor::root(new), Cursor::root(old));
    Errors::of(|errors| {
        // What passes its own rules before its version is compared passes the common rules, too.
        if !strategy.validates_before_version() {
            metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        }
        strategy.validate_update(&new, &old, group, errors);
    })
}

/// Errors of a change of the status from `old` to `new`.
pub(crate) fn update_status(strategy: &dyn Strategy, new: &Object, old: &Object) -> Vec<FieldError> {
    let (new, old) = (Cursor::root(new), Cursor::root(old));
    Errors::of(|errors| {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        strategy.validate_status_update(&new, &old, errors);
    })
}

/// Errors of a change of the finalizers from `old` to `new`.
pub(crate) fn update_finalizers(strategy: &dyn Strategy, new: &Object, old: &Object) -> Vec<FieldError> {
    let (new, old) = (Cursor::root(new), Cursor::root(old));
    Errors::of(|errors| {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        strategy.validate_finalizers(&new, &old, errors);
    })
}
