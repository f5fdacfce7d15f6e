//! The serialized commit of a shard.

use serde::{Deserialize, Serialize};

/// A commit of a shard: the state that the shard is opened from.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Commit {
    /// Number of the first translog with operations that are not in the segments.
    pub(crate) translog: u64,
    /// The highest segment number that was used.
    pub(crate) last_segment: u32,
    pub(crate) segments: Vec<CommittedSegment>,
    /// Keys and versions of recently deleted documents.
    pub(crate) tombstones: Vec<(String, u64)>,
}

/// A segment of a commit.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CommittedSegment {
    /// Number of the segment in the shard.
    pub(crate) number: u32,
    /// Number of the folder of the segment.
    pub(crate) folder: u64,
    /// Deleted documents of the segment.
    pub(crate) deleted: Vec<u32>,
}

/// Metadata of a segment, written once at its first commit.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct SegmentRecord {
    /// Name, length and checksum of each file.
    pub(crate) files: Vec<(String, u64, u32)>,
    /// The documents that were live at that commit.
    pub(crate) documents: Vec<CommittedDocument>,
}

/// A document of a segment: its version map entry.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CommittedDocument {
    /// Key in the version map.
    pub(crate) key: String,
    pub(crate) doc: u32,
    /// Number of nested objects.
    pub(crate) nested: u32,
    pub(crate) version: u64,
}
