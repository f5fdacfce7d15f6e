//! Namespaces.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::deletion::Deletion;
use super::generic::Strategy;
use super::object::{keep, set_status};
use super::resource_name::ResourceName;
use super::validate::cursor::{Cursor, Errors};
use super::validate::metadata;
use super::validate::name::{self, NameRule};
use crate::api::{Object, Status, meta};
use crate::clock::stamp;
use crate::rng::Rng;

/// Resource of namespaces.
pub(crate) const RESOURCE: ResourceName = ResourceName::core("namespaces");
/// Namespace that every cluster has.
pub(crate) const DEFAULT: &str = "default";
/// Finalizer of the namespace controller.
const FINALIZER: &str = "kubernetes";
const CONTENT_REMAINS: &str = "The system is ensuring all content is removed from this namespace.  Upon completion, \
    this namespace will automatically be purged by the system.";

/// Strategy of namespaces.
pub(super) struct NamespaceStrategy;

impl Strategy for NamespaceStrategy {
    fn prepare_for_create(&self, namespace: &mut Object, _: &Rng) {
        set_status(namespace, json!({"phase": "Active"}));
        let finalizers = meta::child(namespace, "spec")
            .entry("finalizers")
            .or_insert(Value::Null);
        let mut all = finalizers.as_array().cloned().unwrap_or_default();
        if !all.iter().any(|finalizer| finalizer == FINALIZER) {
            all.push(FINALIZER.into());
            *finalizers = all.into();
        }
    }

    /// Errors of a finalizer are reported at the list.
    fn validate(&self, namespace: &Cursor, _: &str, errors: &mut Errors) {
        metadata::create(&namespace.at("metadata"), false, NameRule::DnsLabel, errors);
        let finalizers = namespace.at("spec.finalizers");
        for text in finalizers.texts() {
            finalizer(&finalizers, text, errors);
        }
    }

    fn prepare_for_update(&self, new: &mut Object, old: &Object) {
        keep(new, old, "status");
        keep(new, old, "spec");
    }

    fn validate_update(&self, new: &Cursor, old: &Cursor, group: &str, errors: &mut Errors) {
        self.validate(new, group, errors);
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
    }

    /// The phase must agree with the deletionTimestamp.
    fn validate_status_update(&self, new: &Cursor, old: &Cursor, errors: &mut Errors) {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        let deleted = old.at("metadata.deletionTimestamp").is_set() || new.at("metadata.deletionTimestamp").is_set();
        let phase = new
            .at("status.phase")
            .reported_at(&new.at("status").path().clone(), "Phase");
        match phase.text() {
            "Active" if !deleted => {}
            "Terminating" if deleted => {}
            text if deleted => {
                errors.push(phase.invalid(text, "may only be 'Terminating' if `deletionTimestamp` is not empty"))
            }
            text => errors.push(phase.invalid(text, "may only be 'Active' if `deletionTimestamp` is empty")),
        }
    }

    /// Errors of a finalizer are reported at its index.
    fn validate_finalizers(&self, new: &Cursor, old: &Cursor, errors: &mut Errors) {
        metadata::update(&new.at("metadata"), &old.at("metadata"), errors);
        for entry in new.at("spec.finalizers").items() {
            finalizer(&entry, entry.text(), errors);
        }
    }

    /// The first delete marks a namespace. A delete without remaining finalizers removes it.
    fn before_delete(&self, namespace: &mut Object, _: &mut Option<i64>, now: Timestamp) -> Result<Deletion, Status> {
        let name = meta::text(namespace, "metadata.name");
        if name == DEFAULT {
            let why = "this namespace may not be deleted";
            return Err(Status::forbidden("", RESOURCE.plural, name, why));
        }
        if meta::text(namespace, "metadata.deletionTimestamp").is_empty() {
            meta::set(namespace, "deletionTimestamp", &stamp(now));
            meta::child(namespace, "status").insert("phase".into(), "Terminating".into());
            return Ok(Deletion::Mark);
        }
        let finalizers = meta::lookup(namespace, "spec.finalizers").and_then(Value::as_array);
        if finalizers.is_some_and(|finalizers| !finalizers.is_empty()) {
            return Err(Status::conflict("", RESOURCE.plural, name, CONTENT_REMAINS));
        }
        Ok(Deletion::Remove)
    }

    /// v1.2 removes the namespaces of a collection at once.
    fn before_delete_of_collection(
        &self,
        _: &mut Object,
        _: &mut Option<i64>,
        _: Timestamp,
    ) -> Result<Deletion, Status> {
        Ok(Deletion::Remove)
    }

    fn returns_deleted(&self) -> bool {
        true
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
