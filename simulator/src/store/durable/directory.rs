//! Data directory: opening, checking and reading it.

use std::{
    collections::{HashMap, VecDeque},
    fs, io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
};

use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable};

use super::{
    error::DataDirectoryError,
    log::{self, BASE, CHANGES, FLOOR, FORMAT, NUMBERS, RESERVED, REVISION, STARTS, TRIMMED, number},
};
use crate::{
    api::GroupResource,
    store::{Change, RestoredResource, RestoredState, codec::StoredChange, tables::Tables},
};

/// File format that this program reads and writes.
const THIS_FORMAT: u64 = 1;
/// File with the objects.
const FILE: &str = "objects.redb";
/// File with the objects while it is created.
const NEW_FILE: &str = "objects.redb.new";
/// Marker file, written when damage was found. Contains what was found.
const DAMAGED: &str = "damaged";

/// Open data directory, checked and read. No other process can open it at the same time.
pub struct DataDirectory {
    path: PathBuf,
    database: Database,
    tables: Tables,
    restored: RestoredState,
    starts: u64,
}

/// Contents of a data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataDirectorySummary {
    /// Number of objects.
    pub objects: usize,
    /// Number of changes that are kept as history.
    pub changes: usize,
    /// Revision of the last change.
    pub revision: u64,
}

impl DataDirectory {
    /// Opens a data directory for a server, or creates one if it is missing or empty. Blocks.
    ///
    /// # Errors
    /// [`DataDirectoryError`]. The contents of the directory are never discarded.
    pub(crate) fn open(directory: &Path) -> Result<Self, DataDirectoryError> {
        create(directory)?;
        let mut opened = Self::read(directory)?;
        opened.count_start().map_err(|error| damage(directory, error))?;
        Ok(opened)
    }

    /// Checks a data directory that no process uses. Blocks.
    ///
    /// # Errors
    /// [`DataDirectoryError`].
    pub fn check(directory: &Path) -> Result<DataDirectorySummary, DataDirectoryError> {
        if !directory.join(FILE).exists() {
            return Err(DataDirectoryError::Foreign(directory.to_owned()));
        }
        let opened = Self::read(directory)?;
        Ok(DataDirectorySummary {
            objects: opened.tables.len(),
            changes: opened
                .restored
                .resources
                .iter()
                .map(|resource| resource.changes.len())
                .sum(),
            revision: opened.restored.revision,
        })
    }

    /// Number of earlier starts of a server over the directory.
    pub(crate) fn starts(&self) -> u64 {
        self.starts
    }

    /// Revisions of the kept changes of each kind.
    pub(super) fn kept(&self) -> HashMap<GroupResource, VecDeque<u64>> {
        let revisions = |resource: &RestoredResource| resource.changes.iter().map(|change| change.revision).collect();
        let resources = self.restored.resources.iter();
        resources
            .map(|resource| (resource.resource.clone(), revisions(resource)))
            .collect()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn into_parts(self) -> (Database, Tables, RestoredState) {
        (self.database, self.tables, self.restored)
    }

    fn read(directory: &Path) -> Result<Self, DataDirectoryError> {
        if let Ok(why) = fs::read_to_string(directory.join(DAMAGED)) {
            return Err(DataDirectoryError::FoundDamaged {
                directory: directory.to_owned(),
                why,
            });
        }
        let file = directory.join(FILE);
        // Checksums are verified before pages are read: the library may panic on damaged pages.
        let database = catch_unwind(AssertUnwindSafe(|| open_verified(directory, &file)))
            .unwrap_or_else(|_| Err(damage(directory, "its pages cannot be read")))?;
        let format = number(&database, FORMAT).map_err(|error| damage(directory, error))?;
        match format {
            Some(THIS_FORMAT) => {}
            Some(found) => {
                return Err(DataDirectoryError::OtherFormat {
                    directory: directory.to_owned(),
                    found,
                    expected: THIS_FORMAT,
                });
            }
            None => return Err(damage(directory, "it has no format")),
        }
        let starts = number(&database, STARTS).map_err(|error| damage(directory, error))?;
        let (tables, restored) = load(&database).map_err(|error| damage(directory, error))?;
        Ok(Self {
            path: directory.to_owned(),
            database,
            tables,
            restored,
            starts: starts.unwrap_or(0),
        })
    }

    /// Counts this start. Skips revisions that may have been acknowledged and then lost, so that none is used twice.
    fn count_start(&mut self) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        {
            let mut numbers = transaction.open_table(NUMBERS)?;
            numbers.insert(STARTS, self.starts + 1)?;
            let reserved = numbers.remove(RESERVED)?.map(|n| n.value());
            if let Some(reserved) = reserved {
                self.restored.revision = self.restored.revision.max(reserved);
                self.restored.floor = self.restored.revision;
                self.tables.revision = self.restored.revision;
                numbers.insert(REVISION, self.restored.revision)?;
                numbers.insert(FLOOR, self.restored.floor)?;
            }
        }
        transaction.commit()?;
        Ok(())
    }
}

/// Creates the directory and its file if they are missing. A crash leaves the whole file or none.
fn create(directory: &Path) -> Result<(), DataDirectoryError> {
    let fail = |source| DataDirectoryError::Io {
        directory: directory.to_owned(),
        source,
    };
    fs::create_dir_all(directory).map_err(fail)?;
    if directory.join(FILE).exists() {
        return Ok(());
    }
    for entry in fs::read_dir(directory).map_err(fail)? {
        if entry.map_err(fail)?.file_name() != NEW_FILE {
            return Err(DataDirectoryError::Foreign(directory.to_owned()));
        }
    }
    let new = directory.join(NEW_FILE);
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
        _ => {}
    }
    initialise(&new).map_err(|error| fail(io::Error::other(error)))?;
    fs::rename(&new, directory.join(FILE)).map_err(fail)?;
    fs::File::open(directory).and_then(|d| d.sync_all()).map_err(fail)
}

fn initialise(file: &Path) -> Result<(), redb::Error> {
    let database = Database::create(file)?;
    let transaction = database.begin_write()?;
    transaction.open_table(NUMBERS)?.insert(FORMAT, THIS_FORMAT)?;
    drop(transaction.open_table(CHANGES)?);
    drop(transaction.open_table(BASE)?);
    drop(transaction.open_table(TRIMMED)?);
    transaction.commit()?;
    Ok(())
}

/// Opens the file and verifies all checksums.
fn open_verified(directory: &Path, file: &Path) -> Result<Database, DataDirectoryError> {
    let mut database = Database::open(file).map_err(|error| open_error(directory, error))?;
    let last = |database: &Database| number(database, REVISION).map_err(|error| damage(directory, error));
    let before = last(&database)?;
    match database.check_integrity() {
        Ok(true) => Ok(database),
        // Only the record of free pages differed.
        Ok(false) if last(&database)? == before => Ok(database),
        Ok(false) => {
            // The library has fallen back to its last verified state, which lacks acknowledged writes.
            let why = "its last checksums did not match";
            // If the marker cannot be written either, the error is the same.
            let _ = fs::write(directory.join(DAMAGED), why);
            Err(damage(directory, why))
        }
        Err(error) => Err(open_error(directory, error)),
    }
}

fn open_error(directory: &Path, error: DatabaseError) -> DataDirectoryError {
    let directory = directory.to_owned();
    match error {
        DatabaseError::DatabaseAlreadyOpen => DataDirectoryError::InUse(directory),
        DatabaseError::Storage(redb::StorageError::Io(source))
            if !matches!(
                source.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput
            ) =>
        {
            DataDirectoryError::Io { directory, source }
        }
        other => damage(&directory, other),
    }
}

fn damage(directory: &Path, why: impl ToString) -> DataDirectoryError {
    DataDirectoryError::Damaged {
        directory: PathBuf::from(directory),
        why: why.to_string(),
    }
}

/// Error of a file whose contents are inconsistent.
fn inconsistent(why: &str, revision: u64) -> redb::Error {
    redb::Error::Corrupted(format!("change {revision} {why}"))
}

/// Loads the objects and the history.
fn load(database: &Database) -> Result<(Tables, RestoredState), redb::Error> {
    let transaction = database.begin_read()?;
    let mut tables = Tables::default();
    let mut resources: HashMap<GroupResource, RestoredResource> = HashMap::new();
    for entry in transaction.open_table(TRIMMED)?.iter()? {
        let (name, revision) = entry?;
        let resource = GroupResource::named(name.value());
        resource_entry(&mut resources, &resource).trimmed = revision.value();
    }
    for entry in transaction.open_table(BASE)?.iter()? {
        let (place, stored) = entry?;
        let record = log::decode_base(place.value(), stored.value())?;
        let record = Arc::new(record);
        resource_entry(&mut resources, &record.key().resource)
            .base
            .push(record.clone());
        tables.put(record);
    }
    let numbers = transaction.open_table(NUMBERS)?;
    let value = |name| Ok::<_, redb::Error>(numbers.get(name)?.map_or(0, |n| n.value()));
    let (revision, floor) = (value(REVISION)?, value(FLOOR)?);
    for entry in transaction.open_table(CHANGES)?.iter()? {
        let (at, stored) = entry?;
        let stored = StoredChange::decode(stored.value())?;
        let change = replay(&tables, at.value(), stored)?;
        if change.revision > revision {
            return Err(inconsistent("is after the last revision", change.revision));
        }
        let Some(record) = change.after.as_ref().or(change.before.as_ref()) else {
            continue;
        };
        let restored = resource_entry(&mut resources, &record.key().resource);
        if change.revision <= restored.trimmed {
            return Err(inconsistent("is older than the trimmed changes", change.revision));
        }
        tables.apply(&change);
        restored.changes.push(change);
    }
    tables.revision = revision;
    let restored = RestoredState {
        revision,
        floor,
        resources: resources.into_values().collect(),
    };
    Ok((tables, restored))
}

fn resource_entry<'a>(
    resources: &'a mut HashMap<GroupResource, RestoredResource>,
    resource: &GroupResource,
) -> &'a mut RestoredResource {
    resources
        .entry(resource.clone())
        .or_insert_with(|| RestoredResource::new(resource.clone()))
}

/// Returns a kept change with the object before it.
fn replay(tables: &Tables, revision: u64, stored: StoredChange) -> Result<Change, redb::Error> {
    let key = stored.key();
    let before = tables.get(&key);
    let after = match stored.after {
        None if before.is_none() => return Err(inconsistent("removes an object that does not exist", revision)),
        None => None,
        Some(record) => {
            let record = record.into_record(key)?;
            if record.revision() != revision {
                return Err(inconsistent("changes an object of another revision", revision));
            }
            Some(Arc::new(record))
        }
    };
    Ok(Change {
        revision,
        before,
        after,
    })
}
