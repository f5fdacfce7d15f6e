//! The file of a store: the changes that are kept, and the objects as they were before them.

use std::collections::{HashMap, VecDeque};

use redb::{Database, ReadableDatabase, TableDefinition};

use crate::{
    api::GroupResource,
    store::{
        Change, HistoryLimits, Record,
        codec::{self, StoredChange, StoredRecord},
    },
};

/// The changes, by revision.
pub(super) const CHANGES: TableDefinition<u64, &[u8]> = TableDefinition::new("changes");
/// The objects before the first change that is kept, by resource, namespace and name.
pub(super) const BASE: TableDefinition<(&str, &str, &str), &[u8]> = TableDefinition::new("base");
/// The revision of the last change that is no longer kept, by resource.
pub(super) const TRIMMED: TableDefinition<&str, u64> = TableDefinition::new("trimmed");
/// Numbers by name.
pub(super) const NUMBERS: TableDefinition<&str, u64> = TableDefinition::new("numbers");

/// Number: the format of the file.
pub(super) const FORMAT: &str = "format";
/// Number: how often the directory was opened to be written.
pub(super) const STARTS: &str = "starts";
/// Number: the revision of the last change.
pub(super) const REVISION: &str = "revision";
/// Number: acknowledged changes up to this revision may be lost in a crash. Absent if none can be.
pub(super) const RESERVED: &str = "reserved";
/// Number: the revision below which no watch can be resumed.
pub(super) const FLOOR: &str = "floor";

/// Least number of changes of a kind that are trimmed together.
const FEWEST: usize = 64;

/// The open file.
pub(super) struct Log {
    database: Database,
    limits: HistoryLimits,
    /// The revisions of the changes of each kind that are kept.
    kept: HashMap<GroupResource, VecDeque<u64>>,
}

impl Log {
    pub(super) fn new(database: Database, limits: HistoryLimits, kept: HashMap<GroupResource, VecDeque<u64>>) -> Self {
        Self { database, limits, kept }
    }

    /// Writes changes to the disk. After an error the file must be opened anew.
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

    /// Moves changes that are older than the history into the base, many at a time.
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

/// How many of `kept` changes are to be trimmed; `None` for none yet.
///
/// One more than the limit stays, so that what is too old is known exactly.
fn excess(kept: usize, limit: usize) -> Option<usize> {
    let over = kept.checked_sub(limit.saturating_add(1))?;
    (over >= (limit / 8).max(FEWEST)).then_some(over)
}

/// A number of the file.
pub(super) fn number(database: &Database, name: &str) -> Result<Option<u64>, redb::Error> {
    let transaction = database.begin_read()?;
    let found = transaction.open_table(NUMBERS)?.get(name)?.map(|n| n.value());
    Ok(found)
}

/// The record of a base's value.
pub(super) fn decode_base(place: (&str, &str, &str), bytes: &[u8]) -> Result<Record, redb::Error> {
    Ok(StoredRecord::decode(bytes)?.into_record(codec::key(place))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_trimmed_many_at_a_time() {
        assert_eq!(excess(100, 100), None);
        assert_eq!(excess(164, 100), None);
        assert_eq!(excess(165, 100), Some(64));
        assert_eq!(excess(11_250, 10_000), None);
        assert_eq!(excess(11_251, 10_000), Some(1250));
    }
}
