//! An index in a data directory: its state, its translogs, and when they are written to the disk.
//!
//! Guarantees: a change of the API is on the disk when it is acknowledged; a document is after the next sync or flush.
//! Source: Elasticsearch 1.5: translogs are synced every 5 seconds (`index.gateway.local.sync`; 0: before each acknowledgement; -1: by flushes
//! only); every 5 seconds (`index.translog.interval`) a shard is flushed that has 512 MB (`index.translog.flush_threshold_size`) or
//! `index.translog.flush_threshold_ops` operations in its translog, or was last flushed 30 minutes ago (`index.translog.flush_threshold_period`),
//! unless `index.translog.disable_flush` is set.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use serde_json::{Value, json};

use super::index::{Alias, Index};
use super::kept::{Kept, Thresholds};
use super::settings::Settings;
use crate::durable::{DataDirectoryError, IndexFolder, Operation};
use crate::error::{Result, SearchError};
use crate::index::{ParsedDocument, Shard, Stored, parse, read};
use crate::mapping::Mapping;
use crate::options::Options;
use crate::routing::Placement;

/// Interval between two syncs of the translogs, and between two looks at the thresholds.
const INTERVAL: Duration = Duration::from_secs(5);

/// Name of the setting of the interval between two syncs.
const SYNC: &str = "index.gateway.local.sync";
/// Name of the setting of the interval between two looks at the thresholds.
const CHECK: &str = "index.translog.interval";

impl Index {
    /// What [`Index::open`] makes the same index of, but for its documents.
    pub(super) fn saved(&self) -> Value {
        let aliases = self.aliases.read();
        let aliases = aliases.iter().map(|(name, alias)| (name.clone(), alias.describe()));
        json!({
            "name": self.name,
            "created": self.created,
            "closed": self.is_closed(),
            "settings": self.settings.read().saved(),
            "mapping": self.mapping().saved(),
            "aliases": aliases.collect::<serde_json::Map<_, _>>(),
            "warmers": *self.warmers.read(),
            "first_node": self.first_node,
        })
    }

    /// The index in a folder, as of the last commits of its shards. Nothing is written.
    pub(super) fn open(folder: IndexFolder, options: &Options) -> Result<Index, DataDirectoryError> {
        let state = folder.state()?;
        let damaged = |why: &dyn std::fmt::Display| DataDirectoryError::damaged(folder.path(), why);
        let (Some(name), Some(created)) = (state["name"].as_str(), state["created"].as_i64()) else {
            return Err(damaged(&"it has no name"));
        };
        let settings = Settings::restore(&state["settings"]);
        let mapping = Mapping::restore(&state["mapping"], settings.analysis().cloned(), options.limits.fields)
            .map_err(|error| damaged(&error))?;
        let count = settings.shards();
        let now = (options.clock)().as_millisecond();
        let shards: Result<Vec<Shard>, _> = (0..count).map(|number| Shard::open(number, &folder, now)).collect();
        let mut index = Index::of_parts(name, created, settings, mapping, shards?, options);
        let aliases = state["aliases"].as_object().into_iter().flatten();
        index.aliases = RwLock::new(
            aliases
                .map(|(name, alias)| (name.clone(), Alias::parse(alias)))
                .collect(),
        );
        let warmers = state["warmers"].as_object().into_iter().flatten();
        index.warmers = RwLock::new(warmers.map(|(name, warmer)| (name.clone(), warmer.clone())).collect());
        index.closed = AtomicBool::new(state["closed"] == true);
        index.first_node = state["first_node"]
            .as_u64()
            .and_then(|place| u32::try_from(place).ok())
            .unwrap_or(0);
        index.folder = Some(folder);
        Ok(index)
    }

    /// Repeats what the translogs have, and begins new ones.
    pub(super) fn start(&self, now: Duration) -> Result<(), DataDirectoryError> {
        for shard in &self.shards {
            shard.clean()?;
            shard.replay(|operation| match self.repeat(shard, operation, now) {
                // The mapping has changed since. Elasticsearch leaves such documents out too.
                Err(error) if error.status == 400 => Ok(()),
                repeated => repeated,
            })?;
            shard.start(now, || self.save_if_changed())?;
        }
        *self.kept.lock() = Kept::since(now);
        Ok(())
    }

    /// Repeats an operation of a translog.
    fn repeat(&self, shard: &Shard, operation: Operation<'_>, now: Duration) -> Result<()> {
        let (version, stored) = match operation {
            Operation::Delete { version, key } => return shard.replay_delete(key, version, now),
            Operation::Index { version, stored } => (version, Stored::decode(stored.to_vec())),
        };
        let stored = stored.ok_or_else(|| SearchError::engine("a document that cannot be read"))?;
        let placement = Placement {
            routing: stored.routing(),
            parent: stored.parent(),
        };
        let document = parse(stored.type_name(), stored.source())?;
        loop {
            self.ensure_type(stored.type_name())?;
            let mapping = self.mapping();
            match read(
                &mapping,
                stored.type_name(),
                stored.id(),
                placement,
                stored.times(),
                stored.source(),
                &document,
            )? {
                ParsedDocument::Unmapped(found) => {
                    self.change_mapping(|mapping| mapping.add_dynamic(stored.type_name(), found))?;
                }
                ParsedDocument::Ready(encoded) => {
                    let condition = Shard::replayed(version);
                    return shard
                        .write(stored.type_name(), stored.id(), *encoded, condition, now)
                        .map(drop);
                }
            }
        }
    }

    /// Writes the state of the index to the disk.
    pub(super) fn save(&self) -> Result<()> {
        self.unsaved.store(true, Ordering::Release);
        self.save_if_changed()
    }

    /// Writes the state of the index to the disk, if it has changed. When it returns, every change before it is there.
    fn save_if_changed(&self) -> Result<()> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let _one_at_a_time = self.saving.lock();
        if self.unsaved.swap(false, Ordering::AcqRel) {
            let saved = folder.save(&self.saved());
            saved.inspect_err(|_| self.unsaved.store(true, Ordering::Release))?;
        }
        Ok(())
    }

    /// Removes its files.
    pub(super) fn remove(&self) -> Result<()> {
        match &self.folder {
            Some(folder) => Ok(folder.remove()?),
            None => Ok(()),
        }
    }

    /// Writes the translogs to the disk.
    fn sync(&self) -> Result<()> {
        self.save_if_changed()?;
        self.shards.iter().try_for_each(|shard| shard.translog.sync())
    }

    /// Writes the translog of a shard to the disk, if every operation is to be.
    pub(super) fn sync_each(&self, shard: &Shard) -> Result<()> {
        if self.folder.is_none() || self.settings.read().interval(SYNC, INTERVAL) != Some(Duration::ZERO) {
            return Ok(());
        }
        self.save_if_changed()?;
        shard.translog.sync()
    }

    /// Makes all changes so far visible to searches, and writes them to the disk. Shards without changes are left alone, unless `force`.
    pub(crate) fn flush(&self, force: bool, now: Duration) -> Result<()> {
        let wanted = |shard: &&Shard| force || shard.translog.operations() > 0;
        self.commit(self.shards.iter().filter(wanted), now)
    }

    /// As [`Index::flush`], if the index is in a data directory.
    pub(crate) fn flush_if_saved(&self, now: Duration) -> Result<()> {
        if self.folder.is_some() {
            self.flush(false, now)
        } else {
            Ok(())
        }
    }

    fn commit<'a>(&self, mut shards: impl Iterator<Item = &'a Shard>, now: Duration) -> Result<()> {
        shards.try_for_each(|shard| shard.commit(now, || self.save_if_changed()))
    }

    /// Syncs the translogs and flushes the shards, where that is due.
    pub(super) fn keep(&self, now: Duration) -> Result<()> {
        let (sync, flush) = {
            let settings = self.settings.read();
            let is_due = |name: &str, last: Duration| {
                let interval = settings.interval(name, INTERVAL);
                interval.is_some_and(|interval| now.saturating_sub(last) >= interval)
            };
            let mut kept = self.kept.lock();
            let (sync, check) = (is_due(SYNC, kept.synced), is_due(CHECK, kept.checked));
            if sync {
                kept.synced = now;
            }
            if check {
                kept.checked = now;
            }
            (sync, check.then(|| Thresholds::of(&settings)))
        };
        if sync {
            self.sync()?;
        }
        if let Some(flush) = flush {
            self.commit(self.shards.iter().filter(|shard| flush.are_reached(shard, now)), now)?;
        }
        Ok(())
    }
}
