//! The index: documents in, segments out.
//!
//! Promises: what was written is found after the next refresh and read back by id at once; a version grows by one with every change of a document; writers of different documents do not wait for one another longer than a buffer needs to be taken.
//! Limits: in memory, or in a data directory; segments of like size are merged when there are ten of them.
//! Source: near-real-time search as Lucene does it; the formats are tantivy's.

mod bits;
mod blocks;
mod building;
mod completion;
mod counters;
mod document;
mod encoded;
mod ids;
mod indexing;
mod numbers;
mod ordinals;
mod points;
mod segment;
mod shard;
mod values;
mod view;

pub(crate) use bits::Bits;
pub(crate) use blocks::{NESTED, nested_docs, outer_docs};
pub(crate) use completion::{Completion, completion_key, completion_of, contexts_of};
pub(crate) use counters::{Counters, Meter};
pub(crate) use document::{Outcome, parse, read};
pub(crate) use encoded::{Stored, field_prefix};
pub(crate) use ids::{Condition, VersionType, Written};
pub(crate) use ordinals::Ordinals;
pub(crate) use segment::{Segment, term_key};
pub(crate) use shard::Shard;
pub(crate) use values::{Values, Within};
pub(crate) use view::{SegmentView, View};
