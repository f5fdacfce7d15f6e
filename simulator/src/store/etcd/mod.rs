//! A store in an etcd cluster, which several processes share.
//!
//! Guarantees: a write is one transaction of etcd, which compares the revision of the object's key; the revision of the transaction is the object's resource
//! version. Of two writers of one revision, on any processes, one wins. A write returns once this process shows it. Every process has every change once, in
//! the same order and at the same revision, also after its connection or a member of etcd was lost. [`Store::sync`] brings a process up to every write
//! that was acknowledged anywhere before.
//! Limits: every process has all objects and their history in memory; an object with its metadata has at most 1.5 MB (etcd's `--max-request-bytes`); history is
//! compacted by etcd's own settings; the time of day is each process's own.
//!
//! How it works:
//! - Reads are served from a copy (`feed.rs`), which only etcd's watch changes. A process reads the state of 10,000 revisions ago, or of the last compaction, and
//!   follows the watch from there, so that it has the history before its start.
//! - Every write also changes the key `head`. Its revision is that of the last write of the cluster, whatever else is in etcd; a linearizable read of it, shared by
//!   all requests that wait, says how far the copy must be. (The progress notifications of etcd before 3.4.25 may come before the events that they are about.)
//! - The value of `head` names the write. The watch brings the name with the change, so that a writer whose call had no answer finds out what became of it. Before it
//!   tries again it raises a fence, a key that the first attempt compares, so that the first attempt cannot be carried out later.
//! - Claims (addresses and node ports in use) are keys that the transaction of their object creates and removes with it.
//!
//! etcd is called with the messages in `message.rs` over the crate `tonic`. The crate `etcd-client` generates the same messages when it is built, for which everyone
//! who builds this program would need the protocol buffer compiler.

mod client;
mod election;
mod feed;
mod keys;
mod message;
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
    client::{CallError, Client, DEADLINE, PAUSE},
    feed::Feed,
    keys::{FORMAT, Keys},
    message::{Compare, TxnRequest, TxnResponse},
};
use super::{Change, Expected, Key, Sink, Store, StoreError, Tables, Write};
use crate::{clock::Activity, strategy::Claims};

/// Lifetime of a fence, in seconds: longer than any call can be under way.
const FENCE: i64 = 600;

/// Objects in etcd, and in memory for reading.
pub(crate) struct EtcdStore {
    feed: Arc<Feed>,
    /// A write that waits for etcd is work.
    activity: Activity,
    /// The number of this process, which no other has had.
    process: u64,
    /// How many writes were named.
    named: AtomicU64,
    /// The number of the fence that writes compare.
    fence: Mutex<u64>,
    reads: SharedReads,
}

/// Linearizable reads of the head, each shared by those that waited when it began.
#[derive(Default)]
struct SharedReads {
    begun: AtomicU64,
    /// The number of the last read that ended well, and what it read.
    last: Mutex<(u64, u64)>,
}

impl EtcdStore {
    /// Opens the store. `sink` gets what is in it, then every change. Writes that wait for etcd count in `activity`. Needs a running tokio runtime.
    ///
    /// # Errors
    /// etcd does not answer, or has keys of another format under the prefix.
    pub(crate) async fn open(settings: &Etcd, sink: Arc<dyn Sink>, activity: &Activity) -> Result<Self, EtcdError> {
        let feed = Arc::new(Feed::new(Client::new(settings)?, Keys::new(&settings.prefix), sink));
        let process = register(&feed).await?;
        feed.load().await?;
        let store = Self {
            feed,
            activity: activity.clone(),
            process,
            named: AtomicU64::new(0),
            fence: Mutex::default(),
            reads: SharedReads::default(),
        };
        tokio::spawn(store.feed.clone().run());
        let synced = store.synced().await;
        synced.map_err(|error| EtcdError::Unreachable(error.to_string()))?;
        Ok(store)
    }

    /// The number of this process, which no other process over the same cluster has had.
    pub(crate) fn process(&self) -> u64 {
        self.process
    }

    async fn synced(&self) -> Result<(), StoreError> {
        let begun = self.reads.begun.load(Ordering::Acquire);
        let mut last = self.reads.last.lock().await;
        if last.0 <= begun {
            let number = self.reads.begun.fetch_add(1, Ordering::AcqRel) + 1;
            let read = self.feed.client.range(keys::get(self.feed.keys.head())).await;
            let read = read.map_err(unavailable)?;
            *last = (number, read.kvs.first().map_or(0, |kv| keys::revision(kv.mod_revision)));
        }
        let (_, head) = *last;
        drop(last);
        self.feed.reach(head).await
    }

    /// A name for a write that no other write has.
    fn name(&self) -> Bytes {
        let number = self.named.fetch_add(1, Ordering::Relaxed);
        format!("{}-{number}", self.process).into()
    }

    fn fence_key(&self, number: u64) -> Bytes {
        self.feed.keys.named(&format!("fences/{}-{number}", self.process))
    }

    /// Ends every write that compares this fence and has not been carried out.
    async fn raise(&self, number: u64) -> Result<(), StoreError> {
        let mut fence = self.fence.lock().await;
        if *fence == number {
            let lease = self.feed.client.grant(FENCE).await.map_err(unavailable)?.id;
            let put = TxnRequest {
                success: vec![keys::put_for(self.fence_key(number), "", lease)],
                ..TxnRequest::default()
            };
            let put = self.feed.client.repeated_transaction(put).await;
            put.map_err(unavailable)?;
            *fence = number + 1;
        }
        Ok(())
    }

    async fn write(&self, key: &Key, expected: Expected, write: Write, claims: &Claims) -> Result<Change, StoreError> {
        let mut pending = self.feed.expect(self.name());
        let transaction = self.transaction(key, expected, write, claims, &pending.name)?;
        let end = tokio::time::Instant::now() + DEADLINE;
        loop {
            let (member, fence) = (self.feed.client.member(), *self.fence.lock().await);
            let mut attempt = transaction.clone();
            attempt.compare.push(Compare::changed_at(self.fence_key(fence), 0));
            match self.feed.client.transaction(attempt).await {
                Ok(done) if done.succeeded => break,
                Ok(refused) => {
                    let head = refused.read(1).map_or(0, |kv| keys::revision(kv.mod_revision));
                    self.feed.reach(head).await?;
                    if let Ok(change) = pending.change.try_recv() {
                        return Ok(change);
                    }
                    if let Some(error) = refusal(key, expected, claims, &refused) {
                        return Err(error);
                    }
                }
                Err(error) if error.is_temporary() && tokio::time::Instant::now() < end => {
                    self.feed.client.leave(member);
                    sleep(PAUSE).await;
                    if let CallError::NoAnswer(_) = error {
                        self.raise(fence).await?;
                    }
                }
                Err(error) => return Err(unavailable(error)),
            }
        }
        let applied = self.feed.patiently(&mut pending.change).await?;
        applied.map_err(|_| StoreError::Unavailable("etcd was compacted before the write was seen".to_owned()))
    }

    /// The transaction of a write. If its conditions fail it reads the key, the head and the claims.
    fn transaction(
        &self,
        key: &Key,
        expected: Expected,
        write: Write,
        claims: &Claims,
        name: &Bytes,
    ) -> Result<TxnRequest, StoreError> {
        let keys = &self.feed.keys;
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

/// Takes a number for this process, after the format was checked.
async fn register(feed: &Feed) -> Result<u64, EtcdError> {
    let (format, starts) = (feed.keys.named("format"), feed.keys.named("starts"));
    let write_format = TxnRequest {
        compare: vec![Compare::changed_at(format.clone(), 0)],
        success: vec![keys::put(format.clone(), FORMAT)],
        failure: vec![keys::read(format)],
    };
    let failed = |error: CallError| EtcdError::Unreachable(error.to_string());
    let answer = feed.client.repeated_transaction(write_format).await.map_err(failed)?;
    if let Some(found) = answer.read(0).filter(|found| found.value != FORMAT) {
        return Err(EtcdError::OtherFormat {
            prefix: feed.keys.prefix().to_owned(),
            found: String::from_utf8_lossy(&found.value).into_owned(),
            expected: FORMAT,
        });
    }
    let count = TxnRequest {
        success: vec![keys::put(starts, "")],
        ..TxnRequest::default()
    };
    let counted = feed.client.repeated_transaction(count).await.map_err(failed)?;
    Ok(keys::revision(counted.header.unwrap_or_default().revision))
}

/// Why the conditions of a write failed; `None` if it was the fence.
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
        &self.feed.tables
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
        Some(self.feed.claims.read().clone())
    }

    fn election(&self) -> Option<Election> {
        Some(Election::new(self.feed.clone(), self.process))
    }

    fn commits_wait(&self) -> bool {
        true
    }

    fn close(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.feed.closing.cancel();
        Box::pin(ready(Ok(())))
    }
}

/// Ends the watch.
impl Drop for EtcdStore {
    fn drop(&mut self) {
        self.feed.closing.cancel();
    }
}
