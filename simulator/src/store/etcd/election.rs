//! The election of the process that acts in the cluster.
//!
//! - At most one process has the key `leader`, which ends with the process's lease. The successor of a process that ends is elected within three seconds.
//! - A process that cannot renew its lease gives up before the lease ends, so that two never act at the same time.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep, sleep_until};

use super::{
    feed::Feed,
    keys,
    message::{Compare, TxnRequest},
    unavailable,
};
use crate::store::StoreError;

/// Life of a lease after it was renewed, in seconds: the shortest that etcd gives with its default settings.
const LIFE: i64 = 2;
/// Time between two renewals, and between two attempts to be elected.
const INTERVAL: Duration = Duration::from_millis(250);
/// How long before its lease ends a process gives up.
const MARGIN: Duration = Duration::from_millis(250);

/// The election of one process.
#[derive(Clone)]
pub(crate) struct Election {
    feed: Arc<Feed>,
    process: u64,
}

/// The time for which a process is elected.
pub(crate) struct Term {
    feed: Arc<Feed>,
    lease: i64,
    /// When the lease was last renewed, and its time to live from then on.
    renewed: Instant,
    life: Duration,
}

impl Election {
    pub(super) fn new(feed: Arc<Feed>, process: u64) -> Self {
        Self { feed, process }
    }

    /// Waits until this process is elected. `address` is where the others reach it.
    pub(crate) async fn win(&self, address: &str) -> Term {
        loop {
            if let Ok(Some(term)) = self.attempt(address).await {
                return term;
            }
            sleep(INTERVAL).await;
        }
    }

    /// The address of the process that is elected, if that is another one.
    pub(crate) async fn leader(&self) -> Option<String> {
        let leader = self.feed.keys.named("leader");
        let read = self.feed.client.range(keys::get(leader)).await.ok()?;
        let value = String::from_utf8_lossy(&read.kvs.first()?.value).into_owned();
        let (process, address) = value.split_once(' ')?;
        let (process, _) = process.split_once('-')?;
        (process != self.process.to_string()).then(|| address.to_owned())
    }

    /// Tries once; `None` if another process is elected.
    pub(crate) async fn attempt(&self, address: &str) -> Result<Option<Term>, StoreError> {
        let (client, leader) = (&self.feed.client, self.feed.keys.named("leader"));
        let found = client.range(keys::get(leader.clone())).await.map_err(unavailable)?;
        if !found.kvs.is_empty() {
            return Ok(None);
        }
        let renewed = Instant::now();
        let lease = client.grant(LIFE).await.map_err(unavailable)?;
        let value = format!("{}-{} {address}", self.process, lease.id);
        let take = TxnRequest {
            compare: vec![Compare::changed_at(leader.clone(), 0)],
            success: vec![keys::put_for(leader.clone(), value.clone(), lease.id)],
            failure: vec![keys::read(leader)],
        };
        let taken = client.repeated_transaction(take).await.map_err(unavailable)?;
        // An attempt without an answer may have been carried out before this one.
        let is_own = taken.read(0).is_some_and(|found| found.value == value);
        if !taken.succeeded && !is_own {
            client.revoke(lease.id).await.map_err(unavailable)?;
            return Ok(None);
        }
        Ok(Some(Term {
            feed: self.feed.clone(),
            lease: lease.id,
            renewed,
            life: Duration::from_secs(lease.ttl.unsigned_abs()),
        }))
    }
}

impl Term {
    /// Renews the lease until that is no longer possible, or the store is closed.
    pub(crate) async fn end(&mut self) {
        let closing = self.feed.closing.clone();
        tokio::select! {
            () = closing.cancelled() => {}
            () = self.renew() => {}
        }
    }

    async fn renew(&mut self) {
        loop {
            sleep(INTERVAL).await;
            let (member, begun) = (self.feed.client.member(), Instant::now());
            let last = self.renewed + self.life.saturating_sub(MARGIN);
            tokio::select! {
                () = sleep_until(last) => return,
                renewed = self.feed.client.keep_alive(self.lease) => match renewed {
                    Ok(1..) => self.renewed = begun,
                    Ok(_) => return,
                    Err(_) => self.feed.client.leave(member),
                },
            }
        }
    }

    /// Lets another process be elected at once.
    pub(crate) async fn resign(self) {
        // A lease that cannot be revoked ends by itself.
        let _ = self.feed.client.revoke(self.lease).await;
    }
}
