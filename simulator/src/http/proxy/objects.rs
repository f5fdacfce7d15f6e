//! The registry's objects, as the proxy looks them up.

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::resolve::Lookup;
use crate::registry::{GetOptions, Registry, RequestInfo};

/// The core group's objects in a registry.
pub(crate) struct Objects<'r>(pub(crate) &'r Registry);

impl Lookup for Objects<'_> {
    fn find<'a>(
        &'a self,
        resource: &'a str,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Option<Map<String, Value>>> {
        Box::pin(async move {
            let resource = self.0.scheme().resource("", "v1", resource)?.clone();
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
            let found = self.0.get(&address, &GetOptions::default()).await.ok()?;
            serde_json::from_slice(&found.body).ok()
        })
    }
}
