//! Schedule of periodic tasks: syncs, flushes and purges.

use std::time::Duration;

use super::settings::Settings;
use crate::index::Shard;

/// Default of `index.translog.flush_threshold_size`, in bytes.
const FLUSH_THRESHOLD_BYTES: u64 = 512 << 20;
/// Default of `index.translog.flush_threshold_period`.
const FLUSH_THRESHOLD_PERIOD: Duration = Duration::from_secs(30 * 60);

/// Times of the last periodic tasks of an index.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Schedule {
    /// Last sync of the translogs.
    pub(super) synced: Duration,
    /// Last check of the flush thresholds.
    pub(super) checked: Duration,
    /// Last purge of expired documents.
    pub(super) purged: Duration,
}

impl Schedule {
    pub(super) fn starting_at(now: Duration) -> Schedule {
        Schedule {
            synced: now,
            checked: now,
            purged: now,
        }
    }
}

/// Thresholds at which a shard is flushed.
pub(super) struct FlushThresholds {
    disabled: bool,
    operations: u64,
    bytes: u64,
    period: Option<Duration>,
}

impl FlushThresholds {
    pub(super) fn of(settings: &Settings) -> FlushThresholds {
        let name = |name: &str| format!("index.translog.{name}");
        let operations = ["flush_threshold_ops", "flush_threshold"];
        let operations = operations.iter().find_map(|own| settings.get(&name(own))?.parse().ok());
        FlushThresholds {
            disabled: settings.get(&name("disable_flush")) == Some("true"),
            operations: operations.unwrap_or(u64::MAX),
            bytes: settings.bytes(&name("flush_threshold_size"), FLUSH_THRESHOLD_BYTES),
            period: settings.interval(&name("flush_threshold_period"), FLUSH_THRESHOLD_PERIOD),
        }
    }

    /// Returns whether a shard has reached a threshold.
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
