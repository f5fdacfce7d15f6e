//! Changes go in, watchers come out.

use std::{
    collections::HashMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::{Mutex, RwLock};
use tokio::{sync::Notify, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{Event, LAG, TooOld, WatchFilter, Watcher, history::History, watcher::backlog_limit};
use crate::{
    api::GroupResource,
    clock::Activity,
    store::{Change, Record, Sink},
};

/// Pause after a round of wake-ups, for each watcher: about the time that one takes to write its frames.
const PAUSE: Duration = Duration::from_micros(10);
/// Shortest pause; a shorter one is left out.
const SHORTEST: Duration = Duration::from_millis(1);
/// Longest pause.
const LONGEST: Duration = Duration::from_millis(50);

/// Where a watch starts.
#[derive(Clone, Debug)]
pub enum Start {
    /// At the beginning of history: first what is older than that, as it was then, as added.
    Beginning,
    /// With these objects as added, then what comes after this revision.
    Present {
        /// The objects.
        records: Vec<Arc<Record>>,
        /// The revision at which they were read.
        revision: u64,
    },
    /// With the change of this revision, then what comes after it.
    At(u64),
    /// With what comes after this revision.
    After(u64),
}

/// One kind's history and watchers.
pub(super) struct Channel {
    pub(super) history: RwLock<History>,
    pub(super) notify: Arc<Notify>,
    changed: AtomicBool,
    latest: AtomicU64,
    limits: Mutex<Vec<Weak<WatcherLimit>>>,
}

/// Backlog limit of one watcher, and the token that closes its connection.
pub(super) struct WatcherLimit {
    /// The end of the history past which the watcher is too far behind.
    pub(super) end: AtomicU64,
    close: CancellationToken,
}

impl Channel {
    /// Wakes the watchers and closes those that are too far behind; returns how many there are.
    fn wake(&self) -> usize {
        self.notify.notify_waiters();
        let end = self.history.read().end();
        let limits = self.limits.lock();
        limits
            .iter()
            .filter_map(Weak::upgrade)
            .filter(|l| l.end.load(Ordering::Acquire) < end)
            .for_each(|l| l.close.cancel());
        limits.len()
    }
}

/// How many changes of each kind are kept.
#[derive(Clone, Debug)]
pub(crate) struct HistoryLimits {
    default: usize,
    by_resource: HashMap<GroupResource, usize>,
}

impl HistoryLimits {
    /// The same limit for all kinds.
    pub(crate) fn new(default: usize) -> Self {
        Self {
            default,
            by_resource: HashMap::new(),
        }
    }

    /// Sets the limit of one kind.
    pub(crate) fn set(&mut self, resource: &GroupResource, limit: usize) {
        self.by_resource.insert(resource.clone(), limit);
    }

    fn of(&self, resource: &GroupResource) -> usize {
        self.by_resource.get(resource).copied().unwrap_or(self.default)
    }
}

/// The channels of all kinds.
///
/// A commit only appends to a history; a task of the hub wakes the watchers and ends those that are too far behind.
pub struct Hub {
    limits: HistoryLimits,
    channels: RwLock<HashMap<GroupResource, Arc<Channel>>>,
    latest: AtomicU64,
    notify: Arc<Notify>,
    activity: Activity,
}

impl Hub {
    /// A hub that keeps as many changes as `limits` has. It counts in `activity` while watchers are to be woken.
    ///
    /// Needs a running tokio runtime.
    pub(crate) fn start(limits: HistoryLimits, activity: &Activity) -> Arc<Self> {
        let notify = Arc::new(Notify::new());
        let hub = Arc::new(Self {
            limits,
            channels: RwLock::default(),
            latest: AtomicU64::new(0),
            notify: notify.clone(),
            activity: activity.clone(),
        });
        tokio::spawn(activity.track(wake(Arc::downgrade(&hub), notify)));
        hub
    }

    /// Watches `resource` from `start` on. `close` is cancelled if the watcher falls too far behind, so that a peer that never reads is closed.
    pub fn watch(
        &self,
        resource: &GroupResource,
        start: Start,
        filter: WatchFilter,
        close: CancellationToken,
    ) -> Result<Watcher, TooOld> {
        let channel = self.channel(resource);
        let history = channel.history.read();
        let (first, position) = match start {
            Start::Beginning => (history.base(), history.start()),
            Start::Present { records, revision } => (records, history.position_after(revision)?),
            Start::At(revision) => (Vec::new(), history.position_at(revision)?),
            Start::After(revision) => (Vec::new(), history.position_after(revision)?),
        };
        let limit = Arc::new(WatcherLimit {
            end: AtomicU64::new(backlog_limit(position, history.end().saturating_sub(position))),
            close,
        });
        drop(history);
        let mut limits = channel.limits.lock();
        limits.retain(|l| l.strong_count() > 0);
        limits.push(Arc::downgrade(&limit));
        drop(limits);
        Ok(Watcher::new(channel, limit, position, first, filter))
    }

    /// The revision of the latest change; 0 before the first.
    pub fn latest(&self) -> u64 {
        self.latest.load(Ordering::Acquire)
    }

    /// The revision of the latest change of a kind; 0 before the first. At least that of every change up to [`Hub::latest`], if that was read before.
    pub(crate) fn latest_of(&self, resource: &GroupResource) -> u64 {
        self.channel(resource).latest.load(Ordering::Acquire)
    }

    /// Ends the watches of `resource` once they have read what there is. From then on watches can only start after that.
    pub(crate) fn close(&self, resource: &GroupResource) {
        let channel = self.new_channel(resource, self.latest());
        if let Some(closed) = self.channels.write().insert(resource.clone(), channel) {
            closed.history.write().close();
            closed.notify.notify_waiters();
        }
    }

    fn new_channel(&self, resource: &GroupResource, since: u64) -> Arc<Channel> {
        Arc::new(Channel {
            history: RwLock::new(History::new(since, self.limits.of(resource), LAG)),
            notify: Arc::default(),
            changed: AtomicBool::new(false),
            latest: AtomicU64::new(since),
            limits: Mutex::default(),
        })
    }

    fn channel(&self, resource: &GroupResource) -> Arc<Channel> {
        if let Some(channel) = self.channels.read().get(resource) {
            return channel.clone();
        }
        self.channels
            .write()
            .entry(resource.clone())
            .or_insert_with(|| self.new_channel(resource, 0))
            .clone()
    }
}

impl Sink for Hub {
    fn committed(&self, change: Change) {
        let revision = change.revision;
        let Some(event) = Event::new(change) else { return };
        let channel = self.channel(&event.last().key().resource);
        channel.latest.store(revision, Ordering::Release);
        self.latest.store(revision, Ordering::Release);
        channel.history.write().push(event);
        channel.changed.store(true, Ordering::Release);
        self.notify.notify_one();
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.notify.notify_one();
    }
}

/// Wakes the watchers of what has changed, until the hub is dropped.
///
/// Many watchers are woken less often and read more each time, so that the cost of a wake-up is spread over more changes.
async fn wake(hub: Weak<Hub>, notify: Arc<Notify>) {
    loop {
        notify.notified().await;
        let Some(hub) = hub.upgrade() else { return };
        let changed: Vec<_> = hub
            .channels
            .read()
            .values()
            .filter(|c| c.changed.swap(false, Ordering::AcqRel))
            .cloned()
            .collect();
        let busy = hub.activity.busy();
        drop(hub);
        let woken: usize = changed.iter().map(|channel| channel.wake()).sum();
        let pause = PAUSE * u32::try_from(woken).unwrap_or(u32::MAX);
        if pause >= SHORTEST {
            sleep(pause.min(LONGEST)).await;
        }
        drop(busy);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{
        scheme::Scheme,
        store::{Draft, Expected, Key, Memory, Pairs, Store, Write},
    };

    fn pods() -> GroupResource {
        GroupResource::core("pods")
    }

    struct Rig {
        hub: Arc<Hub>,
        store: Memory,
    }

    impl Rig {
        fn new() -> Self {
            let hub = Hub::start(HistoryLimits::new(1000), &Activity::default());
            Self {
                store: Memory::new(hub.clone()),
                hub,
            }
        }

        async fn put(&self, name: &str, label: &str) -> u64 {
            let key = Key::new(&pods(), "n", name);
            let draft = Draft::new(
                r#"{"metadata":{"resourceVersion":"0"}}"#,
                "".into(),
                [("app".into(), label.into())].into(),
                Pairs::default(),
            )
            .unwrap();
            let at = self
                .store
                .get(&key)
                .await
                .unwrap()
                .map_or(Expected::Absent, |r| Expected::At(r.revision()));
            self.store.commit(&key, at, Write::Put(draft)).await.unwrap().revision
        }

        async fn remove(&self, name: &str) {
            let key = Key::new(&pods(), "n", name);
            let at = self.store.get(&key).await.unwrap().unwrap().revision();
            self.store.commit(&key, Expected::At(at), Write::Remove).await.unwrap();
        }

        fn watch(&self, start: Start, label: Option<&'static str>) -> Result<Watcher, TooOld> {
            let matches = move |r: &Record| label.is_none_or(|l| r.labels().iter().any(|(_, v)| **v == *l));
            self.hub.watch(
                &pods(),
                start,
                WatchFilter {
                    matches: Box::new(matches),
                    version: Scheme::builtin().resource("", "v1", "pods").unwrap().clone(),
                    after: 0,
                },
                CancellationToken::new(),
            )
        }
    }

    fn text(kind: &str, revision: u64) -> Option<Bytes> {
        Some(
            format!("{{\"type\":\"{kind}\",\"object\":{{\"metadata\":{{\"resourceVersion\":\"{revision}\"}}}}}}\n")
                .into(),
        )
    }

    #[tokio::test]
    async fn a_selector_sees_objects_come_and_go() {
        let rig = Rig::new();
        let mut x = rig.watch(Start::Beginning, Some("x")).unwrap();
        rig.put("a", "x").await;
        rig.put("a", "y").await;
        rig.put("b", "y").await;
        rig.put("a", "x").await;
        rig.remove("a").await;
        for (kind, revision) in [("ADDED", 1), ("DELETED", 2), ("ADDED", 4), ("DELETED", 5)] {
            assert_eq!(x.next().await, text(kind, revision));
        }
    }

    #[tokio::test]
    async fn a_watcher_that_waits_is_woken() {
        let rig = Rig::new();
        let mut all = rig.watch(Start::Beginning, None).unwrap();
        let waiting = tokio::spawn(async move { all.next().await });
        tokio::task::yield_now().await;
        rig.put("a", "x").await;
        assert_eq!(waiting.await.unwrap(), text("ADDED", 1));
    }

    #[tokio::test]
    async fn present_objects_come_first_and_none_is_lost_or_doubled() {
        let rig = Rig::new();
        rig.put("a", "x").await;
        let listing = rig.store.list(&pods(), None).await.unwrap();
        rig.put("a", "x").await;
        let mut all = rig
            .watch(
                Start::Present {
                    records: listing.records,
                    revision: listing.revision,
                },
                None,
            )
            .unwrap();
        assert_eq!(all.next().await, text("ADDED", 1));
        assert_eq!(all.next().await, text("MODIFIED", 2));
    }

    #[tokio::test]
    async fn a_start_that_is_too_old_is_refused() {
        let rig = Rig::new();
        for _ in 0..1002 {
            rig.put("a", "x").await;
        }
        assert_eq!(
            rig.watch(Start::At(2), None).err(),
            Some(TooOld { asked: 2, oldest: 3 })
        );
        assert!(rig.watch(Start::After(2), None).is_ok());
    }

    #[tokio::test]
    async fn a_watcher_that_never_reads_is_closed_and_writers_go_on() {
        let rig = Rig::new();
        let close = CancellationToken::new();
        let filter = WatchFilter {
            matches: Box::new(|_| true),
            version: Scheme::builtin().resource("", "v1", "pods").unwrap().clone(),
            after: 0,
        };
        let mut asleep = rig.hub.watch(&pods(), Start::Beginning, filter, close.clone()).unwrap();
        for _ in 0..=LAG {
            rig.put("a", "x").await;
        }
        close.cancelled().await;
        assert_eq!(asleep.next().await, None);
    }
}
