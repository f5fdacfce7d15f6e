//! The files of a data directory.
//!
//! ```text
//! lock                         held by the process that uses the directory
//! cluster.json                 format, templates, persistent settings of the cluster
//! indices/N/index.json         name, state, settings, mapping, aliases and warmers of an index
//! indices/N/S/commit           the segments of shard S, their deleted documents, and the first translog after them
//! indices/N/S/translog-G       operations since the commit
//! indices/N/S/segment-F/       one segment: tantivy's files, and `segment` with their checksums and the versions of the documents
//! ```
//!
//! Guarantees: a file is written whole or not at all, but for a translog, of which a crash may cut the end; every byte has a checksum, which is compared when
//! the directory is opened; nothing is repaired or emptied silently.
//! Limits: one process at a time.
//! Source: our own layout, with the parts of Elasticsearch 1.5's.

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
pub(crate) use translog::{Operation, Translog};
