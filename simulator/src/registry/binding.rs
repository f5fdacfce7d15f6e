//! Bindings: putting a pod on a node.
//!
//! Source: v1.2's pod binding, and `subresources` of the recordings.

use serde_json::Value;

use super::{Registry, RequestBody, RequestInfo, Response, admission};
use crate::{
    api::{Status, meta, status::texts},
    strategy::validate,
};

/// Binds the pod that the body names.
pub(super) async fn bind(registry: &Registry, request: &RequestInfo, body: &RequestBody) -> Result<Response, Status> {
    let scheme = registry.scheme();
    let (kind, pods) = scheme
        .kind("v1", "Binding")
        .zip(scheme.resource("", "v1", "pods"))
        .ok_or_else(Status::no_such_path)?;
    let binding = registry.decode(kind, body)?;
    admission::namespace_accepts(registry, request, admission::name(&binding)).await?;
    let faults = validate::binding(&binding);
    if !faults.is_empty() {
        return Err(registry.client_error(400, texts(&faults)));
    }
    let name = meta::text(&binding, "metadata.name").to_owned();
    let node = meta::text(&binding, "target.name").to_owned();
    let pod = RequestInfo {
        resource: pods.clone(),
        name: Some(name.clone()),
        subresource: None,
        ..request.clone()
    };
    registry
        .modify(&pod, |object| {
            let conflict = |why: String| Status::conflict("", "pods/binding", &name, &why);
            if !meta::text(object, "metadata.deletionTimestamp").is_empty() {
                return Err(conflict(format!(
                    "pod {name} is being deleted, cannot be assigned to a host"
                )));
            }
            let bound = meta::text(object, "spec.nodeName");
            if !bound.is_empty() {
                return Err(conflict(format!("pod {name} is already assigned to node {bound:?}")));
            }
            meta::child(object, "spec").insert("nodeName".into(), node.clone().into());
            if let Some(annotations) = meta::lookup(&binding, "metadata.annotations").and_then(Value::as_object) {
                let kept = meta::child(meta::metadata(object), "annotations");
                kept.extend(annotations.iter().map(|(k, v)| (k.clone(), v.clone())));
            }
            *object = pods.canonical(std::mem::take(object));
            Ok(())
        })
        .await?;
    let code = registry.profile.created_code();
    if registry.profile.returns_binding() {
        return Ok(Response {
            code,
            body: registry.encode(kind, binding),
        });
    }
    Ok(Response::status(&Status::success().with_code(code)))
}
