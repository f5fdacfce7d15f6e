//! The scale of what has replicas: a view of the object with its replica count, read and written.
//!
//! A replication controller's is `autoscaling/v1`'s Scale, a deployment's and a replica set's `extensions/v1beta1`'s.
//! Source: v1.2's scale sub-resources, and `subresources` of the recordings.

use serde_json::{Value, json};

use super::{
    Address, Body, Registry, Reply, admission, face,
    read::parse,
    update::{overtaken, same_name, same_namespace},
};
use crate::{
    api::{Object, Status, labels, meta},
    patch::Language,
    scheme::{Resource, Scheme, validate},
};

/// The Scale kind at an address.
fn kind(at: &Address) -> Result<&'static Resource, Status> {
    let version = if at.resource.group.is_empty() {
        "autoscaling/v1"
    } else {
        "extensions/v1beta1"
    };
    match at.resource.plural.as_str() {
        "replicationcontrollers" | "deployments" | "replicasets" => Scheme::builtin()
            .kind(version, "Scale")
            .ok_or_else(Status::no_such_path),
        _ => Err(Status::no_such_path()),
    }
}

/// Where what is scaled is stored: replication controllers, which have a scale in two groups, in their own.
fn scaled(at: &Address) -> Address {
    let controllers = Scheme::builtin()
        .resource("", "v1", "replicationcontrollers")
        .filter(|r| r.plural == at.resource.plural);
    Address {
        resource: controllers.unwrap_or(at.resource),
        subresource: None,
        ..at.clone()
    }
}

/// What is not there is named with the sub-resource.
fn missing(at: &Address, scale: &Resource, status: Status) -> Status {
    if status.code != 404 {
        return status;
    }
    Status::not_found(
        &scale.group,
        &format!("{}/scale", at.resource.plural),
        at.name.as_deref().unwrap_or_default(),
    )
}

pub(super) async fn read(registry: &Registry, at: &Address) -> Result<Reply, Status> {
    let scale = kind(at)?;
    let object = current(registry, at).await.map_err(|s| missing(at, scale, s))?;
    Ok(Reply::ok(registry.encode(scale, view(at, scale, &object))))
}

async fn current(registry: &Registry, at: &Address) -> Result<Object, Status> {
    parse(registry.record(&scaled(at)).await?.bytes())
}

pub(super) async fn replace(registry: &Registry, at: &Address, body: &Body) -> Result<Reply, Status> {
    let scale = kind(at)?;
    let object = scale.decode(&body.bytes, body.syntax)?;
    write(registry, at, scale, object).await
}

pub(super) async fn patch(registry: &Registry, at: &Address, language: Language, body: &[u8]) -> Result<Reply, Status> {
    let scale = kind(at)?;
    let shown = read(registry, at).await?;
    let object = registry.apply(scale, language, &parse(&shown.body)?, body)?;
    write(registry, at, scale, object).await
}

async fn write(registry: &Registry, at: &Address, scale: &'static Resource, object: Object) -> Result<Reply, Status> {
    same_name(at, &object)?;
    same_namespace(at, &object)?;
    admission::namespace_exists(registry, at).await?;
    let replicas = meta::lookup(&object, "spec.replicas")
        .and_then(Value::as_i64)
        .unwrap_or(0);
    let name = meta::text(&object, "metadata.name");
    let errors = validate::scale(&object);
    if !errors.is_empty() {
        return Err(Status::invalid(&scale.group, "Scale", name, &errors));
    }
    let scaled = scaled(at);
    let there = registry.record(&scaled).await.map_err(|s| missing(at, scale, s))?;
    let asked = registry.asked_version(&object)?;
    if asked != 0 && asked != there.revision() {
        return Err(overtaken(&scaled));
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
    Ok(Reply::ok(
        registry.encode(scale, view(at, scale, &parse(record.bytes())?)),
    ))
}

/// The scale of `object`.
fn view(at: &Address, scale: &Resource, object: &Object) -> Object {
    let mut shown = Object::new();
    shown.insert("kind".into(), "Scale".into());
    shown.insert("apiVersion".into(), scale.group_version().into());
    let own = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    let kept = own
        .iter()
        .filter_map(|f| Some(((*f).to_owned(), meta::lookup(object, &format!("metadata.{f}"))?.clone())));
    shown.insert("metadata".into(), Value::Object(kept.collect()));
    let (plural, namespace) = (&at.resource.plural, meta::text(object, "metadata.namespace"));
    let link = format!(
        "{}/namespaces/{namespace}/{plural}/{}/scale",
        face::root(at.resource),
        meta::text(object, "metadata.name")
    );
    meta::set(&mut shown, "selfLink", &link);
    let count = |path: &str| meta::lookup(object, path).cloned().unwrap_or_else(|| 0.into());
    shown.insert("spec".into(), json!({"replicas": count("spec.replicas")}));
    let mut status = Object::new();
    status.insert("replicas".into(), count("status.replicas"));
    let selector = meta::lookup(object, "spec.selector").cloned().unwrap_or_default();
    if at.resource.group.is_empty() {
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
