//! The API inside the process: reading, writing and watching objects without HTTP.
//!
//! Promises: a client has the same view and the same rules as one that comes over HTTP: what it writes is admitted, validated and watched.
//! Objects that are read are shared, never copied; JSON text is parsed at most once while somebody holds its object.
//! Limits: no credentials; sub-resources other than `status` and `binding` are not served here.
//! Source of the semantics: `client-go`'s clients, informers and work queues of Kubernetes v1.2.

mod api;
mod event_recorder;
mod informer;
mod watch;
mod work_queue;

pub use api::{Api, Client, ObjectKey, ObjectList};
pub use event_recorder::{EventRecorder, EventType, reference};
pub use informer::{Change, Informer};
pub use watch::{Watch, WatchEvent};
pub use work_queue::WorkQueue;

/// A client of an empty cluster.
#[cfg(test)]
pub(crate) async fn rig() -> Client {
    use std::sync::Arc;

    use crate::{
        clock::Clock,
        profile::Profile,
        registry::{Registry, Settings},
        rng::Rng,
    };

    let settings = Settings {
        profile: Profile::Kubernetes12,
        advertise_address: [10, 99, 0, 1].into(),
        secure_port: 6443,
        service_range: "10.0.0.0/24".parse().unwrap(),
        components: Vec::new(),
        history: None,
        watch_lag: std::time::Duration::ZERO,
        history_bytes: None,
        mounts_tokens: false,
    };
    let clock = Clock::frozen("2016-03-01T00:00:00Z".parse().unwrap());
    let registry = Arc::new(Registry::in_memory(settings, clock.clone(), Arc::new(Rng::seeded(7))));
    registry.bootstrap().await.unwrap();
    Client::new(registry, clock)
}
