//! Client inside the process: reads, writes and watches objects without HTTP.
//!
//! Guarantees:
//! - The same view and rules as for a client over HTTP: writes pass admission and validation, and are visible to
//!   watches.
//! - Objects are shared, never copied. Their JSON is parsed at most once while the object is in use.
//!
//! Limits: no credentials; of the subresources only `status`, `finalize` and `binding` are supported.
//!
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

/// Client of an empty cluster.
#[cfg(test)]
pub(crate) async fn rig() -> Client {
    use std::sync::Arc;

    use crate::{
        clock::Clock,
        profile::Profile,
        registry::{Registry, Settings},
        rng::Rng,
    };

    let settings = Settings::for_tests(Profile::Kubernetes12);
    let clock = Clock::frozen("2016-03-01T00:00:00Z".parse().unwrap());
    let registry = Arc::new(Registry::in_memory(settings, clock.clone(), Arc::new(Rng::seeded(7))));
    registry.bootstrap().await.unwrap();
    Client::new(registry, clock)
}
