//! Rules for events.

use super::validate::cursor::{Cursor, Errors};
use super::validate::name;

/// Judges an event that is about to be made or changed. Nothing is asked of its metadata here.
pub(super) fn create(event: &Cursor, errors: &mut Errors) {
    let (own, namespace) = (
        event.at("metadata.namespace").text(),
        event.at("involvedObject.namespace"),
    );
    if event.at("involvedObject.kind").text() == "Node" {
        // A node has no namespace; older clients put its events into the default one.
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
