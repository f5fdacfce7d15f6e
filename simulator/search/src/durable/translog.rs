//! The translog of a shard: its operations since the last commit.
//!
//! Guarantees: what was appended before [`Translog::sync`] began is on the disk when it returns. A crash loses at most what was appended since, from the end.
//! Limits: in memory, without a data directory, it only counts. After a failed write, appending fails until the next commit.
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

/// What a translog begins with.
const HEADER: &[u8; 17] = b"stuntdouble log 1";
/// Length of what is before an operation: its length, its checksum, and a checksum of both.
const PREFIX: usize = 12;
/// Number of bytes that wait to be written together.
const BUFFER: usize = 64 << 10;

const INDEX: u8 = 1;
const DELETE: u8 = 2;

/// An operation with the version that it led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation<'a> {
    /// A document was written; this is what is stored of it.
    Index { version: u64, stored: &'a [u8] },
    /// The document with this key in the version map was deleted.
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
        PREFIX + 9 + self.parts().2.len()
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

/// Where a translog ends: its number and its length.
type Position = (u64, u64);

/// The file that is written.
struct Log {
    folder: PathBuf,
    number: u64,
    file: Arc<File>,
    buffer: Vec<u8>,
    /// Length with what is in the buffer.
    length: u64,
    /// Earlier files that may not be on the disk whole.
    earlier: Vec<Arc<File>>,
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

    /// Keeps the error of a write: what was written cannot be trusted from then on.
    fn noted<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &done {
            self.failure.get_or_insert(error.to_string());
        }
        done
    }

    fn write_out(&mut self) -> io::Result<()> {
        self.check()?;
        let written = (&*self.file).write_all(&self.buffer);
        self.buffer.clear();
        self.noted(written)
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
    /// Writes to a new file in `folder` from now on.
    pub(super) fn start(&self, folder: &Path, number: u64) -> io::Result<()> {
        let mut log = Log::create(folder, number)?;
        log.write_out()?;
        log.file.sync_all()?;
        sync_folder(folder)?;
        let _ = self.log.set(Mutex::new(log));
        Ok(())
    }

    /// Number of operations since the last commit.
    pub(crate) fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// Size in bytes, with the header of the file.
    pub(crate) fn bytes(&self) -> u64 {
        HEADER.len() as u64 + self.bytes.load(Ordering::Relaxed)
    }

    /// Fails if nothing can be appended.
    pub(crate) fn check(&self) -> Result<()> {
        match self.log.get() {
            Some(log) => Ok(log.lock().check()?),
            None => Ok(()),
        }
    }

    /// Lets nothing be appended until the next commit.
    pub(crate) fn fail(&self, error: &SearchError) {
        if let Some(log) = self.log.get() {
            log.lock().failure.get_or_insert(error.to_string());
        }
    }

    /// Lets nothing be appended from now on.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.fail(&SearchError::engine("the data directory is closed"));
    }

    /// Adds an operation. The caller keeps the operations of a document in order.
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
        if log.buffer.len() >= BUFFER {
            log.write_out()?;
        }
        Ok(())
    }

    /// Writes to the disk what was appended.
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
            log.write_out()?;
            let mut files = std::mem::take(&mut log.earlier);
            files.push(log.file.clone());
            (files, position)
        };
        let done = files.iter().try_for_each(|file| file.sync_data());
        log.lock().noted(done)?;
        *synced = position;
        Ok(())
    }

    /// Begins a new file, to which every later operation is appended; returns its number. Without a data directory there is none.
    pub(crate) fn rotate(&self) -> Result<u64> {
        let mut number = 0;
        if let Some(log) = self.log.get() {
            let mut log = log.lock();
            if self.closed.load(Ordering::Acquire) {
                log.check()?;
            }
            // What could not be written is in the segments that are about to be committed.
            let _ = log.write_out();
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

/// The file of a translog.
pub(super) fn file(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{NAME}{number}"))
}

/// What the name of a translog begins with.
pub(super) const NAME: &str = "translog-";

/// Reads as much as there is, up to the length of `into`.
fn fill(reader: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while let Some(rest) = into.get_mut(read..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest)? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}

/// Hands each operation of a translog to `apply`. An incomplete end, as a crash leaves it, is left out.
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
    let read = fill(&mut reader, &mut header).map_err(&fail)?;
    if header.get(..read) != HEADER.get(..read) {
        return damaged("it does not begin as a translog does");
    }
    let mut at = read as u64;
    let mut content = Vec::new();
    loop {
        let mut prefix = [0; PREFIX];
        let read = fill(&mut reader, &mut prefix).map_err(&fail)?;
        at += read as u64;
        // A crash of the system can leave zeros where the end should be.
        if read < PREFIX || prefix == [0; PREFIX] {
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
        at += fill(&mut reader, &mut content).map_err(&fail)? as u64;
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

    /// The versions of the operations of a file.
    fn versions(path: &Path) -> Result<Vec<u64>, DataDirectoryError> {
        let mut versions = Vec::new();
        replay(path, |operation| {
            versions.push(operation.parts().1);
            Ok(())
        })?;
        Ok(versions)
    }

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
    fn a_cut_end_is_left_out_and_nothing_else() {
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
        assert_eq!(numbers(folder.path(), NAME).unwrap(), [7, 8]);
        assert_eq!(versions(&file(folder.path(), 7)).unwrap(), [1]);
        assert_eq!(versions(&file(folder.path(), 8)).unwrap(), [2]);
        assert_eq!(translog.operations(), 1);
    }
}
