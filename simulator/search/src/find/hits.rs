//! Hits as they are answered.

use serde_json::{Map, Value, json};

use super::collect::Candidate;
use super::execute::Searched;
use super::request::SearchRequest;
use super::source::{SourceFilter, extract};
use crate::error::{Result, SearchError};
use crate::highlight;
use crate::mapping::Kind;
use crate::score::{explain, shown as shown_score};

/// One hit of a search.
pub(crate) fn render(request: &SearchRequest, searched: &[Searched], hit: &Candidate) -> Result<Value> {
    let gone = || SearchError::engine("a hit of no index");
    let searched = searched.get(hit.index).ok_or_else(gone)?;
    let by_field = !request.sort.is_empty();
    let scored = !by_field || request.track_scores || request.sort.iter().any(|spec| spec.field == "_score");
    let mut shown = hit_json(request, searched, hit, scored)?;
    if by_field {
        let values: Vec<Value> = if hit.sort.is_empty() {
            vec![shown_score(hit.score)]
        } else {
            hit.sort.iter().map(super::sort::SortValue::json).collect()
        };
        shown.insert("sort".to_owned(), values.into());
    }
    Ok(Value::Object(shown))
}

/// One hit, without what orders it.
fn hit_json(request: &SearchRequest, searched: &Searched, hit: &Candidate, scored: bool) -> Result<Map<String, Value>> {
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
    if request.version {
        shown.insert(
            "_version".to_owned(),
            json!(searched.index.shard.version(stored.type_name(), stored.id())),
        );
    }
    shown.insert(
        "_score".to_owned(),
        if scored { shown_score(hit.score) } else { Value::Null },
    );
    let source: Value = serde_json::from_slice(stored.source()).map_err(SearchError::engine)?;
    let whole = SourceFilter::default();
    let filter = match (&request.source, &request.fields) {
        (Some(filter), _) => filter.enabled.then_some(filter),
        (None, None) => Some(&whole),
        (None, Some(fields)) => fields.iter().any(|field| field == "_source").then_some(&whole),
    };
    if let Some(filter) = filter {
        shown.insert("_source".to_owned(), filter.apply(&source));
    }
    let mut fields = Map::new();
    let mapping = searched.index.mapping.read();
    for wanted in request.fields.iter().flatten().filter(|field| *field != "_source") {
        let names = if wanted.contains('*') {
            mapping.field_names(wanted)
        } else {
            vec![wanted.clone()]
        };
        for name in names {
            let values: Vec<Value> = extract(&source, &name)
                .into_iter()
                .filter(|value| !value.is_object())
                .cloned()
                .collect();
            if !values.is_empty() {
                fields.insert(name, values.into());
            }
        }
    }
    for name in &request.fielddata_fields {
        let Some(field) = mapping.field(name) else {
            continue;
        };
        let values: Vec<Value> = match field.field_type.kind {
            kind if kind.is_numeric() => {
                let numbers = view.segment.values(field.ordinal)?;
                numbers
                    .of(hit.doc)
                    .iter()
                    .map(|encoded| {
                        if kind.is_floating() {
                            json!(field.field_type.decode(*encoded))
                        } else {
                            json!(encoded)
                        }
                    })
                    .collect()
            }
            Kind::Binary => vec![],
            _ => {
                let terms = view.segment.ordinals(field.ordinal)?;
                terms
                    .of(hit.doc)
                    .iter()
                    .map(|ordinal| json!(terms.term(*ordinal)))
                    .collect()
            }
        };
        if !values.is_empty() {
            fields.insert(name.clone(), values.into());
        }
    }
    if !fields.is_empty() {
        shown.insert("fields".to_owned(), fields.into());
    }
    if let Some(wanted) = &request.highlight {
        let found = highlight::highlight(wanted, &searched.query, &mapping, &source)?;
        if !found.is_empty() {
            shown.insert("highlight".to_owned(), found.into());
        }
    }
    drop(mapping);
    if request.explain {
        shown.insert(
            "_explanation".to_owned(),
            explain(&searched.weight, hit.segment, view, hit.doc)?.json(),
        );
    }
    Ok(shown)
}
