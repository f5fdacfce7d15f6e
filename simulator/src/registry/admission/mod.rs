//! Admission control: checks and defaults applied to a request before its object is validated and stored.
//!
//! - Order: namespace lifecycle, service accounts, limit ranges, quotas.
//! - Source: v1.2's admission plug-ins of these names.

mod limits;
mod quota;
mod service_account;

pub(crate) use quota::total as quota_total;

use std::sync::{Arc, LazyLock};

use super::{codec::parse, request::RequestInfo, state::Registry};
use crate::{
    api::{GroupResource, Object, Status, labels::Set, meta},
    store::Record,
    strategy::{self, ResourceName, namespace},
};

/// Store key of namespaces.
static NAMESPACES: LazyLock<GroupResource> = LazyLock::new(|| GroupResource::core(namespace::RESOURCE.plural));

/// Admits the creation of `object`. Limit ranges may set its defaults.
pub(super) async fn admit_create(
    registry: &Registry,
    request: &RequestInfo,
    object: &mut Object,
) -> Result<(), Status> {
    namespace_accepts(registry, request, name(object))?;
    service_account::admit(registry, request, object)?;
    limits::admit(registry, request, object)?;
    quota::admit(registry, request, object, None).await
}

/// Admits an update.
pub(super) async fn admit_update(
    registry: &Registry,
    request: &RequestInfo,
    object: &mut Object,
) -> Result<(), Status> {
    namespace_exists(registry, request)?;
    if request.subresource.is_none() && strategy::of(request.resource.storage_version()).is_admitted_on_update() {
        limits::admit(registry, request, object)?;
        quota::admit_update(registry, request, object).await?;
    }
    Ok(())
}

/// Returns the namespace of a request, or `None` for cluster-scoped kinds. 404 if the namespace does not exist.
pub(super) fn namespace_exists(registry: &Registry, request: &RequestInfo) -> Result<Option<Arc<Record>>, Status> {
    let Some(namespace) = request.namespace.as_deref().filter(|_| request.resource.namespaced) else {
        return Ok(None);
    };
    let record = registry.store.named(&NAMESPACES, "", namespace);
    let missing = || Status::not_found(namespace::RESOURCE.group, namespace::RESOURCE.plural, namespace);
    record.map(Some).ok_or_else(missing)
}

/// Fails if the namespace does not exist or is terminating. `name` is the object's name in errors.
pub(super) fn namespace_accepts(registry: &Registry, request: &RequestInfo, name: &str) -> Result<(), Status> {
    let Some(namespace) = namespace_exists(registry, request)? else {
        return Ok(());
    };
    if namespace.fields().value("status.phase") == Some("Terminating") {
        let why = format!(
            "Unable to create new content in namespace {} because it is being terminated.",
            namespace.key().name
        );
        return Err(forbidden(request, name, &why));
    }
    Ok(())
}

/// Name of an object in errors: its name, else its generateName, else `Unknown`.
pub(super) fn name(object: &Object) -> &str {
    let given = ["metadata.name", "metadata.generateName"].map(|path| meta::text(object, path));
    given.into_iter().find(|name| !name.is_empty()).unwrap_or("Unknown")
}

fn forbidden(request: &RequestInfo, name: &str, why: &str) -> Status {
    Status::forbidden(&request.resource.group, &request.resource.plural, name, why)
}

/// Returns the objects of a resource in the request's namespace, each with the request for it.
fn in_namespace(
    registry: &Registry,
    request: &RequestInfo,
    resource: ResourceName,
) -> Result<Vec<(RequestInfo, Object)>, Status> {
    let Some(namespace) = &request.namespace else {
        return Ok(Vec::new());
    };
    let all = RequestInfo {
        resource: registry.named(resource)?,
        namespace: Some(namespace.clone()),
        name: None,
        subresource: None,
    };
    let records = registry.listing(&all).records;
    records
        .iter()
        .map(|record| Ok((all.with_name(&record.key().name), parse(record.bytes())?)))
        .collect()
}
