//! Events.

use jiff::SignedDuration;

use super::generic::Strategy;
use super::validate::cursor::{Cursor, Errors};
use super::validate::name;

/// Strategy of events.
pub(super) struct EventStrategy;

impl Strategy for EventStrategy {
    /// The metadata of events are not validated.
    fn validate(&self, event: &Cursor, _: &str, errors: &mut Errors) {
        let (own, namespace) = (
            event.at("metadata.namespace").text(),
            event.at("involvedObject.namespace"),
        );
        if event.at("involvedObject.kind").text() == "Node" {
            // A node has no namespace. Older clients use the default namespace for its events.
            if !["", "default"].contains(&own) {
                errors.push(namespace.invalid(namespace.text(), "not allowed for node"));
            }
        } else if own != namespace.text() {
            errors.push(namespace.invalid(namespace.text(), "does not match involvedObject"));
        }
        if name::dns_subdomain(own).is_err() {
            errors.push(event.at("namespace").invalid(own, ""));
        }
    }

    fn validate_update(&self, new: &Cursor, _: &Cursor, group: &str, errors: &mut Errors) {
        self.validate(new, group, errors);
    }

    fn time_to_live(&self) -> Option<SignedDuration> {
        Some(SignedDuration::from_hours(1))
    }
}
