//! A watch with typed events.

use std::sync::Arc;

use super::api::Api;
use crate::{
    api::Object,
    store::Record,
    watch::{self, Watcher},
};

/// A change of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// The object was created, or is selected now.
    Added(Arc<Object>),
    /// The object was changed.
    Modified(Arc<Object>),
    /// The object was removed, or is no longer selected. This is its last state.
    Deleted(Arc<Object>),
}

impl WatchEvent {
    /// The object after the change; of a removal, its last state.
    pub fn object(&self) -> &Arc<Object> {
        match self {
            Self::Added(object) | Self::Modified(object) | Self::Deleted(object) => object,
        }
    }
}

/// The changes of the selected objects, in order.
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
/// assert!(matches!(watch.next().await, Some(WatchEvent::Added(namespace)) if namespace["metadata"]["name"] == "team"));
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

    /// The next change; `None` when the watch has fallen too far behind: then list and watch again. Cancel safe.
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
