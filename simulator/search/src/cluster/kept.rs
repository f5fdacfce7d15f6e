//! When an index is written to the disk, and when it was last purged.

use std::time::Duration;

use super::settings::Settings;
use crate::index::Shard;

/// Size of a translog at which its shard is flushed, in bytes.
const FLUSH_SIZE: u64 = 512 << 20;
/// Time after which a shard is flushed.
const FLUSH_PERIOD: Duration = Duration::from_secs(30 * 60);

/// When an index was last kept.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kept {
    /// Time of the last sync of the translogs.
    pub(super) synced: Duration,
    /// Time at which it was last seen whether a shard is to be flushed.
    pub(super) checked: Duration,
    /// Time of the last purge of expired documents.
    pub(super) purged: Duration,
}

impl Kept {
    pub(super) fn since(now: Duration) -> Kept {
        Kept {
            synced: now,
            checked: now,
            purged: now,
        }
    }
}

/// When a shard is flushed.
pub(super) struct Thresholds {
    disabled: bool,
    operations: u64,
    bytes: u64,
    period: Option<Duration>,
}

impl Thresholds {
    pub(super) fn of(settings: &Settings) -> Thresholds {
        let name = |name: &str| format!("index.translog.{name}");
        let operations = ["flush_threshold_ops", "flush_threshold"];
        let operations = operations.iter().find_map(|own| settings.get(&name(own))?.parse().ok());
        Thresholds {
            disabled: settings.get(&name("disable_flush")) == Some("true"),
            operations: operations.unwrap_or(u64::MAX),
            bytes: settings.bytes(&name("flush_threshold_size"), FLUSH_SIZE),
            period: settings.interval(&name("flush_threshold_period"), FLUSH_PERIOD),
        }
    }

    pub(super) fn are_reached(&self, shard: &Shard, now: Duration) -> bool {
        let old = || {
            let age = now.saturating_sub(shard.committed_at());
            self.period.is_some_and(|period| age > period)
        };
        let operations = shard.translog.operations();
        let many = operations > self.operations || shard.translog.bytes() > self.bytes;
        !self.disabled && operations > 0 && (many || old())
    }
}
