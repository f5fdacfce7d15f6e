//! Leader election of the process that runs the cluster's controllers.
//!
//! - The leader's process holds the key `leader` with its lease. When it ends, a successor is elected within three
//!   seconds.
//! - A process that cannot renew its lease resigns before the lease expires, so that there are never two leaders.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep, sleep_until};

use super::{
    keys,
    message::{Compare, TxnRequest},
    mirror::Mirror,
    unavailable,
};
use crate::store::StoreError;

/// Time to live of a lease, in seconds: the shortest that etcd grants with its default settings.
const LEASE_TTL: i64 = 2;
/// Time between two renewals, and between two attempts to be elected.
const INTERVAL: Duration = Duration::from_millis(250);
/// Time before the lease expires at which a process resigns.
const RESIGN_MARGIN: Duration = Duration::from_millis(250);

/// Election of one process.
#[derive(Clone)]
pub(crate) struct Election {
    mirror: Arc<Mirror>,
    process: u64,
}

/// Term of an elected process.
pub(crate) struct Term {
    mirror: Arc<Mirror>,
    lease: i64,
    /// Time of the last renewal.
    renewed: Instant,
    life: Duration,
}

impl Election {
    /// Returns the election of this process.
    pub(super) fn new(mirror: Arc<Mirror>, process: u64) -> Self {
        Self { mirror, process }
    }

    /// Waits until this process is elected. `address` is where other processes reach it.
    pub(crate) async fn campaign(&self, address: &str) -> Term {
        loop {
            if let Ok(Some(term)) = self.try_campaign(address).await {
                return term;
            }
            sleep(INTERVAL).await;
        }
    }

    /// Address of the leader, if it is another process.
    pub(crate) async fn leader(&self) -> Option<String> {
        let leader = self.mirror.keys.named("leader");
        let read = self.mirror.client.range(keys::get(leader)).await.ok()?;
        let value = String::from_utf8_lossy(&read.kvs.first()?.value).into_owned();
        let (process, address) = value.split_once(' ')?;
        let (process, _) = process.split_once('-')?;
        (process != self.process.to_string()).then(|| address.to_owned())
    }

    /// Tries once to be elected. `None` if another process is the leader.
    pub(crate) async fn try_campaign(&self, address: &str) -> Result<Option<Term>, StoreError> {
        let (client, leader) = (&self.mirror.client, self.mirror.keys.named("leader"));
        let found = client.range(keys::get(leader.clone())).await.map_err(unavailable)?;
        if !found.kvs.is_empty() {
            return Ok(None);
        }
        let renewed = Instant::now();
        let lease = client.grant(LEASE_TTL).await.map_err(unavailable)?;
        let value = format!("{}-{} {address}", self.process, lease.id);
        let take = TxnRequest {
            compare: vec![Compare::changed_at(leader.clone(), 0)],
            success: vec![keys::put_for(leader.clone(), value.clone(), lease.id)],
            failure: vec![keys::read(leader)],
        };
        let taken = client.idempotent_transaction(take).await.map_err(unavailable)?;
        // An earlier attempt without an answer may have succeeded.
        let is_own = taken.read(0).is_some_and(|found| found.value == value);
        if !taken.succeeded && !is_own {
            client.revoke(lease.id).await.map_err(unavailable)?;
            return Ok(None);
        }
        Ok(Some(Term {
            mirror: self.mirror.clone(),
            lease: lease.id,
            renewed,
            life: Duration::from_secs(lease.ttl.unsigned_abs()),
        }))
    }
}

impl Term {
    /// Renews the lease. Returns when it cannot be renewed, or the store is closed.
    pub(crate) async fn end(&mut self) {
        let closing = self.mirror.closing.clone();
        tokio::select! {
            () = closing.cancelled() => {}
            () = self.renew() => {}
        }
    }

    async fn renew(&mut self) {
        loop {
            sleep(INTERVAL).await;
            let (member, begun) = (self.mirror.client.member(), Instant::now());
            let last = self.renewed + self.life.saturating_sub(RESIGN_MARGIN);
            tokio::select! {
                () = sleep_until(last) => return,
                renewed = self.mirror.client.keep_alive(self.lease) => match renewed {
                    Ok(1..) => self.renewed = begun,
                    Ok(_) => return,
                    Err(_) => self.mirror.client.switch_member(member),
                },
            }
        }
    }

    /// Revokes the lease, so that another process can be elected at once.
    pub(crate) async fn resign(self) {
        // A lease that cannot be revoked expires.
        let _ = self.mirror.client.revoke(self.lease).await;
    }
}
