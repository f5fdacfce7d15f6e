//! Rendering of hits as JSON.

use std::cell::LazyCell;

use serde_json::{Map, Value, json};

use crate::cluster::Cluster;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::find::Searched;
use crate::find::request::SearchRequest;
use crate::find::rescore::explain_rescored;
use crate::find::returned::stored_values;
use crate::find::source::{SourceFilter, extract, metadata_value, visible_source};
use crate::find::top_docs::Candidate;
use crate::highlight::{Highlighting, highlight};
use crate::index::Segment;
use crate::json::{check_integers, floating};
use crate::mapping::{Field, Kind, TIMESTAMP, TTL, TypeMapping};
use crate::query::{GeoPoint, label};
use crate::score::score_json;

/// Renders one hit of a search, with its inner hits if they are wanted.
pub(crate) fn render(
    cluster: &Cluster,
    request: &SearchRequest,
    searched: &[Searched],
    hit: &Candidate,
    has_inner_hits: bool,
) -> Result<Value> {
    let gone = || SearchError::engine("a hit of no index");
    let searched = searched.get(hit.index).ok_or_else(gone)?;
    let by_field = !request.sort.is_empty();
    let scored = !by_field || request.track_scores || request.sort.iter().any(|spec| spec.field == "_score");
    let mut shown = hit_json(cluster, request, searched, hit, (scored, has_inner_hits))?;
    if request.explain {
        shown.shift_insert(0, "_shard".to_owned(), json!(searched.number));
        let node = cluster.node_of(&searched.index.name, searched.number);
        shown.shift_insert(1, "_node".to_owned(), json!(node));
    }
    if by_field {
        let values: Vec<Value> = if hit.sort.is_empty() {
            vec![score_json(hit.score)]
        } else {
            hit.sort.iter().map(crate::find::sort::SortValue::json).collect()
        };
        shown.insert("sort".to_owned(), values.into());
    }
    Ok(Value::Object(shown))
}

/// Renders one hit without its sort values.
fn hit_json(
    cluster: &Cluster,
    request: &SearchRequest,
    searched: &Searched,
    hit: &Candidate,
    (scored, has_inner_hits): (bool, bool),
) -> Result<Map<String, Value>> {
    let view = searched
        .view
        .segments
        .get(hit.segment)
        .ok_or_else(|| SearchError::engine("a hit of no segment"))?;
    let stored = view.segment.stored(hit.doc)?;
    let mut shown = Map::new();
    shown.insert("_index".to_owned(), json!(searched.index.name));
    shown.insert("_type".to_owned(), json!(stored.type_name()));
    shown.insert("_id".to_owned(), json!(stored.id()));
    if let Some(identity) = stored.identity() {
        let identity = crate::json::value(identity.as_bytes())?;
        shown.insert("_nested".to_owned(), identity);
    }
    if request.version {
        shown.insert("_version".to_owned(), json!(view.segment.version(hit.doc)));
    }
    shown.insert(
        "_score".to_owned(),
        if scored { score_json(hit.score) } else { Value::Null },
    );
    let mapping = &searched.mapping;
    let whole_source: Value = crate::json::value(stored.source())?;
    let source = visible_source(mapping, stored.type_name(), &whole_source);
    let whole = SourceFilter::default();
    let names_source = request.fields.iter().flatten().any(|field| field == "_source");
    let filter = match (&request.source, &request.fields) {
        (Some(filter), _) if !filter.enabled && names_source => Some(&whole),
        (Some(filter), _) => filter.enabled.then_some(filter),
        (None, None) if !request.partial_fields.is_empty() || !request.script_fields.is_empty() => None,
        (None, None) => Some(&whole),
        (None, Some(_)) => names_source.then_some(&whole),
    };
    let loaded = LazyCell::new(|| check_integers(stored.source(), &whole_source));
    if filter.is_some_and(|filter| !filter.is_plain())
        || !request.partial_fields.is_empty()
        || request.highlight.is_some()
        || request.fields.iter().flatten().any(|field| field == "_id")
    {
        loaded.clone()?;
    }
    match (filter, &source) {
        (Some(filter), Some(source)) => drop(shown.insert("_source".to_owned(), filter.apply(source))),
        // Elasticsearch filters what is not there.
        (Some(filter), None) if !filter.is_plain() => return Err(SearchError::null_pointer()),
        _ => {}
    }
    let mut fields = Map::new();
    for name in ["_routing", "_parent", TIMESTAMP, TTL] {
        let is_wanted = |wanted: &String| wanted == "*" || wanted == name;
        if request.fields.iter().flatten().any(is_wanted)
            && let Some(value) = metadata_value(mapping, &stored, name, cluster.now())
        {
            fields.insert(name.to_owned(), value);
        }
    }
    let stored_of = |field: &Field| {
        // Another type may not store the field.
        let own = mapping.field_of(stored.type_name(), &field.name);
        if !own.is_some_and(|own| own.field_type.store) {
            return vec![];
        }
        let document = (&whole_source, stored.source());
        stored_values(mapping, stored.type_name(), field, document)
    };
    for wanted in request.fields.iter().flatten().filter(|field| !is_metadata(field)) {
        // An asterisk stands for all stored fields.
        let names = if wanted == "*" {
            let is_stored = |name: &String| mapping.exact_field(name).is_some_and(|field| field.field_type.store);
            let stored = |name: &String| is_stored(name) && !is_metadata(name);
            mapping.field_names(wanted).into_iter().filter(stored).collect()
        } else {
            vec![wanted.clone()]
        };
        for name in names {
            // Unmapped fields are not extracted from the source.
            let is_searched = |field: &&Field| {
                let mut types = request.types.iter();
                request.types.is_empty()
                    || mapping.named_type(&name).is_some()
                    || types.any(|own| mapping.has_field(own, &field.name))
            };
            let Some(field) = mapping.field(&name).filter(is_searched) else {
                if mapping.is_object_of(&name, &request.types) {
                    return Err(SearchError::illegal(format!("field [{name}] isn't a leaf field")));
                }
                continue;
            };
            // Stored fields have their full names.
            let shown = if field.field_type.store { &field.name } else { &name };
            let values: Vec<Value> = match source.as_deref() {
                _ if field.field_type.store => stored_of(field),
                Some(source) => {
                    loaded.clone()?;
                    let values = extract(source, &name).into_iter();
                    values.filter(|value| !value.is_object()).cloned().collect()
                }
                None => continue,
            };
            match fields.get_mut(shown) {
                _ if values.is_empty() => {}
                // A field that is named twice has the values of the source twice.
                Some(Value::Array(known)) if !field.field_type.store => known.extend(values),
                _ => drop(fields.insert(shown.clone(), values.into())),
            }
        }
    }
    for (name, filter) in &request.partial_fields {
        fields.insert(
            name.clone(),
            json!([filter.apply(source.as_deref().unwrap_or(&json!({})))]),
        );
    }
    for name in &request.fielddata_fields {
        let values = fielddata(searched, &view.segment, hit.doc, name)?;
        match (fields.get_mut(name), name.starts_with('_'), values.first()) {
            (_, _, None) => {}
            (_, true, Some(only)) => drop(fields.insert(name.clone(), only.clone())),
            (Some(Value::Array(known)), false, _) => known.extend(values),
            (_, false, _) => drop(fields.insert(name.clone(), values.into())),
        }
    }
    for (name, script) in &request.script_fields {
        let value = script
            .mapped(mapping)?
            .without_score()?
            .of(&view.segment)?
            .value(hit.doc);
        fields.insert(name.clone(), json!([floating(value)]));
    }
    if !fields.is_empty() || !request.fielddata_fields.is_empty() {
        shown.insert("fields".to_owned(), fields.into());
    }
    if let Some(wanted) = &request.highlight {
        // Highlighting uses the fields of the document's type only.
        let own = searched.index.mapping().for_types(&[stored.type_name().to_owned()]);
        let context = searched.index.context(&own, cluster);
        let nested_path = stored.identity().map(nested_path).transpose()?;
        let found = highlight(&Highlighting {
            view: &searched.view,
            budget: &request.budget,
            wanted,
            query: &searched.query,
            context: &context,
            type_name: stored.type_name(),
            source: source.as_deref(),
            stored: &stored_of,
            nested_path: nested_path.as_deref(),
        });
        let found = found.map_err(|error| fetch_failure(error, request, searched))?;
        if !found.is_empty() {
            shown.insert("highlight".to_owned(), found.into());
        }
    }
    let mut matched = Vec::new();
    for (name, weight) in &searched.named {
        if weight
            .scorer(hit.segment, view, &request.budget)?
            .is_some_and(|mut scorer| scorer.seek(hit.doc) == hit.doc)
        {
            matched.push(name);
        }
    }
    if !matched.is_empty() {
        shown.insert("matched_queries".to_owned(), json!(matched));
    }
    if has_inner_hits && !searched.inner.is_empty() {
        let inner = searched.inner.iter();
        let found =
            inner.map(|(name, inner)| Ok((name.clone(), inner.hits(cluster, (hit.segment, hit.doc), &stored)?)));
        shown.insert("inner_hits".to_owned(), found.collect::<Result<Map<_, _>>>()?.into());
    }
    if let (true, Some(explained)) = (request.explain, &searched.explained) {
        let place = (hit.segment, hit.doc);
        let explanation = explained.of(&searched.view, place, &request.budget)?;
        let explanation = explain_rescored(cluster, request, searched, place, explanation)?;
        shown.insert("_explanation".to_owned(), explanation.json());
    }
    Ok(shown)
}

/// Returns the indexed values of a document.
fn fielddata(searched: &Searched, segment: &Segment, doc: u32, name: &str) -> Result<Vec<Value>> {
    if let Some(data) = searched.mapping.field_data(name) {
        data.check_loading(name)?;
    }
    match name {
        "_index" => return Ok(vec![json!(searched.index.name)]),
        "_type" => return Ok(vec![json!(segment.stored(doc)?.type_name())]),
        "_uid" => {
            let stored = segment.stored(doc)?;
            return Ok(vec![json!(format!("{}#{}", stored.type_name(), stored.id()))]);
        }
        "_routing" => {
            let stored = segment.stored(doc)?;
            let own = searched.index.mapping();
            let own = own.type_mapping(stored.type_name());
            let routing = stored
                .routing()
                .filter(|_| own.is_some_and(TypeMapping::indexes_routing));
            return Ok(routing.map(|routing| json!(routing)).into_iter().collect());
        }
        _ => {}
    }
    let Some(field) = searched.mapping.field(name) else {
        return Ok(vec![]);
    };
    Ok(match field.field_type.kind {
        kind if kind.is_numeric() => {
            let values = segment.values(field.ordinal)?;
            let values = values.of(doc).iter();
            let shown = values.map(|encoded| match kind.is_floating() {
                true => floating(field.field_type.decode(*encoded)),
                false => json!(encoded),
            });
            shown.collect()
        }
        Kind::GeoPoint => {
            let points = segment.values(field.ordinal)?;
            let points = points.of(doc).iter().map(|encoded| GeoPoint::decode(*encoded));
            points
                .map(|point| json!({"lat": point.lat, "lon": point.lon}))
                .collect()
        }
        _ => {
            let terms = segment.field_terms(field)?;
            let ordinals = terms.of(doc).iter();
            ordinals.map(|ordinal| json!(terms.term(*ordinal))).collect()
        }
    })
}

/// Returns whether a field is a metadata field.
fn is_metadata(field: &str) -> bool {
    matches!(field, "_source" | "_routing" | "_parent" | TIMESTAMP | TTL)
}

/// Returns the path of a nested object from its `_nested` identity.
fn nested_path(identity: &str) -> Result<String> {
    let identity: Value = crate::json::value(identity.as_bytes())?;
    let mut names = Vec::new();
    let mut at = Some(&identity);
    while let Some(identity) = at {
        names.extend(identity.get("field").and_then(Value::as_str));
        at = identity.get("_nested");
    }
    Ok(names.join("."))
}

/// Adds the shard to a failure of the fetch phase.
fn fetch_failure(error: SearchError, request: &SearchRequest, searched: &Searched) -> SearchError {
    if error.kind != Exception::FetchPhaseExecution {
        return error;
    }
    SearchError {
        reason: format!(
            "[{}][{}]: query[{}],from[{}],size[{}]: Fetch Failed [{}]",
            searched.index.name,
            searched.number,
            label(&searched.query),
            request.from,
            request.page(),
            error.reason
        ),
        ..error
    }
}
