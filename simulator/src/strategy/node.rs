//! Rules for nodes.

use std::collections::BTreeSet;

use super::validate::cursor::{Cursor, Errors};
use super::validate::name::NameRule;
use super::validate::{forms, internal, meta};
use crate::api::{FieldError, Path};

/// Judges a node that is about to be made.
pub(super) fn create(node: &Cursor, errors: &mut Errors) {
    meta::create(&node.at("metadata"), false, NameRule::DnsSubdomain, errors);
    node.at("spec.externalID").require_text(errors);
}

/// Judges a change.
pub(super) fn update(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    create(new, errors);
    update_status(new, old, errors);
}

/// Judges a change of status, by the rules for any change: identity and address range stay, no address stands twice.
pub(super) fn update_status(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    meta::update(&new.at("metadata"), &old.at("metadata"), errors);
    let mut seen = BTreeSet::new();
    for address in new.at("status.addresses").items() {
        if !seen.insert((address.at("type").text(), address.at("address").text())) {
            errors.push(FieldError::duplicate(
                address.path(),
                internal::show(&forms::NODE_ADDRESS, address.value()),
            ));
        }
    }
    let (range, before) = (new.at("spec.podCIDR"), old.at("spec.podCIDR").text());
    let range_changed = !before.is_empty() && before != range.text();
    if range_changed {
        errors.push(range.forbidden("node updates may not change podCIDR except from \"\" to valid"));
    }
    if range_changed || !internal::same(&forms::NODE_IDENTITY, new.at("spec").value(), old.at("spec").value()) {
        errors.push(FieldError::forbidden(
            &Path::new("[]"),
            "node updates may only change labels or capacity",
        ));
    }
}
