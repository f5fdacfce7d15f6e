//! Folders of a data directory: the root, indices and shards.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::checked_file::{self, sync_folder};
use super::commit::Commit;
use super::error::DataDirectoryError;
use super::numbered::numbers;
use super::segment_files::SegmentFiles;
use super::translog::{self, Operation, Translog};
use crate::error::Result;

type Opened<T> = Result<T, DataDirectoryError>;

/// The format that this version writes.
const FORMAT: u64 = 4;
/// The oldest format that this version reads. Documents of format 1 have no timestamps and TTLs. Before format 3, the
/// norms of each field are a column of numbers. Before format 4, the source is not a value of its own.
const OLDEST_FORMAT: u64 = 1;
const CLUSTER: &str = "cluster.json";
const INDICES: &str = "indices";
const INDEX: &str = "index.json";
const LOCK: &str = "lock";
const COMMIT: &str = "commit";
/// Prefix of segment folders.
const SEGMENT_PREFIX: &str = "segment-";
/// Extension of folders of indices that are being created or removed.
const TRANSIENT: &str = "transient";

/// An open data directory, locked against other processes.
#[derive(Debug)]
pub(crate) struct DataDirectory {
    path: PathBuf,
    /// Number of the next index folder.
    next: AtomicU64,
    _lock: File,
}

impl DataDirectory {
    /// Opens a data directory. Initializes it if it is missing or empty.
    pub(crate) fn open(path: &Path) -> Opened<DataDirectory> {
        fs::create_dir_all(path).map_err(DataDirectoryError::io(path))?;
        let directory = DataDirectory::lock(path)?;
        if !path.join(CLUSTER).exists() {
            directory.initialize()?;
        }
        directory.clean()?;
        Ok(directory)
    }

    /// Returns whether a path is a data directory, even a damaged one.
    pub(crate) fn exists(path: &Path) -> bool {
        [CLUSTER, INDICES].iter().any(|name| path.join(name).exists())
    }

    /// Writes the files of an empty data directory.
    fn initialize(&self) -> Opened<()> {
        let fail = DataDirectoryError::io(&self.path);
        for entry in fs::read_dir(&self.path).map_err(&fail)? {
            let name = entry.map_err(&fail)?.file_name();
            let is_ours = name == LOCK || name == INDICES || name.to_string_lossy().starts_with(CLUSTER);
            if !is_ours {
                return Err(DataDirectoryError::Foreign(self.path.clone()));
            }
        }
        if !indices(&self.path)?.is_empty() {
            return Err(DataDirectoryError::damaged(&self.path.join(CLUSTER), "it is missing"));
        }
        fs::create_dir_all(self.path.join(INDICES)).map_err(&fail)?;
        self.save(json!({})).map_err(&fail)
    }

    /// Opens an existing data directory without changing it.
    pub(crate) fn open_to_check(path: &Path) -> Opened<DataDirectory> {
        if !DataDirectory::exists(path) {
            return Err(DataDirectoryError::Foreign(path.to_owned()));
        }
        DataDirectory::lock(path)
    }

    fn lock(path: &Path) -> Opened<DataDirectory> {
        let file = path.join(LOCK);
        let lock = File::options().create(true).append(true).open(&file);
        let lock = lock.map_err(DataDirectoryError::io(&file))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => DataDirectoryError::InUse(path.to_owned()),
            TryLockError::Error(source) => DataDirectoryError::Io { path: file, source },
        })?;
        let next = indices(path)?.last().map_or(0, |last| last + 1);
        Ok(DataDirectory {
            path: path.to_owned(),
            next: AtomicU64::new(next),
            _lock: lock,
        })
    }

    /// Removes folders of indices whose creation or removal was interrupted.
    fn clean(&self) -> Opened<()> {
        let folder = self.path.join(INDICES);
        for entry in fs::read_dir(&folder).map_err(DataDirectoryError::io(&folder))? {
            let path = entry.map_err(DataDirectoryError::io(&folder))?.path();
            if path.extension().is_some_and(|extension| extension == TRANSIENT) {
                fs::remove_dir_all(&path).map_err(DataDirectoryError::io(&path))?;
            }
        }
        Ok(())
    }

    /// Reads the cluster state.
    pub(crate) fn cluster(&self) -> Opened<Value> {
        let file = self.path.join(CLUSTER);
        let mut state = read_json(&file)?;
        match state["format"].take().as_u64() {
            Some(OLDEST_FORMAT..=FORMAT) => Ok(state),
            Some(found) => Err(DataDirectoryError::OtherFormat {
                directory: self.path.clone(),
                found,
                expected: FORMAT,
            }),
            None => Err(DataDirectoryError::damaged(&file, "it has no format")),
        }
    }

    /// Returns the error for an invalid cluster state.
    pub(crate) fn damaged_cluster(&self, why: impl ToString) -> DataDirectoryError {
        DataDirectoryError::damaged(&self.path.join(CLUSTER), why)
    }

    /// Writes the cluster state.
    pub(crate) fn save(&self, mut state: Value) -> io::Result<()> {
        state["format"] = json!(FORMAT);
        checked_file::write(&self.path.join(CLUSTER), state.to_string().as_bytes())
    }

    /// Returns the folders of the indices.
    pub(crate) fn indices(&self) -> Opened<Vec<IndexFolder>> {
        let folder = |number: u64| IndexFolder {
            path: self.path.join(INDICES).join(number.to_string()),
        };
        Ok(indices(&self.path)?.into_iter().map(folder).collect())
    }

    /// Creates the folder of an index. A crash leaves a complete folder or none.
    pub(crate) fn create(&self, state: &Value, shards: u32) -> io::Result<IndexFolder> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.path.join(INDICES).join(number.to_string());
        let new = IndexFolder {
            path: path.with_extension(TRANSIENT),
        };
        fs::create_dir(&new.path)?;
        for shard in 0..shards {
            let folder = new.path.join(shard.to_string());
            fs::create_dir(&folder)?;
            Translog::default().start(&folder, 1)?;
        }
        new.save(state)?;
        fs::rename(&new.path, &path)?;
        sync_folder(&self.path.join(INDICES))?;
        Ok(IndexFolder { path })
    }
}

/// Returns the numbers of the index folders, sorted.
fn indices(path: &Path) -> Opened<Vec<u64>> {
    let folder = path.join(INDICES);
    let mut numbers = Vec::new();
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.join(CLUSTER).exists() => return Ok(numbers),
        entries => entries.map_err(DataDirectoryError::io(&folder))?,
    };
    for entry in entries {
        let name = entry.map_err(DataDirectoryError::io(&folder))?.file_name();
        numbers.extend(name.to_str().and_then(|name| name.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

fn read_json(file: &Path) -> Opened<Value> {
    let bytes = checked_file::read(file)?;
    serde_json::from_slice(&bytes).map_err(|error| DataDirectoryError::damaged(file, error))
}

/// The folder of an index.
#[derive(Debug)]
pub(crate) struct IndexFolder {
    path: PathBuf,
}

impl IndexFolder {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the state of the index.
    pub(crate) fn state(&self) -> Opened<Value> {
        read_json(&self.path.join(INDEX))
    }

    /// Writes the state of the index.
    pub(crate) fn save(&self, state: &Value) -> io::Result<()> {
        checked_file::write(&self.path.join(INDEX), state.to_string().as_bytes())
    }

    /// Removes the folder. A crash leaves a complete index or none.
    pub(crate) fn remove(&self) -> io::Result<()> {
        let removed = self.path.with_extension(TRANSIENT);
        fs::rename(&self.path, &removed)?;
        self.path.parent().map_or(Ok(()), sync_folder)?;
        fs::remove_dir_all(removed)
    }

    /// Opens the folder of a shard and reads its last commit.
    pub(crate) fn shard(&self, number: u32) -> Opened<(ShardFolder, Commit)> {
        let path = self.path.join(number.to_string());
        if !path.is_dir() {
            return Err(DataDirectoryError::damaged(&path, "it is missing"));
        }
        let file = path.join(COMMIT);
        let commit = if file.exists() {
            let bytes = checked_file::read(&file)?;
            postcard::from_bytes(&bytes).map_err(|error| DataDirectoryError::damaged(&file, error))?
        } else {
            Commit {
                translog: 1,
                ..Commit::default()
            }
        };
        let logs = numbers(&path, translog::FILE_PREFIX).map_err(DataDirectoryError::io(&path))?;
        let logs: Vec<u64> = logs.into_iter().filter(|number| *number >= commit.translog).collect();
        if !(commit.translog..)
            .zip(&logs)
            .all(|(expected, found)| expected == *found)
            || logs.is_empty()
        {
            return Err(DataDirectoryError::damaged(&path, "a translog is missing"));
        }
        let segments = numbers(&path, SEGMENT_PREFIX).map_err(DataDirectoryError::io(&path))?;
        let next = segments.last().map_or(0, |last| last + 1);
        let committed = commit.segments.iter().map(|segment| segment.folder).collect();
        let folder = ShardFolder {
            path,
            logs,
            next: AtomicU64::new(next),
            committed: Mutex::new(committed),
        };
        Ok((folder, commit))
    }
}

/// The folder of a shard.
#[derive(Debug)]
pub(crate) struct ShardFolder {
    path: PathBuf,
    /// Numbers of the translogs to replay at start.
    logs: Vec<u64>,
    /// Number of the next segment folder.
    next: AtomicU64,
    /// Folder numbers of the segments of the last commit.
    committed: Mutex<Vec<u64>>,
}

impl ShardFolder {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn segment_path(&self, number: u64) -> PathBuf {
        self.path.join(format!("{SEGMENT_PREFIX}{number}"))
    }

    /// Opens the files of a committed segment.
    pub(crate) fn segment(&self, number: u64) -> Opened<SegmentFiles> {
        let path = self.segment_path(number);
        if !path.is_dir() {
            return Err(DataDirectoryError::damaged(&path, "it is missing"));
        }
        SegmentFiles::open(number, path.clone()).map_err(DataDirectoryError::io(&path))
    }

    /// Creates the folder of a new segment.
    pub(crate) fn new_segment(&self) -> Result<SegmentFiles> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.segment_path(number);
        fs::create_dir(&path)?;
        Ok(SegmentFiles::open(number, path)?)
    }

    /// Calls `apply` with each operation of the translogs since the last commit.
    pub(crate) fn replay(&self, mut apply: impl FnMut(Operation<'_>) -> Result<()>) -> Opened<()> {
        self.logs
            .iter()
            .try_for_each(|number| translog::replay(&translog::file(&self.path, *number), &mut apply))
    }

    /// Removes segment folders and translogs that the last commit does not use.
    pub(crate) fn clean(&self) -> Opened<()> {
        let fail = DataDirectoryError::io(&self.path);
        for number in numbers(&self.path, SEGMENT_PREFIX).map_err(&fail)? {
            if !self.committed.lock().contains(&number) {
                fs::remove_dir_all(self.segment_path(number)).map_err(&fail)?;
            }
        }
        self.remove_logs_before(self.logs.first().copied().unwrap_or(0))
            .map_err(&fail)
    }

    fn remove_logs_before(&self, first: u64) -> io::Result<()> {
        for number in numbers(&self.path, translog::FILE_PREFIX)? {
            if number < first {
                fs::remove_file(translog::file(&self.path, number))?;
            }
        }
        Ok(())
    }

    /// Starts a new translog.
    pub(crate) fn start(&self, translog: &Translog) -> Opened<()> {
        let number = self.logs.last().map_or(1, |last| last + 1);
        translog
            .start(&self.path, number)
            .map_err(DataDirectoryError::io(&self.path))
    }

    /// Writes a commit, then removes the files that it does not use. The files of its segments must be synced.
    pub(crate) fn commit(&self, commit: &Commit) -> io::Result<()> {
        let bytes = postcard::to_stdvec(commit).map_err(io::Error::other)?;
        // The folders of the segments must be durable before the commit that references them.
        sync_folder(&self.path)?;
        checked_file::write(&self.path.join(COMMIT), &bytes)?;
        let segments: Vec<u64> = commit.segments.iter().map(|segment| segment.folder).collect();
        let old = std::mem::replace(&mut *self.committed.lock(), segments.clone());
        for number in old.into_iter().filter(|number| !segments.contains(number)) {
            fs::remove_dir_all(self.segment_path(number))?;
        }
        self.remove_logs_before(commit.translog)
    }
}
