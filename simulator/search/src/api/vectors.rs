//! The `_termvector` and `_mtermvectors` APIs: the terms of documents, by field.
//!
//! Limits: the source of the document is analyzed again for each request; no payloads.
//! Source: Elasticsearch 1.5's `TermVectorResponse`.

use std::cell::LazyCell;

use serde_json::{Map, Value, json};

use super::field_vector::Vector;
use super::multi_get::failed_item;
use super::search::check_preference;
use crate::analysis::Analyzer;
use crate::cluster::{Block, Index};
use crate::error::{Result, SearchError, problems};
use crate::exception::Exception;
use crate::find::{extract, names};
use crate::index::field_texts;
use crate::json::{self, is_scalar, java_text};
use crate::mapping::{Field, FieldOrdinal, Indexing, Kind, Mapping, WriteTime, strict_flag};
use crate::query::vector_items::{FLAGS, ID_AND_DOCUMENT, NO_ARRAY, unknown_member};
use crate::rest::{Answer, RestRequest};
use crate::routing::Placement;
use crate::shared::Shared;
use crate::ties::as_hash_set;

/// A request for the term vectors of one document.
#[derive(Clone, Default)]
struct Wanted {
    index: Option<String>,
    type_name: Option<String>,
    id: Option<String>,
    /// A document that is not in the index.
    doc: Option<Value>,
    routing: Option<String>,
    /// Default: those whose term vectors are stored.
    fields: Option<Vec<String>>,
    /// Names of analyzers by field.
    analyzers: Map<String, Value>,
    flags: [bool; FLAGS.len()],
}

impl Wanted {
    fn new(index: Option<&str>, type_name: Option<&str>, id: Option<&str>) -> Wanted {
        let [index, type_name, id] = [index, type_name, id].map(|name| name.map(str::to_owned));
        Wanted {
            index,
            type_name,
            id,
            flags: [true, true, true, false, true],
            ..Wanted::default()
        }
    }

    /// Parses a body, whose members replace what is known.
    ///
    /// # Errors
    /// An unknown member, fields that are no array, or an id and a document.
    fn read(&mut self, body: &Value) -> Result<()> {
        for (name, value) in body.as_object().into_iter().flatten() {
            let text = || Some(json::java_text(value)).filter(|_| !value.is_null());
            match name.as_str() {
                "_index" => self.index = text(),
                "_type" => self.type_name = text(),
                "_id" => self.id = text(),
                "_routing" | "routing" => self.routing = text(),
                "doc" => self.doc = Some(value.clone()),
                "per_field_analyzer" | "perFieldAnalyzer" => {
                    self.analyzers = value.as_object().cloned().unwrap_or_default();
                    self.analyzers.iter().try_for_each(check_analyzer)?;
                }
                "fields" => match value {
                    Value::Array(fields) if fields.is_empty() => self.fields = None,
                    Value::Array(fields) if fields.iter().any(Value::is_array) => {
                        return Err(SearchError::parse(NO_ARRAY));
                    }
                    Value::Array(fields) => self.fields = Some(fields.iter().map(json::java_text).collect()),
                    _ => return Err(SearchError::parse(NO_ARRAY)),
                },
                other => match FLAGS.iter().position(|names| names.contains(&other)) {
                    Some(at) => self.flags[at] = strict_flag(value)?,
                    None => return Err(unknown_member(name)),
                },
            }
            if self.id.is_some() && self.doc.is_some() {
                return Err(SearchError::parse(ID_AND_DOCUMENT));
            }
        }
        Ok(())
    }

    /// Reads the parameters of a request, which replace what is known.
    fn read_parameters(&mut self, request: &RestRequest) {
        let given = request.param("fields").map(|text| names(&json!(text)));
        if let Some(given) = given.filter(|given| !given.is_empty()) {
            self.fields.get_or_insert_default().extend(given);
        }
        for (flag, names) in self.flags.iter_mut().zip(FLAGS) {
            if let Some(name) = names.into_iter().find(|name| request.param(name).is_some()) {
                *flag = request.flag(name);
            }
        }
        if let Some(routing) = request.param("routing").or(request.param("parent")) {
            self.routing = Some(routing.to_owned());
        }
    }

    /// What is missing.
    fn problems(&self) -> Vec<String> {
        let found = problems([
            (self.index.is_none(), "index is missing"),
            (self.type_name.is_none(), "type is missing"),
            (self.id.is_none() && self.doc.is_none(), "id or doc is missing"),
        ]);
        found.map(str::to_owned).collect()
    }

    /// Whether a field is wanted by its name or a pattern. None if all are.
    fn names(&self, field: &str) -> Option<bool> {
        let fields = self.fields.as_ref()?;
        Some(fields.iter().any(|wanted| crate::pattern::matches(wanted, field)))
    }

    /// The analyzer of a field. An unknown one is the default of the index.
    fn analyzer(&self, mapping: &Mapping, field: &Field) -> Result<Analyzer> {
        let Some(name) = self.analyzers.get(&field.name).map(json::java_text) else {
            return Ok(field.index_analyzer.clone());
        };
        Analyzer::configured(&name, mapping.analysis()).or_else(|_| Analyzer::configured("default", mapping.analysis()))
    }
}

/// Fails for an analyzer of a field that is no name.
fn check_analyzer((field, analyzer): (&String, &Value)) -> Result<()> {
    match analyzer {
        Value::String(_) => Ok(()),
        Value::Null => Err(SearchError::null_pointer()),
        other => {
            let reason = format!(
                "The analyzer at {field} should be of type String, but got a class {}!",
                json::java_class(other)
            );
            Err(SearchError::new(500, Exception::Elasticsearch, reason))
        }
    }
}

/// `GET|POST /index/type[/id]/_termvector`: of a document of the index, or of a document in the body.
pub(crate) fn termvector(
    shared: &Shared,
    request: &RestRequest,
    index: &str,
    type_name: &str,
    id: Option<&str>,
) -> Result<Answer> {
    let mut wanted = Wanted::new(Some(index), Some(type_name), id);
    wanted.read(&request.json()?.unwrap_or_default())?;
    wanted.read_parameters(request);
    SearchError::validated(&wanted.problems())?;
    term_vector(shared, request, &wanted).map(Answer::ok)
}

/// `GET|POST [/index[/type]]/_mtermvectors`.
pub(crate) fn mtermvectors(
    shared: &Shared,
    request: &RestRequest,
    index: Option<&str>,
    type_name: Option<&str>,
) -> Result<Answer> {
    let mut template = Wanted::new(index, type_name, None);
    template.read_parameters(request);
    let mut ids = request.param("ids").map(|text| names(&json!(text))).unwrap_or_default();
    let mut items = Vec::new();
    let body = request.json()?.unwrap_or_default();
    for (name, value) in body.as_object().into_iter().flatten() {
        match (name.as_str(), value) {
            ("docs", Value::Array(docs)) => {
                for doc in docs {
                    if !doc.is_object() {
                        return Err(SearchError::illegal("docs array element should include an object"));
                    }
                    let mut item = template.clone();
                    item.read(doc)?;
                    items.push(item);
                }
            }
            ("ids", Value::Array(given)) => ids.extend(given.iter().map(json::java_text)),
            ("parameters", Value::Object(_)) => template.read(value)?,
            (_, Value::Array(_)) => {
                return Err(SearchError::parse(format!("No parameter named {name}and type ARRAY")));
            }
            (_, Value::Object(_)) => {
                return Err(SearchError::parse(format!("No parameter named {name}and type OBJECT")));
            }
            _ => {
                let reason = format!("_mtermvectors: Parameter {name}not supported");
                return Err(SearchError::parse(reason));
            }
        }
    }
    // They are a set.
    items.extend(as_hash_set(ids).into_iter().map(|id| Wanted {
        id: Some(id),
        ..template.clone()
    }));
    if items.is_empty() {
        return Err(SearchError::validation("multi term vectors: no documents requested"));
    }
    request.budget.elements("documents", items.len())?;
    // The last document with a problem is told.
    for (number, item) in items.iter().enumerate().rev() {
        let mut found = item.problems();
        if !found.is_empty() {
            found.push(format!("at multi term vectors for doc {number}"));
        }
        SearchError::validated(&found)?;
    }
    let docs = items.iter().map(|item| {
        let named = || json!({"_index": item.index, "_type": item.type_name, "_id": item.id});
        // As in Elasticsearch, an alias that does not name one document fails the request.
        let name = item.index.as_deref().unwrap_or_default();
        shared.cluster.index_routing(name, item.routing.as_deref())?;
        term_vector(shared, request, item).or_else(|error| failed_item(named(), error))
    });
    Ok(Answer::ok(json!({"docs": docs.collect::<Result<Vec<_>>>()?})))
}

fn term_vector(shared: &Shared, request: &RestRequest, wanted: &Wanted) -> Result<Value> {
    let began = (shared.cluster.options.ticks)();
    check_preference(shared, request.param("preference"))?;
    let name = wanted.index.as_deref().unwrap_or_default();
    let type_name = wanted.type_name.as_deref().unwrap_or_default();
    let index = shared.cluster.single(name)?;
    index.check_block(Block::Read)?;
    let routing = shared.cluster.index_routing(name, wanted.routing.as_deref())?;
    let id = wanted.id.as_deref();
    if let (None, Some(id), true) = (&routing, id, index.mapping().needs_routing(type_name)) {
        return Err(SearchError::routing_missing(&index.name, type_name, id));
    }
    let (_, shard) = index.shard_of(id.unwrap_or_default(), routing.as_deref())?;
    let found = match id {
        Some(id) => shard.get(type_name, id)?,
        None => None,
    };
    let mut response = json!({"_index": index.name, "_type": type_name});
    if let Some(id) = id {
        response["_id"] = json!(id);
    }
    response["_version"] = json!(found.as_ref().map_or(0, |(version, _)| *version));
    response["found"] = json!(found.is_some() || wanted.doc.is_some());
    let source = match (&found, &wanted.doc) {
        (Some((_, stored)), _) => crate::json::value(stored.source())?,
        (None, Some(given)) => {
            parse_given(shared, &index, type_name, given)?;
            given.clone()
        }
        (None, None) => {
            response["took"] = shared.cluster.took(began).into();
            return Ok(response);
        }
    };
    let mapping = index.mapping();
    let own = mapping.clone().for_types(&[type_name.to_owned()]);
    let view = shard.view();
    let given = wanted.doc.as_ref().map(Value::to_string).unwrap_or_default();
    let bytes = found.as_ref().map_or(given.as_bytes(), |(_, stored)| stored.source());
    let members = source.as_object();
    let indexed = LazyCell::new(|| {
        let texts = members.map(|members| field_texts(&mapping, type_name, bytes, members));
        texts.unwrap_or_default()
    });
    let mut vectors = Map::new();
    for name in own.field_names("*") {
        let (Some(field), Some(first)) = (own.exact_field(&name), mapping.exact_field(&name)) else {
            continue;
        };
        let named = wanted.names(&name);
        let is_stored = found.is_some() && field.field_type.has_vectors();
        let is_analyzed_again = wanted.analyzers.contains_key(&name);
        // Whether the source is analyzed for the request. The first field of a name decides for all types.
        let is_generated = match named {
            _ if found.is_none() => own.nested_path(&name).is_none(),
            Some(_) => is_analyzed_again || !first.field_type.has_vectors(),
            None => is_stored && is_analyzed_again,
        };
        let analyzed = if is_generated { first } else { field };
        let is_text = analyzed.field_type.kind == Kind::String && analyzed.field_type.indexing != Indexing::No;
        if !is_text || named == Some(false) || !(is_stored || is_generated) {
            continue;
        }
        let [offsets, positions, _, statistics @ ..] = wanted.flags;
        let kept = |part: &str| is_generated || field.field_type.has_in_vectors(part);
        let vector = Vector {
            view: &view,
            field: analyzed,
            analyzer: wanted.analyzer(&mapping, analyzed)?,
            statistics,
            parts: [offsets && kept("offsets"), positions && kept("positions")],
            budget: &request.budget,
        };
        let texts: Vec<String> = match found.is_some() && is_generated {
            true => {
                let values = extract(&source, own.source_path(type_name, &name)).into_iter();
                values.filter(|value| is_scalar(value)).map(java_text).collect()
            }
            false => {
                let of_field = |(ordinal, _): &&(FieldOrdinal, String)| *ordinal == field.ordinal;
                indexed.iter().filter(of_field).map(|(_, text)| text.clone()).collect()
            }
        };
        if let Some(vector) = vector.json(&texts, is_generated)? {
            vectors.insert(name, vector);
        }
    }
    response["took"] = shared.cluster.took(began).into();
    response["term_vectors"] = vectors.into();
    Ok(response)
}

/// Parses a document that is not in the index. Its new fields are mapped.
fn parse_given(shared: &Shared, index: &Index, type_name: &str, given: &Value) -> Result<()> {
    let failed = || SearchError::new(500, Exception::Elasticsearch, "failed to execute term vector request");
    let Value::Object(members) = given else {
        return Err(failed().caused_by(SearchError::mapping("failed to parse")));
    };
    let now = shared.cluster.now();
    let time = WriteTime {
        now,
        timestamp: now,
        ttl: None,
    };
    let source = given.to_string();
    let parsed = index.parse(type_name, "", Placement::default(), time, source.as_bytes(), members);
    parsed.map(drop).map_err(|error| failed().caused_by(error))
}
