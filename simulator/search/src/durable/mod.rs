//! The files of a data directory.
//!
//! ```text
//! lock                         locked by the process that uses the directory
//! cluster.json                 format, templates, persistent cluster settings
//! indices/N/index.json         name, state, settings, mapping, aliases and warmers of an index
//! indices/N/S/commit           segments of shard S, their deleted documents, and the number of the first translog to
//!                              replay
//! indices/N/S/translog-G       operations since the commit
//! indices/N/S/segment-F/       a segment: tantivy's files; `segment` has their checksums and the document versions
//! ```
//!
//! Guarantees:
//! - Files are written atomically, except translogs, whose end a crash may truncate.
//! - Every byte is covered by a checksum, which is verified when the directory is opened.
//! - Damaged files are reported, never repaired or emptied silently.
//!
//! Limits: one process at a time.
//! Source: our own layout, with the units of Elasticsearch 1.5: indices, shards, commits, segments, translogs.

mod checked_file;
mod commit;
mod directory;
mod error;
mod numbered;
mod segment_files;
mod translog;

pub(crate) use commit::{Commit, CommittedDocument, CommittedSegment};
pub(crate) use directory::{DataDirectory, IndexFolder, ShardFolder};
pub use error::DataDirectoryError;
pub(crate) use segment_files::SegmentFiles;
pub(crate) use translog::{FORGOTTEN, Operation, Translog};
