//! The filters of the DSL, which have names of their own and no scores.
//!
//! Source: the filter parsers of Elasticsearch 1.5.

use serde_json::{Map, Value};

use crate::error::Result;
use crate::find::extract;
use crate::query::dsl::{boolean, indices, unwrap};
use crate::query::dsl_geo::geo;
use crate::query::dsl_leaf::{ids_of, one_field, ranged};
use crate::query::dsl_parts::{refuse, several, text_of};
use crate::query::join::{has_child, has_parent, nested};
use crate::query::text::too_many_clauses;
use crate::query::value::{of_ids, term};
use crate::query::{Context, Matcher, Occur, Query, QueryKind};
use crate::script::Script;

/// Parses a filter of the DSL.
///
/// # Errors
/// A body that is no filter, or that nests too deep.
pub(crate) fn parse_filter(context: &Context<'_>, body: &Value) -> Result<Query> {
    let context = &context.nested()?;
    let object = match body {
        Value::Object(object) => object,
        Value::Array(_) => return several(context, body, parse_filter).map(Query::every),
        _ => return Err(refuse(context, "[_na] filter malformed, must start with start_object")),
    };
    let Some((name, inner)) = object.iter().next() else {
        return Ok(QueryKind::All.into());
    };
    let empty = Map::new();
    let settings = inner.as_object().unwrap_or(&empty);
    let filter = filter(context, name, inner, settings)?;
    // Settings beside the filter's name are its own, too.
    context.name(settings.get("_name").or_else(|| object.get("_name")), &filter);
    Ok(filter)
}

fn filter(context: &Context<'_>, name: &str, inner: &Value, object: &Map<String, Value>) -> Result<Query> {
    check_shape(context, name, inner, object)?;
    let list = |value: &Value| several(context, value.get("filters").unwrap_or(value), parse_filter);
    Ok(match name {
        "match_all" => QueryKind::All.into(),
        "bool" => boolean(context, object, parse_filter, "filter")?,
        "and" | "or" => match (name, list(inner)?) {
            // No filters filter nothing.
            (_, filters) if filters.is_empty() => QueryKind::All.into(),
            ("and", filters) => Query::every(filters).constant(),
            (_, filters) => Query::any(filters).constant(),
        },
        "not" => {
            let inner = object.get("filter").or_else(|| object.get("query")).unwrap_or(inner);
            Query::not(parse_filter(context, inner)?).constant()
        }
        "query" => context.parse_query(inner)?.constant(),
        "fquery" => {
            let query = object
                .get("query")
                .ok_or_else(|| refuse(context, "[fquery] requires 'query' element"))?;
            context.parse_query(query)?.constant()
        }
        "term" => {
            let (field, value) = one_field(context, name, inner)?;
            let value = value.get("value").unwrap_or(value);
            term(context, field, value)?.constant()
        }
        "terms" | "in" => terms(context, inner, object)?,
        "range" | "numeric_range" => {
            let (field, settings) = one_field(context, name, inner)?;
            ranged(context, &format!("[{name}] filter"), field, settings)?.constant()
        }
        "prefix" | "regexp" => {
            let (field, value) = one_field(context, name, inner)?;
            let text = text_of(value.get("value").unwrap_or(value));
            let matcher = if name == "prefix" {
                Matcher::Prefix(text)
            } else {
                Matcher::Regexp(text)
            };
            of_ids(field, &matcher).unwrap_or_else(|| {
                let field = context.field(field);
                Query::from(QueryKind::MultiTerm { field, matcher }).constant()
            })
        }
        "ids" => ids_of(context, object)?,
        "type" => context.of_type(object.get("value").and_then(Value::as_str).unwrap_or("")),
        "exists" | "missing" => {
            let fields = object.get("field").map(crate::find::names).unwrap_or_default();
            // Of several fields the last one counts.
            let field = fields
                .last()
                .ok_or_else(|| refuse(context, &format!("{name} must be provided with a [field]")))?;
            if name == "exists" {
                context.exists(field)
            } else {
                context.missing(field)
            }
        }
        "limit" => {
            let limit = object.get("value").and_then(Value::as_u64).unwrap_or(u64::MAX);
            Query::from(QueryKind::Limit(u32::try_from(limit).unwrap_or(u32::MAX))).constant()
        }
        "indices" => indices(context, object, parse_filter, "filter")?,
        "wrapper" => parse_filter(context, &unwrap(context, object)?)?,
        "geo_distance" | "geo_distance_range" | "geo_bounding_box" | "geo_bbox" | "geo_polygon" => {
            geo(context, name, object)?
        }
        "has_child" | "hasChild" => has_child(context, "has_child filter", object)?.constant(),
        "nested" => nested(context, object)?.constant(),
        "has_parent" | "hasParent" => has_parent(context, object)?.constant(),
        "script" => Query::from(QueryKind::Script(Script::parse(inner)?.mapped(context.mapping)?)).constant(),
        other => return Err(refuse(context, &format!("No filter registered for [{other}]"))),
    })
}

/// Fails for a filter that lacks what it needs.
fn check_shape(context: &Context<'_>, name: &str, inner: &Value, object: &Map<String, Value>) -> Result<()> {
    let is_empty = inner.as_object().is_some_and(Map::is_empty);
    let has = |keys: &[&str]| keys.iter().any(|key| object.contains_key(*key));
    let reason = match name {
        "and" | "or" if inner.is_object() && !has(&["filters"]) => {
            format!("[{name}] filter requires 'filters' to be set on it'")
        }
        "not" if is_empty => "filter is required when using `not` filter".to_owned(),
        "bool" if !has(&["must", "should", "must_not", "mustNot"]) && is_empty => {
            "[bool] filter has no inner should/must/must_not elements".to_owned()
        }
        "type" if !has(&["value"]) => "[type] filter should have a value field, and the type name".to_owned(),
        "term" if is_empty => "No field specified for term filter".to_owned(),
        "terms" | "in" if is_empty => "terms filter requires a field name, followed by array of terms".to_owned(),
        "range" | "numeric_range" if is_empty => format!("[{name}] filter no field specified for {name} filter"),
        "prefix" | "regexp" | "limit" if is_empty => format!("No value specified for {name} filter"),
        _ => return Ok(()),
    };
    Err(refuse(context, &reason))
}

/// `terms`: any of several values, listed or read from a document.
fn terms(context: &Context<'_>, inner: &Value, object: &Map<String, Value>) -> Result<Query> {
    let (field, values) = one_field(context, "terms", inner)?;
    let values: Vec<Value> = match values {
        Value::Array(values) => values.clone(),
        Value::Object(lookup) => looked_up(context, lookup)?,
        _ => {
            return Err(refuse(context, &format!("[terms] filter does not support [{field}]")));
        }
    };
    if values.len() > context.most_clauses * 64 {
        return Err(too_many_clauses(context.most_clauses * 64));
    }
    let queries = values
        .iter()
        .map(|value| term(context, field, value))
        .collect::<Result<Vec<_>>>()?;
    let every = object
        .get("execution")
        .and_then(Value::as_str)
        .is_some_and(|execution| execution.starts_with("and"));
    let occur = if every { Occur::Must } else { Occur::Should };
    if queries.is_empty() {
        return Ok(QueryKind::Nothing.into());
    }
    Ok(Query::bool(queries.into_iter().map(|query| (occur, query)).collect()).constant())
}

/// The values at a path of a document.
fn looked_up(context: &Context<'_>, lookup: &Map<String, Value>) -> Result<Vec<Value>> {
    let text = |key: &str| lookup.get(key).map(text_of);
    let missing = || {
        refuse(
            context,
            "[terms] filter lookup element requires specifying the type, id and path",
        )
    };
    let (type_name, id, path) = (
        text("type").ok_or_else(missing)?,
        text("id").ok_or_else(missing)?,
        text("path").ok_or_else(missing)?,
    );
    let index = text("index").unwrap_or_else(|| context.index.to_owned());
    let source = match context.documents {
        Some(documents) => documents.source(&index, &type_name, &id, text("routing").as_deref())?,
        None => None,
    };
    Ok(source
        .map(|source| extract(&source, &path).into_iter().cloned().collect())
        .unwrap_or_default())
}
