//! The registry's state and settings.

use std::{convert::Infallible, net::Ipv4Addr, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::{expiry::Expiry, list_cache::ListCache};
use crate::{
    api::Status,
    clock::Clock,
    profile::Profile,
    rng::Rng,
    scheme::{Resource, Scheme},
    store::{
        DataDirectory, DataDirectoryError, Durability, Durable, Election, Etcd, EtcdError, EtcdStore, HistoryLimits,
        Memory, Store,
    },
    strategy::{self, Cidr, Component, Context, ResourceName, Strategy, allocation::Allocator},
    watch::Hub,
};

/// Settings of a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Behaviour profile.
    pub profile: Profile,
    /// Advertised address of the API server, in its endpoints.
    pub advertise_address: Ipv4Addr,
    /// Advertised port of the API server, in its endpoints.
    pub secure_port: u16,
    /// Range of service cluster IPs. The first is the API server's.
    pub service_range: Cidr,
    /// Components of the control plane, shown as component statuses.
    pub components: Vec<Component>,
    /// Maximum number of changes kept per kind. Default: that of the profile.
    pub history: Option<usize>,
    /// Delay of the watch cache behind writes.
    pub watch_lag: Duration,
    /// Maximum bytes of changes kept per kind. Default: that of [`HistoryLimits`].
    pub history_bytes: Option<usize>,
    /// Whether the token of its service account is mounted in a pod.
    pub mounts_tokens: bool,
}

#[cfg(test)]
impl Settings {
    /// Settings with the addresses of the recorded server and no components.
    pub(crate) fn for_tests(profile: Profile) -> Self {
        Self {
            profile,
            advertise_address: Ipv4Addr::new(10, 99, 0, 1),
            secure_port: 6443,
            service_range: "10.0.0.0/24".parse().unwrap(),
            components: Vec::new(),
            history: None,
            watch_lag: Duration::ZERO,
            history_bytes: None,
            mounts_tokens: false,
        }
    }
}

/// Error while starting a registry over stored objects.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RestoreError {
    /// The data directory cannot be used.
    #[error(transparent)]
    Directory(#[from] DataDirectoryError),
    /// The etcd cluster cannot be used.
    #[error(transparent)]
    Etcd(#[from] EtcdError),
    /// A stored object cannot be restored.
    #[error(transparent)]
    Object(#[from] Status),
}

/// The objects of every kind and the verbs over them.
pub(crate) struct Registry {
    pub(super) settings: Settings,
    pub(super) profile: Profile,
    pub(super) clock: Clock,
    pub(super) store: Arc<dyn Store>,
    pub(super) hub: Arc<Hub>,
    pub(super) context: Context,
    pub(super) list_cache: ListCache,
    pub(super) expiry: Arc<Expiry>,
    pub(super) scheme: ArcSwap<Scheme>,
    /// Held while kinds are added or removed.
    pub(super) changing_kinds: Mutex<()>,
}

impl Registry {
    /// Creates an empty registry that keeps its objects in memory. Needs a running tokio runtime.
    pub(crate) fn in_memory(settings: Settings, clock: Clock, rng: Arc<Rng>) -> Self {
        Self::with_store(settings, clock, rng, |hub| Arc::new(Memory::new(hub)))
    }

    /// Opens a registry over a data directory. Needs a running tokio runtime.
    ///
    /// # Errors
    /// The data directory cannot be opened or restored.
    pub(crate) async fn durable(
        settings: Settings,
        clock: Clock,
        rng: Arc<Rng>,
        directory: DataDirectory,
        durability: Durability,
    ) -> Result<Self, RestoreError> {
        let limits = history_limits(&settings, &Scheme::builtin());
        let activity = clock.activity().clone();
        let registry = Self::try_with_store(settings, clock, rng, |hub| {
            Durable::start(directory, durability, limits, hub, &activity).map(|store| Arc::new(store) as Arc<dyn Store>)
        })?;
        registry.restore().await?;
        Ok(registry)
    }

    /// Opens a registry over an etcd cluster. Needs a running tokio runtime.
    ///
    /// # Errors
    /// The cluster cannot be used.
    pub(crate) async fn shared(settings: Settings, clock: Clock, seed: u64, etcd: &Etcd) -> Result<Self, RestoreError> {
        let hub = Self::hub(&settings, &clock);
        let store = EtcdStore::open(etcd, hub.clone(), clock.activity()).await?;
        let rng = Arc::new(Rng::restarted(seed, store.process()));
        let registry = Self::over(settings, clock, rng, hub, Arc::new(store));
        registry.restore().await?;
        Ok(registry)
    }

    /// Creates a registry over the store that `open` returns. The store reports its changes to the hub that `open`
    /// gets.
    pub(super) fn with_store(
        settings: Settings,
        clock: Clock,
        rng: Arc<Rng>,
        open: impl FnOnce(Arc<Hub>) -> Arc<dyn Store>,
    ) -> Self {
        let opened = Self::try_with_store(settings, clock, rng, |hub| Ok::<_, Infallible>(open(hub)));
        opened.unwrap_or_else(|never| match never {})
    }

    fn try_with_store<E>(
        settings: Settings,
        clock: Clock,
        rng: Arc<Rng>,
        open: impl FnOnce(Arc<Hub>) -> Result<Arc<dyn Store>, E>,
    ) -> Result<Self, E> {
        let hub = Self::hub(&settings, &clock);
        let store = open(hub.clone())?;
        Ok(Self::over(settings, clock, rng, hub, store))
    }

    fn hub(settings: &Settings, clock: &Clock) -> Arc<Hub> {
        let limits = history_limits(settings, &Scheme::builtin());
        Hub::start(limits, settings.watch_lag, clock.activity())
    }

    fn over(settings: Settings, clock: Clock, rng: Arc<Rng>, hub: Arc<Hub>, store: Arc<dyn Store>) -> Self {
        let profile = settings.profile;
        Self {
            profile,
            context: Context {
                rng: rng.clone(),
                allocator: Allocator::new(settings.service_range, profile, rng),
                components: settings.components.clone(),
            },
            expiry: Expiry::new(store.clone(), clock.clone()),
            settings,
            clock,
            store,
            hub,
            list_cache: ListCache::default(),
            scheme: ArcSwap::from(Scheme::builtin()),
            changing_kinds: Mutex::default(),
        }
    }

    /// Returns an independent copy in memory. Needs a running tokio runtime.
    pub(crate) fn fork(&self, clock: Clock) -> Self {
        let mut hub = None;
        let store: Arc<dyn Store> = Arc::new(
            self.store
                .fork(&mut || hub.insert(self.hub.fork(clock.activity())).clone()),
        );
        let hub = hub.unwrap_or_else(|| self.hub.fork(clock.activity()));
        Self {
            settings: self.settings.clone(),
            profile: self.profile,
            context: self.context.fork(hub.latest()),
            expiry: self.expiry.fork(store.clone(), clock.clone()),
            clock,
            store,
            hub,
            list_cache: ListCache::default(),
            scheme: ArcSwap::from(self.scheme()),
            changing_kinds: Mutex::default(),
        }
    }

    /// Leader election among the processes that share the store, if several do.
    pub(crate) fn election(&self) -> Option<Election> {
        self.store.election()
    }

    /// Kinds that are currently served.
    pub(crate) fn scheme(&self) -> Arc<Scheme> {
        self.scheme.load_full()
    }

    /// Whether `scheme` is the currently served one.
    pub(crate) fn serves(&self, scheme: &Arc<Scheme>) -> bool {
        Arc::ptr_eq(&self.scheme.load(), scheme)
    }

    /// Behaviour profile.
    pub(crate) fn profile(&self) -> Profile {
        self.profile
    }

    /// A client error that Kubernetes v1.2 reports as 500; `documented` is its code under the documented profile.
    pub(super) fn client_error(&self, documented: u16, text: impl Into<String>) -> Status {
        self.profile.client_error(documented, text)
    }

    /// Returns the resource that a strategy refers to.
    pub(super) fn named(&self, name: ResourceName) -> Result<Arc<Resource>, Status> {
        let scheme = self.scheme();
        let found = scheme.resource(name.group, name.version, name.plural).cloned();
        found.ok_or_else(Status::no_such_path)
    }

    /// Returns the kind of a body.
    pub(super) fn body_kind(&self, (group_version, kind): (&str, &str)) -> Result<Arc<Resource>, Status> {
        let scheme = self.scheme();
        scheme
            .kind(group_version, kind)
            .cloned()
            .ok_or_else(Status::no_such_path)
    }
}

/// Strategy of the kind that `resource` is a version of.
pub(super) fn strategy_of(resource: &Resource) -> &'static dyn Strategy {
    strategy::of(resource.storage_version())
}

fn history_limits(settings: &Settings, scheme: &Scheme) -> HistoryLimits {
    let kept = |of_kind| settings.history.unwrap_or_else(|| settings.profile.history(of_kind));
    let mut limits = HistoryLimits::new(kept(None));
    if let Some(bytes) = settings.history_bytes {
        limits.set_bytes(bytes);
    }
    for resource in scheme.resources() {
        limits.set(resource.stored_as(), kept(resource.strategy.history));
    }
    limits
}
