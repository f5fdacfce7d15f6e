//! Informer: a cache of objects, kept current by a watch.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    future::Future,
    sync::Arc,
};

use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;

use super::{
    api::{Api, ObjectKey},
    watch::{WatchEvent, event},
};
use crate::{
    api::{Object, Status, meta},
    registry::ListOptions,
    watch::{WatchEnded, Watcher},
};

/// Change of a cached object.
#[derive(Clone, Debug)]
pub struct Change {
    /// Object before the change. `None` if it was created.
    pub old: Option<Arc<Object>>,
    /// Object after the change. `None` if it was removed.
    pub new: Option<Arc<Object>>,
}

impl Change {
    /// Object after the change. After a removal: its last state.
    pub fn object(&self) -> Option<&Arc<Object>> {
        self.new.as_ref().or(self.old.as_ref())
    }
}

type Handler = Box<dyn Fn(&Change) + Send + Sync>;

/// Cache of the selected objects. It lists them, then watches, and lists again if the watch has fallen too far
/// behind.
///
/// Each change is passed to the handlers once, in order. A handler adds keys to a [`WorkQueue`](super::WorkQueue).
/// Code that reads the cache calls [`catch_up`](Self::catch_up) first; then it reads every committed change.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
/// # use serde_json::json;
/// # let simulator = stuntdouble_simulator::Simulator::builder().bare(true).start().await?;
/// use std::sync::Arc;
/// use stuntdouble_simulator::{Informer, ObjectKey, WorkQueue};
///
/// let client = simulator.client();
/// let queue = Arc::new(WorkQueue::new(client.clock().clone()));
/// let informer = Arc::new(Informer::new(client.api("v1", "secrets")?, Default::default()).await?);
/// let keys = queue.clone();
/// informer.on_change(move |change| keys.extend(change.object().map(|object| ObjectKey::of(object))));
/// tokio::spawn(informer.clone().run());
///
/// client.api("v1", "secrets")?.in_namespace("default").create(json!({"metadata": {"name": "key"}})).await?;
/// let key = queue.next().await;
/// assert!(informer.get(&key).is_some());
/// queue.done(&key);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Informer {
    api: Api,
    options: ListOptions,
    cache: RwLock<Cache>,
    watcher: Mutex<Watcher>,
    handlers: RwLock<Vec<Handler>>,
}

/// Objects by key, and keys by the value of the indexed field.
#[derive(Default)]
struct Cache {
    objects: BTreeMap<ObjectKey, Arc<Object>>,
    indexed: Option<&'static str>,
    index: HashMap<String, BTreeSet<ObjectKey>>,
}

impl Cache {
    fn new(objects: BTreeMap<ObjectKey, Arc<Object>>, indexed: Option<&'static str>) -> Self {
        let mut cache = Self {
            indexed,
            ..Self::default()
        };
        for (key, object) in objects {
            cache.insert(key, object);
        }
        cache
    }

    fn insert(&mut self, key: ObjectKey, object: Arc<Object>) -> Option<Arc<Object>> {
        let old = self.remove(&key);
        if let Some(path) = self.indexed {
            let value = meta::text(&object, path).to_owned();
            self.index.entry(value).or_default().insert(key.clone());
        }
        self.objects.insert(key, object);
        old
    }

    fn remove(&mut self, key: &ObjectKey) -> Option<Arc<Object>> {
        let old = self.objects.remove(key)?;
        if let Some(value) = self.indexed.map(|path| meta::text(&old, path))
            && let Some(keys) = self.index.get_mut(value)
        {
            keys.remove(key);
            if keys.is_empty() {
                self.index.remove(value);
            }
        }
        Some(old)
    }
}

impl Informer {
    /// Creates an informer whose cache contains the currently selected objects.
    ///
    /// # Errors
    /// The objects cannot be listed.
    pub async fn new(api: Api, options: ListOptions) -> Result<Self, Status> {
        Self::indexed(api, options, None).await
    }

    /// Creates an informer with an index by the text at a dotted path.
    pub(crate) async fn indexed(api: Api, options: ListOptions, path: Option<&'static str>) -> Result<Self, Status> {
        let (objects, watcher) = list_and_watch(&api, &options).await?;
        Ok(Self {
            api,
            options,
            cache: RwLock::new(Cache::new(objects, path)),
            watcher: Mutex::new(watcher),
            handlers: RwLock::default(),
        })
    }

    /// Calls `handler` for each cached object, then for each change.
    pub fn on_change(&self, handler: impl Fn(&Change) + Send + Sync + 'static) {
        for object in self.list() {
            handler(&Change {
                old: None,
                new: Some(object),
            });
        }
        self.handlers.write().push(Box::new(handler));
    }

    /// Cached object of a key.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        self.cache.read().objects.get(key).cloned()
    }

    /// Cached objects in order of namespace and name.
    pub fn list(&self) -> Vec<Arc<Object>> {
        self.cache.read().objects.values().cloned().collect()
    }

    /// Cached objects of one namespace in order of name.
    pub fn list_in(&self, namespace: &str) -> Vec<Arc<Object>> {
        let first = ObjectKey::new(namespace, "");
        let cache = self.cache.read();
        cache
            .objects
            .range(first..)
            .take_while(|(key, _)| key.namespace == namespace)
            .map(|(_, object)| object.clone())
            .collect()
    }

    /// Cached objects whose indexed field has this value, in order of namespace and name.
    pub(crate) fn list_indexed(&self, value: &str) -> Vec<Arc<Object>> {
        let cache = self.cache.read();
        let keys = cache.index.get(value).into_iter().flatten();
        keys.filter_map(|key| cache.objects.get(key).cloned()).collect()
    }

    /// Applies every committed change to the cache.
    pub async fn catch_up(&self) {
        while self.apply_pending().is_err() {
            let Ok((objects, watcher)) = list_and_watch(&self.api, &self.options).await else {
                return;
            };
            *self.watcher.lock() = watcher;
            self.replace(objects);
        }
    }

    /// Applies changes as they happen. Never returns.
    pub async fn run(self: Arc<Self>) {
        loop {
            let notified = notified(self.watcher.lock().signal());
            self.catch_up().await;
            notified.await;
        }
    }

    fn apply_pending(&self) -> Result<(), WatchEnded> {
        loop {
            let (changes, outcome) = self.apply_ready();
            self.handle(&changes);
            if changes.is_empty() || outcome.is_err() {
                return outcome;
            }
        }
    }

    /// Applies the changes that can be read without waiting.
    fn apply_ready(&self) -> (Vec<Change>, Result<(), WatchEnded>) {
        let mut watcher = self.watcher.lock();
        let mut changes = Vec::new();
        loop {
            match watcher.ready_change() {
                Ok(Some((kind, record))) => changes.push(self.apply(event(&self.api, kind, &record))),
                Ok(None) => return (changes, Ok(())),
                Err(slow) => return (changes, Err(slow)),
            }
        }
    }

    fn apply(&self, event: WatchEvent) -> Change {
        let mut cache = self.cache.write();
        let key = ObjectKey::of(event.object());
        match event {
            WatchEvent::Deleted(last) => {
                cache.remove(&key);
                Change {
                    old: Some(last),
                    new: None,
                }
            }
            WatchEvent::Added(object) | WatchEvent::Modified(object) => Change {
                old: cache.insert(key, object.clone()),
                new: Some(object),
            },
        }
    }

    /// Replaces the cache by a new list. The differences are passed to the handlers.
    fn replace(&self, objects: BTreeMap<ObjectKey, Arc<Object>>) {
        let before = {
            let mut cache = self.cache.write();
            let new = Cache::new(objects.clone(), cache.indexed);
            std::mem::replace(&mut *cache, new).objects
        };
        let mut changes: Vec<Change> = Vec::new();
        for (key, new) in &objects {
            let old = before.get(key);
            if old.is_none_or(|old| !Arc::ptr_eq(old, new) && old != new) {
                changes.push(Change {
                    old: old.cloned(),
                    new: Some(new.clone()),
                });
            }
        }
        let gone = before.into_iter().filter(|(key, _)| !objects.contains_key(key));
        changes.extend(gone.map(|(_, old)| Change {
            old: Some(old),
            new: None,
        }));
        self.handle(&changes);
    }

    fn handle(&self, changes: &[Change]) {
        let handlers = self.handlers.read();
        for change in changes {
            handlers.iter().for_each(|handler| handler(change));
        }
    }
}

/// Lists the selected objects and starts a watch after the list.
async fn list_and_watch(
    api: &Api,
    options: &ListOptions,
) -> Result<(BTreeMap<ObjectKey, Arc<Object>>, Watcher), Status> {
    let list = api.list(options).await?;
    let watcher = api.registry.changes(&api.collection, options, list.revision)?;
    let objects = list.items.into_iter().map(|object| (ObjectKey::of(&object), object));
    Ok((objects.collect(), watcher))
}

/// Returns a future of the next notification. A notification before the first poll counts.
fn notified(signal: Arc<Notify>) -> impl Future<Output = ()> {
    let mut notified = Box::pin(signal.notified_owned());
    notified.as_mut().enable();
    notified
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{client::rig, watch::MAX_BACKLOG_GROWTH};

    #[tokio::test]
    async fn each_change_is_handled_once_and_cached() {
        let client = rig().await;
        let api = client.api("v1", "configmaps").unwrap().in_namespace("default");
        api.create(json!({"metadata": {"name": "a"}})).await.unwrap();
        let informer = Informer::new(api.clone(), ListOptions::default()).await.unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = seen.clone();
        informer.on_change(move |change| {
            let name = ObjectKey::of(change.object().unwrap()).name;
            log.lock()
                .push(format!("{name} {} {}", change.old.is_some(), change.new.is_some()));
        });
        api.create(json!({"metadata": {"name": "b"}})).await.unwrap();
        api.patch("a", &json!({"data": {"k": "v"}})).await.unwrap();
        api.delete("b", None).await.unwrap();
        informer.catch_up().await;
        informer.catch_up().await;
        assert_eq!(
            *seen.lock(),
            ["a false true", "b false true", "a true true", "b true false"]
        );
        let names: Vec<_> = informer.list().iter().map(|o| ObjectKey::of(o).to_string()).collect();
        assert_eq!(names, ["default/a"]);
    }

    #[tokio::test]
    async fn an_index_follows_the_field() {
        let client = rig().await;
        let api = client.api("v1", "secrets").unwrap().in_namespace("default");
        let secret = |name: &str, kind: &str| json!({"metadata": {"name": name}, "type": kind});
        api.create(secret("a", "one")).await.unwrap();
        let informer = Informer::indexed(api.clone(), ListOptions::default(), Some("type"))
            .await
            .unwrap();
        api.create(secret("b", "one")).await.unwrap();
        api.create(secret("c", "two")).await.unwrap();
        api.delete("a", None).await.unwrap();
        informer.catch_up().await;
        let names = |value: &str| {
            let objects = informer.list_indexed(value);
            objects.iter().map(|o| ObjectKey::of(o).name).collect::<Vec<_>>()
        };
        assert_eq!([names("one"), names("two")], [["b"], ["c"]]);
        assert!(names("three").is_empty());
    }

    #[tokio::test]
    async fn an_informer_that_has_fallen_behind_lists_again() {
        let client = rig().await;
        let api = client.api("v1", "configmaps").unwrap().in_namespace("default");
        api.create(json!({"metadata": {"name": "gone"}})).await.unwrap();
        let informer = Informer::new(api.clone(), ListOptions::default()).await.unwrap();
        let deleted = Arc::new(Mutex::new(0));
        let count = deleted.clone();
        informer.on_change(move |change| *count.lock() += i32::from(change.new.is_none()));
        api.delete("gone", None).await.unwrap();
        for number in 0..=MAX_BACKLOG_GROWTH {
            api.create(json!({"metadata": {"name": format!("n{number}")}}))
                .await
                .unwrap();
        }
        informer.catch_up().await;
        assert_eq!((informer.list().len(), *deleted.lock()), (MAX_BACKLOG_GROWTH + 1, 1));
    }
}
