//! Conversion between bytes, object trees and stored objects.

use std::borrow::Cow;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::Value;

use super::{
    request::{RequestBody, RequestInfo},
    state::{Registry, strategy_of},
};
use crate::{
    api::{Object, Pairs, Reason, Status, meta},
    clock::stamp,
    scheme::{FieldType, Resource, TypeRef},
    store::{Draft, Record},
};

/// Parses an object's JSON.
pub(super) fn parse(bytes: &[u8]) -> Result<Object, Status> {
    serde_json::from_slice(bytes).map_err(|e| Status::internal(format!("a stored object does not parse: {e}")))
}

/// Parses a stored object as v1.2 stores it: with the selfLink that its writer sent instead of its own.
pub(super) fn stored_tree(record: &Record) -> Result<Object, Status> {
    let mut object = parse(record.bytes())?;
    meta::set(&mut object, "selfLink", record.sent_self_link());
    Ok(object)
}

/// Encodes an object in canonical form.
pub(super) fn encode(resource: &Resource, object: Object) -> Bytes {
    resource.encode(&resource.canonical(object))
}

impl Registry {
    /// Decodes a request's body as an object of `resource`.
    pub(super) fn decode_body(&self, resource: &Resource, body: &RequestBody) -> Result<Object, Status> {
        self.scheme()
            .decode(resource, &body.bytes, body.syntax)
            .map_err(|status| match status.reason {
                Reason::InternalError => self.profile.panic(400, status.message),
                _ => status,
            })
    }

    /// Decodes the object of a request and sets its defaults.
    pub(super) fn decode(&self, request: &RequestInfo, body: &RequestBody) -> Result<Object, Status> {
        let mut object = self.decode_body(&request.resource, body)?;
        request.resource.default(&mut object);
        Ok(object)
    }

    /// Decodes the tree of an object and sets its defaults. Empty lists and maps count as absent, as a typed client
    /// omits them.
    pub(super) fn decode_tree(&self, resource: &Resource, mut object: Object) -> Result<Object, Status> {
        object.insert("kind".into(), resource.kind.clone().into());
        object.insert("apiVersion".into(), resource.group_version().into());
        let mut object = self.scheme().decode_value(resource, Value::Object(object))?;
        resource.default(&mut object);
        Ok(resource.canonical(object))
    }
}

/// Builds the draft of `object`, which is in the storage version. An expiring object shows `expiry` as its
/// deletionTimestamp.
pub(super) fn draft(
    resource: &Resource,
    mut object: Object,
    is_new: bool,
    expiry: Option<Timestamp>,
) -> Result<Draft, Status> {
    let stored = resource.storage_version();
    let hidden: String = match expiry {
        // v1.2 stores the previous expiration of an event and shows the current one.
        Some(_) => meta::text(&object, "metadata.deletionTimestamp").into(),
        None => strategy_of(stored).hidden_state(is_new).into(),
    };
    if let Some(end) = expiry {
        meta::set(&mut object, "deletionTimestamp", &stamp(end));
    }
    meta::set(&mut object, "resourceVersion", "0");
    let sent_self_link = meta::text(&object, "metadata.selfLink").into();
    stored.set_self_link(&mut object);
    let object = stored.canonical(object);
    let labels = meta::lookup(&object, "metadata.labels").and_then(Value::as_object);
    let labels: Pairs = labels
        .into_iter()
        .flatten()
        .map(|(k, v)| (k.as_str(), v.as_str().unwrap_or_default()))
        .collect();
    let fields: Pairs = stored
        .selectable()
        .iter()
        .map(|(label, path)| (label.as_str(), selectable(stored, &object, path)))
        .collect();
    Draft::new(stored.encode(&object), sent_self_link, labels, fields)
        .map(|draft| draft.with_hidden(&hidden))
        .ok_or_else(|| Status::internal("an object without metadata cannot be stored"))
}

/// Text of a selectable field. An absent field has the text of its type's zero value.
fn selectable<'a>(resource: &Resource, object: &'a Object, path: &str) -> Cow<'a, str> {
    match meta::lookup(object, path) {
        Some(Value::String(text)) => text.into(),
        Some(Value::Bool(flag)) => flag.to_string().into(),
        Some(Value::Number(number)) => number.to_string().into(),
        _ => {
            let mut parts = path.split('.');
            let field = parts.try_fold(resource.type_ref(), |at, part| Some(at.field(part)?.type_ref));
            match field.map(TypeRef::field_type) {
                Some(FieldType::Bool) => "false",
                Some(FieldType::Int(_)) => "0",
                _ => "",
            }
            .into()
        }
    }
}
