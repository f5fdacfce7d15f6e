//! `inner_hits` of the DSL: the matching nested objects, children or parents of a hit.
//!
//! Source: `inner_hits` of Elasticsearch 1.5, within a nested, parent or child query and as an element of a search.

use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::json::text_of;
use crate::json::token_of;
use crate::query::dsl_parts::parsing_error;
use crate::query::{Context, InnerHits, InnerRelation, Query, QueryKind};

/// Settings of inner hits that are also settings of a search.
const SETTINGS: [&str; 11] = [
    "fields",
    "from",
    "size",
    "sort",
    "highlight",
    "explain",
    "version",
    "track_scores",
    "_source",
    "fielddata_fields",
    "script_fields",
];

fn settings_of(object: &Map<String, Value>, skipped: &[&str]) -> Result<Map<String, Value>> {
    let own = object.iter().filter(|(key, _)| !skipped.contains(&key.as_str()));
    own.map(|(key, value)| {
        if SETTINGS.contains(&key.as_str()) {
            return Ok((key.clone(), value.clone()));
        }
        let token = token_of(value);
        Err(SearchError::illegal(format!(
            "Unknown key for a {token} for nested query: [{key}]."
        )))
    })
    .collect()
}

/// Records the inner hits of a nested, parent or child query.
pub(super) fn record(
    context: &Context<'_>,
    object: &Map<String, Value>,
    name: &str,
    relation: InnerRelation,
    query: &Query,
) -> Result<()> {
    let (Some(wanted), Some(recorded)) = (object.get("inner_hits"), context.inner_hits) else {
        return Ok(());
    };
    let failed = || parsing_error(context, "Failed to parse [_inner_hits]");
    let wanted = wanted.as_object().ok_or_else(failed)?;
    let settings = settings_of(wanted, &["name"]).map_err(|error| failed().caused_by(error))?;
    recorded.borrow_mut().push(InnerHits {
        name: wanted.get("name").map_or_else(|| name.to_owned(), text_of),
        relation,
        query: query.clone(),
        settings,
        inner: vec![],
    });
    Ok(())
}

/// Parses the element `inner_hits` of a search.
///
/// # Errors
/// An invalid definition, or an unknown path or type.
pub(crate) fn parse_inner_hits(context: &Context<'_>, body: &Value) -> Result<Vec<InnerHits>> {
    let context = &context.nested()?;
    let empty = Map::new();
    let definitions = body.as_object().unwrap_or(&empty);
    definitions
        .iter()
        .map(|(name, definition)| {
            let (key, places) = definition
                .as_object()
                .and_then(|definition| definition.iter().next())
                .ok_or_else(|| SearchError::illegal(format!("Inner hit definition for [{name}] is not an object")))?;
            let place = places.as_object().and_then(|places| places.iter().next());
            let (place, settings) = place
                .and_then(|(place, settings)| Some((place, settings.as_object()?)))
                .ok_or_else(|| SearchError::illegal(format!("Inner hit definition for [{name}] has no [{key}]")))?;
            match key.as_str() {
                "path" => nested(context, name, place, settings),
                "type" => related(context, name, place, settings),
                _ => Err(SearchError::illegal("Either path or type object must be defined")),
            }
        })
        .collect()
}

fn nested(context: &Context<'_>, name: &str, path: &str, object: &Map<String, Value>) -> Result<InnerHits> {
    if !context.is_nested(path) {
        return Err(SearchError::illegal(format!("path [{path}] doesn't exist")));
    }
    let inside = Context {
        nested_path: Some(path),
        inner_hits: None,
        ..*context
    };
    let relation = InnerRelation::Nested {
        path: path.to_owned(),
        outer: context.nested_path.map(str::to_owned),
    };
    definition(&inside, name, relation, object)
}

fn related(context: &Context<'_>, name: &str, type_name: &str, object: &Map<String, Value>) -> Result<InnerHits> {
    if context.mapping.type_mapping(type_name).is_none() {
        return Err(SearchError::illegal(format!("type [{type_name}] doesn't exist")));
    }
    let inside = Context {
        inner_hits: None,
        ..*context
    };
    let mut found = definition(&inside, name, InnerRelation::Related(type_name.to_owned()), object)?;
    found.query = found.query.filtered(context.of_type(type_name));
    Ok(found)
}

fn definition(
    context: &Context<'_>,
    name: &str,
    relation: InnerRelation,
    object: &Map<String, Value>,
) -> Result<InnerHits> {
    let query = object
        .get("query")
        .map(|query| context.parse_query(query))
        .transpose()?;
    let inner = object.get("inner_hits").map(|inner| parse_inner_hits(context, inner));
    Ok(InnerHits {
        name: name.to_owned(),
        relation,
        query: query.unwrap_or_else(|| QueryKind::All.into()),
        settings: settings_of(object, &["query", "inner_hits"])?,
        inner: inner.transpose()?.unwrap_or_default(),
    })
}
