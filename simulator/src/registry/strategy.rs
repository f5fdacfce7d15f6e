//! What each kind does to an object before it is created or replaced.
//!
//! Objects are of the stored version. Rules that a table can say stand with the kind in `fixtures/kinds`; here are the others.
//! Source: the strategies of v1.2's registries, and the recordings.

use serde_json::{Value, json};

use super::update::Subresource;
use crate::{
    api::{Object, meta},
    rng::Rng,
    scheme::Resource,
};

/// Sets what a client cannot.
pub(super) fn prepare_create(resource: &Resource, object: &mut Object, rng: &Rng) {
    match resource.plural.as_str() {
        "limitranges" if meta::text(object, "metadata.name").is_empty() => meta::set(object, "name", &rng.uid()),
        "pods" => set_status(object, json!({"phase": "Pending"})),
        "namespaces" => {
            set_status(object, json!({"phase": "Active"}));
            let finalizers = meta::child(object, "spec").entry("finalizers").or_insert(Value::Null);
            let present = finalizers
                .as_array()
                .is_some_and(|f| f.iter().any(|f| f == "kubernetes"));
            if !present {
                let mut all = finalizers.as_array().cloned().unwrap_or_default();
                all.push("kubernetes".into());
                *finalizers = all.into();
            }
        }
        "serviceaccounts" => keep_names_of_secrets(object),
        "services"
        | "resourcequotas"
        | "jobs"
        | "horizontalpodautoscalers"
        | "persistentvolumes"
        | "persistentvolumeclaims" => drop(object.shift_remove("status")),
        "replicationcontrollers" | "replicasets" | "daemonsets" | "deployments" | "ingresses" => {
            object.shift_remove("status");
            set_generation(object, 1);
        }
        _ => {}
    }
}

/// Completes an object that has its name and uid: a job's selector is made of its uid if that is asked for.
pub(super) fn complete(resource: &Resource, object: &mut Object) {
    if resource.plural != "jobs" || meta::lookup(object, "spec.autoSelector").and_then(Value::as_bool) != Some(true) {
        return;
    }
    let (name, uid) = (
        meta::text(object, "metadata.name").to_owned(),
        meta::text(object, "metadata.uid").to_owned(),
    );
    let spec = meta::child(object, "spec");
    let labels = meta::child(meta::metadata(meta::child(spec, "template")), "labels");
    labels.entry("job-name").or_insert(name.into());
    labels.entry("controller-uid").or_insert(uid.clone().into());
    meta::child(meta::child(spec, "selector"), "matchLabels")
        .entry("controller-uid")
        .or_insert(uid.into());
}

/// Sets the status of a new volume or claim, whose status was dropped before validation.
pub(super) fn set_initial_status(resource: &Resource, object: &mut Object) {
    if matches!(resource.plural.as_str(), "persistentvolumes" | "persistentvolumeclaims") {
        set_status(object, json!({"phase": "Pending"}));
    }
}

/// Brings what passed validation into the one form that it is stored in.
pub(super) fn canonicalize(resource: &Resource, object: &mut Object) {
    if resource.plural == "endpoints" {
        crate::strategy::subsets::repack(object);
    }
}

/// Keeps what a replacement of `part` cannot change.
pub(super) fn prepare_update(resource: &Resource, subresource: Subresource, new: &mut Object, old: &Object) {
    match subresource {
        Subresource::Main => main(resource, new, old),
        Subresource::Status => {
            // v1.2 validates a claim before it takes over the spec.
            let modeless = resource.plural == "persistentvolumeclaims"
                && meta::lookup(new, "spec.accessModes").is_none_or(|modes| modes.as_array().is_none_or(Vec::is_empty));
            keep(new, old, "spec");
            if modeless {
                meta::child(new, "spec").shift_remove("accessModes");
            }
            match resource.plural.as_str() {
                "pods" => drop(meta::metadata(new).shift_remove("deletionTimestamp")),
                "deployments" => keep(meta::metadata(new), meta_of(old), "labels"),
                _ => {}
            }
        }
        Subresource::Finalize => keep(new, old, "status"),
    }
}

fn main(resource: &Resource, new: &mut Object, old: &Object) {
    match resource.plural.as_str() {
        "pods" | "persistentvolumes" | "persistentvolumeclaims" | "services" | "resourcequotas" | "jobs" | "nodes" => {
            keep(new, old, "status");
        }
        "serviceaccounts" => keep_names_of_secrets(new),
        "namespaces" => {
            keep(new, old, "status");
            keep(new, old, "spec");
        }
        "replicationcontrollers" | "replicasets" | "daemonsets" | "deployments" | "ingresses" => {
            keep(new, old, "status");
            let annotated = resource.plural == "deployments" && differs(meta_of(new), meta_of(old), "annotations");
            if annotated || spec_differs(resource, new, old) {
                let was = meta::lookup(old, "metadata.generation")
                    .and_then(Value::as_i64)
                    .unwrap_or(0);
                set_generation(new, was + 1);
            }
        }
        _ => {}
    }
}

/// Whether objects of a kind end by themselves.
pub(super) fn has_lifetime(resource: &Resource) -> bool {
    resource.plural == "events"
}

/// What v1.2 stores otherwise than it shows it, so that the first write after the creation is a change though nothing else is one: the phase of
/// a volume or claim, which a new one lacks, and the end of an event's life, which is the one before.
pub(super) fn hidden<'a>(resource: &Resource, object: &'a Object) -> &'a str {
    match resource.plural.as_str() {
        "persistentvolumes" | "persistentvolumeclaims" => meta::text(object, "status.phase"),
        "events" => meta::text(object, "metadata.deletionTimestamp"),
        _ => "",
    }
}

/// A service account refers to its secrets by name alone.
fn keep_names_of_secrets(account: &mut Object) {
    let secrets = account.get_mut("secrets").and_then(Value::as_array_mut);
    for secret in secrets.into_iter().flatten().filter_map(Value::as_object_mut) {
        secret.retain(|field, _| field == "name");
    }
}

fn spec_differs(resource: &Resource, new: &Object, old: &Object) -> bool {
    resource.canonical(new.clone()).get("spec") != old.get("spec")
}

fn differs(new: &Object, old: &Object, field: &str) -> bool {
    let given = |o: &Object| {
        o.get(field)
            .filter(|v| v.as_object().is_some_and(|m| !m.is_empty()))
            .cloned()
    };
    given(new) != given(old)
}

fn meta_of(object: &Object) -> &Object {
    static NONE: std::sync::LazyLock<Object> = std::sync::LazyLock::new(Object::new);
    object.get("metadata").and_then(Value::as_object).unwrap_or(&NONE)
}

fn keep(new: &mut Object, old: &Object, field: &str) {
    match old.get(field) {
        Some(value) => drop(new.insert(field.to_owned(), value.clone())),
        None => drop(new.shift_remove(field)),
    }
}

fn set_status(object: &mut Object, status: Value) {
    object.insert("status".to_owned(), status);
}

fn set_generation(object: &mut Object, generation: i64) {
    meta::metadata(object).insert("generation".to_owned(), generation.into());
}
