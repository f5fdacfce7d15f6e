//! Limit ranges: set defaults of an object and reject values outside their bounds.
//!
//! Source: v1.2's LimitRanger.

use serde_json::Value;

use super::{forbidden, in_namespace, name};
use crate::{
    api::{Object, Status, meta, status::texts},
    registry::{request::RequestInfo, state::Registry},
    strategy::{self, limitrange},
};

/// Applies the limit ranges of the request's namespace to `object`.
pub(super) fn admit(registry: &Registry, request: &RequestInfo, object: &mut Object) -> Result<(), Status> {
    let strategy = strategy::of(request.resource.storage_version());
    if !strategy.has_limits() {
        return Ok(());
    }
    for (_, range) in in_namespace(registry, request, limitrange::RESOURCE)? {
        let limits: Vec<Object> = meta::lookup(&range, "spec.limits")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|limit| limit.as_object().cloned())
            .collect();
        let errors = strategy.apply_limits(object, &limits);
        if !errors.is_empty() {
            return Err(forbidden(request, name(object), &texts(&errors)));
        }
    }
    Ok(())
}
