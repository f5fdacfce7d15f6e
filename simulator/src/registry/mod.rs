//! The generic verbs over every kind: create, read, list, replace, patch, delete, watch.
//!
//! Promises: an object is validated before it is stored, stored before it is answered, and encoded once. Two writers never overwrite each
//! other unseen. Limits: everything is one process's; nothing here knows of HTTP.
//! Source of the semantics: Kubernetes v1.2's generic registry and the strategies of its kinds, as recorded.

mod admission;
mod binding;
mod bookmark;
mod bootstrap;
mod components;
mod create;
mod delete;
mod export;
mod get;
mod kinds;
mod list_cache;
mod objects;
mod page;
mod patch;
mod rollback;
mod scale;
mod select;
mod strategy;
mod update;
mod version;
mod watch;

#[cfg(test)]
mod tests;

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use bytes::Bytes;
use jiff::SignedDuration;
use parking_lot::Mutex;

pub use crate::strategy::allocation::Cidr;
use crate::{
    api::{Object, Reason, Status},
    clock::Clock,
    profile::Profile,
    rng::Rng,
    scheme::{Resource, Scheme, Syntax},
    store::{Memory, Store, StoreError},
    strategy::allocation,
    watch::Hub,
};

pub(crate) use admission::quota_total;
pub use components::Component;
pub use watch::WatchStream;

/// How long an event is kept from its last change.
const EVENT_LIFE: SignedDuration = SignedDuration::from_hours(1);

/// The namespace that is always there.
const DEFAULT_NAMESPACE: &str = "default";

/// What a cluster is set up with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Behaviour profile.
    pub profile: Profile,
    /// The address at which the cluster says its API server is.
    pub advertise_address: Ipv4Addr,
    /// The port there.
    pub secure_port: u16,
    /// Where services get their addresses from; the first is the API server's own.
    pub service_range: Cidr,
    /// What `componentstatuses` tells of.
    pub components: Vec<Component>,
}

/// Every kind's objects, and the verbs over them.
pub struct Registry {
    settings: Settings,
    profile: Profile,
    clock: Clock,
    rng: Arc<Rng>,
    store: Arc<dyn Store>,
    hub: Arc<Hub>,
    services: allocation::Services,
    scheme: ArcSwap<Scheme>,
    /// Held while kinds are added or removed.
    changing_kinds: Mutex<()>,
    list_cache: list_cache::ListCache,
    components: Vec<Component>,
}

impl Registry {
    /// An empty registry that keeps its objects in memory. Needs a running tokio runtime.
    pub fn in_memory(settings: Settings, clock: Clock, rng: Arc<Rng>) -> Self {
        let profile = settings.profile;
        let hub = Hub::start(profile, clock.activity());
        let store = Arc::new(Memory::new(hub.clone()));
        let services = allocation::Services::new(settings.service_range, profile, rng.clone());
        let components = settings.components.clone();
        Self {
            settings,
            profile,
            clock,
            rng,
            store,
            hub,
            services,
            scheme: ArcSwap::from(Scheme::builtin()),
            changing_kinds: Mutex::default(),
            list_cache: list_cache::ListCache::default(),
            components,
        }
    }

    /// The kinds that are served at the moment.
    pub fn scheme(&self) -> Arc<Scheme> {
        self.scheme.load_full()
    }

    /// Behaviour profile.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// A client error that Kubernetes v1.2 reports as 500; `documented` is its code under the documented profile.
    fn client_error(&self, documented: u16, text: impl Into<String>) -> Status {
        self.profile.client_error(documented, text)
    }

    /// Decodes a request's body as an object of `resource`.
    fn decode(&self, resource: &Resource, body: &RequestBody) -> Result<Object, Status> {
        self.scheme()
            .decode(resource, &body.bytes, body.syntax)
            .map_err(|status| match status.reason {
                Reason::InternalError => self.profile.panic(400, status.message),
                _ => status,
            })
    }

    /// An object's bytes in `resource`'s form.
    fn encode(&self, resource: &Resource, object: Object) -> Bytes {
        resource.encode(&resource.canonical(object))
    }
}

impl Response {
    /// An answer with an object or a list.
    fn ok(body: Bytes) -> Self {
        Self { code: 200, body }
    }

    /// An answer with a `Status`.
    fn status(status: &Status) -> Self {
        Self {
            code: status.code,
            body: status.to_value().to_string().into(),
        }
    }
}

impl From<StoreError> for Status {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(_) => Status::new(Reason::ServiceUnavailable, error.to_string()),
            StoreError::Exists(_) | StoreError::Missing(_) | StoreError::Stale { .. } => {
                Status::new(Reason::Conflict, error.to_string())
            }
        }
    }
}

/// What a path names: a resource, perhaps in a namespace, perhaps one object of it, perhaps a part of that.
#[derive(Clone, Debug)]
pub struct RequestInfo {
    /// The resource in its group and version.
    pub resource: Arc<Resource>,
    /// The namespace; `None` for cluster-wide kinds and for all namespaces.
    pub namespace: Option<String>,
    /// The object's name; `None` for the whole collection.
    pub name: Option<String>,
    /// The sub-resource: `status`, `scale`, `binding` and so on.
    pub subresource: Option<String>,
}

/// The body of a request, as it came.
#[derive(Clone, Debug)]
pub struct RequestBody {
    /// The bytes.
    pub bytes: Bytes,
    /// What they are written in.
    pub syntax: Syntax,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Response {
    /// The HTTP status code.
    pub code: u16,
    /// The object, the list or the `Status`, as compact JSON.
    pub body: Bytes,
}

/// How to read one object.
#[derive(Clone, Copy, Debug, Default)]
pub struct GetOptions {
    /// Strip what a user cannot set.
    pub export: bool,
    /// With `export`: keep what belongs to this cluster, such as the namespace.
    pub exact: bool,
}

/// What to list, to watch, or to delete of a collection. The texts are as they came in the query.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// The label selector; empty selects everything.
    pub label_selector: String,
    /// The field selector; empty selects everything.
    pub field_selector: String,
    /// The version to watch from; empty for none.
    pub resource_version: String,
    /// When a watch ends by itself.
    pub timeout: Option<Duration>,
    /// Most objects in a list; 0 for all.
    pub limit: usize,
    /// The continue token of the page before; empty for the first page.
    pub continue_token: String,
    /// Whether a watch sends BOOKMARK events.
    pub bookmarks: bool,
    /// Whether a watch begins with the present objects and a BOOKMARK.
    pub send_initial_events: bool,
}
