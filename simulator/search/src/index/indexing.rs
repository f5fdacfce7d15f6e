//! Indexing of values: strings as terms, numbers as columns.
//!
//! Limits: `murmur3` fields use another hash function than Elasticsearch. Equal strings have equal hashes.
//! Source: Elasticsearch 1.5's field mappers.

use serde_json::Value;

use crate::analysis::Analyzer;
use crate::error::{Result, SearchError};
use crate::index::document::DocumentParser;
use crate::index::document_builder::FieldState;
use crate::index::encoded::MAX_TERM_BYTES;
use crate::index::numbers::{encoded_date, encoded_number};
use crate::json::java_text;
use crate::mapping::{ALL, Field, FieldOrdinal, Indexing, Kind};

/// Returns the FNV-1a hash of a text.
fn hash(text: &str) -> i64 {
    let mixed = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    mixed as i64
}

/// Returns whether a kind is a plain number, unlike dates and addresses.
fn is_number(kind: Kind) -> bool {
    kind.is_numeric() && !matches!(kind, Kind::Date | Kind::Ip | Kind::TokenCount | Kind::Hash)
}

impl DocumentParser<'_> {
    /// Indexes a value of a field. `shared`: also in `_all`.
    pub(super) fn index(&mut self, field: &Field, value: &Value, text: &str, shared: bool) -> Result<()> {
        let kind = &field.field_type;
        if kind.ignore_above.is_some_and(|limit| text.chars().count() > limit) && kind.kind == Kind::String {
            return Ok(());
        }
        let null_text;
        let (value, text) = match &kind.null_value {
            _ if !text.is_empty() || !is_number(kind.kind) => (value, text),
            // An empty string in a numeric field is skipped if there is no `null_value`.
            None => return Ok(()),
            Some(own) => {
                null_text = java_text(own);
                (own, null_text.as_str())
            }
        };
        self.index_value(field, value, text, shared)?;
        // Skipped values do not count for `exists` filters.
        if kind.is_kept() {
            self.doc.add_field_name(field);
        }
        Ok(())
    }

    /// Indexes a number, unless the field has none in the index.
    fn push_number(&mut self, field: &Field, number: i64) {
        if field.field_type.has_numbers() {
            self.doc.encoded.push_number(field.ordinal, number);
        }
    }

    /// Indexes a value that is not skipped.
    fn index_value(&mut self, field: &Field, value: &Value, text: &str, shared: bool) -> Result<()> {
        let kind = &field.field_type;
        match kind.kind {
            Kind::String | Kind::Boolean if kind.indexing == Indexing::No => Ok(()),
            Kind::String => {
                if kind.indexing == Indexing::NotAnalyzed && text.len() > MAX_TERM_BYTES {
                    return Err(SearchError::illegal(format!(
                        "Document contains at least one immense term in field=\"{}\" \
                         (whose UTF8 encoding is longer than the max length {MAX_TERM_BYTES})",
                        field.name
                    )));
                }
                if shared {
                    self.analyze_with_all(field, text)
                } else {
                    let state = self.analyze(
                        (field.ordinal, kind.has_frequencies()),
                        &field.index_analyzer,
                        text,
                        kind.norms,
                        kind.boost * self.boost.unwrap_or(1.0),
                    );
                    state.position = kind.after_gap(state.position);
                    Ok(())
                }
            }
            Kind::Boolean => {
                let truth = match value {
                    Value::Bool(truth) => *truth,
                    other => crate::mapping::truth(other),
                };
                self.analyze(
                    (field.ordinal, false),
                    &Analyzer::keyword(),
                    if truth { "T" } else { "F" },
                    false,
                    1.0,
                );
                Ok(())
            }
            Kind::Date => {
                let millis = encoded_date(kind, value, text)?;
                self.push_number(field, millis);
                Ok(())
            }
            Kind::Binary | Kind::GeoPoint | Kind::Completion => Ok(()),
            Kind::TokenCount => {
                let count = i64::from(field.index_analyzer.analyze(text, &mut |_| {}));
                self.push_number(field, count);
                Ok(())
            }
            Kind::Hash => {
                self.push_number(field, hash(text));
                Ok(())
            }
            Kind::Ip => {
                let address = kind.encode_text(text)?;
                self.push_number(field, address);
                Ok(())
            }
            _ => {
                let number = encoded_number(kind, value, text)?;
                self.push_number(field, number);
                Ok(())
            }
        }
    }

    /// Indexes the terms of a text, and returns the state of the field. Without frequencies, each distinct term of the
    /// document is added once.
    pub(super) fn analyze(
        &mut self,
        (field, has_frequencies): (FieldOrdinal, bool),
        analyzer: &Analyzer,
        text: &str,
        norms: bool,
        boost: f32,
    ) -> &mut FieldState {
        // `_all` belongs to the root document.
        let doc = match self.outer.first_mut() {
            Some(root) if field == ALL => root,
            _ => &mut self.doc,
        };
        let state = doc.states.entry(field).or_default();
        state.norms = norms;
        state.boost *= boost;
        let base = state.position;
        let encoded = &mut doc.encoded;
        let end = analyzer.analyze(text, &mut |token| {
            if token.text.len() <= MAX_TERM_BYTES {
                state.length += 1;
                if has_frequencies || state.unique.insert(token.text.into()) {
                    encoded.push_term(field, token.text, base.saturating_add(token.position));
                }
            }
        });
        state.position = base.saturating_add(end);
        state
    }

    /// Indexes the terms of a text in its field and in `_all`, with one pass of the analyzer that both share.
    fn analyze_with_all(&mut self, field: &Field, text: &str) -> Result<()> {
        let states = &mut self.doc.states;
        let [own, all] = [field.ordinal, ALL].map(|ordinal| states.entry(ordinal).or_default().position);
        let encoded = &mut self.doc.encoded;
        let mut length = 0;
        let end = field.index_analyzer.analyze(text, &mut |token| {
            length += 1;
            encoded.push_term(field.ordinal, token.text, own.saturating_add(token.position));
            encoded.push_last_term_in(ALL, all.saturating_add(token.position));
        });
        let kind = &field.field_type;
        let boost = kind.boost * self.boost.unwrap_or(1.0);
        let [own, all] = [own, all].map(|position| position.saturating_add(end));
        for (ordinal, norms, boost, position) in [
            (field.ordinal, kind.norms, boost, kind.after_gap(own)),
            (ALL, true, 1.0, all),
        ] {
            let state = states.entry(ordinal).or_default();
            state.norms = norms;
            state.boost *= boost;
            state.length += length;
            state.position = position;
        }
        Ok(())
    }
}
