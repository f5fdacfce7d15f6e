//! Batch: documents that no segment has yet, in the form in which they are indexed.
//!
//! Guarantees: the documents share few allocations, so that adding one and dropping all is cheap. None of these grows
//! beyond a few hundred kilobytes, unless one document needs more: to grow is to copy.

use std::sync::Arc;

use tantivy::schema::{Document, Field};

use super::encoded::{ColumnName, Encoded, FieldValue, Fields};
use super::stored::Stored;
use super::versions::Versions;

/// Size of the terms and stored fields at which a chunk gets no more documents, in bytes.
const CHUNK_BYTES: usize = 256 << 10;

/// Documents of a segment, in their order.
#[derive(Default)]
pub(super) struct Batch {
    chunks: Vec<Chunk>,
    /// Number of documents.
    len: u32,
    pub(super) versions: Versions,
}

/// Some documents of a batch.
#[derive(Default)]
struct Chunk {
    /// Number of documents before it.
    first: u32,
    stream: String,
    columns: Vec<(ColumnName, i64)>,
    norms: String,
    stored: Vec<u8>,
    ends: Vec<Ends>,
}

/// Ends of the parts of a document.
#[derive(Clone, Copy, Default)]
struct Ends {
    stream: usize,
    columns: usize,
    norms: usize,
    stored: usize,
    /// End of the stored fields before the source.
    head: usize,
}

impl Batch {
    /// Number of documents, nested objects included.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// Adds a document without its nested objects.
    pub(super) fn push(&mut self, document: &Encoded) {
        if self.chunks.last().is_none_or(Chunk::is_full) {
            let next = Chunk::after(self.chunks.last(), self.len);
            self.chunks.push(next);
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.push(document);
            self.len += 1;
        }
    }

    /// Returns the stored fields of a document.
    pub(super) fn stored(&self, doc: u32) -> Option<Stored> {
        let number = self.chunks.partition_point(|chunk| chunk.first <= doc).checked_sub(1)?;
        let chunk = self.chunks.get(number)?;
        chunk.stored((doc - chunk.first) as usize)
    }

    /// Size of the terms of all documents, in bytes.
    pub(super) fn stream_bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.stream.len()).sum()
    }

    /// Returns the terms of each document, in the form of [`StreamTerms`](super::encoded::StreamTerms).
    pub(super) fn streams(&self) -> impl Iterator<Item = &str> {
        self.chunks.iter().flat_map(Chunk::streams)
    }

    /// Returns the documents without their terms, for tantivy.
    pub(super) fn documents(self: &Arc<Batch>, fields: Fields) -> impl Iterator<Item = BatchDocument> {
        let places = (0..).zip(&self.chunks);
        let places = places.flat_map(|(number, chunk)| (0..chunk.ends.len()).map(move |doc| (number, doc)));
        places.map(move |(chunk, doc)| BatchDocument {
            batch: self.clone(),
            chunk,
            doc,
            fields,
        })
    }
}

impl Chunk {
    /// Creates a chunk with the memory that the chunk before it needed.
    fn after(before: Option<&Chunk>, first: u32) -> Chunk {
        let Some(before) = before else {
            return Chunk::default();
        };
        Chunk {
            first,
            stream: String::with_capacity(before.stream.capacity().min(CHUNK_BYTES)),
            columns: Vec::with_capacity(before.columns.len()),
            norms: String::with_capacity(before.norms.len()),
            stored: Vec::with_capacity(before.stored.capacity().min(CHUNK_BYTES)),
            ends: Vec::with_capacity(before.ends.len()),
        }
    }

    fn is_full(&self) -> bool {
        self.stream.len() + self.stored.len() > CHUNK_BYTES
    }

    fn push(&mut self, document: &Encoded) {
        let start = self.stored.len();
        self.stream.push_str(&document.stream);
        self.columns.extend_from_slice(&document.columns);
        self.norms.push_str(&document.norms);
        self.stored.extend_from_slice(document.stored.bytes());
        self.ends.push(Ends {
            stream: self.stream.len(),
            columns: self.columns.len(),
            norms: self.norms.len(),
            stored: self.stored.len(),
            head: start + document.stored.head_length(),
        });
    }

    fn stored(&self, doc: usize) -> Option<Stored> {
        let (start, end) = self.bounds(doc)?;
        Stored::decode(self.stored.get(start.stored..end.stored)?.to_vec())
    }

    /// Returns the ends of the document before a document, and its own.
    fn bounds(&self, doc: usize) -> Option<(Ends, Ends)> {
        let start = doc
            .checked_sub(1)
            .map_or(Some(Ends::default()), |before| self.ends.get(before).copied());
        Some((start?, *self.ends.get(doc)?))
    }

    fn streams(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|doc| {
            let stream = self
                .bounds(doc)
                .and_then(|(start, end)| self.stream.get(start.stream..end.stream));
            stream.unwrap_or_default()
        })
    }

    /// Returns the values of a document's columns, and its stored fields in one or two parts.
    fn values(&self, doc: usize, fields: Fields) -> Option<[Option<(Field, FieldValue<'_>)>; 3]> {
        let (start, end) = self.bounds(doc)?;
        let columns = self.columns.get(start.columns..end.columns)?;
        let norms = self.norms.get(start.norms..end.norms)?;
        let stored = self.stored.get(start.stored..end.stored)?;
        let (head, source) = stored.split_at_checked(end.head.checked_sub(start.stored)?)?;
        // tantivy writes and reads a text at once, but bytes one by one.
        let (bytes, text) = if let Ok(all) = std::str::from_utf8(stored) {
            (None, Some(all))
        } else if let Ok(source) = std::str::from_utf8(source) {
            (Some(head), Some(source))
        } else {
            (Some(stored), None)
        };
        Some([
            Some((fields.columns, FieldValue::Columns(columns, norms))),
            bytes.map(|bytes| (fields.stored, FieldValue::Bytes(bytes))),
            text.map(|text| (fields.stored, FieldValue::Text(text))),
        ])
    }
}

/// A document of a batch without its terms, for tantivy.
pub(super) struct BatchDocument {
    batch: Arc<Batch>,
    chunk: usize,
    /// Place in the chunk.
    doc: usize,
    fields: Fields,
}

impl Document for BatchDocument {
    type Value<'a> = FieldValue<'a>;
    type FieldsValuesIter<'a> = std::iter::Flatten<std::array::IntoIter<Option<(Field, FieldValue<'a>)>, 3>>;
    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        let chunk = self.batch.chunks.get(self.chunk);
        let values = chunk.and_then(|chunk| chunk.values(self.doc, self.fields));
        values.unwrap_or_default().into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::super::encoded::{StreamTerms, field_prefix};
    use super::super::segment::Segment;
    use super::*;

    #[test]
    fn documents_are_in_order_over_several_chunks() {
        const DOCUMENTS: u32 = 10;
        let mut batch = Batch::default();
        let source = [b'x'; CHUNK_BYTES / 3];
        for number in 0..DOCUMENTS {
            let mut document = Encoded::default();
            document.push_term(number, "word", 0);
            document.store(["t", &number.to_string(), "", "", ""], Default::default(), &source);
            batch.push(&document);
        }
        assert!(batch.chunks.len() > 2);
        let prefixes = batch.streams().flat_map(StreamTerms::new).map(|term| term.prefix);
        assert!(prefixes.eq((0..DOCUMENTS).map(field_prefix)));
        let batch = Arc::new(batch);
        let segment = Segment::of_batch(1, None, &batch).unwrap();
        for doc in 0..DOCUMENTS {
            for stored in [batch.stored(doc).unwrap(), segment.stored(doc).unwrap()] {
                assert_eq!((stored.id(), stored.source()), (&*doc.to_string(), &source[..]));
            }
        }
        assert!(batch.stored(DOCUMENTS).is_none());
    }
}
