//! Nested objects: documents of their own, directly before the document that contains them.
//!
//! Guarantees: an object comes after the objects that it contains, and the root document comes last; a block is
//! written, moved and deleted as a whole.
//! Source: Lucene's block join, as Elasticsearch 1.5 writes it: the type of a nested object is `__` and its path.

use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TERMINATED};

use super::bits::Bits;
use super::encoded::field_prefix;
use super::segment::{Segment, term_key};
use crate::error::Result;
use crate::mapping::TYPE;

/// Prefix of the types of nested objects.
pub(crate) const NESTED: &str = "__";

/// Returns the documents that are nested objects at `path`.
pub(crate) fn nested_docs(segment: &Segment, path: &str) -> Result<Bits> {
    let mut docs = Bits::with_capacity(segment.max_doc());
    if let Some(info) = segment.term_info(&term_key(TYPE, &format!("{NESTED}{path}")))? {
        let mut postings = segment.postings(&info, IndexRecordOption::Basic)?;
        while postings.doc() != TERMINATED {
            docs.insert(postings.doc());
            postings.advance();
        }
    }
    Ok(docs)
}

/// Returns the documents that can contain nested objects: nested objects at `path`, or the root documents if `None`.
pub(crate) fn outer_docs(segment: &Segment, path: Option<&str>) -> Result<Bits> {
    if let Some(path) = path {
        return nested_docs(segment, path);
    }
    let mut docs = Bits::full(segment.max_doc());
    let from = format!("{}{NESTED}", field_prefix(TYPE));
    // The range ends before the character after the underscore.
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
