//! The scale of what has replicas: a view of the object with its replica count, read and written.
//!
//! A replication controller's is `autoscaling/v1`'s Scale, a deployment's and a replica set's `extensions/v1beta1`'s.
//! Source: v1.2's scale sub-resources, and `subresources` of the recordings.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Registry, RequestBody, RequestInfo, Response, admission,
    get::parse,
    update::{conflict, same_name, same_namespace},
    watch::version,
};
use crate::{
    api::{Object, Status, labels, meta},
    patch::Language,
    scheme::Resource,
    strategy::validate,
};

/// The Scale kind at an address.
fn kind(registry: &Registry, request: &RequestInfo) -> Result<Arc<Resource>, Status> {
    let version = if request.resource.group.is_empty() {
        "autoscaling/v1"
    } else {
        "extensions/v1beta1"
    };
    match request.resource.plural.as_str() {
        "replicationcontrollers" | "deployments" | "replicasets" => registry
            .scheme()
            .kind(version, "Scale")
            .cloned()
            .ok_or_else(Status::no_such_path),
        _ => Err(Status::no_such_path()),
    }
}

/// Where what is scaled is stored: replication controllers, which have a scale in two groups, in their own.
fn scaled(registry: &Registry, request: &RequestInfo) -> RequestInfo {
    let controllers = registry
        .scheme()
        .resource("", "v1", "replicationcontrollers")
        .filter(|r| r.plural == request.resource.plural)
        .cloned();
    RequestInfo {
        resource: controllers.unwrap_or_else(|| request.resource.clone()),
        subresource: None,
        ..request.clone()
    }
}

/// What is not there is named with the sub-resource.
fn missing(request: &RequestInfo, scale: &Resource, status: Status) -> Status {
    if status.code != 404 {
        return status;
    }
    Status::not_found(
        &scale.group,
        &format!("{}/scale", request.resource.plural),
        request.name.as_deref().unwrap_or_default(),
    )
}

pub(super) async fn get(registry: &Registry, request: &RequestInfo) -> Result<Response, Status> {
    let scale = kind(registry, request)?;
    let object = current(registry, request)
        .await
        .map_err(|s| missing(request, &scale, s))?;
    Ok(Response::ok(registry.encode(&scale, view(request, &scale, &object))))
}

async fn current(registry: &Registry, request: &RequestInfo) -> Result<Object, Status> {
    parse(registry.record(&scaled(registry, request)).await?.bytes())
}

pub(super) async fn update(registry: &Registry, request: &RequestInfo, body: &RequestBody) -> Result<Response, Status> {
    let scale = kind(registry, request)?;
    let object = registry.decode(&scale, body)?;
    write(registry, request, &scale, object).await
}

pub(super) async fn patch(
    registry: &Registry,
    request: &RequestInfo,
    language: Language,
    body: &[u8],
) -> Result<Response, Status> {
    let scale = kind(registry, request)?;
    let shown = get(registry, request).await?;
    let mut current = parse(&shown.body)?;
    // v1.2 patches the scale before it has a link.
    meta::metadata(&mut current).shift_remove("selfLink");
    let object = registry.apply(&scale, language, &current, body)?;
    write(registry, request, &scale, object).await
}

async fn write(
    registry: &Registry,
    request: &RequestInfo,
    scale: &Resource,
    object: Object,
) -> Result<Response, Status> {
    same_name(request, &object)?;
    same_namespace(request, &object)?;
    admission::namespace_exists(registry, request).await?;
    let selector = meta::text(&object, "status.targetSelector");
    if let Err(why) = labels::Selector::parse(selector) {
        let why = format!("failed to parse target selector: {why}");
        return Err(Status::bad_request(format!(
            "Scale in version {:?} cannot be handled as a Scale: {why}",
            scale.version
        )));
    }
    let replicas = meta::lookup(&object, "spec.replicas")
        .and_then(Value::as_i64)
        .unwrap_or(0);
    let name = meta::text(&object, "metadata.name");
    let errors = validate::scale(&object);
    if !errors.is_empty() {
        return Err(Status::invalid(&scale.group, "Scale", name, &errors));
    }
    let scaled = scaled(registry, request);
    let there = registry.record(&scaled).await.map_err(|s| missing(request, scale, s))?;
    let asked = version(meta::text(&object, "metadata.resourceVersion")).map_err(|why| {
        let resource = format!("{}/scale", request.resource.plural);
        Status::conflict(&scale.group, &resource, name, &why)
    })?;
    if asked != 0 && asked != there.revision() {
        return Err(conflict(&scaled));
    }
    let record = registry
        .modify(&scaled, |stored| {
            let spec = meta::child(stored, "spec");
            if spec.get("replicas").and_then(Value::as_i64).unwrap_or(0) != replicas {
                spec.insert("replicas".into(), replicas.into());
                let generation = meta::lookup(stored, "metadata.generation")
                    .and_then(Value::as_i64)
                    .unwrap_or(0);
                meta::metadata(stored).insert("generation".into(), (generation + 1).into());
            }
            Ok(())
        })
        .await?;
    Ok(Response::ok(
        registry.encode(scale, view(request, scale, &parse(record.bytes())?)),
    ))
}

/// The scale of `object`.
fn view(request: &RequestInfo, scale: &Resource, object: &Object) -> Object {
    let mut shown = Object::new();
    shown.insert("kind".into(), "Scale".into());
    shown.insert("apiVersion".into(), scale.group_version().into());
    let own = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    let kept = own
        .iter()
        .filter_map(|f| Some(((*f).to_owned(), meta::lookup(object, &format!("metadata.{f}"))?.clone())));
    shown.insert("metadata".into(), Value::Object(kept.collect()));
    let (plural, namespace) = (&request.resource.plural, meta::text(object, "metadata.namespace"));
    let link = format!(
        "{}/namespaces/{namespace}/{plural}/{}/scale",
        request.resource.root_path(),
        meta::text(object, "metadata.name")
    );
    meta::set(&mut shown, "selfLink", &link);
    let count = |path: &str| meta::lookup(object, path).cloned().unwrap_or_else(|| 0.into());
    shown.insert("spec".into(), json!({"replicas": count("spec.replicas")}));
    let mut status = Object::new();
    status.insert("replicas".into(), count("status.replicas"));
    let selector = meta::lookup(object, "spec.selector").cloned().unwrap_or_default();
    if request.resource.group.is_empty() {
        let text = labels::Selector::from_map(selector.as_object().unwrap_or(&Object::new())).to_string();
        status.insert("selector".into(), text.into());
    } else {
        let selector = if plural == "replicationcontrollers" {
            json!({"matchLabels": selector})
        } else {
            selector
        };
        if selector.get("matchExpressions").is_none()
            && let Some(labels) = selector.get("matchLabels")
        {
            status.insert("selector".into(), labels.clone());
        }
        if let Ok(parsed) = labels::Selector::from_label_selector(&selector) {
            status.insert("targetSelector".into(), parsed.to_string().into());
        }
    }
    shown.insert("status".into(), Value::Object(status));
    shown
}
