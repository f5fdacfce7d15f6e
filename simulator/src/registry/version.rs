//! The version that a kind is stored in, and the other that some kinds have.
//!
//! Jobs and autoscalers are served in two groups and stored in `extensions/v1beta1`; errors name that group's resource.
//! Source: v1.2's storage versions, and the recordings of both groups.

use bytes::Bytes;

use crate::{
    api::{Object, meta},
    scheme::{Resource, Scheme},
    watch::Version,
};

/// The resource in whose version `resource` is stored: itself, except for the second group of a kind.
pub(super) fn storage(resource: &'static Resource) -> &'static Resource {
    match resource.group.as_str() {
        "" | "extensions" => resource,
        _ => Scheme::builtin()
            .resource("extensions", "v1beta1", &resource.plural)
            .unwrap_or(resource),
    }
}

/// The group and the resource that errors name.
pub(super) fn error_resource(resource: &'static Resource) -> (&'static str, &'static str) {
    let stored = storage(resource);
    (
        stored.strategy.error_group.as_deref().unwrap_or(&stored.group),
        &stored.plural,
    )
}

/// The group that a failed validation names: of a kind of two groups always the one that it is not stored in.
pub(super) fn invalid_group(resource: &'static Resource) -> &'static str {
    match resource.plural.as_str() {
        "jobs" => "batch",
        "horizontalpodautoscalers" => "autoscaling",
        _ => &resource.group,
    }
}

/// The version of stored objects that `resource` serves.
pub(super) fn served(resource: &'static Resource) -> Version {
    if std::ptr::eq(storage(resource), resource) {
        Version::Storage
    } else {
        Version::Converted { resource, convert }
    }
}

/// Turns the stored bytes of an object into `resource`'s version.
fn convert(resource: &'static Resource, bytes: &Bytes) -> Bytes {
    let object: Object = serde_json::from_slice(bytes).unwrap_or_default();
    let mut object = storage(resource).convert(resource, object);
    link(resource, &mut object);
    resource.encode(&resource.canonical(object))
}

/// Writes the object's own path into its metadata.
///
/// An object that has lost its namespace, as an exported one does, gets the path that v1.2 gives it: one with the namespace left out.
pub(super) fn link(resource: &Resource, object: &mut Object) {
    let (namespace, name) = (
        meta::text(object, "metadata.namespace"),
        meta::text(object, "metadata.name"),
    );
    let path = match (resource.namespaced, namespace) {
        (false, _) => format!("{}/{}/{name}", root(resource), resource.plural),
        (true, "") => format!("{}/namespaces/{}/{name}", root(resource), resource.plural),
        (true, namespace) => format!("{}/namespaces/{namespace}/{}/{name}", root(resource), resource.plural),
    };
    meta::set(object, "selfLink", &path);
}

/// The path of a resource's group and version.
pub(super) fn root(resource: &Resource) -> String {
    if resource.group.is_empty() {
        format!("/api/{}", resource.version)
    } else {
        format!("/apis/{}/{}", resource.group, resource.version)
    }
}

/// The path of a collection, as a list's selfLink says it.
pub(super) fn collection(resource: &Resource, namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) => format!("{}/namespaces/{namespace}/{}", root(resource), resource.plural),
        None => format!("{}/{}", root(resource), resource.plural),
    }
}
