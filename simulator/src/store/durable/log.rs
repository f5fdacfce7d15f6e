//! File of a durable store: the kept changes, and the objects before them.

use std::collections::{HashMap, VecDeque};

use redb::{Database, ReadableDatabase, TableDefinition};

use crate::{
    api::GroupResource,
    store::{
        Change, HistoryLimits, Record,
        codec::{self, StoredChange, StoredRecord},
    },
};

/// Kept changes, by revision.
pub(super) const CHANGES: TableDefinition<u64, &[u8]> = TableDefinition::new("changes");
/// Objects before the first kept change, by resource, namespace and name.
pub(super) const BASE: TableDefinition<(&str, &str, &str), &[u8]> = TableDefinition::new("base");
/// Revision of the last trimmed change, by resource.
pub(super) const TRIMMED: TableDefinition<&str, u64> = TableDefinition::new("trimmed");
/// Named numbers.
pub(super) const NUMBERS: TableDefinition<&str, u64> = TableDefinition::new("numbers");

/// Name in [`NUMBERS`]: format of the file.
pub(super) const FORMAT: &str = "format";
/// Name in [`NUMBERS`]: number of starts of a server over the directory.
pub(super) const STARTS: &str = "starts";
/// Name in [`NUMBERS`]: revision of the last change.
pub(super) const REVISION: &str = "revision";
/// Name in [`NUMBERS`]: revision up to which acknowledged changes may be lost in a crash. Absent if none can be.
pub(super) const RESERVED: &str = "reserved";
/// Name in [`NUMBERS`]: revision before which no watch can be resumed.
pub(super) const FLOOR: &str = "floor";

/// Minimum number of changes of a kind that are trimmed together.
const MIN_TRIM_BATCH: usize = 64;

/// Open file.
pub(super) struct Log {
    database: Database,
    limits: HistoryLimits,
    /// Revisions of the kept changes of each kind.
    kept: HashMap<GroupResource, VecDeque<u64>>,
}

impl Log {
    pub(super) fn new(database: Database, limits: HistoryLimits, kept: HashMap<GroupResource, VecDeque<u64>>) -> Self {
        Self { database, limits, kept }
    }

    /// Writes changes to the disk. After an error the file must be opened again.
    pub(super) fn append(&mut self, changes: &[Change], reserved: Option<u64>) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        {
            let mut table = transaction.open_table(CHANGES)?;
            for change in changes {
                let Some(record) = change.after.as_ref().or(change.before.as_ref()) else {
                    continue;
                };
                let stored = StoredChange::of(record.key(), change.after.as_deref())?.encode()?;
                table.insert(change.revision, stored.as_slice())?;
            }
            let mut numbers = transaction.open_table(NUMBERS)?;
            if let Some(last) = changes.last() {
                numbers.insert(REVISION, last.revision)?;
            }
            match reserved {
                Some(reserved) => drop(numbers.insert(RESERVED, reserved)?),
                None => drop(numbers.remove(RESERVED)?),
            }
        }
        transaction.commit()?;
        for change in changes {
            if let Some(record) = change.after.as_ref().or(change.before.as_ref()) {
                let kept = self.kept.entry(record.key().resource.clone()).or_default();
                kept.push_back(change.revision);
            }
        }
        Ok(())
    }

    /// Moves changes that exceed the history limits into the base, in batches.
    pub(super) fn trim(&mut self) -> Result<(), redb::Error> {
        let over: Vec<(GroupResource, usize)> = self
            .kept
            .iter()
            .filter_map(|(resource, kept)| Some((resource.clone(), excess(kept.len(), self.limits.of(resource))?)))
            .collect();
        for (resource, count) in over {
            let Some(kept) = self.kept.get(&resource) else { continue };
            let old: Vec<u64> = kept.iter().take(count).copied().collect();
            self.trim_kind(&resource, &old)?;
            if let Some(kept) = self.kept.get_mut(&resource) {
                kept.drain(..count);
            }
        }
        Ok(())
    }

    fn trim_kind(&self, resource: &GroupResource, old: &[u64]) -> Result<(), redb::Error> {
        let Some(last) = old.last() else { return Ok(()) };
        let transaction = self.database.begin_write()?;
        {
            let mut changes = transaction.open_table(CHANGES)?;
            let mut base = transaction.open_table(BASE)?;
            for revision in old {
                let Some(stored) = changes.remove(revision)? else {
                    continue;
                };
                let change = StoredChange::decode(stored.value())?;
                match &change.after {
                    Some(record) => drop(base.insert(change.place(), record.encode()?.as_slice())?),
                    None => drop(base.remove(change.place())?),
                }
            }
            transaction.open_table(TRIMMED)?.insert(resource.as_str(), last)?;
        }
        transaction.commit()?;
        Ok(())
    }
}

/// Number of the `kept` changes to trim now. `None` if there are too few for a batch.
///
/// One change more than the limit is kept, so that the oldest possible start of a watch is exact.
fn excess(kept: usize, limit: usize) -> Option<usize> {
    let over = kept.checked_sub(limit.saturating_add(1))?;
    (over >= (limit / 8).max(MIN_TRIM_BATCH)).then_some(over)
}

/// Reads a number of the file.
pub(super) fn number(database: &Database, name: &str) -> Result<Option<u64>, redb::Error> {
    let transaction = database.begin_read()?;
    let found = transaction.open_table(NUMBERS)?.get(name)?.map(|n| n.value());
    Ok(found)
}

/// Decodes an object of the base.
pub(super) fn decode_base(place: (&str, &str, &str), bytes: &[u8]) -> Result<Record, redb::Error> {
    Ok(StoredRecord::decode(bytes)?.into_record(codec::key(place))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_trimmed_in_batches() {
        assert_eq!(excess(100, 100), None);
        assert_eq!(excess(164, 100), None);
        assert_eq!(excess(165, 100), Some(64));
        assert_eq!(excess(11_250, 10_000), None);
        assert_eq!(excess(11_251, 10_000), Some(1250));
    }
}
