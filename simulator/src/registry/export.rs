//! Export: an object without what a user cannot set.
//!
//! Source: v1.2's generic export and the few kinds that add to it.

use serde_json::Value;

use super::strategy;
use crate::{
    api::{FieldError, Object, Path, Status, meta},
    rng::Rng,
    scheme::Resource,
};

/// Strips `object`; with `exact` what belongs to this cluster stays.
pub(super) fn strip(resource: &Resource, object: &mut Object, exact: bool, rng: &Rng) -> Result<(), Status> {
    let generated = !meta::text(object, "metadata.generateName").is_empty();
    for field in ["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"] {
        meta::set(object, field, "");
    }
    if !exact {
        meta::set(object, "namespace", "");
        if generated {
            meta::set(object, "name", "");
        }
    }
    match resource.kind.as_str() {
        "Node" if !exact => drop(object.shift_remove("status")),
        "Service" => service(object, exact),
        "Node" => {}
        "Secret" if !exact => secret(object)?,
        _ => strategy::prepare_create(resource, object, rng),
    }
    resource.set_self_link(object);
    Ok(())
}

fn service(object: &mut Object, exact: bool) {
    object.shift_remove("status");
    if exact {
        return;
    }
    let spec = meta::child(object, "spec");
    if spec.get("clusterIP").and_then(Value::as_str) != Some("None") {
        spec.insert("clusterIP".into(), "<unknown>".into());
    }
    if spec.get("type").and_then(Value::as_str) == Some("NodePort")
        && let Some(ports) = spec.get_mut("ports").and_then(Value::as_array_mut)
    {
        ports
            .iter_mut()
            .filter_map(Value::as_object_mut)
            .for_each(|p| drop(p.shift_remove("nodePort")));
    }
}

fn secret(object: &Object) -> Result<(), Status> {
    let tied = meta::lookup(object, "metadata.annotations").and_then(|a| a.get("kubernetes.io/service-account.uid"));
    if meta::text(object, "type") == "kubernetes.io/service-account-token" || tied.is_some() {
        let error = FieldError::invalid(
            &Path::new("type"),
            meta::text(object, "type"),
            "can not export service account secrets",
        );
        return Err(Status::invalid(
            "",
            "Secret",
            meta::text(object, "metadata.name"),
            &[error],
        ));
    }
    Ok(())
}
