//! Nodes.

use std::collections::BTreeSet;

use super::generic::Strategy;
use super::object::{drop_status, keep};
use super::validate::cursor::{Cursor, Errors};
use super::validate::name::NameRule;
use super::validate::{forms, internal, metadata};
use crate::api::{FieldError, Object, Path, Status};
use crate::rng::Rng;
use crate::scheme::Resource;

/// Strategy of nodes.
pub(super) struct NodeStrategy;

impl Strategy for NodeStrategy {
    fn validate(&self, node: &Cursor, _: &str, errors: &mut Errors) {
        metadata::create(&node.at("metadata"), false, NameRule::DnsSubdomain, errors);
        node.at("spec.externalID").require_text(errors);
    }

    fn prepare_for_update(&self, _: &Resource, new: &mut Object, old: &Object) {
        keep(new, old, "status");
    }

    fn validate_update(&self, new: &Cursor, old: &Cursor, group: &str, errors: &mut Errors) {
        self.validate(new, group, errors);
        self.validate_status_update(new, old, errors);
    }

    /// Identity and address range stay, no address stands twice.
    fn validate_status_update(&self, new: &Cursor, old: &Cursor, errors: &mut Errors) {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
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

    fn export(&self, node: &mut Object, exact: bool, _: &Rng) -> Result<(), Status> {
        if !exact {
            drop_status(node);
        }
        Ok(())
    }
}
