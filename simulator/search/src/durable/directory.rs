//! The folders of a data directory: the whole, an index, a shard.

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

/// The format that this program writes.
const FORMAT: u64 = 2;
/// The oldest format that this program reads. Documents of format 1 have no times.
const OLDEST_FORMAT: u64 = 1;
const CLUSTER: &str = "cluster.json";
const INDICES: &str = "indices";
const INDEX: &str = "index.json";
const LOCK: &str = "lock";
const COMMIT: &str = "commit";
/// What the name of a segment's folder begins with.
const SEGMENT: &str = "segment-";
/// Extension of a folder that is being made or removed.
const TRANSIENT: &str = "transient";

/// An open data directory. No other process can open it at the same time.
#[derive(Debug)]
pub(crate) struct DataDirectory {
    path: PathBuf,
    /// Number of the next index.
    next: AtomicU64,
    _lock: File,
}

impl DataDirectory {
    /// Opens a data directory, or makes one if there is none or it is empty.
    pub(crate) fn open(path: &Path) -> Opened<DataDirectory> {
        fs::create_dir_all(path).map_err(DataDirectoryError::io(path))?;
        let directory = DataDirectory::locked(path)?;
        if !path.join(CLUSTER).exists() {
            directory.begin()?;
        }
        directory.clean()?;
        Ok(directory)
    }

    /// Returns whether a directory is a data directory, whole or damaged.
    pub(crate) fn is_there(path: &Path) -> bool {
        [CLUSTER, INDICES].iter().any(|name| path.join(name).exists())
    }

    /// Makes the files of a directory without indices.
    fn begin(&self) -> Opened<()> {
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

    /// Opens a data directory to read it.
    pub(crate) fn open_to_check(path: &Path) -> Opened<DataDirectory> {
        if !DataDirectory::is_there(path) {
            return Err(DataDirectoryError::Foreign(path.to_owned()));
        }
        DataDirectory::locked(path)
    }

    fn locked(path: &Path) -> Opened<DataDirectory> {
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

    /// Removes the folders of indices that were being made or removed.
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

    /// The state of the cluster.
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

    /// The error of a state of the cluster that cannot be read.
    pub(crate) fn damaged_cluster(&self, why: impl ToString) -> DataDirectoryError {
        DataDirectoryError::damaged(&self.path.join(CLUSTER), why)
    }

    /// Replaces the state of the cluster.
    pub(crate) fn save(&self, mut state: Value) -> io::Result<()> {
        state["format"] = json!(FORMAT);
        checked_file::write(&self.path.join(CLUSTER), state.to_string().as_bytes())
    }

    /// The folders of the indices.
    pub(crate) fn indices(&self) -> Opened<Vec<IndexFolder>> {
        let folder = |number: u64| IndexFolder {
            path: self.path.join(INDICES).join(number.to_string()),
        };
        Ok(indices(&self.path)?.into_iter().map(folder).collect())
    }

    /// Makes the folder of an index. A crash leaves all of it or nothing.
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

/// Numbers of the indices of a data directory, in order.
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

    /// The state of the index.
    pub(crate) fn state(&self) -> Opened<Value> {
        read_json(&self.path.join(INDEX))
    }

    /// Replaces the state of the index.
    pub(crate) fn save(&self, state: &Value) -> io::Result<()> {
        checked_file::write(&self.path.join(INDEX), state.to_string().as_bytes())
    }

    /// Removes the index. A crash leaves all of it or nothing.
    pub(crate) fn remove(&self) -> io::Result<()> {
        let removed = self.path.with_extension(TRANSIENT);
        fs::rename(&self.path, &removed)?;
        self.path.parent().map_or(Ok(()), sync_folder)?;
        fs::remove_dir_all(removed)
    }

    /// The folder of a shard, with its last commit.
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
        let logs = numbers(&path, translog::NAME).map_err(DataDirectoryError::io(&path))?;
        let logs: Vec<u64> = logs.into_iter().filter(|number| *number >= commit.translog).collect();
        if !(commit.translog..)
            .zip(&logs)
            .all(|(expected, found)| expected == *found)
            || logs.is_empty()
        {
            return Err(DataDirectoryError::damaged(&path, "a translog is missing"));
        }
        let segments = numbers(&path, SEGMENT).map_err(DataDirectoryError::io(&path))?;
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
    /// Numbers of the translogs whose operations are not in the last commit before the start.
    logs: Vec<u64>,
    /// Number of the next segment's folder.
    next: AtomicU64,
    /// Numbers of the folders of the last commit's segments.
    committed: Mutex<Vec<u64>>,
}

impl ShardFolder {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn segment_path(&self, number: u64) -> PathBuf {
        self.path.join(format!("{SEGMENT}{number}"))
    }

    /// The files of a committed segment.
    pub(crate) fn segment(&self, number: u64) -> Opened<SegmentFiles> {
        let path = self.segment_path(number);
        if !path.is_dir() {
            return Err(DataDirectoryError::damaged(&path, "it is missing"));
        }
        SegmentFiles::open(number, path.clone()).map_err(DataDirectoryError::io(&path))
    }

    /// Makes the folder of a new segment.
    pub(crate) fn new_segment(&self) -> Result<SegmentFiles> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let path = self.segment_path(number);
        fs::create_dir(&path)?;
        Ok(SegmentFiles::open(number, path)?)
    }

    /// Hands every operation since the last commit before the start to `apply`.
    pub(crate) fn replay(&self, mut apply: impl FnMut(Operation<'_>) -> Result<()>) -> Opened<()> {
        self.logs
            .iter()
            .try_for_each(|number| translog::replay(&translog::file(&self.path, *number), &mut apply))
    }

    /// Removes what no commit has.
    pub(crate) fn clean(&self) -> Opened<()> {
        let fail = DataDirectoryError::io(&self.path);
        for number in numbers(&self.path, SEGMENT).map_err(&fail)? {
            if !self.committed.lock().contains(&number) {
                fs::remove_dir_all(self.segment_path(number)).map_err(&fail)?;
            }
        }
        self.remove_logs_before(self.logs.first().copied().unwrap_or(0))
            .map_err(&fail)
    }

    fn remove_logs_before(&self, first: u64) -> io::Result<()> {
        for number in numbers(&self.path, translog::NAME)? {
            if number < first {
                fs::remove_file(translog::file(&self.path, number))?;
            }
        }
        Ok(())
    }

    /// Begins the translog of this start.
    pub(crate) fn start(&self, translog: &Translog) -> Opened<()> {
        let number = self.logs.last().map_or(1, |last| last + 1);
        translog
            .start(&self.path, number)
            .map_err(DataDirectoryError::io(&self.path))
    }

    /// Makes a commit the last one, and removes what it does not need. The segments in it are on the disk.
    pub(crate) fn commit(&self, commit: &Commit) -> io::Result<()> {
        let bytes = postcard::to_stdvec(commit).map_err(io::Error::other)?;
        // The folders of the segments come before the commit that names them.
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
