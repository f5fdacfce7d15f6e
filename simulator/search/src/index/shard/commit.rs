//! Commits of a shard, and its recovery from files.
//!
//! - Guarantees: a commit has every operation that was acknowledged before it began. Later operations are in the
//!   translog that the commit names.
//! - Limits: writers wait while the last documents are flushed and the versions of new segments are collected.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::Shard;
use crate::durable::{Commit, DataDirectoryError, FORGOTTEN, IndexFolder, Operation};
use crate::error::Result;
use crate::index::condition::{Condition, VersionType};
use crate::index::segment::Segment;
use crate::index::version_map::{FreshSegment, VersionMap};
use crate::index::versions::Versions;

/// Statistics of the recovery of a shard.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recovery {
    /// Start, in milliseconds since 1970.
    pub(crate) began: i64,
    /// Number of segment files.
    pub(crate) files: u64,
    /// Size of the segment files, in bytes.
    pub(crate) bytes: u64,
    pub(crate) index_time: Duration,
    /// Number of replayed translog operations.
    pub(crate) operations: u64,
    pub(crate) translog_time: Duration,
}

impl Shard {
    /// Opens a shard at its last commit, without writing. `now` is in milliseconds since
    /// 1970.
    ///
    /// # Errors
    /// Files that are missing or damaged.
    pub(crate) fn open(number: u32, folder: &IndexFolder, now: i64) -> Result<Shard, DataDirectoryError> {
        let began = Instant::now();
        let (folder, commit) = folder.shard(number)?;
        let mut versions = VersionMap::default();
        let mut recovery = Recovery {
            began: now,
            ..Recovery::default()
        };
        for committed in &commit.segments {
            let files = folder.segment(committed.folder)?;
            let record = files.verified()?;
            recovery.files += record.files.len() as u64;
            recovery.bytes += record.files.iter().map(|(_, length, _)| length).sum::<u64>();
            let damaged = |error| DataDirectoryError::damaged(files.path(), error);
            let mut kept = Versions::default();
            for document in &record.documents {
                kept.set(
                    document.doc.saturating_sub(document.nested)..=document.doc,
                    document.version,
                );
            }
            let segment = Segment::open(committed.number, files.clone(), kept).map_err(damaged)?;
            versions.restore(segment, record.documents, &committed.deleted);
        }
        versions.restore_deleted(commit);
        let mut shard = Shard::new(number);
        shard.folder = Some(folder);
        *shard.versions.get_mut() = versions;
        shard.publish();
        recovery.index_time = began.elapsed();
        shard.recovery = Mutex::new(Some(recovery));
        Ok(shard)
    }

    /// Calls `apply` for every operation since the last commit.
    pub(crate) fn replay(&self, mut apply: impl FnMut(Operation<'_>) -> Result<()>) -> Result<(), DataDirectoryError> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let began = Instant::now();
        let mut count = 0;
        folder.replay(|operation| {
            count += 1;
            apply(operation)
        })?;
        if let Some(recovery) = &mut *self.recovery.lock() {
            recovery.operations = count;
            recovery.translog_time = began.elapsed();
        }
        Ok(())
    }

    /// Replays a deletion.
    pub(crate) fn replay_delete(&self, key: &str, version: u64, now: Duration) -> Result<()> {
        let (type_name, id) = key.split_once('\u{0}').unwrap_or((key, ""));
        if version == FORGOTTEN {
            return self.forget(type_name, id, now);
        }
        self.delete(type_name, id, Shard::replayed(version), now).map(drop)
    }

    /// Precondition of a replayed operation: sets the version of the original operation.
    pub(crate) fn replayed(version: u64) -> Condition {
        Condition {
            create: false,
            version: Some(version),
            version_type: VersionType::Force,
        }
    }

    /// Removes the files that the last commit does not contain.
    pub(crate) fn clean(&self) -> Result<(), DataDirectoryError> {
        self.folder.as_ref().map_or(Ok(()), |folder| folder.clean())
    }

    /// Starts a new translog, and commits the replayed operations. `save` is as in [`Shard::commit`].
    pub(crate) fn start(&self, now: Duration, save: impl FnOnce() -> Result<()>) -> Result<(), DataDirectoryError> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        folder.start(&self.translog)?;
        if self.recovery().is_some_and(|recovery| recovery.operations > 0) {
            self.commit(true, now, save)
                .map_err(|error| DataDirectoryError::damaged(folder.path(), error))?;
        }
        *self.committed.lock() = now;
        Ok(())
    }

    /// Statistics of the recovery, if the shard was opened from files.
    pub(crate) fn recovery(&self) -> Option<Recovery> {
        *self.recovery.lock()
    }

    /// Time of the last commit.
    pub(crate) fn committed_at(&self) -> Duration {
        *self.committed.lock()
    }

    /// Writes all changes so far to disk. `publishes`: makes them visible to searches. `save` writes the mapping with
    /// which they were indexed.
    pub(crate) fn commit(&self, publishes: bool, now: Duration, save: impl FnOnce() -> Result<()>) -> Result<()> {
        let _one_at_a_time = self.maintenance.lock();
        let began = Instant::now();
        if publishes {
            self.flush_all()?;
            // Not later: a commit needs the files of its segments.
            self.drop_deleted();
        }
        let point = self.commit_point();
        if publishes {
            self.publish();
        }
        let (commit, fresh) = point?;
        save()
            .and_then(|()| self.write_commit(&commit, fresh))
            .inspect_err(|error| self.translog.fail(error))?;
        *self.committed.lock() = now;
        self.counters.flush.add(began);
        Ok(())
    }

    /// Flushes all buffers and starts a new translog, without a write between the two.
    fn commit_point(&self) -> Result<(Commit, Vec<FreshSegment>)> {
        let mut contents = self.buffers.each_ref().map(|buffer| buffer.content.lock());
        let mut both = self.buffers.iter().zip(&mut contents);
        both.try_for_each(|(buffer, content)| self.flush(buffer, content))?;
        let versions = self.versions.lock();
        let translog = self.translog.rotate()?;
        Ok(versions.commit(translog))
    }

    fn write_commit(&self, commit: &Commit, fresh: Vec<FreshSegment>) -> Result<()> {
        let mut segments = Vec::new();
        for (segment, documents) in fresh {
            if let Some(files) = &segment.files {
                files.commit(documents)?;
            }
            segments.push(segment);
        }
        if let Some(folder) = &self.folder {
            folder.commit(commit)?;
        }
        segments.iter().for_each(|segment| segment.set_committed());
        Ok(())
    }
}
