//! Rolling a deployment back: writes what to roll back to into its spec, for the deployment's controller to do.
//!
//! Source: v1.2's deployment rollback, and `subresources` of the recordings.

use serde_json::Value;

use super::{Registry, RequestBody, RequestInfo, Response, admission};
use crate::{
    api::{Status, meta},
    strategy::validate,
};

/// Rolls back the deployment that the body names.
pub(super) async fn roll_back(
    registry: &Registry,
    request: &RequestInfo,
    body: &RequestBody,
) -> Result<Response, Status> {
    let scheme = registry.scheme();
    let kind = scheme
        .kind("extensions/v1beta1", "DeploymentRollback")
        .ok_or_else(Status::no_such_path)?;
    let rollback = registry.decode(kind, body)?;
    admission::namespace_exists(registry, request).await?;
    let name = meta::text(&rollback, "name");
    let errors = validate::rollback(&rollback);
    if !errors.is_empty() {
        return Err(Status::invalid(&kind.group, &kind.kind, name, &errors));
    }
    let deployment = RequestInfo {
        name: Some(name.to_owned()),
        subresource: None,
        ..request.clone()
    };
    registry
        .modify(&deployment, |object| {
            if let Some(annotations) = meta::lookup(&rollback, "updatedAnnotations").and_then(Value::as_object) {
                let kept = meta::child(meta::metadata(object), "annotations");
                kept.extend(annotations.iter().map(|(k, v)| (k.clone(), v.clone())));
            }
            let to = rollback
                .get("rollbackTo")
                .cloned()
                .unwrap_or_else(|| Value::Object(Default::default()));
            meta::child(object, "spec").insert("rollbackTo".into(), to);
            *object = request.resource.canonical(std::mem::take(object));
            Ok(())
        })
        .await?;
    let (code, status) = registry.profile.rollback_response();
    Ok(Response {
        code,
        ..Response::status(&status)
    })
}
