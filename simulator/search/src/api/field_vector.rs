//! The term vector of one field of a document.
//!
//! Source: Elasticsearch 1.5's `ShardTermVectorsService`, Lucene 4.10's `MemoryIndex`.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value, json};
use tantivy::DocSet;
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;

use crate::analysis::Analyzer;
use crate::budget::Budget;
use crate::error::Result;
use crate::index::{View, field_prefix};
use crate::mapping::{Field, FieldOrdinal};
use crate::score::END;

/// Statistics of a field, or of one of its terms, in a shard.
#[derive(Default)]
struct Frequencies {
    doc_freq: u64,
    docs: HashSet<(usize, u32)>,
    occurrences: u64,
}

/// Sums up the postings of one term, or of all terms of a field.
fn frequencies(view: &View, field: FieldOrdinal, term: Option<&str>, budget: &Budget) -> Result<Frequencies> {
    let mut sum = Frequencies::default();
    let from = format!("{}{}", field_prefix(field), term.unwrap_or(""));
    let to = match term {
        Some(_) => format!("{from}\u{0}"),
        None => field_prefix(field + 1).to_string(),
    };
    for (at, view) in view.segments.iter().enumerate() {
        let range = view.segment.terms().terms().range().ge(&from).lt(&to);
        let mut stream = range.into_stream()?;
        while stream.advance() {
            budget.terms(1)?;
            sum.doc_freq += u64::from(stream.value().doc_freq);
            let mut postings = view.segment.postings(stream.value(), IndexRecordOption::WithFreqs)?;
            while postings.doc() != END {
                sum.occurrences += u64::from(postings.term_freq());
                sum.docs.insert((at, postings.doc()));
                postings.advance();
            }
        }
    }
    Ok(sum)
}

/// The term vector of one field of a document.
pub(super) struct Vector<'a> {
    pub(super) view: &'a View,
    pub(super) field: &'a Field,
    /// Analyzer of the values.
    pub(super) analyzer: Analyzer,
    /// Whether term and field statistics are wanted.
    pub(super) statistics: [bool; 2],
    /// Whether offsets and positions are known and wanted.
    pub(super) parts: [bool; 2],
    pub(super) budget: &'a Budget,
}

impl Vector<'_> {
    /// The vector of the values of the field. None if they have no terms. `is_generated`: the values are not those of
    /// the index. Elasticsearch then counts the values from the first with a term on, and no gaps at their ends.
    pub(super) fn json(&self, texts: &[String], is_generated: bool) -> Result<Option<Value>> {
        let [term_statistics, field_statistics] = self.statistics;
        let [offsets, positions] = self.parts;
        self.analyzer.check()?;
        let mut terms: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let (mut position, mut offset) = (0, 0);
        for text in texts {
            self.budget.check_time()?;
            let mut units = Units::new(text);
            let mut last = 0;
            let end = self.analyzer.analyze(text, &mut |token| {
                let mut entry = Map::new();
                if positions {
                    entry.insert("position".to_owned(), json!(position + token.position));
                }
                if offsets {
                    entry.insert("start_offset".to_owned(), json!(offset + units.before(token.start)));
                    entry.insert("end_offset".to_owned(), json!(offset + units.before(token.end)));
                }
                terms.entry(token.text.to_owned()).or_default().push(entry.into());
                last = token.position + 1;
            });
            if is_generated && terms.is_empty() {
                continue;
            }
            let end = if is_generated { last } else { end };
            position = self.field.field_type.after_gap(&self.analyzer, position + end);
            // There is a gap of one character between values.
            offset += text.encode_utf16().count() + 1;
        }
        if terms.is_empty() {
            return Ok(None);
        }
        let mut vector = Map::new();
        let sum = match field_statistics || term_statistics {
            true => frequencies(self.view, self.field.ordinal, None, self.budget)?,
            false => Frequencies::default(),
        };
        // A field that the index does not have has the statistics of the document.
        let is_indexed = !sum.docs.is_empty();
        if field_statistics {
            let statistics = match is_indexed {
                true => {
                    let occurrences = self.occurrences(&sum);
                    json!({"sum_doc_freq": sum.doc_freq, "doc_count": sum.docs.len(), "sum_ttf": occurrences})
                }
                false => {
                    let count: usize = terms.values().map(Vec::len).sum();
                    json!({"sum_doc_freq": terms.len(), "doc_count": 1, "sum_ttf": count})
                }
            };
            vector.insert("field_statistics".to_owned(), statistics);
        }
        let mut listed = Map::new();
        for (text, tokens) in terms {
            let mut term = Map::new();
            if term_statistics {
                let (doc_freq, occurrences) = match is_indexed {
                    true => {
                        let sum = frequencies(self.view, self.field.ordinal, Some(&text), self.budget)?;
                        (sum.doc_freq, self.occurrences(&sum))
                    }
                    false => (1, json!(tokens.len())),
                };
                if doc_freq > 0 {
                    term.insert("doc_freq".to_owned(), json!(doc_freq));
                    term.insert("ttf".to_owned(), occurrences);
                }
            }
            term.insert("term_freq".to_owned(), json!(tokens.len()));
            if positions || offsets {
                term.insert("tokens".to_owned(), tokens.into());
            }
            listed.insert(text, term.into());
        }
        vector.insert("terms".to_owned(), listed.into());
        Ok(Some(vector.into()))
    }

    /// The number of occurrences, which a field without frequencies does not know.
    fn occurrences(&self, sum: &Frequencies) -> Value {
        match self.field.field_type.has_frequencies() {
            true => json!(sum.occurrences),
            false => json!(-1),
        }
    }
}

/// Converter of byte offsets to UTF-16 offsets; fast for ascending offsets.
struct Units<'a> {
    text: &'a str,
    bytes: usize,
    units: usize,
}

impl<'a> Units<'a> {
    fn new(text: &'a str) -> Units<'a> {
        Units {
            text,
            bytes: 0,
            units: 0,
        }
    }

    fn before(&mut self, end: usize) -> usize {
        if end < self.bytes {
            (self.bytes, self.units) = (0, 0);
        }
        let between = self.text.get(self.bytes..end).unwrap_or("");
        self.units += between.encode_utf16().count();
        self.bytes = end;
        self.units
    }
}
