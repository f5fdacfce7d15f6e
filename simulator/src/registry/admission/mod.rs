//! Admission: what a cluster's rules say of a request before it is validated and stored.
//!
//! In order: the life cycle of namespaces, limit ranges, quotas. Source: v1.2's admission plug-ins of these names.

mod limits;
mod quota;

pub(crate) use quota::total as quota_total;

use std::sync::{Arc, LazyLock};

use super::{Registry, RequestInfo, get::parse};
use crate::{
    api::{GroupResource, Object, Status, meta},
    store::{Key, Record},
};

/// What namespaces are stored as.
static NAMESPACES: LazyLock<GroupResource> = LazyLock::new(|| GroupResource::core("namespaces"));

/// Admits the creation of `object`, which limit ranges may complete.
pub(super) async fn admit_create(
    registry: &Registry,
    request: &RequestInfo,
    object: &mut Object,
) -> Result<(), Status> {
    namespace_accepts(registry, request, name(object)).await?;
    limits::admit(registry, request, object).await?;
    quota::admit(registry, request, object, None).await
}

/// Admits a replacement: of a part of an object as long as its namespace is there.
pub(super) async fn admit_update(
    registry: &Registry,
    request: &RequestInfo,
    object: &mut Object,
) -> Result<(), Status> {
    namespace_exists(registry, request).await?;
    if request.subresource.is_none() && request.resource.plural == "pods" {
        limits::admit(registry, request, object).await?;
        quota::admit_update(registry, request, object).await?;
    }
    Ok(())
}

/// The namespace of `at`, which has to be there; none for cluster-wide kinds.
pub(super) async fn namespace_exists(
    registry: &Registry,
    request: &RequestInfo,
) -> Result<Option<Arc<Record>>, Status> {
    let Some(namespace) = request.namespace.as_deref().filter(|_| request.resource.namespaced) else {
        return Ok(None);
    };
    let record = registry.store.get(&Key::new(&NAMESPACES, "", namespace)).await?;
    record
        .map(Some)
        .ok_or_else(|| Status::not_found("", "namespaces", namespace))
}

/// Whether the namespace is there and takes new content, here one that refusals call `name`.
pub(super) async fn namespace_accepts(registry: &Registry, request: &RequestInfo, name: &str) -> Result<(), Status> {
    let Some(namespace) = namespace_exists(registry, request).await? else {
        return Ok(());
    };
    if meta::text(&parse(namespace.bytes())?, "status.phase") == "Terminating" {
        let why = format!(
            "Unable to create new content in namespace {} because it is being terminated.",
            namespace.key().name
        );
        return Err(Status::forbidden(
            &request.resource.group,
            &request.resource.plural,
            name,
            &why,
        ));
    }
    Ok(())
}

/// What refusals call an object: its name, the prefix that one will be made from, or neither.
pub(super) fn name(object: &Object) -> &str {
    let given = ["metadata.name", "metadata.generateName"].map(|path| meta::text(object, path));
    given.into_iter().find(|name| !name.is_empty()).unwrap_or("Unknown")
}

/// The objects of a core kind in the namespace of `at`.
async fn of_namespace(
    registry: &Registry,
    request: &RequestInfo,
    plural: &str,
) -> Result<Vec<(RequestInfo, Object)>, Status> {
    let (Some(namespace), Some(resource)) = (
        &request.namespace,
        registry.scheme().resource("", "v1", plural).cloned(),
    ) else {
        return Ok(Vec::new());
    };
    let place = RequestInfo {
        resource,
        namespace: Some(namespace.clone()),
        name: None,
        subresource: None,
    };
    let mut found = Vec::new();
    for record in registry.listing(&place).await?.records {
        found.push((
            RequestInfo {
                name: Some(record.key().name.to_string()),
                ..place.clone()
            },
            parse(record.bytes())?,
        ));
    }
    Ok(found)
}
