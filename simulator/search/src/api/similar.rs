//! The `_mlt` API: a search for documents that are similar to one.
//!
//! Source: Elasticsearch 1.5's `RestMoreLikeThisAction` and `TransportMoreLikeThisAction`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::documents::{contents, find};
use super::search::execute;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::find::{SearchRequest, SearchType};
use crate::index::Stored;
use crate::json::java_text;
use crate::mapping::{Indexing, Mapping};
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;
use crate::ties::in_hash_order;

/// Parameters of the query that are integers, in the order of its members, with the name that goes before.
const INTEGERS: [(&str, &str); 6] = [
    ("min_term_freq", "min_term_freq"),
    ("max_query_terms", "max_query_terms"),
    ("min_doc_freq", "min_doc_freq"),
    ("max_doc_freq", "max_doc_freq"),
    ("min_word_length", "min_word_len"),
    ("max_word_length", "max_word_len"),
];

/// `GET|POST /index/type/id/_mlt`.
pub(crate) fn more_like_this(
    shared: &Shared,
    request: &RestRequest,
    index: &str,
    type_name: &str,
    id: &str,
) -> Result<Answer> {
    let settings = settings(request)?;
    let mut wanted = search_of(shared, request)?;
    let (from, size) = (request.integer("search_from")?, request.integer("search_size")?);
    let (own, found) = find(shared, index, (type_name, id), request.param("routing"), (true, false))?;
    let Some((_, stored)) = found else {
        let reason = format!("[_na][_na] [{type_name}][{id}]: document missing");
        return Err(SearchError::new(404, Exception::DocumentMissing, reason));
    };
    let mapping = own.mapping();
    if mapping.type_mapping(type_name).is_none() {
        let reason = format!("No DocumentMapper found for type [{type_name}]");
        return Err(SearchError::new(500, Exception::Elasticsearch, reason));
    }
    let named = list(request, "mlt_fields").unwrap_or_default();
    let texts = match named.is_empty() {
        true => texts_of_source(&mapping, &stored)?,
        false => {
            let read = contents(&own, &stored, None, Some(&named), shared.cluster.now())?;
            texts_of_fields(&named, read.get("fields"))
        }
    };
    if texts.is_empty() {
        let reason = "No fields found to fetch the 'likeText' from";
        return Err(SearchError::new(500, Exception::Elasticsearch, reason));
    }
    let similar = texts.into_iter().map(|(field, text)| {
        let mut query = json!({"fields": [field], "like_text": text});
        if let Value::Object(query) = &mut query {
            query.extend(settings.clone());
            query.insert("fail_on_unsupported_field".to_owned(), (!named.is_empty()).into());
        }
        json!({"mlt": query})
    });
    let mut similar: Vec<Value> = similar.collect();
    request.budget.elements("texts", similar.len())?;
    let include = request.flag("include");
    let mut query = Map::new();
    if !include {
        query.insert(
            "must_not".to_owned(),
            json!({"term": {"_uid": format!("{type_name}#{id}")}}),
        );
    }
    let only = if similar.len() == 1 { similar.pop() } else { None };
    query.insert("should".to_owned(), only.unwrap_or_else(|| similar.into()));
    if !include {
        query.insert("adjust_pure_negative".to_owned(), false.into());
    }
    let mut source = Map::new();
    for (name, number) in [("from", from), ("size", size)] {
        if let Some(number) = number.filter(|number| ![0, -1].contains(number)) {
            source.insert(name.to_owned(), number.into());
        }
    }
    source.insert("query".to_owned(), json!({"bool": query}));
    wanted = wanted.with_source(&source.into(), &shared.cluster.options.limits);
    let mut inner = request.clone();
    inner.params.clear();
    if let Some(keep) = request.param("search_scroll") {
        inner.params.insert("scroll".to_owned(), keep.to_owned());
    }
    let indices = request.param("search_indices").unwrap_or(index);
    let types = request.param("search_types").unwrap_or(type_name);
    execute(shared, &inner, indices, Some(types), wanted)
}

/// The members of each query that the parameters of the request set.
fn settings(request: &RestRequest) -> Result<Map<String, Value>> {
    let mut settings = Map::new();
    let least = request.param("minimum_should_match").unwrap_or("0");
    settings.insert("minimum_should_match".to_owned(), least.into());
    for (name, short) in INTEGERS {
        let number = match request.integer(short)? {
            None => request.integer(name)?,
            found => found,
        };
        if let Some(number) = number.filter(|number| *number != -1) {
            settings.insert(name.to_owned(), number.into());
        }
        if let ("max_query_terms", Some(words)) = (name, list(request, "stop_words")) {
            settings.insert("stop_words".to_owned(), words.into());
        }
    }
    if let Some(boost) = request.float("boost_terms")?.filter(|boost| *boost >= 0.0) {
        settings.insert("boost_terms".to_owned(), json!(boost));
    }
    Ok(settings)
}

/// The search without its query: its type, and the body of the request.
fn search_of(shared: &Shared, request: &RestRequest) -> Result<SearchRequest> {
    let search_type = request.param("search_type").map(SearchType::parse).transpose()?;
    let body = match request.body.is_empty() {
        true => request.param("search_source").map_or(&[][..], str::as_bytes),
        false => &request.body,
    };
    let wanted = SearchRequest::parse(&BTreeMap::new(), body, &shared.cluster.options.limits)?;
    Ok(SearchRequest {
        search_type: search_type.unwrap_or_default(),
        ..wanted
    })
}

/// A parameter that is a list.
fn list(request: &RestRequest, name: &str) -> Option<Vec<String>> {
    let parts = request.param(name)?.split(',').filter(|part| !part.is_empty());
    Some(parts.map(str::to_owned).collect())
}

/// The values of fields that the request names, as texts. The order is that of a hash set.
fn texts_of_fields(named: &[String], values: Option<&Value>) -> Vec<(String, String)> {
    let names: BTreeSet<&String> = named.iter().collect();
    let names = in_hash_order(names.into_iter().collect(), |name| (*name).clone());
    let texts = names.into_iter().flat_map(|name| {
        let values = values.and_then(|values| values.get(name)?.as_array());
        values
            .into_iter()
            .flatten()
            .map(|value| (name.clone(), java_text(value)))
    });
    texts.collect()
}

/// The values of all fields of text, in the order of the source.
fn texts_of_source(mapping: &Mapping, stored: &Stored) -> Result<Vec<(String, String)>> {
    let mut fields: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in mapping.field_names("*") {
        let Some(field) = mapping.exact_field(&name) else {
            continue;
        };
        let is_text = field.field_type.kind.has_text_terms();
        if is_text && field.field_type.indexing != Indexing::No {
            let path = mapping.source_path(stored.type_name(), &name).to_owned();
            fields.entry(path).or_default().push(name);
        }
    }
    let mut texts = Vec::new();
    let source = crate::json::value(stored.source())?;
    let mut rest = vec![(String::new(), &source)];
    while let Some((path, value)) = rest.pop() {
        match value {
            Value::Object(members) => {
                let dot = if path.is_empty() { "" } else { "." };
                let inner = members.iter().map(|(key, value)| (format!("{path}{dot}{key}"), value));
                rest.extend(inner.rev());
            }
            Value::Array(items) => rest.extend(items.iter().rev().map(|item| (path.clone(), item))),
            Value::Null => {}
            scalar => {
                let fields = fields.get(&path).into_iter().flatten();
                texts.extend(fields.map(|field| (field.clone(), java_text(scalar))));
            }
        }
    }
    Ok(texts)
}
