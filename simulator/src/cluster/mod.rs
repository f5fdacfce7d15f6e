//! What lives in a cluster that is more than an API server: its nodes and its add-ons.
//!
//! Promises: everything is made through the registry, as its own controllers would make it, and can be read, watched and changed like any object.
//! Limits: nothing reconciles yet: what is deleted stays deleted.
//! Source: the design's table of add-ons, and the manifests that v1.2 clusters are set up with.

mod addons;
pub mod container;
mod nodes;

pub use addons::{Addon, LOG_SEARCH, SYSTEM_NAMESPACE, install};
pub use nodes::{Node, join};

use serde_json::Value;

use crate::{
    api::{Object, Status},
    registry::RequestInfo,
    scheme::Scheme,
};

/// A place in the core group.
fn core(plural: &str, namespace: Option<&str>, name: Option<&str>) -> Result<RequestInfo, Status> {
    let resource = Scheme::builtin()
        .resource("", "v1", plural)
        .ok_or_else(Status::no_such_path)?;
    Ok(RequestInfo {
        resource,
        namespace: namespace.map(str::to_owned),
        name: name.map(str::to_owned),
        subresource: None,
    })
}

/// The fields of an object written out as JSON.
fn fields(value: Value) -> Object {
    match value {
        Value::Object(fields) => fields,
        _ => Object::new(),
    }
}
