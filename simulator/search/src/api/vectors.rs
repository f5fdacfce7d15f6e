//! The `_termvector` and `_mtermvectors` APIs: the terms of documents, by field.
//!
//! Limits: the source of the document is analyzed again for each request; no payloads.
//! Source: Elasticsearch 1.5's `TermVectorResponse`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tantivy::DocSet;
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;

use super::search::check_preference;
use crate::cluster::{Block, Expand};
use crate::error::{Result, SearchError, problems};
use crate::find::{extract, names};
use crate::index::{View, field_prefix};
use crate::json;
use crate::mapping::{Field, FieldOrdinal, Kind};
use crate::rest::{Answer, RestRequest};
use crate::score::END;
use crate::shared::Shared;

/// Parts of the response.
struct Settings {
    fields: Option<Vec<String>>,
    offsets: bool,
    positions: bool,
    term_statistics: bool,
    field_statistics: bool,
}

impl Settings {
    /// Parses the settings of a body. Defaults: the parameters of the request.
    fn of(request: &RestRequest, body: &Value) -> Settings {
        let flag = |name: &str, default: bool| {
            body.get(name)
                .map_or_else(|| request.flag_or(name, default), crate::mapping::truth)
        };
        let text = request.param("fields").map(|text| names(&json!(text)));
        Settings {
            fields: body.get("fields").map(names).or(text),
            offsets: flag("offsets", true),
            positions: flag("positions", true),
            term_statistics: flag("term_statistics", false),
            field_statistics: flag("field_statistics", true),
        }
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

/// Statistics of a field, or of one of its terms, in a shard.
#[derive(Default)]
struct Frequencies {
    doc_freq: u64,
    docs: std::collections::HashSet<(usize, u32)>,
    occurrences: u64,
}

/// Sums up the postings of one term, or of all terms of a field.
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

/// Members of the body of a term vector request.
const MEMBERS: [&str; 19] = [
    "_index",
    "_type",
    "_id",
    "_routing",
    "routing",
    "_version",
    "version",
    "_version_type",
    "version_type",
    "doc",
    "per_field_analyzer",
    "fields",
    "offsets",
    "positions",
    "payloads",
    "term_statistics",
    "termStatistics",
    "field_statistics",
    "fieldStatistics",
];

/// Checks the body of a term vector request.
///
/// # Errors
/// An unknown member, fields that are no array, or a document for a request with an id.
fn check_body(body: &Value, id: Option<&str>) -> Result<()> {
    for (name, value) in body.as_object().into_iter().flatten() {
        if name == "fields" && !value.is_array() {
            let reason = "The parameter fields must be given as an array! Use syntax : \"fields\" : [\"field1\", \
                          \"field2\",...]";
            return Err(SearchError::parse(reason));
        }
        if !MEMBERS.contains(&name.as_str()) {
            let reason = format!("The parameter {name} is not valid for term vector request!");
            return Err(SearchError::parse(reason));
        }
    }
    if id.is_some() && body.get("doc").is_some() {
        let reason = "Either \"id\" or \"doc\" can be specified, but not both!";
        return Err(SearchError::parse(reason));
    }
    Ok(())
}

/// Checks the body of a request for several term vectors.
///
/// # Errors
/// A member other than `docs`, `ids` and `parameters`, or one of another type.
fn check_several(body: &Value) -> Result<()> {
    for (name, value) in body.as_object().into_iter().flatten() {
        match (name.as_str(), value) {
            ("docs" | "ids", Value::Array(_)) | ("parameters", Value::Object(_)) => {}
            (_, Value::Array(_)) => {
                return Err(SearchError::parse(format!("No parameter named {name}and type ARRAY")));
            }
            (_, Value::Object(_)) => {
                return Err(SearchError::parse(format!("No parameter named {name}and type OBJECT")));
            }
            _ => {
                return Err(SearchError::parse(format!(
                    "_mtermvectors: Parameter {name}not supported"
                )));
            }
        }
    }
    Ok(())
}

/// `GET|POST /index/type[/id]/_termvector`: of a document of the index, or of a document in the body.
pub(crate) fn termvector(
    shared: &Shared,
    request: &RestRequest,
    index: &str,
    type_name: &str,
    id: Option<&str>,
) -> Result<Answer> {
    let body = request.json()?.unwrap_or_default();
    check_body(&body, id)?;
    // What the body names goes before the path.
    let named = |key: &str, given: Option<&str>| body.get(key).map(json::java_text).or(given.map(str::to_owned));
    let id = named("_id", id);
    if id.is_none() && body.get("doc").is_none() {
        return Err(SearchError::validation("id or doc is missing"));
    }
    let (index, type_name) = (named("_index", Some(index)), named("_type", Some(type_name)));
    let (index, type_name) = (index.unwrap_or_default(), type_name.unwrap_or_default());
    term_vector(shared, request, &body, &index, &type_name, id.as_deref()).map(Answer::ok)
}

/// `GET|POST [/index[/type]]/_mtermvectors`.
pub(crate) fn mtermvectors(
    shared: &Shared,
    request: &RestRequest,
    index: Option<&str>,
    type_name: Option<&str>,
) -> Result<Answer> {
    let body = request.json()?.unwrap_or_default();
    check_several(&body)?;
    let ids = body.get("ids").and_then(Value::as_array).into_iter().flatten();
    let ids: Vec<Value> = match request.param("ids") {
        Some(text) => names(&json!(text)).into_iter().map(Value::from).collect(),
        None => ids.cloned().collect(),
    };
    let parameters = body.get("parameters").cloned().unwrap_or_else(|| json!({}));
    let of_ids = ids.into_iter().map(|id| {
        let mut item = parameters.clone();
        item["_id"] = id;
        item
    });
    let docs = body
        .get("docs")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .cloned();
    let items: Vec<Value> = docs.chain(of_ids).collect();
    if items.is_empty() {
        return Err(SearchError::validation("multi term vectors: no documents requested"));
    }
    request.budget.elements("documents", items.len())?;
    let docs = items.iter().enumerate().map(|(number, item)| {
        let text = |key: &str| item.get(key).filter(|value| !value.is_null()).map(text_of);
        let index = text("_index").or_else(|| index.map(str::to_owned));
        let type_name = text("_type").or_else(|| type_name.map(str::to_owned));
        let id = text("_id");
        let found = problems([
            (index.is_none(), "index is missing"),
            (type_name.is_none(), "type is missing"),
            (id.is_none() && item.get("doc").is_none(), "id or doc is missing"),
        ]);
        let mut found: Vec<String> = found.map(str::to_owned).collect();
        if !found.is_empty() {
            found.push(format!("at multi term vectors for doc {number}"));
        }
        SearchError::validated(&found)?;
        let (index, type_name) = (index.unwrap_or_default(), type_name.unwrap_or_default());
        let vector = term_vector(shared, request, item, &index, &type_name, id.as_deref());
        Ok(vector.unwrap_or_else(
            |error| json!({"_index": index, "_type": type_name, "_id": id, "error": error.to_string()}),
        ))
    });
    Ok(Answer::ok(json!({"docs": docs.collect::<Result<Vec<_>>>()?})))
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn term_vector(
    shared: &Shared,
    request: &RestRequest,
    body: &Value,
    index: &str,
    type_name: &str,
    id: Option<&str>,
) -> Result<Value> {
    let began = (shared.cluster.options.ticks)();
    let settings = Settings::of(request, body);
    check_preference(shared, request.param("preference"))?;
    let indices = shared.cluster.named(index, Expand::SHARDS)?;
    let [index] = indices.as_slice() else {
        return Err(SearchError::index_missing(index));
    };
    index.check_block(Block::Read)?;
    let given = body.get("doc").filter(|_| id.is_none());
    let routing = body.get("_routing").or_else(|| body.get("routing")).map(text_of);
    let routing = routing
        .as_deref()
        .or(request.param("routing"))
        .or(request.param("parent"));
    let (_, shard) = index.shard_of(id.unwrap_or_default(), routing)?;
    let found = match id {
        Some(id) => shard.get(type_name, id)?,
        None => None,
    };
    let mut response = json!({"_index": index.name, "_type": type_name});
    if let Some(id) = id {
        response["_id"] = json!(id);
    }
    response["_version"] = json!(found.as_ref().map_or(0, |(version, _)| *version));
    response["found"] = json!(found.is_some() || given.is_some());
    response["took"] = json!((shared.cluster.options.ticks)().saturating_sub(began).as_millis() as u64);
    let source = match (&found, given) {
        (Some((_, stored)), _) => crate::json::value(stored.source())?,
        (None, Some(given)) => given.clone(),
        (None, None) => return Ok(response),
    };
    let mapping = index.mapping().for_types(&[type_name.to_owned()]);
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
                let mut entry = Map::new();
                if settings.positions {
                    entry.insert("position".to_owned(), json!(position + token.position));
                }
                if settings.offsets {
                    entry.insert("start_offset".to_owned(), json!(offset + units.before(token.start)));
                    entry.insert("end_offset".to_owned(), json!(offset + units.before(token.end)));
                }
                terms.entry(token.text.to_owned()).or_default().push(entry.into());
            });
            position += end;
            // There is a gap of one character between values.
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
                if sum.doc_freq > 0 {
                    term.insert("doc_freq".to_owned(), json!(sum.doc_freq));
                    term.insert("ttf".to_owned(), json!(sum.occurrences));
                }
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
    response["term_vectors"] = vectors.into();
    Ok(response)
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
