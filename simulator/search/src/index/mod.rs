//! Index: conversion of documents to segments, and access to the segments.
//!
//! Guarantees:
//! - A write is visible to searches after the next refresh of its shard, and to reads by id at once. Until then,
//!   searches show the document as it was.
//! - The version of a document is incremented by each change.
//! - A writer waits for a segment to be written only if all buffers of the shard are being written.
//!
//! Limits: in memory, or in a data directory. Ten segments of similar size are merged into one.
//!
//! Source: near-real-time search as in Lucene. The file formats are tantivy's.

mod batch;
mod bits;
mod blocks;
mod completion;
mod condition;
mod counters;
mod document;
mod document_builder;
mod encoded;
mod field_texts;
mod indexing;
mod mismatch;
mod numbers;
mod ordinals;
mod points;
mod postings;
mod segment;
mod segment_writer;
mod shard;
mod stored;
mod texts;
mod values;
mod version_map;
mod versions;
mod view;

pub(crate) use bits::Bits;
pub(crate) use blocks::{NESTED, nested_docs, outer_docs};
pub(crate) use completion::{Completion, NO_WEIGHT, completion_keys, completion_of, contexts_of};
pub(crate) use condition::{Condition, VersionType, Written, version_conflict};
pub(crate) use counters::{Counters, Merging, Meter, SearchMeters};
pub(crate) use document::{ParsedDocument, read};
pub(crate) use encoded::{Encoded, field_prefix};
pub(crate) use field_texts::field_texts;
pub(crate) use mismatch::boosted_value;
pub(crate) use numbers::{encoded_date, encoded_number};
pub(crate) use ordinals::Ordinals;
pub(crate) use segment::{Segment, term_key};
pub(crate) use shard::Shard;
pub(crate) use stored::Stored;
pub(crate) use values::{Values, Within};
pub(crate) use view::{SegmentView, View};
