//! Deletion of expired documents.
//!
//! Guarantees: a document is not deleted if it was updated since it expired.
//! Source: Elasticsearch 1.5's `IndicesTTLService` (`indices.ttl.interval`, `index.ttl.disable_purge`).

use std::time::{Duration, Instant};

use super::{Cluster, Index};
use crate::durations::duration;
use crate::error::Result;
use crate::index::{Condition, Shard, Within};
use crate::mapping::{FieldOrdinal, TTL};

/// Default interval of purges.
const INTERVAL: Duration = Duration::from_secs(60);
/// Name of the setting for the interval.
const SETTING: &str = "indices.ttl.interval";

impl Cluster {
    /// Purges an index if the interval has passed since the last purge.
    pub(super) fn purge_if_due(&self, index: &Index, now: Duration) -> Result<()> {
        let interval = {
            let settings = self.settings.read();
            let own = settings.iter().rev().find_map(|settings| settings.get(SETTING));
            own.and_then(|text| duration(text)).unwrap_or(INTERVAL)
        };
        {
            let mut schedule = index.schedule.lock();
            if now.saturating_sub(schedule.purged) < interval {
                return Ok(());
            }
            schedule.purged = now;
        }
        index.purge(self.now(), now)
    }
}

impl Index {
    /// Deletes the documents that expired by `at`, in milliseconds since 1970.
    fn purge(&self, at: i64, now: Duration) -> Result<()> {
        let mapping = self.mapping();
        let mut types = mapping.type_names().filter_map(|name| mapping.type_mapping(name));
        let Some(field) = mapping
            .exact_field(TTL)
            .filter(|_| types.any(|own| own.times.has_ttl()))
        else {
            return Ok(());
        };
        if self.is_closed() || self.settings.read().get("index.ttl.disable_purge") == Some("true") {
            return Ok(());
        }
        for shard in &self.shards {
            purge_shard(shard, field.ordinal, at, now)?;
            self.sync_each([shard])?;
        }
        Ok(())
    }
}

fn purge_shard(shard: &Shard, field: FieldOrdinal, at: i64, now: Duration) -> Result<()> {
    for view in &shard.view().segments {
        let documents = view.segment.max_doc();
        let expired = view.segment.values(field)?.within(i64::MIN, at, documents);
        let is_expired = |doc: &u32| match &expired {
            Within::Nothing => false,
            Within::Everything => true,
            Within::Some(bits) => bits.contains(*doc),
        };
        for doc in (0..documents).filter(|doc| is_expired(doc) && view.is_live(*doc)) {
            let stored = view.segment.stored(doc)?;
            let (type_name, id) = (stored.type_name(), stored.id());
            let Some((version, current)) = shard.get(type_name, id)? else {
                continue;
            };
            if current.times().expiry.is_none_or(|expiry| expiry > at) {
                continue;
            }
            let condition = Condition {
                version: Some(version),
                ..Condition::default()
            };
            let began = Instant::now();
            match shard.delete(type_name, id, condition, now) {
                Ok(_) => shard.counters.deleted(type_name, began),
                // The document was updated meanwhile.
                Err(error) if error.status == 409 => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
