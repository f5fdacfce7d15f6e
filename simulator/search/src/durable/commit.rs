//! What a commit of a shard says.

use serde::{Deserialize, Serialize};

/// A commit of a shard.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Commit {
    /// Number of the first translog whose operations are not in the segments.
    pub(crate) translog: u64,
    /// Number of the last segment that was begun.
    pub(crate) last_segment: u32,
    pub(crate) segments: Vec<CommittedSegment>,
    /// Keys and versions of deleted documents.
    pub(crate) tombstones: Vec<(String, u64)>,
}

/// A segment in a commit.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CommittedSegment {
    /// Its number in the shard.
    pub(crate) number: u32,
    /// Number of its folder.
    pub(crate) folder: u64,
    /// Its deleted documents.
    pub(crate) deleted: Vec<u32>,
}

/// What is kept of a segment beside its files. It is written once.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SegmentRecord {
    /// Name, length and checksum of each file.
    pub(crate) files: Vec<(String, u64, u32)>,
    /// The documents that were live when it was first committed.
    pub(crate) documents: Vec<CommittedDocument>,
}

/// A document of a segment.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CommittedDocument {
    /// Key in the version map.
    pub(crate) key: String,
    pub(crate) doc: u32,
    /// Number of its nested objects.
    pub(crate) nested: u32,
    pub(crate) version: u64,
}
