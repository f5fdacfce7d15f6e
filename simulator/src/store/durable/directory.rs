//! A data directory: opening it, checking it, and reading what is in it.

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
    store::{Change, Past, ResourcePast, codec::StoredChange, tables::Tables},
};

/// The format that this program reads and writes.
const THIS_FORMAT: u64 = 1;
/// The store's file.
const FILE: &str = "objects.redb";
/// The store's file while it is made.
const NEW_FILE: &str = "objects.redb.new";
/// A file that has what was found damaged.
const DAMAGED: &str = "damaged";

/// An open data directory, checked and read. No other process can open it at the same time.
pub struct DataDirectory {
    path: PathBuf,
    database: Database,
    tables: Tables,
    past: Past,
    starts: u64,
}

/// What is in a data directory.
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
    /// Opens a data directory to serve from it, or makes one if there is none or it is empty. Blocks.
    ///
    /// # Errors
    /// [`DataDirectoryError`]; nothing in the directory is emptied or started anew.
    pub(crate) fn open(directory: &Path) -> Result<Self, DataDirectoryError> {
        create(directory)?;
        let mut opened = Self::read(directory)?;
        opened.begin().map_err(|error| damage(directory, error))?;
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
            changes: opened.past.resources.iter().map(|past| past.changes.len()).sum(),
            revision: opened.past.revision,
        })
    }

    /// How often the directory was opened before to serve from it.
    pub(crate) fn starts(&self) -> u64 {
        self.starts
    }

    /// The revisions of the changes of each kind.
    pub(super) fn kept(&self) -> HashMap<GroupResource, VecDeque<u64>> {
        let revisions = |past: &ResourcePast| past.changes.iter().map(|change| change.revision).collect();
        let resources = self.past.resources.iter();
        resources.map(|past| (past.resource.clone(), revisions(past))).collect()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn into_parts(self) -> (Database, Tables, Past) {
        (self.database, self.tables, self.past)
    }

    fn read(directory: &Path) -> Result<Self, DataDirectoryError> {
        if let Ok(why) = fs::read_to_string(directory.join(DAMAGED)) {
            return Err(DataDirectoryError::FoundDamaged {
                directory: directory.to_owned(),
                why,
            });
        }
        let file = directory.join(FILE);
        // The file's pages are trusted only once their checksums are: damage may let the library panic before.
        let database = catch_unwind(AssertUnwindSafe(|| verified(directory, &file)))
            .unwrap_or_else(|_| Err(damage(directory, "its pages make no sense")))?;
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
        let (tables, past) = load(&database).map_err(|error| damage(directory, error))?;
        Ok(Self {
            path: directory.to_owned(),
            database,
            tables,
            past,
            starts: starts.unwrap_or(0),
        })
    }

    /// Counts this start. Revisions that may have been acknowledged and then lost are not given out again.
    fn begin(&mut self) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        {
            let mut numbers = transaction.open_table(NUMBERS)?;
            numbers.insert(STARTS, self.starts + 1)?;
            let reserved = numbers.remove(RESERVED)?.map(|n| n.value());
            if let Some(reserved) = reserved {
                self.past.revision = self.past.revision.max(reserved);
                self.past.floor = self.past.revision;
                self.tables.revision = self.past.revision;
                numbers.insert(REVISION, self.past.revision)?;
                numbers.insert(FLOOR, self.past.floor)?;
            }
        }
        transaction.commit()?;
        Ok(())
    }
}

/// Makes the directory and its file, if there is nothing yet. A crash leaves all or nothing of the file.
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

/// Opens the file and compares all checksums.
fn verified(directory: &Path, file: &Path) -> Result<Database, DataDirectoryError> {
    let mut database = Database::open(file).map_err(|error| refused(directory, error))?;
    match database.check_integrity() {
        Ok(true) => Ok(database),
        Ok(false) => {
            // The library has gone back to what it could prove, which may lack acknowledged writes.
            let why = "its last checksums did not match";
            // Where this cannot be written either, the error is the same.
            let _ = fs::write(directory.join(DAMAGED), why);
            Err(damage(directory, why))
        }
        Err(error) => Err(refused(directory, error)),
    }
}

fn refused(directory: &Path, error: DatabaseError) -> DataDirectoryError {
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

/// What is in the file does not fit together.
fn contradiction(why: &str, revision: u64) -> redb::Error {
    redb::Error::Corrupted(format!("change {revision} {why}"))
}

/// The objects and the history.
fn load(database: &Database) -> Result<(Tables, Past), redb::Error> {
    let transaction = database.begin_read()?;
    let mut tables = Tables::default();
    let mut pasts: HashMap<GroupResource, ResourcePast> = HashMap::new();
    for entry in transaction.open_table(TRIMMED)?.iter()? {
        let (name, revision) = entry?;
        let resource = GroupResource::named(name.value());
        past(&mut pasts, &resource).trimmed = revision.value();
    }
    for entry in transaction.open_table(BASE)?.iter()? {
        let (place, stored) = entry?;
        let record = log::decode_base(place.value(), stored.value())?;
        let record = Arc::new(record);
        past(&mut pasts, &record.key().resource).base.push(record.clone());
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
            return Err(contradiction("is after the last revision", change.revision));
        }
        let Some(record) = change.after.as_ref().or(change.before.as_ref()) else {
            continue;
        };
        let past = past(&mut pasts, &record.key().resource);
        if change.revision <= past.trimmed {
            return Err(contradiction("is older than what was trimmed", change.revision));
        }
        tables.apply(&change);
        past.changes.push(change);
    }
    tables.revision = revision;
    let past = Past {
        revision,
        floor,
        resources: pasts.into_values().collect(),
    };
    Ok((tables, past))
}

fn past<'a>(pasts: &'a mut HashMap<GroupResource, ResourcePast>, resource: &GroupResource) -> &'a mut ResourcePast {
    pasts
        .entry(resource.clone())
        .or_insert_with(|| ResourcePast::new(resource.clone()))
}

/// A kept change, with the object before it.
fn replay(tables: &Tables, revision: u64, stored: StoredChange) -> Result<Change, redb::Error> {
    let key = stored.key();
    let before = tables.get(&key);
    let after = match stored.after {
        None if before.is_none() => return Err(contradiction("removes an object that is not there", revision)),
        None => None,
        Some(record) => {
            let record = record.into_record(key)?;
            if record.revision() != revision {
                return Err(contradiction("is of an object at another revision", revision));
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
