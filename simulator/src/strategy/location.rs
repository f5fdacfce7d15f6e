//! Locations of objects for the proxy: the rules that kinds share.
//!
//! - The id of an object in a path is `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`. The scheme is `http` (the default)
//!   or `https`.
//! - Source: `ResourceLocation` of Kubernetes v1.2 for services, pods and nodes. Errors are as recorded.

use futures::future::BoxFuture;

use super::resource_name::ResourceName;
use crate::api::{Object, Reason, Status};

/// Default port of the kubelet.
pub(super) const NODE_AGENT_PORT: i64 = 10_250;

/// Access to the objects that determine a location.
pub(crate) trait Lookup: Send + Sync {
    /// Returns the object with this name. `namespace` is empty for a cluster-scoped object.
    fn find<'a>(&'a self, resource: ResourceName, namespace: &'a str, name: &'a str) -> BoxFuture<'a, Option<Object>>;
}

/// Object in a path of the proxy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectId<'a> {
    /// Namespace. Empty for a cluster-scoped object.
    pub(crate) namespace: &'a str,
    /// Name, with an optional scheme and port.
    pub(crate) id: &'a str,
}

/// Parts of an id.
pub(super) struct Parts<'a> {
    pub(super) scheme: &'a str,
    pub(super) name: &'a str,
    /// Port. Empty if the id has none.
    pub(super) port: &'a str,
}

impl<'a> ObjectId<'a> {
    /// Splits the id of a `kind` (in lower case) into its parts. 400 if it is malformed.
    pub(super) fn parts(&self, kind: &str) -> Result<Parts<'a>, Status> {
        let parts: Vec<&str> = self.id.split(':').collect();
        let (scheme, name, port) = match parts.as_slice() {
            [name] if !name.is_empty() => ("http", *name, ""),
            [name, port] if !name.is_empty() => ("http", *name, *port),
            ["", name, port] if !name.is_empty() => ("http", *name, *port),
            [scheme @ ("http" | "https"), name, port] => (*scheme, *name, *port),
            _ => {
                let message = format!("invalid {kind} request {:?}", self.id);
                return Err(Status::new(Reason::BadRequest, message));
            }
        };
        Ok(Parts { scheme, name, port })
    }

    /// Returns an object of this namespace. 404 if it does not exist.
    pub(super) async fn find(
        &self,
        objects: &dyn Lookup,
        resource: ResourceName,
        name: &str,
    ) -> Result<Object, Status> {
        objects
            .find(resource, self.namespace, name)
            .await
            .ok_or_else(|| Status::not_found(resource.group, resource.plural, name))
    }
}

/// Servers of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// `http` or `https`.
    pub(crate) scheme: String,
    /// Hosts, with the port if it is known. Requests are sent to them in turn.
    pub(crate) hosts: Vec<String>,
    /// Name and port that identify the round-robin counter.
    pub(crate) key: String,
}

impl Location {
    /// Returns the location of an object with one host.
    pub(super) fn of_host(scheme: &str, host: String) -> Self {
        Self {
            scheme: scheme.to_owned(),
            hosts: vec![host],
            key: String::new(),
        }
    }
}

/// Returns `HOST:PORT`, with brackets around an IPv6 address.
pub(super) fn with_port(host: &str, port: &str) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}
