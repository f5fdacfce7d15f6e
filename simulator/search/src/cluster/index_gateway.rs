//! Loading and saving of an index in a data directory.
//!
//! Guarantees: an acknowledged change of settings, mappings, aliases or warmers is on disk; a document is on disk
//! after the next sync or flush.
//!
//! Source: Elasticsearch 1.5.
//! - Translogs are synced every 5 seconds (`index.gateway.local.sync`). 0 syncs before each acknowledgement; -1 syncs
//!   by flushes only.
//! - The flush thresholds are checked every 5 seconds (`index.translog.interval`). A shard is flushed if its translog
//!   has 512 MB (`index.translog.flush_threshold_size`) or `index.translog.flush_threshold_ops` operations, or its
//!   last flush was 30 minutes ago (`index.translog.flush_threshold_period`), unless `index.translog.disable_flush`
//!   is set.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use serde_json::{Value, json};

use super::alias::Alias;
use super::index::Index;
use super::schedule::{FlushThresholds, Schedule};
use super::settings::Settings;
use crate::durable::{DataDirectoryError, IndexFolder, Operation};
use crate::error::{Result, SearchError};
use crate::index::{ParsedDocument, Shard, Stored, read};
use crate::json;
use crate::mapping::Mapping;
use crate::options::Options;
use crate::routing::Placement;

/// Default interval of translog syncs and of checks of the flush thresholds.
const INTERVAL: Duration = Duration::from_secs(5);

/// Setting for the interval of translog syncs.
const SYNC_SETTING: &str = "index.gateway.local.sync";
/// Setting for the interval of checks of the flush thresholds.
const CHECK_SETTING: &str = "index.translog.interval";

impl Index {
    /// Returns the state that [`Index::open`] restores, without the documents.
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

    /// Opens the index of a folder at the last commits of its shards. Writes nothing.
    pub(super) fn open(folder: IndexFolder, options: &Options) -> Result<Index, DataDirectoryError> {
        let state = folder.state()?;
        let damaged = |why: &dyn std::fmt::Display| DataDirectoryError::damaged(folder.path(), why);
        let (Some(name), Some(created)) = (state["name"].as_str(), state["created"].as_i64()) else {
            return Err(damaged(&"it has no name"));
        };
        let settings = Settings::restore(&state["settings"]);
        let mapping = Mapping::restore(&state["mapping"], || settings.configuration(), options.limits.fields)
            .map_err(|error| damaged(&error))?;
        let count = settings.shards();
        let now = (options.clock)().as_millisecond();
        let shards: Result<Vec<Shard>, _> = (0..count).map(|number| Shard::open(number, &folder, now)).collect();
        let mut index = Index::from_parts(name, created, settings, mapping, shards?, options);
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
            .and_then(|ordinal| u32::try_from(ordinal).ok())
            .unwrap_or(0);
        index.folder = Some(folder);
        Ok(index)
    }

    /// Replays the translogs and starts new ones.
    pub(super) fn start(&self, now: Duration) -> Result<(), DataDirectoryError> {
        for shard in &self.shards {
            shard.clean()?;
            shard.replay(|operation| match self.apply(shard, operation, now) {
                // A later mapping refuses the document. Elasticsearch skips such documents too.
                Err(error) if error.status == 400 => Ok(()),
                applied => applied,
            })?;
            shard.start(now, || self.save_if_changed())?;
        }
        *self.schedule.lock() = Schedule::starting_at(now);
        Ok(())
    }

    /// Applies an operation of a translog.
    fn apply(&self, shard: &Shard, operation: Operation<'_>, now: Duration) -> Result<()> {
        let (version, stored) = match operation {
            Operation::Delete { version, key } => return shard.replay_delete(key, version, now),
            Operation::Index { version, stored } => (version, Stored::decode(stored.to_vec())),
        };
        let stored = stored.ok_or_else(|| SearchError::engine("invalid document in the translog"))?;
        let placement = Placement {
            routing: stored.routing(),
            parent: stored.parent(),
        };
        let document = json::object(stored.source())?;
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
                ParsedDocument::Rejected(_, error) => return Err(error),
                ParsedDocument::Unmapped(found) => {
                    self.change_mapping(|mapping| mapping.add_dynamic(stored.type_name(), found))?;
                }
                ParsedDocument::Ready(encoded) => {
                    let condition = Shard::replayed(version);
                    return shard
                        .write(stored.type_name(), stored.id(), &encoded, condition, now)
                        .map(drop);
                }
            }
        }
    }

    /// Saves the state of the index.
    pub(super) fn save(&self) -> Result<()> {
        self.unsaved.store(true, Ordering::Release);
        self.save_if_changed()
    }

    /// Saves the state of the index, if it has changed. On return, all changes before the call are on disk.
    fn save_if_changed(&self) -> Result<()> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let _guard = self.saving.lock();
        if self.unsaved.swap(false, Ordering::AcqRel) {
            let saved = folder.save(&self.saved());
            saved.inspect_err(|_| self.unsaved.store(true, Ordering::Release))?;
        }
        Ok(())
    }

    /// Removes the files of the index.
    pub(super) fn remove(&self) -> Result<()> {
        match &self.folder {
            Some(folder) => Ok(folder.remove()?),
            None => Ok(()),
        }
    }

    /// Syncs the translogs.
    fn sync(&self) -> Result<()> {
        self.save_if_changed()?;
        self.shards.iter().try_for_each(|shard| shard.translog.sync())
    }

    /// Syncs the translogs of shards if `index.gateway.local.sync` is 0.
    pub(crate) fn sync_each<'a>(&self, shards: impl IntoIterator<Item = &'a Shard>) -> Result<()> {
        if self.folder.is_none() || self.settings.read().interval(SYNC_SETTING, INTERVAL) != Some(Duration::ZERO) {
            return Ok(());
        }
        self.save_if_changed()?;
        shards.into_iter().try_for_each(|shard| shard.translog.sync())
    }

    /// Makes all changes visible to searches and writes them to disk. Skips shards without changes, unless `force`.
    pub(crate) fn flush(&self, force: bool, now: Duration) -> Result<()> {
        let is_changed = |shard: &Shard| shard.translog.operations() > 0 || shard.unpublished_since().is_some();
        let wanted = |shard: &&Shard| force || is_changed(shard);
        self.commit(self.shards.iter().filter(wanted), true, now)
    }

    /// Writes all changes to disk if the index has a data directory. What is visible stays the same.
    pub(crate) fn save_changes(&self, now: Duration) -> Result<()> {
        if self.folder.is_none() {
            return Ok(());
        }
        let wanted = |shard: &&Shard| shard.translog.operations() > 0;
        self.commit(self.shards.iter().filter(wanted), false, now)
    }

    fn commit<'a>(&self, mut shards: impl Iterator<Item = &'a Shard>, publishes: bool, now: Duration) -> Result<()> {
        shards.try_for_each(|shard| shard.commit(publishes, now, || self.save_if_changed()))
    }

    /// Syncs the translogs and flushes the shards, if due.
    pub(super) fn persist_if_due(&self, now: Duration) -> Result<()> {
        let (sync, flush) = {
            let settings = self.settings.read();
            let is_due = |name: &str, last: Duration| {
                let interval = settings.interval(name, INTERVAL);
                interval.is_some_and(|interval| now.saturating_sub(last) >= interval)
            };
            let mut schedule = self.schedule.lock();
            let sync = is_due(SYNC_SETTING, schedule.synced);
            let check = is_due(CHECK_SETTING, schedule.checked);
            if sync {
                schedule.synced = now;
            }
            if check {
                schedule.checked = now;
            }
            (sync, check.then(|| FlushThresholds::of(&settings)))
        };
        if sync {
            self.sync()?;
        }
        if let Some(flush) = flush {
            self.commit(
                self.shards.iter().filter(|shard| flush.are_reached(shard, now)),
                true,
                now,
            )?;
        }
        Ok(())
    }
}
