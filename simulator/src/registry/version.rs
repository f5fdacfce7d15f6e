//! The group and resource that errors name, for kinds that are served in several groups.
//!
//! Source: the recordings of both groups of jobs and autoscalers.

use crate::scheme::Resource;

/// The group and the resource that errors name: those of the version that the kind is stored in.
pub(super) fn error_resource(resource: &Resource) -> (&str, &str) {
    let stored = resource.storage_version();
    (
        stored.strategy.error_group.as_deref().unwrap_or(&stored.group),
        &stored.plural,
    )
}

/// The group that a failed validation names.
pub(super) fn invalid_group(resource: &Resource) -> &str {
    resource.strategy.invalid_group.as_deref().unwrap_or(&resource.group)
}
