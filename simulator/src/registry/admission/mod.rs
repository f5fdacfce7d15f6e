//! Admission: what a cluster's rules say of a request before it is validated and stored.
//!
//! In order: the life cycle of namespaces, limit ranges, quotas. Source: v1.2's admission plug-ins of these names.

mod limits;
mod quota;

use super::{Address, Registry, read::parse};
use crate::{
    api::{Object, Status, meta},
    scheme::{Resource, Scheme},
    store::Key,
};

/// Admits the creation of `object`, which limit ranges may complete.
pub(super) async fn admit_create(registry: &Registry, at: &Address, object: &mut Object) -> Result<(), Status> {
    let name = meta::text(object, "metadata.name").to_owned();
    namespace_accepts(registry, at, super::face::stored(at.resource), &name).await?;
    limits::admit(registry, at, object).await?;
    quota::admit(registry, at, object).await
}

/// Admits a replacement.
pub(super) async fn admit_update(registry: &Registry, at: &Address, object: &mut Object) -> Result<(), Status> {
    if at.subresource.is_none() {
        limits::admit(registry, at, object).await?;
    }
    Ok(())
}

/// Whether the namespace is there and takes new content.
pub(super) async fn namespace_accepts(registry: &Registry, at: &Address, resource: &Resource, name: &str) -> Result<(), Status> {
    let Some(namespace) = at.namespace.as_deref().filter(|_| at.resource.namespaced) else { return Ok(()) };
    let record = registry.store.get(&Key::new("namespaces", "", namespace)).await?;
    let record = record.ok_or_else(|| Status::not_found("", "namespaces", namespace))?;
    if meta::text(&parse(record.bytes())?, "status.phase") == "Terminating" {
        let why = format!("Unable to create new content in namespace {namespace} because it is being terminated.");
        return Err(Status::forbidden(&resource.group, &resource.plural, name, &why));
    }
    Ok(())
}

/// The objects of a core kind in the namespace of `at`.
async fn of_namespace(registry: &Registry, at: &Address, plural: &str) -> Result<Vec<(Address, Object)>, Status> {
    let (Some(namespace), Some(resource)) = (&at.namespace, Scheme::builtin().resource("", "v1", plural)) else { return Ok(Vec::new()) };
    let place = Address { resource, namespace: Some(namespace.clone()), name: None, subresource: None };
    let mut found = Vec::new();
    for record in registry.listing(&place).await?.records {
        found.push((Address { name: Some(record.key().name.to_string()), ..place.clone() }, parse(record.bytes())?));
    }
    Ok(found)
}
