//! Lookup of proxied objects in the registry.

use futures::future::BoxFuture;

use crate::{
    api::Object,
    registry::{GetOptions, Registry, RequestInfo},
    strategy::{Lookup, ResourceName},
};

/// The objects of a registry.
pub(crate) struct Objects<'r>(pub(crate) &'r Registry);

impl Lookup for Objects<'_> {
    fn find<'a>(&'a self, resource: ResourceName, namespace: &'a str, name: &'a str) -> BoxFuture<'a, Option<Object>> {
        Box::pin(async move {
            let resource = self
                .0
                .scheme()
                .resource(resource.group, resource.version, resource.plural)?
                .clone();
            let namespace = if namespace.is_empty() {
                None
            } else {
                Some(namespace.to_owned())
            };
            let address = RequestInfo {
                resource,
                namespace,
                name: Some(name.to_owned()),
                subresource: None,
            };
            let found = self.0.get(&address, &GetOptions::default()).ok()?;
            serde_json::from_slice(&found.body).ok()
        })
    }
}
