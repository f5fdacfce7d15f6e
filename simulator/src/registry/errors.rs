//! Error responses of the registry.

use super::request::RequestInfo;
use crate::{
    api::{FieldError, Object, Reason, Status, meta},
    scheme::Resource,
    store::StoreError,
};

impl From<StoreError> for Status {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) => Self::new(Reason::ServiceUnavailable, error.to_string()),
            StoreError::Exists(_) | StoreError::Missing(_) | StoreError::Stale { .. } | StoreError::Claimed(_) => {
                Self::new(Reason::Conflict, error.to_string())
            }
        }
    }
}

/// Group and resource in errors: those of the kind's storage version.
fn error_resource(resource: &Resource) -> (&str, &str) {
    let stored = resource.storage_version();
    (
        stored.strategy.error_group.as_deref().unwrap_or(&stored.group),
        &stored.plural,
    )
}

/// Group of the kind in `Invalid` errors.
fn kind_group(resource: &Resource) -> &str {
    resource.strategy.invalid_group.as_deref().unwrap_or(&resource.group)
}

/// 404: the object of a request does not exist.
pub(super) fn not_found(request: &RequestInfo) -> Status {
    let (group, plural) = error_resource(&request.resource);
    Status::not_found(group, plural, request.name())
}

/// 409: an object of that name exists.
pub(super) fn already_exists(resource: &Resource, name: &str) -> Status {
    let (group, plural) = error_resource(resource);
    Status::already_exists(group, plural, name)
}

/// Error of a generated name that exists.
pub(super) fn generated_name_exists(resource: &Resource) -> Status {
    Status::server_timeout(kind_group(resource), &resource.kind, "POST")
}

/// 409: another writer has changed the object.
pub(super) fn conflict(request: &RequestInfo) -> Status {
    let (group, plural) = error_resource(&request.resource);
    let why = "the object has been modified; please apply your changes to the latest version and try again";
    Status::conflict(group, plural, request.name(), why)
}

/// Fails with 422 if `errors` is not empty.
pub(super) fn require_valid(resource: &Resource, object: &Object, errors: &[FieldError]) -> Result<(), Status> {
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(
        kind_group(resource),
        &resource.kind,
        meta::text(object, "metadata.name"),
        errors,
    ))
}

/// Fails unless the object's name is that of the request.
pub(super) fn require_name(request: &RequestInfo, object: &Object) -> Result<(), Status> {
    let (given, wanted) = (meta::text(object, "metadata.name"), request.name());
    if given == wanted {
        return Ok(());
    }
    if given.is_empty() && !request.resource.namespaced {
        return Err(Status::bad_request("Name parameter required."));
    }
    Err(Status::bad_request(format!(
        "the name of the object ({given}) does not match the name on the URL ({wanted})"
    )))
}

/// Fails unless the object's namespace is empty or that of the request. Cluster-scoped kinds accept any.
pub(super) fn require_namespace(request: &RequestInfo, object: &Object) -> Result<(), Status> {
    let (given, wanted) = (meta::text(object, "metadata.namespace"), request.namespace());
    if !request.resource.namespaced || given.is_empty() || given == wanted {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "the namespace of the object ({given}) does not match the namespace on the request ({wanted})"
    )))
}
