//! `_termvector`: the terms of one document, field by field.
//!
//! Limits: terms are made anew from the source of the document; no payloads.
//! Source: Elasticsearch 1.5's `TermVectorResponse`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tantivy::DocSet;
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;

use crate::error::{Result, SearchError};
use crate::find::{extract, names};
use crate::index::{View, field_prefix};
use crate::mapping::{Field, FieldOrdinal, Kind};
use crate::rest::{Answer, RestRequest};
use crate::score::END;
use crate::shared::Shared;

/// What the answer shows of each term and field.
struct Settings {
    fields: Option<Vec<String>>,
    offsets: bool,
    positions: bool,
    term_statistics: bool,
    field_statistics: bool,
}

impl Settings {
    fn of(request: &RestRequest) -> Result<Settings> {
        let body = request.json()?.unwrap_or_default();
        let flag = |name: &str, default: bool| {
            body.get(name)
                .map_or_else(|| request.flag_or(name, default), crate::mapping::truth)
        };
        let text = request.param("fields").map(|text| names(&json!(text)));
        Ok(Settings {
            fields: body.get("fields").map(names).or(text),
            offsets: flag("offsets", true),
            positions: flag("positions", true),
            term_statistics: flag("term_statistics", false),
            field_statistics: flag("field_statistics", true),
        })
    }

    fn wants(&self, field: &Field) -> bool {
        let named = |fields: &Vec<String>| fields.iter().any(|wanted| crate::pattern::matches(wanted, &field.name));
        let indexed = matches!(field.field_type.kind, Kind::String);
        indexed
            && self
                .fields
                .as_ref()
                .map_or_else(|| field.field_type.has_vectors(), named)
    }
}

/// Statistics of a field, or of one of its terms, in a shard: terms of documents, documents, occurrences.
#[derive(Default)]
struct Frequencies {
    doc_freq: u64,
    docs: std::collections::HashSet<(usize, u32)>,
    occurrences: u64,
}

/// Adds up the postings of the terms of a field; of one term, if one is given.
fn frequencies(
    view: &View,
    field: FieldOrdinal,
    term: Option<&str>,
    budget: &crate::budget::Budget,
) -> Result<Frequencies> {
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

/// `GET|POST /index/type/id/_termvector`.
pub(crate) fn term_vector(
    shared: &Shared,
    request: &RestRequest,
    index: &str,
    type_name: &str,
    id: &str,
) -> Result<Answer> {
    let began = (shared.cluster.options.ticks)();
    let settings = Settings::of(request)?;
    let indices = shared.cluster.named(index, request.expand())?;
    let [index] = indices.as_slice() else {
        return Err(SearchError::index_missing(index));
    };
    let routing = request.param("routing").or(request.param("parent"));
    let (_, shard) = index.shard_of(id, routing)?;
    let found = shard.get(type_name, id)?;
    let mut shown = json!({"_index": index.name, "_type": type_name, "_id": id});
    shown["_version"] = json!(found.as_ref().map_or(0, |(version, _)| *version));
    shown["found"] = json!(found.is_some());
    shown["took"] = json!((shared.cluster.options.ticks)().saturating_sub(began).as_millis() as u64);
    let Some((_, stored)) = found else {
        return Ok(Answer::ok(shown));
    };
    let source: Value = crate::json::value(stored.source())?;
    let mapping = index.mapping();
    let view = shard.view();
    let mut vectors = Map::new();
    for name in mapping.field_names("*") {
        let Some(field) = mapping.exact_field(&name).filter(|field| settings.wants(field)) else {
            continue;
        };
        let mut terms: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let (mut position, mut offset) = (0, 0);
        for text in extract(&source, &name).into_iter().filter_map(Value::as_str) {
            request.budget.check_time()?;
            let mut units = Units::new(text);
            let end = field.index_analyzer.analyze(text, &mut |token| {
                let mut shown = Map::new();
                if settings.positions {
                    shown.insert("position".to_owned(), json!(position + token.position));
                }
                if settings.offsets {
                    shown.insert("start_offset".to_owned(), json!(offset + units.before(token.start)));
                    shown.insert("end_offset".to_owned(), json!(offset + units.before(token.end)));
                }
                terms.entry(token.text.to_owned()).or_default().push(shown.into());
            });
            position += end;
            // A value is one character away from the next.
            offset += text.encode_utf16().count() + 1;
        }
        if terms.is_empty() {
            continue;
        }
        let mut vector = Map::new();
        if settings.field_statistics {
            let sum = frequencies(&view, field.ordinal, None, &request.budget)?;
            vector.insert(
                "field_statistics".to_owned(),
                json!({"sum_doc_freq": sum.doc_freq, "doc_count": sum.docs.len(), "sum_ttf": sum.occurrences}),
            );
        }
        let mut listed = Map::new();
        for (text, tokens) in terms {
            let mut term = Map::new();
            if settings.term_statistics {
                let sum = frequencies(&view, field.ordinal, Some(&text), &request.budget)?;
                term.insert("doc_freq".to_owned(), json!(sum.doc_freq));
                term.insert("ttf".to_owned(), json!(sum.occurrences));
            }
            term.insert("term_freq".to_owned(), json!(tokens.len()));
            if settings.positions || settings.offsets {
                term.insert("tokens".to_owned(), tokens.into());
            }
            listed.insert(text, term.into());
        }
        vector.insert("terms".to_owned(), listed.into());
        vectors.insert(name, vector.into());
    }
    shown["term_vectors"] = vectors.into();
    Ok(Answer::ok(shown))
}

/// Offsets of a text in UTF-16 units, asked for in rising order mostly.
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
