//! The translog of a shard: its operations since the last commit.
//!
//! Guarantees: [`Translog::sync`] returns after all operations appended before it are on disk. A crash loses only
//! operations appended later, from the end.
//! Limits: without a data directory it only counts operations. After a failed write, appending fails until the next
//! commit.
//! Source: Elasticsearch 1.5's translog (`index.gateway.local.sync`); the format is our own.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::checked_file::sync_folder;
use super::error::DataDirectoryError;
use crate::error::{Result, SearchError};

/// Magic bytes at the start of a file.
const HEADER: &[u8; 17] = b"stuntdouble log 1";
/// Length of the prefix of an operation, in bytes: length, checksum, and a checksum of both.
const PREFIX_LENGTH: usize = 12;
/// Maximum size of the write buffer, in bytes.
const BUFFER_BYTES: usize = 64 << 10;

const INDEX: u8 = 1;
const DELETE: u8 = 2;

/// The version of a document that a query deleted: its next version is 1.
pub(crate) const FORGOTTEN: u64 = u64::MAX;

/// An operation with the resulting version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation<'a> {
    /// A document was indexed. `stored` is its stored form.
    Index { version: u64, stored: &'a [u8] },
    /// A document was deleted. `key` is its key in the version map. `version` is [`FORGOTTEN`] if a query deleted it.
    Delete { version: u64, key: &'a str },
}

impl<'a> Operation<'a> {
    fn parts(&self) -> (u8, u64, &'a [u8]) {
        match *self {
            Operation::Index { version, stored } => (INDEX, version, stored),
            Operation::Delete { version, key } => (DELETE, version, key.as_bytes()),
        }
    }

    fn length(&self) -> usize {
        PREFIX_LENGTH + 9 + self.parts().2.len()
    }

    fn write(&self, into: &mut Vec<u8>) {
        let (kind, version, content) = self.parts();
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&[kind]);
        hasher.update(&version.to_le_bytes());
        hasher.update(content);
        let length = u32::try_from(9 + content.len()).unwrap_or(u32::MAX);
        let mut prefix = [0; 8];
        prefix[..4].copy_from_slice(&length.to_le_bytes());
        prefix[4..].copy_from_slice(&hasher.finalize().to_le_bytes());
        into.extend_from_slice(&prefix);
        into.extend_from_slice(&crc32fast::hash(&prefix).to_le_bytes());
        into.push(kind);
        into.extend_from_slice(&version.to_le_bytes());
        into.extend_from_slice(content);
    }

    fn parse(bytes: &'a [u8]) -> Option<Operation<'a>> {
        let (kind, rest) = bytes.split_first()?;
        let (version, content) = rest.split_first_chunk()?;
        let version = u64::from_le_bytes(*version);
        match *kind {
            INDEX => Some(Operation::Index {
                version,
                stored: content,
            }),
            DELETE => Some(Operation::Delete {
                version,
                key: std::str::from_utf8(content).ok()?,
            }),
            _ => None,
        }
    }
}

/// End of a translog: its number and its length in bytes.
type Position = (u64, u64);

/// The current file.
struct Log {
    folder: PathBuf,
    number: u64,
    file: Arc<File>,
    buffer: Vec<u8>,
    /// Length of the file including the buffer, in bytes.
    length: u64,
    /// Previous files that may not be synced.
    earlier: Vec<Arc<File>>,
    /// The error of the first failed write.
    failure: Option<String>,
}

impl Log {
    fn create(folder: &Path, number: u64) -> io::Result<Log> {
        let file = File::create(file(folder, number))?;
        Ok(Log {
            folder: folder.to_owned(),
            number,
            file: Arc::new(file),
            buffer: HEADER.to_vec(),
            length: HEADER.len() as u64,
            earlier: Vec::new(),
            failure: None,
        })
    }

    fn check(&self) -> io::Result<()> {
        match &self.failure {
            Some(failure) => Err(io::Error::other(format!("the translog failed: {failure}"))),
            None => Ok(()),
        }
    }

    /// Records the error of a failed write. Later writes fail too.
    fn record_failure<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &done {
            self.failure.get_or_insert(error.to_string());
        }
        done
    }

    fn write_buffer(&mut self) -> io::Result<()> {
        self.check()?;
        let written = (&*self.file).write_all(&self.buffer);
        self.buffer.clear();
        self.record_failure(written)
    }
}

/// The translog of a shard.
#[derive(Default)]
pub(crate) struct Translog {
    operations: AtomicU64,
    bytes: AtomicU64,
    log: OnceLock<Mutex<Log>>,
    synced: Mutex<Position>,
    closed: AtomicBool,
}

impl Translog {
    /// Starts a new file in `folder`.
    pub(super) fn start(&self, folder: &Path, number: u64) -> io::Result<()> {
        let mut log = Log::create(folder, number)?;
        log.write_buffer()?;
        log.file.sync_all()?;
        sync_folder(folder)?;
        let _ = self.log.set(Mutex::new(log));
        Ok(())
    }

    /// Number of operations since the last commit.
    pub(crate) fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// Size in bytes, including the header.
    pub(crate) fn bytes(&self) -> u64 {
        HEADER.len() as u64 + self.bytes.load(Ordering::Relaxed)
    }

    /// Fails if appending would fail.
    pub(crate) fn check(&self) -> Result<()> {
        match self.log.get() {
            Some(log) => Ok(log.lock().check()?),
            None => Ok(()),
        }
    }

    /// Makes appending fail until the next commit.
    pub(crate) fn fail(&self, error: &SearchError) {
        if let Some(log) = self.log.get() {
            log.lock().failure.get_or_insert(error.to_string());
        }
    }

    /// Makes appending fail from now on.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.fail(&SearchError::engine("the data directory is closed"));
    }

    /// Appends an operation. The caller must append the operations of a document in order.
    pub(crate) fn append(&self, operation: Operation<'_>) -> Result<()> {
        self.operations.fetch_add(1, Ordering::Relaxed);
        let length = operation.length() as u64;
        self.bytes.fetch_add(length, Ordering::Relaxed);
        let Some(log) = self.log.get() else {
            return Ok(());
        };
        let mut log = log.lock();
        log.check()?;
        operation.write(&mut log.buffer);
        log.length += length;
        if log.buffer.len() >= BUFFER_BYTES {
            log.write_buffer()?;
        }
        Ok(())
    }

    /// Syncs all appended operations to disk.
    pub(crate) fn sync(&self) -> Result<()> {
        let Some(log) = self.log.get() else {
            return Ok(());
        };
        let mut synced = self.synced.lock();
        let (files, position) = {
            let mut log = log.lock();
            let position = (log.number, log.length);
            if *synced == position {
                return Ok(log.check()?);
            }
            log.write_buffer()?;
            let mut files = std::mem::take(&mut log.earlier);
            files.push(log.file.clone());
            (files, position)
        };
        let done = files.iter().try_for_each(|file| file.sync_data());
        log.lock().record_failure(done)?;
        *synced = position;
        Ok(())
    }

    /// Starts a new file for later operations. Returns its number, or 0 without a data directory.
    pub(crate) fn rotate(&self) -> Result<u64> {
        let mut number = 0;
        if let Some(log) = self.log.get() {
            let mut log = log.lock();
            if self.closed.load(Ordering::Acquire) {
                log.check()?;
            }
            // If the write fails, nothing is lost: the segments that are committed next have the operations.
            let _ = log.write_buffer();
            number = log.number + 1;
            let mut next = Log::create(&log.folder, number)?;
            next.earlier = std::mem::take(&mut log.earlier);
            next.earlier.push(log.file.clone());
            *log = next;
        }
        self.operations.store(0, Ordering::Relaxed);
        self.bytes.store(0, Ordering::Relaxed);
        Ok(number)
    }
}

/// Returns the path of a translog file.
pub(super) fn file(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{FILE_PREFIX}{number}"))
}

/// Prefix of translog file names.
pub(super) const FILE_PREFIX: &str = "translog-";

/// Reads until `into` is full or the input ends. Returns the number of bytes.
fn read_up_to(reader: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while let Some(rest) = into.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest)? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}

/// Calls `apply` with each operation of a file. A truncated end, after a crash, is ignored.
pub(super) fn replay(
    path: &Path,
    mut apply: impl FnMut(Operation<'_>) -> Result<()>,
) -> Result<(), DataDirectoryError> {
    let fail = DataDirectoryError::io(path);
    let damaged = |why: &str| Err(DataDirectoryError::damaged(path, why));
    let file = File::open(path).map_err(&fail)?;
    let length = file.metadata().map_err(&fail)?.len();
    let mut reader = BufReader::new(file);
    let mut header = [0; HEADER.len()];
    let read = read_up_to(&mut reader, &mut header).map_err(&fail)?;
    if header.get(..read) != HEADER.get(..read) {
        return damaged("it does not start with a translog header");
    }
    let mut at = read as u64;
    let mut content = Vec::new();
    loop {
        let mut prefix = [0; PREFIX_LENGTH];
        let read = read_up_to(&mut reader, &mut prefix).map_err(&fail)?;
        at += read as u64;
        // A crash of the system can leave zeros at the end of the file.
        if read < PREFIX_LENGTH || prefix == [0; PREFIX_LENGTH] {
            return Ok(());
        }
        let [a, b, c, d, e, f, g, h, check @ ..] = prefix;
        if crc32fast::hash(&prefix[..8]) != u32::from_le_bytes(check) {
            return damaged("the checksum of an operation does not match");
        }
        let size = u32::from_le_bytes([a, b, c, d]);
        if u64::from(size) > length.saturating_sub(at) {
            return Ok(());
        }
        content.resize(size as usize, 0);
        at += read_up_to(&mut reader, &mut content).map_err(&fail)? as u64;
        if crc32fast::hash(&content) != u32::from_le_bytes([e, f, g, h]) {
            return damaged("the checksum of an operation does not match");
        }
        let Some(operation) = Operation::parse(&content) else {
            return damaged("it has an operation of an unknown kind");
        };
        apply(operation).map_err(|error| DataDirectoryError::damaged(path, error))?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durable::numbered::numbers;
    use std::fs;

    /// Returns the versions of the operations in a file.
    fn versions(path: &Path) -> Result<Vec<u64>, DataDirectoryError> {
        let mut versions = Vec::new();
        replay(path, |operation| {
            versions.push(operation.parts().1);
            Ok(())
        })?;
        Ok(versions)
    }

    /// Writes a translog of three index operations and one deletion. Returns the bytes of the file.
    fn written(folder: &Path) -> Vec<u8> {
        let translog = Translog::default();
        translog.start(folder, 1).unwrap();
        for version in 1..=3 {
            let stored = format!("document {version}");
            translog
                .append(Operation::Index {
                    version,
                    stored: stored.as_bytes(),
                })
                .unwrap();
        }
        translog
            .append(Operation::Delete {
                version: 4,
                key: "t\0a",
            })
            .unwrap();
        translog.sync().unwrap();
        let bytes = fs::read(file(folder, 1)).unwrap();
        assert_eq!((translog.operations(), translog.bytes()), (4, bytes.len() as u64));
        bytes
    }

    #[test]
    fn a_truncated_end_is_ignored_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let whole = written(folder.path());
        let path = file(folder.path(), 1);
        let mut found = Vec::new();
        for length in 0..=whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            found.push(versions(&path).unwrap());
        }
        assert!(found.is_sorted_by_key(Vec::len));
        assert!(found.iter().all(|versions| [1, 2, 3, 4].starts_with(versions)));
        assert_eq!(found.last().unwrap(), &[1, 2, 3, 4]);
        fs::write(&path, [&whole[..], &[0; 100]].concat()).unwrap();
        assert_eq!(versions(&path).unwrap(), [1, 2, 3, 4]);
    }

    #[test]
    fn a_changed_byte_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let whole = written(folder.path());
        let path = file(folder.path(), 1);
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x10;
            fs::write(&path, changed).unwrap();
            assert!(versions(&path).is_err(), "byte {at}");
        }
    }

    #[test]
    fn later_operations_go_to_the_next_file() {
        let folder = tempfile::tempdir().unwrap();
        let translog = Translog::default();
        translog.start(folder.path(), 7).unwrap();
        let delete = |version| Operation::Delete { version, key: "t\0a" };
        translog.append(delete(1)).unwrap();
        assert_eq!(translog.rotate().unwrap(), 8);
        translog.append(delete(2)).unwrap();
        translog.sync().unwrap();
        assert_eq!(numbers(folder.path(), FILE_PREFIX).unwrap(), [7, 8]);
        assert_eq!(versions(&file(folder.path(), 7)).unwrap(), [1]);
        assert_eq!(versions(&file(folder.path(), 8)).unwrap(), [2]);
        assert_eq!(translog.operations(), 1);
    }
}
