//! Nested objects: documents of their own, which come right before the document that they are part of.
//!
//! Guarantees: an object comes after the objects inside of it, and the whole document comes last; a block is written, moved and deleted as a whole.
//! Source: Lucene's block join, as Elasticsearch 1.5 writes it: the type of a nested object is `__` and its path.

use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TERMINATED};

use super::bits::Bits;
use super::encoded::field_prefix;
use super::segment::{Segment, term_key};
use crate::error::Result;
use crate::mapping::TYPE;

/// What the types of nested objects begin with.
pub(crate) const NESTED: &str = "__";

/// The documents that are nested objects at a path.
pub(crate) fn nested_docs(segment: &Segment, path: &str) -> Result<Bits> {
    let mut docs = Bits::with_room(segment.max_doc());
    if let Some(info) = segment.term_info(&term_key(TYPE, &format!("{NESTED}{path}")))? {
        let mut postings = segment.postings(&info, IndexRecordOption::Basic)?;
        while postings.doc() != TERMINATED {
            docs.insert(postings.doc());
            postings.advance();
        }
    }
    Ok(docs)
}

/// The documents that nested objects are in: objects at a path, or whole documents.
pub(crate) fn outer_docs(segment: &Segment, path: Option<&str>) -> Result<Bits> {
    if let Some(path) = path {
        return nested_docs(segment, path);
    }
    let mut docs = Bits::full(segment.max_doc());
    let from = format!("{}{NESTED}", field_prefix(TYPE));
    // The character after the underscore ends the range.
    let to = format!("{}_`", field_prefix(TYPE));
    let mut stream = segment.terms().terms().range().ge(&from).lt(&to).into_stream()?;
    while stream.advance() {
        let mut postings = segment.postings(stream.value(), IndexRecordOption::Basic)?;
        while postings.doc() != TERMINATED {
            docs.remove(postings.doc());
            postings.advance();
        }
    }
    Ok(docs)
}
