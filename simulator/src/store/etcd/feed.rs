//! What this process has of the cluster: a copy of the objects that follows etcd's watch.
//!
//! - The copy is changed by the watch only, one revision after the other. A watch that breaks goes on with the revision after the last one that was applied.
//! - If that is compacted, the copy is read anew, and every watch of it starts anew.

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
    client::{CallError, Client, DEADLINE, PAUSE},
    keys::{self, Keys, Place},
    message::{RangeRequest, WatchEvent, WatchResponse},
    settings::EtcdError,
};
use crate::{
    api::GroupResource,
    store::{Change, Key, Past, Record, ResourcePast, Sink, StoreError, codec::Malformed, tables::Tables},
};

/// How long a reader waits for the watch before it is started anew.
const SLOW: Duration = Duration::from_secs(1);
/// Most keys that are read at a time.
const PAGE: i64 = 500;
/// How many revisions of history are read at the start.
const HISTORY: u64 = 10_000;

/// The copy, and who waits for it.
pub(super) struct Feed {
    pub(super) client: Client,
    pub(super) keys: Keys,
    pub(super) sink: Arc<dyn Sink>,
    pub(super) tables: RwLock<Tables>,
    /// The addresses and ports in use.
    pub(super) claims: RwLock<HashSet<String>>,
    /// The revision that the copy is at.
    applied: watch::Sender<u64>,
    /// Starts the watch anew.
    renew: Notify,
    /// The writes of this process that are under way.
    writes: Mutex<HashMap<Bytes, oneshot::Sender<Change>>>,
    /// Why the copy can no longer follow.
    failed: Mutex<Option<String>>,
    pub(super) closing: CancellationToken,
}

/// What was read at one revision.
#[derive(Default)]
struct Copy {
    tables: Tables,
    claims: HashSet<String>,
    past: Past,
    applied: u64,
}

/// A write that is under way. Dropping it ends the wait.
pub(super) struct Pending<'a> {
    feed: &'a Feed,
    pub(super) name: Bytes,
    pub(super) change: oneshot::Receiver<Change>,
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.feed.writes.lock().remove(&self.name);
    }
}

impl Feed {
    pub(super) fn new(client: Client, keys: Keys, sink: Arc<dyn Sink>) -> Self {
        Self {
            client,
            keys,
            sink,
            tables: RwLock::default(),
            claims: RwLock::default(),
            applied: watch::Sender::new(0),
            renew: Notify::new(),
            writes: Mutex::default(),
            failed: Mutex::default(),
            closing: CancellationToken::new(),
        }
    }

    /// Reads the objects as they were a while ago, so that the watch brings the history since then.
    pub(super) async fn load(&self) -> Result<(), EtcdError> {
        let head = self
            .client
            .range(keys::get(self.keys.head()))
            .await
            .map_err(unreachable)?;
        let latest = keys::revision(head.header.unwrap_or_default().revision);
        let mut at = latest.saturating_sub(HISTORY).max(1);
        loop {
            match self.copy(at).await? {
                Some(copy) => {
                    self.install(copy);
                    return Ok(());
                }
                None => at = self.compacted(at).await.map_err(unreachable)?.max(at),
            }
        }
    }

    /// The revision up to which history is gone, which a watch from an earlier one says.
    async fn compacted(&self, start: u64) -> Result<u64, CallError> {
        let end = Instant::now() + DEADLINE;
        loop {
            let member = self.client.member();
            let asked = async {
                let (first, last) = self.keys.all();
                let mut stream = self.client.watch(first, last, keys::number(start)).await?;
                while let Ok(Ok(Some(response))) = timeout(SLOW, stream.message()).await {
                    if response.compact_revision > 0 {
                        return Ok(keys::revision(response.compact_revision));
                    }
                }
                Err(CallError::NoAnswer("etcd does not say what is compacted".to_owned()))
            };
            match asked.await {
                Err(error) if error.is_temporary() && Instant::now() < end => {
                    self.client.leave(member);
                    sleep(PAUSE).await;
                }
                other => return other,
            }
        }
    }

    /// Reads everything as it was at a revision; `None` if that is compacted.
    async fn copy(&self, at: u64) -> Result<Option<Copy>, EtcdError> {
        let damaged = |error: Malformed| EtcdError::Damaged(error.to_string());
        let mut copy = Copy {
            applied: at,
            ..Copy::default()
        };
        let mut base: HashMap<GroupResource, Vec<Arc<Record>>> = HashMap::new();
        let (mut first, end) = self.keys.all();
        loop {
            let request = RangeRequest {
                key: first.clone(),
                range_end: end.clone(),
                limit: PAGE,
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
        copy.past.revision = copy.tables.revision;
        copy.past.floor = copy.tables.revision;
        copy.past.resources = base
            .into_iter()
            .map(|(resource, base)| ResourcePast {
                base,
                ..ResourcePast::new(resource)
            })
            .collect();
        Ok(Some(copy))
    }

    fn install(&self, copy: Copy) {
        let mut tables = self.tables.write();
        // What became of these writes may never be seen.
        self.writes.lock().clear();
        *tables = copy.tables;
        *self.claims.write() = copy.claims;
        self.sink.restored(copy.past);
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
                    // A load that fails is tried again: the watch says again that it is too late.
                    let _ = self.load().await;
                } else if *self.applied.borrow() == before {
                    self.client.leave(member);
                }
                sleep(PAUSE).await;
            }
        };
        tokio::select! {
            () = closing.cancelled() => {}
            () = follow => {}
        }
    }

    /// Applies what one watch brings, until it ends.
    async fn follow(&self) -> Result<(), CallError> {
        let (first, end) = self.keys.all();
        let next = *self.applied.borrow() + 1;
        let mut stream = self.client.watch(first, end, keys::number(next)).await?;
        loop {
            let answer = tokio::select! {
                answer = stream.message() => answer,
                () = self.renew.notified() => return Ok(()),
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

    /// Applies the events of one revision: what changed, and at its end the name of the write.
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
            // A writer that has left needs no answer.
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

    /// Registers a write, whose change is sent once it is applied.
    pub(super) fn expect(&self, name: Bytes) -> Pending<'_> {
        let (sender, change) = oneshot::channel();
        self.writes.lock().insert(name.clone(), sender);
        Pending {
            feed: self,
            name,
            change,
        }
    }

    /// Waits until the copy is at a revision.
    pub(super) async fn reach(&self, revision: u64) -> Result<(), StoreError> {
        let mut applied = self.applied.subscribe();
        let reached = async {
            // The sender is part of the store.
            let _ = applied.wait_for(|applied| *applied >= revision).await;
        };
        self.patiently(reached).await
    }

    /// Waits for the watch, which is started anew when it is slow.
    pub(super) async fn patiently<T>(&self, what: impl Future<Output = T>) -> Result<T, StoreError> {
        let mut what = std::pin::pin!(what);
        let end = Instant::now() + DEADLINE;
        while Instant::now() < end {
            if let Some(why) = self.failed.lock().clone() {
                return Err(StoreError::Unavailable(why));
            }
            if let Ok(done) = timeout(SLOW, &mut what).await {
                return Ok(done);
            }
            self.renew.notify_one();
        }
        Err(StoreError::Unavailable("etcd's watch does not follow".to_owned()))
    }
}

fn unreachable(error: CallError) -> EtcdError {
    EtcdError::Unreachable(error.to_string())
}
