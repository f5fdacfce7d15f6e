//! Batch: documents that no segment has yet, in the form in which they are indexed.
//!
//! Guarantees: the documents share few allocations, so that adding one and dropping all is cheap.

use std::sync::Arc;

use tantivy::schema::{Document, Field};

use super::encoded::{ColumnName, Encoded, FieldValue, Fields};
use super::stored::Stored;

/// Documents of a segment, in their order.
#[derive(Default)]
pub(super) struct Batch {
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
        self.ends.len() as u32
    }

    /// Adds a document without its nested objects.
    pub(super) fn push(&mut self, document: &Encoded) {
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

    /// Returns the stored fields of a document.
    pub(super) fn stored(&self, doc: u32) -> Option<Stored> {
        let (start, end) = self.bounds(doc as usize)?;
        Stored::decode(self.stored.get(start.stored..end.stored)?.to_vec())
    }

    /// Returns the ends of the document before a document, and its own.
    fn bounds(&self, doc: usize) -> Option<(Ends, Ends)> {
        let start = doc
            .checked_sub(1)
            .map_or(Some(Ends::default()), |before| self.ends.get(before).copied());
        Some((start?, *self.ends.get(doc)?))
    }

    /// Returns the values of a document's fields: terms, columns, and stored fields in two parts.
    fn values(&self, doc: usize, fields: Fields) -> Option<[(Field, FieldValue<'_>); 4]> {
        let (start, end) = self.bounds(doc)?;
        let columns = self.columns.get(start.columns..end.columns)?;
        let norms = self.norms.get(start.norms..end.norms)?;
        // tantivy writes and reads a text at once, but bytes one by one.
        let source = std::str::from_utf8(self.stored.get(end.head..end.stored)?);
        let head = if source.is_ok() { end.head } else { end.stored };
        Some([
            (
                fields.terms,
                FieldValue::Text(self.stream.get(start.stream..end.stream)?),
            ),
            (fields.columns, FieldValue::Columns(columns, norms)),
            (fields.stored, FieldValue::Bytes(self.stored.get(start.stored..head)?)),
            (fields.stored, FieldValue::Text(source.unwrap_or_default())),
        ])
    }
}

/// A document of a batch, for tantivy.
pub(super) struct BatchDocument {
    pub(super) batch: Arc<Batch>,
    pub(super) doc: u32,
    pub(super) fields: Fields,
}

impl Document for BatchDocument {
    type Value<'a> = FieldValue<'a>;
    type FieldsValuesIter<'a> = std::iter::Flatten<std::option::IntoIter<[(Field, FieldValue<'a>); 4]>>;
    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        self.batch.values(self.doc as usize, self.fields).into_iter().flatten()
    }
}
