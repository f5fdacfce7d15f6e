//! Encoding of a document for tantivy: one stream of terms, integer columns, and stored bytes.
//!
//! Layout (our own):
//! - The terms of all fields are in one tantivy text field, each with a prefix character that identifies its field.
//!   Fields can be added without a new schema.
//! - Positions count per field.
//! - The length norms of a document are one value of a column with a dictionary: documents with equal norms share it.
//!
//! Limits: a term has at most 32,766 bytes.

use tantivy::schema::document::{ReferenceValue, ReferenceValueLeaf};
use tantivy::schema::{Field, Value};

use super::stored::{STORED_STRINGS, Stored};
use crate::mapping::{FieldOrdinal, Times};

/// Maximum length of a term, in bytes.
pub(crate) const MAX_TERM_BYTES: usize = 32_766;

/// Maximum size of the memory that a document gets before its terms are known, in bytes.
const MAX_INITIAL_BYTES: usize = 64 << 10;

/// Fields of the tantivy schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    pub(super) terms: Field,
    pub(super) columns: Field,
    pub(super) stored: Field,
}

/// Name of the column of norms.
pub(super) const NORMS: &str = "n";

/// Maximum number of norms in a value of their column. tantivy cuts values of more than 65,535 bytes.
const MAX_NORMS: usize = 8_000;

/// Returns the norm of a field in a value of their column.
pub(super) fn norm_in(value: &str, field: FieldOrdinal) -> Option<u8> {
    let mut chars = value.chars();
    let prefix = field_prefix(field);
    while let (Some(field), Some(norm)) = (chars.next(), chars.next()) {
        if field == prefix {
            return u8::try_from(norm).ok();
        }
    }
    None
}

/// Name of the column of a field's numbers: four characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ColumnName([u8; 4]);

impl ColumnName {
    pub(crate) fn new(field: FieldOrdinal) -> ColumnName {
        ColumnName::of(b'v', field)
    }

    /// Name of the column of a field's norms in the formats before 3.
    pub(crate) fn of_norms(field: FieldOrdinal) -> ColumnName {
        ColumnName::of(b'n', field)
    }

    fn of(kind: u8, field: FieldOrdinal) -> ColumnName {
        const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let digit = |place: u32| DIGITS.get((field / place % 62) as usize).copied().unwrap_or(b'0');
        ColumnName([kind, digit(62 * 62), digit(62), digit(1)])
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("")
    }
}

/// Prefix character of every term of a field.
pub(crate) fn field_prefix(field: FieldOrdinal) -> char {
    let code = field + 1;
    // Surrogates are not characters: skip them.
    char::from_u32(if code < 0xD800 { code } else { code + 0x800 }).unwrap_or('\u{10FFFF}')
}

/// A document that is ready to be indexed.
#[derive(Debug, Default)]
pub(crate) struct Encoded {
    pub(super) stream: String,
    pub(super) columns: Vec<(ColumnName, i64)>,
    /// Whether `_all` has terms of a field with a boost.
    pub(crate) boosts_all: bool,
    /// Length norms: two characters for each, its field and the norm.
    pub(super) norms: String,
    pub(super) stored: Stored,
    /// Nested objects, in index order; they come before the document.
    pub(super) nested: Vec<Encoded>,
}

impl Encoded {
    /// Creates an empty document with memory for the terms of a source of so many bytes.
    pub(crate) fn with_capacity(source: usize) -> Encoded {
        Encoded {
            // Most terms are in their field and in `_all`.
            stream: String::with_capacity((3 * source).min(MAX_INITIAL_BYTES)),
            ..Encoded::default()
        }
    }

    /// Adds a term of a field. The positions of a field must not decrease.
    pub(crate) fn push_term(&mut self, field: FieldOrdinal, text: &str, position: u32) {
        let prefix = field_prefix(field);
        write_number(
            &mut self.stream,
            u32::try_from(prefix.len_utf8() + text.len()).unwrap_or(u32::MAX),
        );
        write_number(&mut self.stream, position);
        self.stream.push(prefix);
        self.stream.push_str(text);
    }

    /// Adds the text of the last term as a term of another field.
    pub(crate) fn push_last_term_in(&mut self, field: FieldOrdinal, position: u32) {
        write_number(&mut self.stream, SAME_TEXT);
        write_number(&mut self.stream, position);
        self.stream.push(field_prefix(field));
    }

    /// Adds a number of a field: a value, a date, an address.
    pub(crate) fn push_number(&mut self, field: FieldOrdinal, value: i64) {
        self.columns.push((ColumnName::new(field), value));
    }

    /// Removes equal numbers, except those of the fields `repeating`.
    pub(super) fn dedup_numbers(&mut self, repeating: &[FieldOrdinal]) {
        if self.columns.len() > 1 {
            let repeating: Vec<ColumnName> = repeating.iter().copied().map(ColumnName::new).collect();
            self.columns.sort_unstable();
            self.columns.dedup_by(|a, b| a == b && !repeating.contains(&a.0));
        }
    }

    /// Sets the length norms, in the order of their fields.
    pub(crate) fn set_norms(&mut self, norms: &[(FieldOrdinal, u8)]) {
        let both = |(field, norm): &(FieldOrdinal, u8)| [field_prefix(*field), char::from(*norm)];
        self.norms = norms.iter().flat_map(both).collect();
    }

    /// Adds the norm of a field as in the formats before 3.
    #[cfg(test)]
    pub(super) fn push_older_norm(&mut self, field: FieldOrdinal, norm: u8) {
        self.columns.push((ColumnName::of_norms(field), i64::from(norm)));
    }

    /// Sets the nested objects.
    pub(crate) fn set_nested(&mut self, nested: Vec<Encoded>) {
        self.nested = nested;
    }

    /// Sets the stored fields.
    pub(crate) fn store(&mut self, strings: [&str; STORED_STRINGS], times: Times, source: &[u8]) {
        self.stored = Stored::new(strings, times, source);
    }

    /// Size with its nested objects, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let nested: usize = self.nested.iter().map(Encoded::bytes).sum();
        let columns = size_of_val(self.columns.as_slice());
        self.stream.len() + columns + self.norms.len() + self.stored.bytes().len() + nested
    }
}

/// The length of a term that has the text of the term before it: only its prefix follows.
const SAME_TEXT: u32 = 0;

/// Appends a number as ASCII characters of six bits each.
fn write_number(stream: &mut String, mut number: u32) {
    while number >= 64 {
        stream.push(char::from(64 + (number % 64) as u8));
        number /= 64;
    }
    stream.push(char::from(number as u8));
}

#[inline]
fn take_number(bytes: &[u8], at: &mut usize) -> Option<u32> {
    let mut number = 0u32;
    let mut shift = 0;
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        number |= u32::from(byte % 64).checked_shl(shift)?;
        if byte < 64 {
            return Some(number);
        }
        shift += 6;
    }
}

/// A term of a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamTerm<'a> {
    /// Prefix character of its field.
    pub(super) prefix: char,
    pub(super) text: &'a str,
    /// Whether the text is that of the term before it.
    pub(super) is_same: bool,
    pub(super) position: u32,
}

/// The terms that [`Encoded::push_term`] wrote.
pub(super) struct StreamTerms<'a> {
    stream: &'a str,
    at: usize,
    /// Text of the last term.
    text: &'a str,
}

impl<'a> StreamTerms<'a> {
    pub(super) fn new(stream: &'a str) -> StreamTerms<'a> {
        StreamTerms {
            stream,
            at: 0,
            text: "",
        }
    }
}

impl<'a> Iterator for StreamTerms<'a> {
    type Item = StreamTerm<'a>;
    fn next(&mut self) -> Option<StreamTerm<'a>> {
        let bytes = self.stream.as_bytes();
        let mut at = self.at;
        let length = take_number(bytes, &mut at)?;
        let position = take_number(bytes, &mut at)?;
        let prefix = self.stream.get(at..)?.chars().next()?;
        let is_same = length == SAME_TEXT;
        self.at = at + prefix.len_utf8();
        if !is_same {
            let end = at + length as usize;
            self.text = self.stream.get(self.at..end)?;
            self.at = end;
        }
        Some(StreamTerm {
            prefix,
            text: self.text,
            is_same,
            position,
        })
    }
}

/// A borrowed value of a document.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldValue<'a> {
    Text(&'a str),
    Bytes(&'a [u8]),
    /// Numbers and norms.
    Columns(&'a [(ColumnName, i64)], &'a str),
    Number(i64),
}

/// Numbers, then the norms as values of their column.
pub(crate) struct Columns<'a> {
    numbers: std::slice::Iter<'a, (ColumnName, i64)>,
    norms: &'a str,
}

impl<'a> Iterator for Columns<'a> {
    type Item = (&'a str, FieldValue<'a>);
    fn next(&mut self) -> Option<Self::Item> {
        if let Some((name, value)) = self.numbers.next() {
            return Some((name.as_str(), FieldValue::Number(*value)));
        }
        let end = self.norms.char_indices().nth(2 * MAX_NORMS);
        let (value, rest) = self
            .norms
            .split_at_checked(end.map_or(self.norms.len(), |(end, _)| end))?;
        self.norms = rest;
        (!value.is_empty()).then_some((NORMS, FieldValue::Text(value)))
    }
}

impl<'a> Value<'a> for FieldValue<'a> {
    type ArrayIter = std::iter::Empty<FieldValue<'a>>;
    type ObjectIter = Columns<'a>;
    fn as_value(&self) -> ReferenceValue<'a, Self> {
        match *self {
            FieldValue::Text(text) => ReferenceValue::Leaf(ReferenceValueLeaf::Str(text)),
            FieldValue::Bytes(bytes) => ReferenceValue::Leaf(ReferenceValueLeaf::Bytes(bytes)),
            FieldValue::Number(number) => ReferenceValue::Leaf(ReferenceValueLeaf::I64(number)),
            FieldValue::Columns(numbers, norms) => ReferenceValue::Object(Columns {
                numbers: numbers.iter(),
                norms,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_round_trips_terms() {
        let mut encoded = Encoded::default();
        let long = "x".repeat(5000);
        encoded.push_term(0, "größe", 0);
        encoded.push_term(70_000, &long, 1_000_000);
        encoded.push_last_term_in(1, 5);
        let terms: Vec<(char, &str, bool, u32)> = StreamTerms::new(&encoded.stream)
            .map(|term| (term.prefix, term.text, term.is_same, term.position))
            .collect();
        let expected = [
            ('\u{1}', "größe", false, 0),
            (field_prefix(70_000), &long, false, 1_000_000),
            ('\u{2}', &long, true, 5),
        ];
        assert_eq!(terms, expected);
    }
}
