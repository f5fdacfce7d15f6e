//! Hub of the watch cache: histories and watchers of all kinds.

use std::{
    collections::HashMap,
    sync::{
        Arc, Once, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
    vec::IntoIter,
};

use parking_lot::{Mutex, RwLock};
use tokio::{sync::Notify, task::yield_now};
use tokio_util::sync::CancellationToken;

use super::{
    Event, MAX_BACKLOG_GROWTH, TooOld, WatchFilter, Watcher,
    history::History,
    lag::{self, Lag},
    watcher::backlog_limit,
    watcher_index::{GROUP_SIZE, WatcherIndex},
};
use crate::{
    api::GroupResource,
    clock::Activity,
    store::{Change, HistoryLimits, Listing, Record, RestoredResource, RestoredState, Sink},
};

/// Start of a watch.
#[derive(Clone, Debug)]
pub(crate) enum Start {
    /// Start of the history: the objects before it as ADDED, in their state at that time, then the changes.
    Beginning,
    /// These objects as ADDED, then the changes after the revision.
    Present {
        /// Objects to start with.
        records: Vec<Arc<Record>>,
        /// Revision at which the objects were read.
        revision: u64,
    },
    /// The change of this revision, then the changes after it.
    At(u64),
    /// The changes after this revision.
    After(u64),
}

/// History and watchers of one kind.
pub(super) struct Channel {
    /// Shared with the channels of forks until one of them changes it.
    pub(super) history: RwLock<Arc<History>>,
    index: WatcherIndex,
    /// Position up to which watchers have been woken, and position at which all watchers were last woken.
    woken: Mutex<(u64, u64)>,
    changed: AtomicBool,
    latest: AtomicU64,
    limits: Mutex<Vec<Weak<WatcherLimit>>>,
}

/// Backlog limit of one watcher, and the token that closes its connection.
pub(super) struct WatcherLimit {
    /// End position of the history above which the watcher is too far behind.
    pub(super) end: AtomicU64,
    close: CancellationToken,
}

impl Channel {
    /// Returns a channel with the same history and no watchers.
    fn fork(&self) -> Self {
        Self {
            history: RwLock::new(self.history.read().clone()),
            index: WatcherIndex::default(),
            woken: Mutex::default(),
            changed: AtomicBool::new(false),
            latest: AtomicU64::new(self.latest.load(Ordering::Acquire)),
            limits: Mutex::default(),
        }
    }

    /// Returns the groups of watchers to wake for the changes since the last call. Closes watchers that are too far
    /// behind.
    ///
    /// From time to time it returns all groups, so that changes that a filter excludes do not add up to a backlog.
    fn groups_to_wake(&self) -> Vec<Arc<Notify>> {
        let mut woken = self.woken.lock();
        let (seen, all) = *woken;
        let history = self.history.read();
        let end = history.end();
        let events: Option<Vec<_>> = history.read(seen, MAX_BACKLOG_GROWTH).map(Iterator::collect);
        drop(history);
        let groups = match events {
            Some(events) if end < all + (MAX_BACKLOG_GROWTH / 4) as u64 => {
                *woken = (end, all);
                self.index.woken_by(&events)
            }
            _ => {
                *woken = (end, end);
                self.index.all()
            }
        };
        let limits = self.limits.lock();
        limits
            .iter()
            .filter_map(Weak::upgrade)
            .filter(|l| l.end.load(Ordering::Acquire) < end)
            .for_each(|l| l.close.cancel());
        groups
    }
}

/// Watch cache of all kinds.
///
/// A commit only appends to a history. A task of the hub wakes the watchers and closes those that are too far behind.
pub(crate) struct Hub {
    limits: HistoryLimits,
    channels: RwLock<HashMap<GroupResource, Arc<Channel>>>,
    latest: AtomicU64,
    /// Size of the histories of all kinds, in bytes.
    bytes: AtomicUsize,
    /// Revision before which no watch can start.
    floor: AtomicU64,
    lag: Option<Arc<Lag>>,
    notify: Arc<Notify>,
    /// Start of the task that wakes watchers. It starts with the first watcher: a process may have thousands of
    /// clusters without any.
    waking: Once,
    activity: Activity,
}

impl Hub {
    /// Starts a hub that keeps `limits` changes and applies each change `lag` after its commit. Counts in `activity`
    /// while watchers have to be woken.
    ///
    /// Needs a running tokio runtime.
    pub(crate) fn start(limits: HistoryLimits, lag: Duration, activity: &Activity) -> Arc<Self> {
        let hub = Arc::new(Self {
            limits,
            channels: RwLock::default(),
            latest: AtomicU64::new(0),
            bytes: AtomicUsize::new(0),
            floor: AtomicU64::new(0),
            lag: (!lag.is_zero()).then(|| Lag::new(lag, 0)),
            notify: Arc::default(),
            waking: Once::new(),
            activity: activity.clone(),
        });
        if let Some(lag) = &hub.lag {
            let cached = Arc::downgrade(&hub);
            let cache = move |event| cached.upgrade().map(|hub| hub.cache(event)).is_some();
            tokio::spawn(activity.track(lag::run(lag.clone(), cache)));
        }
        hub
    }

    /// Appends a change to its history.
    fn cache(&self, event: Arc<Event>) {
        let channel = self.channel(&event.last().key().resource);
        self.change(&channel, |history| history.push(event));
        self.trim();
        channel.changed.store(true, Ordering::Release);
        self.notify.notify_one();
    }

    /// Whether the cache lags behind the store.
    pub(crate) fn lags(&self) -> bool {
        self.lag.is_some()
    }

    /// Returns the objects of a kind in the cache, at `revision` or later.
    pub(crate) async fn cached(&self, resource: &GroupResource, revision: u64) -> Listing {
        let revision = match &self.lag {
            Some(lag) => lag.wait_for(revision).await,
            None => self.latest(),
        };
        let records = self.channel(resource).history.read().present();
        Listing { revision, records }
    }

    /// Returns a hub with the same histories and no watchers. No change may be committed during the call.
    pub(crate) fn fork(&self, activity: &Activity) -> Arc<Self> {
        let lag = self.lag.as_ref().map_or(Duration::ZERO, |lag| lag.delay());
        let fork = Self::start(self.limits.clone(), lag, activity);
        fork.latest.store(self.latest(), Ordering::Release);
        fork.floor.store(self.floor.load(Ordering::Acquire), Ordering::Release);
        fork.bytes.store(self.bytes.load(Ordering::Acquire), Ordering::Release);
        let channels = self.channels.read();
        let copies = channels
            .iter()
            .map(|(resource, channel)| (resource.clone(), Arc::new(channel.fork())));
        fork.channels.write().extend(copies);
        if let (Some(lag), Some(own)) = (&self.lag, &fork.lag) {
            lag.pending().into_iter().for_each(|event| fork.cache(event));
            own.set_reached(self.latest());
        }
        fork
    }

    /// Watches `resource` from `start`. `close` is cancelled if the watcher falls too far behind, to close
    /// connections whose peer does not read.
    pub(crate) fn watch(
        self: &Arc<Self>,
        resource: &GroupResource,
        start: Start,
        filter: WatchFilter,
        close: CancellationToken,
    ) -> Result<Watcher, TooOld> {
        self.waking.call_once(|| {
            let waking = wake(Arc::downgrade(self), self.notify.clone());
            tokio::spawn(self.activity.track(waking));
        });
        let channel = self.channel(resource);
        let sorts = matches!(start, Start::Beginning);
        // Joining before reading ensures that no change in between is missed.
        let notify = channel.index.join(filter.index_key.clone());
        let history = channel.history.read();
        let (mut first, position) = match start {
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
        if sorts {
            first.sort_by_key(|record| record.revision());
        }
        let mut limits = channel.limits.lock();
        if limits.len() == limits.capacity() {
            limits.retain(|l| l.strong_count() > 0);
        }
        limits.push(Arc::downgrade(&limit));
        drop(limits);
        Ok(Watcher::new(channel, notify, limit, position, first, filter))
    }

    /// Revision of the latest change. 0 before the first.
    pub(crate) fn latest(&self) -> u64 {
        self.latest.load(Ordering::Acquire)
    }

    /// Revision of the latest change of a kind. 0 before the first. Covers every change up to a [`Hub::latest`] that
    /// was read before.
    pub(crate) fn latest_of(&self, resource: &GroupResource) -> u64 {
        self.channel(resource).latest.load(Ordering::Acquire)
    }

    /// Ends the watches of `resource` once they have read all events. Later watches can only start after that.
    pub(crate) fn close(&self, resource: &GroupResource) {
        let channel = Arc::new(self.new_channel(resource, self.latest()));
        if let Some(closed) = self.channels.write().insert(resource.clone(), channel) {
            self.end(&closed);
        }
    }

    /// Ends the watches of a channel once they have read all events.
    fn end(&self, channel: &Channel) {
        let mut shared = channel.history.write();
        let history = Arc::make_mut(&mut *shared);
        history.close();
        self.bytes.fetch_sub(history.bytes(), Ordering::AcqRel);
        drop(shared);
        channel.index.all().iter().for_each(|group| group.notify_waiters());
    }

    /// Changes a history and updates the total size.
    fn change(&self, channel: &Channel, change: impl FnOnce(&mut History)) {
        let mut shared = channel.history.write();
        let history = Arc::make_mut(&mut *shared);
        let before = history.bytes();
        change(history);
        if !history.is_closed() {
            self.bytes.fetch_add(history.bytes(), Ordering::AcqRel);
            self.bytes.fetch_sub(before, Ordering::AcqRel);
        }
    }

    /// Trims the largest history until the total size is within its limit.
    fn trim(&self) {
        let budget = self.limits.total_bytes();
        while let Some(excess) = self
            .bytes
            .load(Ordering::Acquire)
            .checked_sub(budget)
            .filter(|n| *n > 0)
        {
            let channels: Vec<_> = self.channels.read().values().cloned().collect();
            let sizes = channels.into_iter().map(|channel| {
                let size = channel.history.read().bytes();
                (size, channel)
            });
            let Some((size, largest)) = sizes.max_by_key(|(size, _)| *size) else {
                return;
            };
            self.change(&largest, |history| history.trim(size.saturating_sub(excess)));
            if largest.history.read().bytes() >= size {
                return;
            }
        }
    }

    /// Returns an empty channel whose history starts at `since`.
    fn new_channel(&self, resource: &GroupResource, since: u64) -> Channel {
        let (depth, budget) = (self.limits.of(resource), self.limits.bytes());
        Channel {
            history: RwLock::new(Arc::new(History::new(since, depth, MAX_BACKLOG_GROWTH, budget))),
            index: WatcherIndex::default(),
            woken: Mutex::default(),
            changed: AtomicBool::new(false),
            latest: AtomicU64::new(since),
            limits: Mutex::default(),
        }
    }

    /// Returns the channel of a kind that the store was opened with.
    fn restored_channel(&self, restored: RestoredResource, floor: u64) -> Channel {
        let mut channel = self.new_channel(&restored.resource, floor);
        let history = Arc::make_mut(channel.history.get_mut());
        history.set_base(restored.base);
        for event in restored.changes.into_iter().filter_map(Event::new) {
            history.push(Arc::new(event));
        }
        *channel.latest.get_mut() = history.latest().max(restored.trimmed);
        channel
    }

    fn channel(&self, resource: &GroupResource) -> Arc<Channel> {
        if let Some(channel) = self.channels.read().get(resource) {
            return channel.clone();
        }
        self.channels
            .write()
            .entry(resource.clone())
            .or_insert_with(|| Arc::new(self.new_channel(resource, self.floor.load(Ordering::Acquire))))
            .clone()
    }
}

impl Sink for Hub {
    fn restored(&self, restored: RestoredState) {
        self.floor.store(restored.floor, Ordering::Release);
        self.latest.store(restored.revision, Ordering::Release);
        if let Some(lag) = &self.lag {
            lag.set_reached(restored.revision);
        }
        let mut channels = self.channels.write();
        let lost: Vec<_> = channels.drain().map(|(_, channel)| channel).collect();
        for resource in restored.resources {
            let name = resource.resource.clone();
            let mut channel = self.restored_channel(resource, restored.floor);
            self.bytes
                .fetch_add(channel.history.get_mut().bytes(), Ordering::AcqRel);
            channels.insert(name, Arc::new(channel));
        }
        drop(channels);
        lost.iter().for_each(|channel| self.end(channel));
        self.trim();
    }

    fn committed(&self, change: Change) {
        let revision = change.revision;
        let Some(event) = Event::new(change) else { return };
        let channel = self.channel(&event.last().key().resource);
        channel.latest.store(revision, Ordering::Release);
        self.latest.store(revision, Ordering::Release);
        match &self.lag {
            None => self.cache(Arc::new(event)),
            Some(lag) => lag.push(Arc::new(event), self.activity.busy()),
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        if let Some(lag) = &self.lag {
            lag.end();
        }
        self.notify.notify_one();
    }
}

/// Wakes the watchers of changed kinds until the hub is dropped.
///
/// About [`GROUP_SIZE`] watchers are woken together, and the next ones after these had their turn, so that requests and
/// watchers of other kinds do not wait for thousands of watchers. Changes during a round are read by the watchers
/// that are still to be woken, and otherwise cause the next round: the more watchers there are, the more changes each
/// of them reads at a time.
async fn wake(hub: Weak<Hub>, notify: Arc<Notify>) {
    let mut rounds: Vec<(Arc<Channel>, IntoIter<Arc<Notify>>)> = Vec::new();
    let mut busy = None;
    loop {
        if rounds.is_empty() {
            drop(busy);
            notify.notified().await;
        }
        let Some(hub) = hub.upgrade() else { return };
        let is_in_round = |channel: &Arc<Channel>| rounds.iter().any(|(other, _)| Arc::ptr_eq(channel, other));
        let changed: Vec<_> = hub
            .channels
            .read()
            .values()
            .filter(|channel| !is_in_round(channel) && channel.changed.swap(false, Ordering::AcqRel))
            .cloned()
            .collect();
        busy = Some(hub.activity.busy());
        drop(hub);
        rounds.extend(changed.into_iter().map(|channel| {
            let groups = channel.groups_to_wake().into_iter();
            (channel, groups)
        }));
        rounds.retain_mut(|(_, groups)| wake_some(groups));
        if !rounds.is_empty() {
            yield_now().await;
        }
    }
}

/// Wakes the next groups, until they have at least [`GROUP_SIZE`] watchers together. Returns whether there may be more.
///
/// Most groups of a kind that is watched by namespace or name have one watcher. If other tasks ran after each of them,
/// the last one would wait for seconds on a busy machine.
fn wake_some(groups: &mut IntoIter<Arc<Notify>>) -> bool {
    let mut woken = 0;
    while woken < GROUP_SIZE {
        let Some(group) = groups.next() else {
            return false;
        };
        group.notify_waiters();
        // One of the references is this one.
        woken += Arc::strong_count(&group) - 1;
    }
    true
}

#[cfg(test)]
mod tests;
