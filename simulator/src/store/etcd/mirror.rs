//! Mirror of the cluster's objects in memory, kept current by etcd's watch.
//!
//! - Only the watch changes the mirror, in order of revision. A watch that breaks is resumed after the last applied
//!   revision.
//! - If that revision is compacted, the mirror is loaded again, and every watch of the mirror ends.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use tokio::{
    sync::{Notify, oneshot, watch},
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    client::{CALL_TIMEOUT, CallError, Client, RETRY_PAUSE},
    keys::{self, Keys, Place},
    message::{RangeRequest, WatchEvent, WatchResponse},
    settings::EtcdError,
};
use crate::{
    api::GroupResource,
    store::{Change, Key, Record, RestoredResource, RestoredState, Sink, StoreError, codec::Malformed, tables::Tables},
};

/// Time without progress after which the watch is restarted.
const WATCH_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of keys in one read.
const PAGE_KEYS: i64 = 500;
/// Number of revisions of history that are loaded at the start.
const HISTORY_REVISIONS: u64 = 10_000;

/// Mirror and the readers and writers that wait for it.
pub(super) struct Mirror {
    pub(super) client: Client,
    pub(super) keys: Keys,
    pub(super) sink: Arc<dyn Sink>,
    pub(super) tables: RwLock<Tables>,
    /// Addresses and ports in use.
    pub(super) claims: RwLock<HashSet<String>>,
    /// Revision of the mirror.
    applied: watch::Sender<u64>,
    /// Signal to restart the watch.
    restart: Notify,
    /// Pending writes of this process, by name.
    writes: Mutex<HashMap<Bytes, oneshot::Sender<Change>>>,
    /// Error that stopped the mirror, if any.
    failed: Mutex<Option<String>>,
    pub(super) closing: CancellationToken,
}

/// Everything that was read at one revision.
#[derive(Default)]
struct LoadedState {
    tables: Tables,
    claims: HashSet<String>,
    restored: RestoredState,
    applied: u64,
}

/// Pending write. Dropping it removes the registration.
pub(super) struct PendingWrite<'a> {
    mirror: &'a Mirror,
    pub(super) name: Bytes,
    pub(super) change: oneshot::Receiver<Change>,
}

impl Drop for PendingWrite<'_> {
    fn drop(&mut self) {
        self.mirror.writes.lock().remove(&self.name);
    }
}

impl Mirror {
    pub(super) fn new(client: Client, keys: Keys, sink: Arc<dyn Sink>) -> Self {
        Self {
            client,
            keys,
            sink,
            tables: RwLock::default(),
            claims: RwLock::default(),
            applied: watch::Sender::new(0),
            restart: Notify::new(),
            writes: Mutex::default(),
            failed: Mutex::default(),
            closing: CancellationToken::new(),
        }
    }

    /// Loads the objects as of an earlier revision, so that the watch delivers the history since then.
    pub(super) async fn load(&self) -> Result<(), EtcdError> {
        let head = self
            .client
            .range(keys::get(self.keys.head()))
            .await
            .map_err(unreachable)?;
        let latest = keys::revision(head.header.unwrap_or_default().revision);
        let mut at = latest.saturating_sub(HISTORY_REVISIONS).max(1);
        loop {
            match self.read_at(at).await? {
                Some(copy) => {
                    self.install(copy);
                    return Ok(());
                }
                None => at = self.compaction_revision(at).await.map_err(unreachable)?.max(at),
            }
        }
    }

    /// Returns the compaction revision, which etcd reports to a watch from an earlier revision.
    async fn compaction_revision(&self, start: u64) -> Result<u64, CallError> {
        let end = Instant::now() + CALL_TIMEOUT;
        loop {
            let member = self.client.member();
            let reported = async {
                let (first, last) = self.keys.all();
                let mut stream = self.client.watch(first, last, keys::number(start)).await?;
                while let Ok(Ok(Some(response))) = timeout(WATCH_TIMEOUT, stream.message()).await {
                    if response.compact_revision > 0 {
                        return Ok(keys::revision(response.compact_revision));
                    }
                }
                Err(CallError::NoAnswer(
                    "etcd did not report its compaction revision".to_owned(),
                ))
            };
            match reported.await {
                Err(error) if error.is_temporary() && Instant::now() < end => {
                    self.client.switch_member(member);
                    sleep(RETRY_PAUSE).await;
                }
                other => return other,
            }
        }
    }

    /// Reads everything as of a revision. `None` if it is compacted.
    async fn read_at(&self, at: u64) -> Result<Option<LoadedState>, EtcdError> {
        let damaged = |error: Malformed| EtcdError::Damaged(error.to_string());
        let mut copy = LoadedState {
            applied: at,
            ..LoadedState::default()
        };
        let mut base: HashMap<GroupResource, Vec<Arc<Record>>> = HashMap::new();
        let (mut first, end) = self.keys.all();
        loop {
            let request = RangeRequest {
                key: first.clone(),
                range_end: end.clone(),
                limit: PAGE_KEYS,
                revision: keys::number(at),
                keys_only: false,
            };
            let page = match self.client.range(request).await {
                Err(CallError::Compacted) => return Ok(None),
                page => page.map_err(unreachable)?,
            };
            for kv in &page.kvs {
                match self.keys.place(&kv.key) {
                    Place::Object(key) => {
                        let record = Arc::new(keys::decode(key, kv).map_err(damaged)?);
                        copy.tables.put(record.clone());
                        base.entry(record.key().resource.clone()).or_default().push(record);
                    }
                    Place::Claim(name) => drop(copy.claims.insert(name)),
                    Place::Head => copy.tables.revision = keys::revision(kv.mod_revision),
                    Place::Other => {}
                }
            }
            let Some(last) = page.kvs.last().filter(|_| page.more) else {
                break;
            };
            first = [&last.key[..], &[0]].concat().into();
        }
        copy.restored.revision = copy.tables.revision;
        copy.restored.floor = copy.tables.revision;
        copy.restored.resources = base
            .into_iter()
            .map(|(resource, base)| RestoredResource {
                base,
                ..RestoredResource::new(resource)
            })
            .collect();
        Ok(Some(copy))
    }

    fn install(&self, copy: LoadedState) {
        let mut tables = self.tables.write();
        // The results of these writes may never be delivered.
        self.writes.lock().clear();
        *tables = copy.tables;
        *self.claims.write() = copy.claims;
        self.sink.restored(copy.restored);
        self.applied.send_replace(copy.applied);
    }

    /// Follows etcd's watch until the store is closed.
    pub(super) async fn run(self: Arc<Self>) {
        let closing = self.closing.clone();
        let follow = async {
            while self.failed.lock().is_none() {
                let member = self.client.member();
                let before = *self.applied.borrow();
                let ended = self.follow().await;
                if matches!(ended, Err(CallError::Compacted)) {
                    // If loading fails, the next watch reports the compaction again.
                    let _ = self.load().await;
                } else if *self.applied.borrow() == before {
                    self.client.switch_member(member);
                }
                sleep(RETRY_PAUSE).await;
            }
        };
        tokio::select! {
            () = closing.cancelled() => {}
            () = follow => {}
        }
    }

    /// Applies the events of one watch until it ends.
    async fn follow(&self) -> Result<(), CallError> {
        let (first, end) = self.keys.all();
        let next = *self.applied.borrow() + 1;
        let mut stream = self.client.watch(first, end, keys::number(next)).await?;
        loop {
            let answer = tokio::select! {
                answer = stream.message() => answer,
                () = self.restart.notified() => return Ok(()),
            };
            let Ok(Some(response)) = answer else { return Ok(()) };
            if response.compact_revision > 0 {
                return Err(CallError::Compacted);
            }
            if response.canceled {
                return Err(CallError::NoAnswer(response.cancel_reason));
            }
            if let Err(why) = self.apply(&response) {
                *self.failed.lock() = Some(why.to_string());
                return Ok(());
            }
        }
    }

    fn apply(&self, response: &WatchResponse) -> Result<(), Malformed> {
        for events in response.events.chunk_by(|a, b| a.revision() == b.revision()) {
            let revision = keys::revision(events[0].revision());
            if revision > *self.applied.borrow() {
                self.apply_revision(revision, events)?;
            }
        }
        Ok(())
    }

    /// Applies the events of one revision, then completes the write that its `head` event names.
    fn apply_revision(&self, revision: u64, events: &[WatchEvent]) -> Result<(), Malformed> {
        let (mut changed, mut name) = (None, None);
        for event in events {
            let Some(kv) = &event.kv else { continue };
            match self.keys.place(&kv.key) {
                Place::Object(key) => {
                    let after = if event.is_removal() {
                        None
                    } else {
                        Some(Arc::new(keys::decode(key.clone(), kv)?))
                    };
                    changed = self.change(revision, &key, after).or(changed);
                }
                Place::Claim(claim) if event.is_removal() => drop(self.claims.write().remove(&claim)),
                Place::Claim(claim) => drop(self.claims.write().insert(claim)),
                Place::Head => name = Some(kv.value.clone()),
                Place::Other => {}
            }
        }
        self.applied.send_replace(revision);
        let waiting = name.and_then(|name| self.writes.lock().remove(&name));
        if let (Some(waiting), Some(change)) = (waiting, changed) {
            // The writer may have stopped waiting.
            let _ = waiting.send(change);
        }
        Ok(())
    }

    fn change(&self, revision: u64, key: &Key, after: Option<Arc<Record>>) -> Option<Change> {
        let mut tables = self.tables.write();
        let before = tables.get(key);
        if before.is_none() && after.is_none() {
            return None;
        }
        let change = Change {
            revision,
            before,
            after,
        };
        tables.apply(&change);
        self.sink.committed(change.clone());
        Some(change)
    }

    /// Registers a write. Its change is sent once it is applied.
    pub(super) fn expect(&self, name: Bytes) -> PendingWrite<'_> {
        let (sender, change) = oneshot::channel();
        self.writes.lock().insert(name.clone(), sender);
        PendingWrite {
            mirror: self,
            name,
            change,
        }
    }

    /// Waits until the mirror has reached a revision.
    pub(super) async fn wait_for_revision(&self, revision: u64) -> Result<(), StoreError> {
        let mut applied = self.applied.subscribe();
        let reached = async {
            // The sender lives as long as the store.
            let _ = applied.wait_for(|applied| *applied >= revision).await;
        };
        self.with_watch_restart(reached).await
    }

    /// Awaits a result of the watch, and restarts the watch when it makes no progress.
    pub(super) async fn with_watch_restart<T>(&self, what: impl Future<Output = T>) -> Result<T, StoreError> {
        let mut what = std::pin::pin!(what);
        let end = Instant::now() + CALL_TIMEOUT;
        while Instant::now() < end {
            if let Some(why) = self.failed.lock().clone() {
                return Err(StoreError::Unavailable(why));
            }
            if let Ok(done) = timeout(WATCH_TIMEOUT, &mut what).await {
                return Ok(done);
            }
            self.restart.notify_one();
        }
        Err(StoreError::Unavailable("etcd's watch makes no progress".to_owned()))
    }
}

fn unreachable(error: CallError) -> EtcdError {
    EtcdError::Unreachable(error.to_string())
}
