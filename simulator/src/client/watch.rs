//! Watch with typed events.

use std::sync::Arc;

use super::api::Api;
use crate::{
    api::Object,
    store::Record,
    watch::{self, Watcher},
};

/// Change of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// The object was created, or is now selected.
    Added(Arc<Object>),
    /// The object was changed.
    Modified(Arc<Object>),
    /// The object was removed, or is no longer selected. Contains its last state.
    Deleted(Arc<Object>),
}

impl WatchEvent {
    /// Object after the change. After a removal: its last state.
    pub fn object(&self) -> &Arc<Object> {
        match self {
            Self::Added(object) | Self::Modified(object) | Self::Deleted(object) => object,
        }
    }
}

/// Changes of the selected objects, in order.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
/// # use serde_json::json;
/// # let simulator = stuntdouble_simulator::Simulator::builder().bare(true).start().await?;
/// use stuntdouble_simulator::WatchEvent;
///
/// let namespaces = simulator.client().api("v1", "namespaces")?;
/// let mut watch = namespaces.watch(&Default::default()).await?;
/// namespaces.create(json!({"metadata": {"name": "team"}})).await?;
/// let Some(WatchEvent::Added(namespace)) = watch.next().await else { panic!("expected ADDED") };
/// assert_eq!(namespace["metadata"]["name"], "team");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Watch {
    api: Api,
    watcher: Watcher,
}

impl Watch {
    pub(super) fn new(api: Api, watcher: Watcher) -> Self {
        Self { api, watcher }
    }

    /// Returns the next change. `None` when the watch has fallen too far behind: list and watch again. Cancel safe.
    pub async fn next(&mut self) -> Option<WatchEvent> {
        let (kind, record) = self.watcher.next_change().await?;
        Some(event(&self.api, kind, &record))
    }
}

pub(super) fn event(api: &Api, kind: watch::EventType, record: &Record) -> WatchEvent {
    let object = api.tree(record);
    match kind {
        watch::EventType::Added => WatchEvent::Added(object),
        watch::EventType::Modified => WatchEvent::Modified(object),
        watch::EventType::Deleted => WatchEvent::Deleted(object),
    }
}
