//! Store in an etcd cluster, which several processes share.
//!
//! Guarantees:
//! - A write is one etcd transaction that compares the revision of the object's key. The revision of the transaction
//!   is the object's resource version.
//! - If writers in any processes expect the same revision, only one succeeds.
//! - A write returns once this process shows it.
//! - Every process sees every change once, in the same order and at the same revision, even after it loses its
//!   connection or etcd loses a member.
//! - After [`Store::sync`], a process shows every write that any process had acknowledged before.
//!
//! Limits:
//! - Every process has all objects and their history in memory.
//! - An object with its metadata has at most 1.5 MB (etcd's `--max-request-bytes`).
//! - History is compacted by etcd's own settings.
//! - Each process has its own clock.
//!
//! How it works:
//! - Reads are served from a mirror (`mirror.rs`), which only etcd's watch changes. A process loads the state of
//!   10,000 revisions ago, or of the last compaction, and follows the watch from there, so that it has the history
//!   before its start.
//! - Every write also changes the key `head`. Its revision is that of the last write of the cluster, whatever else is
//!   in etcd. A linearizable read of it, shared by all waiting requests, returns the revision that the mirror must
//!   reach. (Progress notifications of etcd before 3.4.25 may arrive before the events that they cover.)
//! - The value of `head` names the write. The watch delivers the name with the change, so that a writer whose call
//!   had no answer can detect whether it was executed. Before it retries, it creates a fence: a key whose absence is
//!   a condition of the first attempt, which then can no longer succeed.
//! - Claims (addresses and node ports in use) are keys that the transaction of their object creates and deletes.
//!
//! etcd is called with the messages in `message.rs` over the crate `tonic`. The crate `etcd-client` generates the
//! same messages at build time, which would require the protocol buffer compiler on every machine that builds this
//! program.

mod client;
mod election;
mod keys;
mod message;
mod mirror;
mod settings;
#[cfg(test)]
pub(super) mod testing;

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use futures::future::{BoxFuture, ready};
use parking_lot::RwLock;
use tokio::{sync::Mutex, time::sleep};

pub(crate) use election::{Election, Term};
pub use settings::{Etcd, EtcdError};

use self::{
    client::{CALL_TIMEOUT, CallError, Client, RETRY_PAUSE},
    keys::{FORMAT, Keys},
    message::{Compare, TxnRequest, TxnResponse},
    mirror::Mirror,
};
use super::{Change, Expected, Key, Sink, Store, StoreError, Tables, Write};
use crate::{clock::Activity, strategy::Claims};

/// Time to live of a fence, in seconds: longer than any call can take.
const FENCE_TTL: i64 = 600;

/// Objects in etcd, with a copy in memory for reads.
pub(crate) struct EtcdStore {
    mirror: Arc<Mirror>,
    /// Counts a write that waits for etcd as work.
    activity: Activity,
    /// Number of this process, unique in the cluster's history.
    process: u64,
    /// Number of writes named so far.
    named: AtomicU64,
    /// Number of the fence that writes compare.
    fence: Mutex<u64>,
    reads: SharedReads,
}

/// Linearizable reads of `head`. A read is shared by all callers that waited when it started.
#[derive(Default)]
struct SharedReads {
    begun: AtomicU64,
    /// Number of the last successful read, and its result.
    last: Mutex<(u64, u64)>,
}

impl EtcdStore {
    /// Opens the store. `sink` gets the restored state, then every change. Writes that wait for etcd count in
    /// `activity`. Needs a running tokio runtime.
    ///
    /// # Errors
    /// etcd does not answer, or the keys under the prefix have another format.
    pub(crate) async fn open(settings: &Etcd, sink: Arc<dyn Sink>, activity: &Activity) -> Result<Self, EtcdError> {
        let mirror = Arc::new(Mirror::new(Client::new(settings)?, Keys::new(&settings.prefix), sink));
        let process = register(&mirror).await?;
        mirror.load().await?;
        let store = Self {
            mirror,
            activity: activity.clone(),
            process,
            named: AtomicU64::new(0),
            fence: Mutex::default(),
            reads: SharedReads::default(),
        };
        tokio::spawn(store.mirror.clone().run());
        let synced = store.synced().await;
        synced.map_err(|error| EtcdError::Unreachable(error.to_string()))?;
        Ok(store)
    }

    /// Number of this process, unique in the cluster's history.
    pub(crate) fn process(&self) -> u64 {
        self.process
    }

    async fn synced(&self) -> Result<(), StoreError> {
        let begun = self.reads.begun.load(Ordering::Acquire);
        let mut last = self.reads.last.lock().await;
        if last.0 <= begun {
            let number = self.reads.begun.fetch_add(1, Ordering::AcqRel) + 1;
            let read = self.mirror.client.range(keys::get(self.mirror.keys.head())).await;
            let read = read.map_err(unavailable)?;
            *last = (number, read.kvs.first().map_or(0, |kv| keys::revision(kv.mod_revision)));
        }
        let (_, head) = *last;
        drop(last);
        self.mirror.wait_for_revision(head).await
    }

    /// Returns a unique name for a write.
    fn name(&self) -> Bytes {
        let number = self.named.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number}", self.process).into()
    }

    fn fence_key(&self, number: u64) -> Bytes {
        self.mirror.keys.named(&format!("fences/{}-{number}", self.process))
    }

    /// Creates the fence `number`, so that no pending attempt that compares it can succeed.
    async fn raise_fence(&self, number: u64) -> Result<(), StoreError> {
        let mut fence = self.fence.lock().await;
        if *fence == number {
            let lease = self.mirror.client.grant(FENCE_TTL).await.map_err(unavailable)?.id;
            let put = TxnRequest {
                success: vec![keys::put_for(self.fence_key(number), "", lease)],
                ..TxnRequest::default()
            };
            let put = self.mirror.client.idempotent_transaction(put).await;
            put.map_err(unavailable)?;
            *fence = number + 1;
        }
        Ok(())
    }

    async fn write(&self, key: &Key, expected: Expected, write: Write, claims: &Claims) -> Result<Change, StoreError> {
        let mut pending = self.mirror.expect(self.name());
        let transaction = self.transaction(key, expected, write, claims, &pending.name)?;
        let end = tokio::time::Instant::now() + CALL_TIMEOUT;
        loop {
            let (member, fence) = (self.mirror.client.member(), *self.fence.lock().await);
            let mut attempt = transaction.clone();
            attempt.compare.push(Compare::changed_at(self.fence_key(fence), 0));
            match self.mirror.client.transaction(attempt).await {
                Ok(done) if done.succeeded => break,
                Ok(refused) => {
                    let head = refused.read(1).map_or(0, |kv| keys::revision(kv.mod_revision));
                    self.mirror.wait_for_revision(head).await?;
                    if let Ok(change) = pending.change.try_recv() {
                        return Ok(change);
                    }
                    if let Some(error) = refusal(key, expected, claims, &refused) {
                        return Err(error);
                    }
                }
                Err(error) if error.is_temporary() && tokio::time::Instant::now() < end => {
                    self.mirror.client.switch_member(member);
                    sleep(RETRY_PAUSE).await;
                    if let CallError::NoAnswer(_) = error {
                        self.raise_fence(fence).await?;
                    }
                }
                Err(error) => return Err(unavailable(error)),
            }
        }
        let applied = self.mirror.with_watch_restart(&mut pending.change).await?;
        applied.map_err(|_| StoreError::Unavailable("etcd was compacted before the write was seen".to_owned()))
    }

    /// Builds the transaction of a write. If its conditions fail, it reads the key, the head and the claims.
    fn transaction(
        &self,
        key: &Key,
        expected: Expected,
        write: Write,
        claims: &Claims,
        name: &Bytes,
    ) -> Result<TxnRequest, StoreError> {
        let keys = &self.mirror.keys;
        let (object, head) = (keys.object(key), keys.head());
        let revision = match expected {
            Expected::Absent => 0,
            Expected::At(revision) => keys::number(revision),
        };
        let mut transaction = TxnRequest {
            compare: vec![Compare::changed_at(object.clone(), revision)],
            success: Vec::new(),
            failure: vec![keys::read(object.clone()), keys::read(head.clone())],
        };
        transaction.success.push(match write {
            Write::Put(draft) => {
                let encoded = keys::encode(key, draft).map_err(|error| StoreError::Unavailable(error.to_string()))?;
                keys::put(object, encoded)
            }
            Write::Remove => keys::delete(object),
        });
        for claim in &claims.taken {
            let claim = keys.claim(claim);
            transaction.compare.push(Compare::changed_at(claim.clone(), 0));
            transaction.failure.push(keys::read(claim.clone()));
            transaction.success.push(keys::put(claim, ""));
        }
        let freed = claims.freed.iter().filter(|freed| !claims.taken.contains(freed));
        transaction
            .success
            .extend(freed.map(|freed| keys::delete(keys.claim(freed))));
        transaction.success.push(keys::put(head, name.clone()));
        Ok(transaction)
    }
}

/// Checks the format of the keys and returns a new process number.
async fn register(mirror: &Mirror) -> Result<u64, EtcdError> {
    let (format, starts) = (mirror.keys.named("format"), mirror.keys.named("starts"));
    let write_format = TxnRequest {
        compare: vec![Compare::changed_at(format.clone(), 0)],
        success: vec![keys::put(format.clone(), FORMAT)],
        failure: vec![keys::read(format)],
    };
    let failed = |error: CallError| EtcdError::Unreachable(error.to_string());
    let answer = mirror
        .client
        .idempotent_transaction(write_format)
        .await
        .map_err(failed)?;
    if let Some(found) = answer.read(0).filter(|found| found.value != FORMAT) {
        return Err(EtcdError::OtherFormat {
            prefix: mirror.keys.prefix().to_owned(),
            found: String::from_utf8_lossy(&found.value).into_owned(),
            expected: FORMAT,
        });
    }
    let count = TxnRequest {
        success: vec![keys::put(starts, "")],
        ..TxnRequest::default()
    };
    let counted = mirror.client.idempotent_transaction(count).await.map_err(failed)?;
    Ok(keys::revision(counted.header.unwrap_or_default().revision))
}

/// Error of a write whose conditions failed. `None` if only the fence failed.
fn refusal(key: &Key, expected: Expected, claims: &Claims, response: &TxnResponse) -> Option<StoreError> {
    let found = response.read(0).map(|kv| keys::revision(kv.mod_revision));
    match (expected, found) {
        (Expected::Absent, Some(_)) => return Some(StoreError::Exists(key.clone())),
        (Expected::At(_), None) => return Some(StoreError::Missing(key.clone())),
        (Expected::At(expected), Some(actual)) if expected != actual => {
            return Some(StoreError::Stale {
                key: key.clone(),
                expected,
                actual,
            });
        }
        _ => {}
    }
    let mut taken = claims.taken.iter().enumerate();
    let claimed = taken.find(|(place, _)| response.read(place + 2).is_some());
    claimed.map(|(_, claim)| StoreError::Claimed(claim.clone()))
}

fn unavailable(error: CallError) -> StoreError {
    StoreError::Unavailable(format!("etcd: {error}"))
}

impl Store for EtcdStore {
    fn tables(&self) -> &RwLock<Tables> {
        &self.mirror.tables
    }

    fn commit_claiming<'a>(
        &'a self,
        key: &'a Key,
        expected: Expected,
        write: Write,
        claims: &'a Claims,
    ) -> BoxFuture<'a, Result<Change, StoreError>> {
        let busy = self.activity.busy();
        Box::pin(async move {
            let written = self.write(key, expected, write, claims).await;
            drop(busy);
            written
        })
    }

    fn sync(&self) -> Option<BoxFuture<'_, Result<(), StoreError>>> {
        let busy = self.activity.busy();
        Some(Box::pin(async move {
            let synced = self.synced().await;
            drop(busy);
            synced
        }))
    }

    fn claims(&self) -> Option<HashSet<String>> {
        Some(self.mirror.claims.read().clone())
    }

    fn election(&self) -> Option<Election> {
        Some(Election::new(self.mirror.clone(), self.process))
    }

    fn commits_wait(&self) -> bool {
        true
    }

    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.mirror.closing.cancel();
        Box::pin(ready(Ok(())))
    }
}

/// Ends the watch.
impl Drop for EtcdStore {
    fn drop(&mut self) {
        self.mirror.closing.cancel();
    }
}
