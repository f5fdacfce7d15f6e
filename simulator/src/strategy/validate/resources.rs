//! Rules for resource names and quantities.

use super::cursor::{Cursor, Errors, NEGATIVE};
use super::internal_form::amount;
use super::name;
use crate::api::quantity::Quantity;

const COMPUTE: [&str; 2] = ["cpu", "memory"];
const COMPUTE_QUOTA: [&str; 4] = ["requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];
const COUNTED: [&str; 7] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
];

/// Whether `resource` is counted in whole objects.
pub(crate) fn is_counted(resource: &str) -> bool {
    COUNTED.contains(&resource)
}

/// Whether `resource` is a compute resource of quotas.
pub(crate) fn is_compute_quota(resource: &str) -> bool {
    COMPUTE.contains(&resource) || COMPUTE_QUOTA.contains(&resource)
}

/// Whether a quota can limit `resource`.
pub(crate) fn is_quota(resource: &str) -> bool {
    is_compute_quota(resource) || is_counted(resource)
}

/// Whether `resource` is a standard resource.
fn is_standard(resource: &str) -> bool {
    is_quota(resource) || resource == "storage"
}

/// Quantity at `at`.
pub(crate) fn quantity(at: &Cursor) -> Quantity {
    amount(at.value())
}

/// Validates a resource name. Errors are reported at `at`.
pub(crate) fn resource_name(at: &Cursor, resource: &str, errors: &mut Errors) {
    if let Err(want) = name::qualified_name(resource) {
        errors.push(at.invalid(resource, want));
    } else if !resource.contains('/') && !is_standard(resource) {
        errors.push(at.invalid(resource, "must be a standard resource type or fully qualified"));
    }
}

/// Validates the resource name of a container. As in v1.2, names with a prefix are not checked.
pub(crate) fn container_resource_name(at: &Cursor, resource: &str, errors: &mut Errors) {
    restricted_resource_name(
        at,
        resource,
        COMPUTE.contains(&resource),
        "must be a standard resource for containers",
        errors,
    );
}

/// Validates the resource name of a quota. As in v1.2, names with a prefix are not checked.
pub(crate) fn quota_resource_name(at: &Cursor, resource: &str, errors: &mut Errors) {
    restricted_resource_name(
        at,
        resource,
        is_quota(resource),
        "must be a standard resource for quota",
        errors,
    );
}

fn restricted_resource_name(at: &Cursor, resource: &str, fits: bool, want: &str, errors: &mut Errors) {
    if !resource.contains('/') && !fits {
        resource_name(at, resource, errors);
        errors.push(at.invalid(resource, want));
    }
}

/// Requires the quantity at `at` not to be negative, after rounding up to whole units.
pub(crate) fn basic(at: &Cursor, errors: &mut Errors) {
    let value = quantity(at).value();
    if value < 0 {
        errors.push(at.invalid(value, "must be a valid resource quantity"));
    }
}

/// Validates the quantity at `at` of `resource` in a quota: not negative, and an integer if the resource is counted.
pub(crate) fn quota_amount(at: &Cursor, resource: &str, errors: &mut Errors) {
    let value = quantity(at);
    if value.sign() < 0 {
        errors.push(at.invalid(value.to_string(), NEGATIVE));
    }
    if is_counted(resource) && value.milli_value() % 1000 != 0 {
        errors.push(at.invalid(value.to_string(), "must be an integer"));
    }
}

/// Validates the limits and requests at `at`.
pub(crate) fn requirements(at: &Cursor, errors: &mut Errors) {
    let requests = at.at("requests");
    for (resource, limit) in at.at("limits").entries() {
        container_resource_name(&limit, resource, errors);
        standard_amount(&limit, resource, errors);
        let request = Cursor::new(requests.path().key(resource), requests.member(resource));
        if request.is_set() && quantity(&limit) < quantity(&request) {
            errors.push(limit.invalid(quantity(&limit).to_string(), "must be greater than or equal to request"));
        }
    }
    for (resource, request) in requests.entries() {
        container_resource_name(&request, resource, errors);
        standard_amount(&request, resource, errors);
    }
}

/// Validates the quantity of a standard resource. v1.2 names the resource twice in the path.
fn standard_amount(at: &Cursor, resource: &str, errors: &mut Errors) {
    if is_standard(resource) {
        basic(&Cursor::new(at.path().key(resource), Some(at.value())), errors);
    }
}
