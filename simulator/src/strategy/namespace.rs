//! Rules for namespaces.

use super::validate::cursor::{Cursor, Errors};
use super::validate::meta;
use super::validate::name::{self, NameRule};

/// Judges a namespace that is about to be made. A bad finalizer is reported at the list.
pub(super) fn create(namespace: &Cursor, errors: &mut Errors) {
    meta::create(&namespace.at("metadata"), false, NameRule::DnsLabel, errors);
    let finalizers = namespace.at("spec.finalizers");
    for text in finalizers.texts() {
        finalizer(&finalizers, text, errors);
    }
}

/// Judges a change.
pub(super) fn update(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    create(new, errors);
    meta::update(&new.at("metadata"), &old.at("metadata"), errors);
}

/// Judges a change of status: the phase says whether the namespace is being deleted.
pub(super) fn update_status(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    meta::update(&new.at("metadata"), &old.at("metadata"), errors);
    let deleted = old.at("metadata.deletionTimestamp").is_set() || new.at("metadata.deletionTimestamp").is_set();
    let phase = new
        .at("status.phase")
        .shown_as(&new.at("status").path().clone(), "Phase");
    match phase.text() {
        "Active" if !deleted => {}
        "Terminating" if deleted => {}
        text if deleted => {
            errors.push(phase.invalid(text, "may only be 'Terminating' if `deletionTimestamp` is not empty"))
        }
        text => errors.push(phase.invalid(text, "may only be 'Active' if `deletionTimestamp` is empty")),
    }
}

/// Judges a change of finalizers. A bad one is reported at its place in the list.
pub(super) fn finalize(new: &Cursor, old: &Cursor, errors: &mut Errors) {
    meta::update(&new.at("metadata"), &old.at("metadata"), errors);
    for entry in new.at("spec.finalizers").items() {
        finalizer(&entry, entry.text(), errors);
    }
}

fn finalizer(at: &Cursor, text: &str, errors: &mut Errors) {
    if let Err(want) = name::qualified_name(text) {
        errors.push(at.invalid(text, want));
    } else if !text.contains('/') && text != "kubernetes" {
        errors.push(at.invalid(
            text,
            "name is neither a standard finalizer name nor is it fully qualified",
        ));
    }
}
