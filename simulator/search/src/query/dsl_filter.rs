//! Filters of the DSL: queries without scores.
//!
//! Source: the filter parsers of Elasticsearch 1.5.

use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::find::extract;
use crate::json::is_scalar;
use crate::mapping::{Kind, truth};
use crate::query::dsl::{boolean, indices, unwrap};
use crate::query::dsl_geo::{geo, geohash_cell};
use crate::query::dsl_leaf::{ids_query, one_field, range_query};
use crate::query::dsl_parts::{
    check_settings, parse_clauses, parsing_error, replaced, second, text_of, values, with_flags,
};
use crate::query::join::{has_child, has_parent, nested};
use crate::query::text::too_many_clauses;
use crate::query::value::{matching, prefix, term};
use crate::query::{Caching, Context, FilterClass, Matcher, Query, QueryKind};
use crate::script::Script;

/// Settings of most filters.
const CACHING: [&str; 4] = ["_name", "_cache", "_cache_key", "_cacheKey"];

/// Parses a filter of the DSL.
///
/// # Errors
/// A body that is not a filter, or that is nested too deeply.
pub(crate) fn parse_filter(outer: &Context<'_>, body: &Value) -> Result<Query> {
    let context = &outer.nested()?;
    let object = match body {
        Value::Object(object) => object,
        Value::Array(_) => return parse_clauses(context, body, parse_filter).map(Query::every),
        _ => {
            return Err(parsing_error(
                context,
                "[_na] filter malformed, must start with start_object",
            ));
        }
    };
    let Some((name, inner)) = object.iter().next() else {
        return Ok(QueryKind::All.into());
    };
    if !inner.is_object() && !inner.is_array() {
        let reason = "[_na] filter malformed, no field after start_object";
        return Err(parsing_error(context, reason));
    }
    let empty = Map::new();
    let settings = inner.as_object().unwrap_or(&empty);
    let filter = filter(context, name, inner, settings)?;
    context.name(settings.get("_name"), &filter);
    match second(body) {
        Some((_, Value::Object(other))) if other.is_empty() => Ok(filter),
        _ => replaced(outer, body, filter, parse_filter),
    }
}

fn filter(context: &Context<'_>, name: &str, inner: &Value, object: &Map<String, Value>) -> Result<Query> {
    check_shape(context, name, inner, object)?;
    let cached = |default| Caching::of(object, default);
    Ok(match name {
        "match_all" => QueryKind::All.into(),
        "bool" => {
            let boolean = boolean(context, object, parse_filter, "filter")?;
            match &boolean.kind {
                QueryKind::Bool { clauses, .. } => {
                    let class = FilterClass::Boolean(clauses.len());
                    boolean.fix_negative().filter(class, cached(false))
                }
                _ => boolean,
            }
        }
        "and" | "or" => {
            let list = object.values().find(|value| value.is_array()).unwrap_or(inner);
            match (name, parse_clauses(context, list, parse_filter)?) {
                // An empty list matches all documents.
                (_, filters) if filters.is_empty() => QueryKind::All.into(),
                ("and", filters) => Query::every(filters).filter(FilterClass::And, cached(false)),
                (_, filters) => Query::any(filters).filter(FilterClass::Or, cached(false)),
            }
        }
        "not" => {
            // The last filter counts.
            let last = object.iter().rev().find(|(_, filter)| filter.is_object());
            let negated = match (object.get("filter"), last) {
                (Some(filter), _) => parse_filter(context, filter)?,
                (None, Some((name, filter))) => parse_filter(context, &json!({name: filter}))?,
                (None, None) => parse_filter(context, inner)?,
            };
            Query::not(negated).filter(FilterClass::Not, cached(false))
        }
        "query" => wrapper(context.parse_query(inner)?, Caching::Uncached),
        "fquery" => {
            let query = object
                .get("query")
                .ok_or_else(|| parsing_error(context, "[fquery] requires 'query' element"))?;
            wrapper(context.parse_query(query)?, cached(false))
        }
        "term" => {
            let (field, value) = term_of(context, object)?;
            let filter = term(context, field, value)?.filter(FilterClass::Plain, cached(true));
            context.filter_of_named_type(field, filter)
        }
        "terms" | "in" => terms(context, inner, object)?,
        "range" | "numeric_range" => range(context, name, inner, object)?,
        "prefix" | "regexp" => {
            let (field, settings) = one_field(context, name, inner)?;
            let text = text_of(settings.get("value").unwrap_or(settings));
            let (class, query) = if name == "prefix" {
                (FilterClass::Prefix, prefix(context, field, text)?)
            } else {
                let pattern = with_flags(&text, settings)?;
                let matcher = Matcher::Regexp { pattern, text };
                (FilterClass::Regexp, matching(context, field, matcher))
            };
            context.filter_of_named_type(field, query.filter(class, cached(true)))
        }
        "ids" => ids(context, object)?,
        "type" => context.of_type(object.get("value").and_then(Value::as_str).unwrap_or("")),
        "exists" | "missing" => {
            let fields = object.get("field").map(crate::find::names).unwrap_or_default();
            // Elasticsearch uses the last one of several fields.
            let field = fields
                .last()
                .ok_or_else(|| parsing_error(context, &format!("{name} must be provided with a [field]")))?;
            if name == "exists" {
                context.exists(field)
            } else {
                missing(context, field, object)?
            }
        }
        "limit" => {
            let limit = object.get("value").map_or(Ok(-1), crate::json::int)?;
            let limit = QueryKind::Limit(u32::try_from(limit).unwrap_or(u32::MAX));
            Query::from(limit).filter(FilterClass::Plain, Caching::Uncached)
        }
        "indices" => indices(context, object, parse_filter, "filter")?,
        "wrapper" => parse_filter(context, &unwrap(context, object)?)?,
        "geo_distance" | "geo_distance_range" | "geo_bounding_box" | "geo_bbox" | "geo_polygon" => {
            geo(context, name, object)?.filter(FilterClass::Plain, cached(false))
        }
        "geohash_cell" => geohash_cell(context, inner)?,
        "has_child" | "hasChild" => {
            let children = has_child(context, "has_child filter", object)?;
            children.filter(FilterClass::CustomWrapper, Caching::Uncached)
        }
        // Without a join, the filter matches the nested objects themselves.
        "nested" => match nested(context, object)?.kind {
            QueryKind::Nested(nested) if object.get("join").is_some_and(|join| !truth(join)) => {
                wrapper(nested.query, cached(false))
            }
            kind => wrapper(kind.into(), cached(false)),
        },
        "has_parent" | "hasParent" => {
            has_parent(context, object)?.filter(FilterClass::CustomWrapper, Caching::Uncached)
        }
        "script" => {
            let script = Script::parse(inner)?.mapped(context.mapping)?;
            Query::from(QueryKind::Script(script)).filter(FilterClass::Plain, cached(false))
        }
        other => return Err(parsing_error(context, &format!("No filter registered for [{other}]"))),
    })
}

/// Wraps a query in a filter. Parent and child queries run on a whole shard, in another wrapper class.
fn wrapper(query: Query, caching: Caching) -> Query {
    match query.kind {
        QueryKind::Related(_) => query.filter(FilterClass::CustomWrapper, caching),
        _ => query.filter(FilterClass::Wrapper, caching),
    }
}

/// Settings of the object form of a `term` filter.
const TERM_SETTINGS: [&str; 6] = ["term", "value", "_name", "_cache", "_cache_key", "_cacheKey"];

/// Returns the field and the value of a `term` filter. The last of several counts.
fn term_of<'a>(context: &Context<'_>, object: &'a Map<String, Value>) -> Result<(&'a str, &'a Value)> {
    let mut found = None;
    for (key, value) in object {
        match value {
            Value::Object(settings) => {
                check_settings(context, ("term", "filter"), settings.keys(), &TERM_SETTINGS)?;
                let value = settings.get("value").or_else(|| settings.get("term"));
                found = Some((key, value.unwrap_or(&Value::Null)));
            }
            Value::Array(items) => {
                let last = items.iter().rfind(|item| is_scalar(item));
                found = last.map(|value| (key, value)).or(found);
            }
            Value::Null => {}
            _ if CACHING.contains(&key.as_str()) => {}
            value => found = Some((key, value)),
        }
    }
    match found {
        None => Err(parsing_error(context, "No field specified for term filter")),
        Some((_, Value::Null)) => Err(parsing_error(context, "No value specified for term filter")),
        Some((field, value)) => Ok((field, value)),
    }
}

/// Parses `range`. Date ranges with unrounded `now` are not cached.
fn range(context: &Context<'_>, name: &str, inner: &Value, object: &Map<String, Value>) -> Result<Query> {
    let (field, settings) = one_field(context, name, inner)?;
    let query = range_query(context, &format!("[{name}] filter"), field, settings)?;
    let kind = context.mapped(field).map(|field| field.field_type.kind);
    let execution = object.get("execution").map(text_of);
    let reason = match execution.as_deref() {
        Some("fielddata") if name == "range" && kind.is_some_and(|kind| !kind.is_numeric()) => {
            Some(format!("[range] filter field [{field}] is not a numeric type"))
        }
        None | Some("index" | "fielddata") => None,
        Some(other) if name == "range" => Some(format!("[range] filter doesn't support [{other}] execution")),
        Some(_) => None,
    };
    if let Some(reason) = reason {
        return Err(parsing_error(context, &reason));
    }
    let has_unrounded_now = || {
        let values = settings.as_object().into_iter().flat_map(Map::values);
        values.filter_map(Value::as_str).any(is_now_unrounded)
    };
    let caching = match Caching::of(object, execution.as_deref() != Some("fielddata")) {
        Caching::Uncached if kind == Some(Kind::Date) && object.contains_key("_cache") => Caching::Never,
        _ if kind == Some(Kind::Date) && has_unrounded_now() => Caching::Never,
        caching => caching,
    };
    Ok(context.filter_of_named_type(field, query.filter(FilterClass::Plain, caching)))
}

/// Returns whether a date has `now` without rounding.
fn is_now_unrounded(date: &str) -> bool {
    let math = date.split_once("now").map(|(_, math)| math);
    math.is_some_and(|math| !math.split(' ').next().is_some_and(|math| math.contains('/')))
}

/// Parses `ids` as a filter.
fn ids(context: &Context<'_>, object: &Map<String, Value>) -> Result<Query> {
    let values = object.get("values").and_then(Value::as_array);
    let values = values.ok_or_else(|| parsing_error(context, "[ids] filter requires providing a values element"))?;
    Ok(match values.len() {
        0 => QueryKind::Nothing.into(),
        _ => ids_query(context, object)?.filter(FilterClass::Plain, Caching::Uncached),
    })
}

/// Parses `missing`: matches documents without a value (`existence`), with a null that `null_value` replaces, or both.
fn missing(context: &Context<'_>, field: &str, object: &Map<String, Value>) -> Result<Query> {
    let existence = object.get("existence").is_none_or(truth);
    let null_value = object.get("null_value").is_some_and(truth);
    if !existence && !null_value {
        let reason = "missing must have either existence, or null_value, or both set to true";
        return Err(parsing_error(context, reason));
    }
    let null = context
        .mapped(field)
        .and_then(|mapped| mapped.field_type.null_value.as_ref());
    let null = null
        .filter(|_| null_value)
        .map(|value| term(context, field, value))
        .transpose()?
        .map(|null| null.filter(FilterClass::Plain, Caching::Cached));
    Ok(match (existence.then(|| context.missing(field)), null) {
        (Some(missing), Some(null)) => Query::any(vec![missing, null]).filter(FilterClass::Boolean(2), Caching::Cached),
        (Some(filter), None) | (None, Some(filter)) => filter,
        (None, None) => QueryKind::All.into(),
    })
}

/// Checks the settings of a filter that contains other filters.
fn check_values(context: &Context<'_>, name: &str, object: &Map<String, Value>) -> Result<()> {
    let is_value = |value: &Value| !value.is_array() && !value.is_object();
    let values = object.iter().filter(|(_, value)| is_value(value)).map(|(key, _)| key);
    check_settings(context, (name, "filter"), values, &CACHING)
}

/// Checks that a filter has its required elements.
fn check_shape(context: &Context<'_>, name: &str, inner: &Value, object: &Map<String, Value>) -> Result<()> {
    match name {
        "and" | "or" | "not" | "fquery" => check_values(context, name, object)?,
        "exists" => check_settings(context, (name, "filter"), object.keys(), &["field", "_name"])?,
        "missing" => check_settings(
            context,
            (name, "filter"),
            object.keys(),
            &["field", "null_value", "existence", "_name"],
        )?,
        "limit" => check_settings(context, (name, "filter"), object.keys(), &["value"])?,
        "ids" => check_settings(
            context,
            (name, "filter"),
            object.keys(),
            &["type", "types", "_type", "values", "_name"],
        )?,
        _ => {}
    }
    // Values beside the field or the filter.
    let beside: Option<&[&str]> = match name {
        "range" | "terms" => Some(&["execution"]),
        "nested" => Some(&["path", "boost", "join"]),
        _ => None,
    };
    if let Some(beside) = beside {
        let own = values(object).filter(|key| !CACHING.contains(&key.as_str()));
        check_settings(context, (name, "filter"), own, beside)?;
    }
    let is_empty = inner.as_object().is_some_and(Map::is_empty);
    let has = |keys: &[&str]| keys.iter().any(|key| object.contains_key(*key));
    let reason = match name {
        "and" | "or" if inner.is_object() && !object.values().any(Value::is_array) => {
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
        "prefix" if object.values().any(|value| value.as_array().is_some_and(Vec::is_empty)) => {
            "No value specified for prefix filter".to_owned()
        }
        _ => return Ok(()),
    };
    Err(parsing_error(context, &reason))
}

/// Parses `terms`: matches any of several values, from a list or from a field of a document (terms lookup).
fn terms(context: &Context<'_>, inner: &Value, object: &Map<String, Value>) -> Result<Query> {
    if object.values().filter(|value| value.is_array()).count() > 1 {
        return Err(parsing_error(
            context,
            "[terms] filter does not support multiple fields",
        ));
    }
    let (field, values) = one_field(context, "terms", inner)?;
    let values: Vec<Value> = match values {
        Value::Array(values) if values.iter().any(Value::is_null) => {
            return Err(parsing_error(context, "No value specified for terms filter"));
        }
        Value::Array(values) => values.clone(),
        Value::Object(lookup) => lookup_terms(context, lookup)?,
        _ => {
            return Err(parsing_error(
                context,
                &format!("[terms] filter does not support [{field}]"),
            ));
        }
    };
    if values.len() > context.max_clauses * 64 {
        return Err(too_many_clauses(context.max_clauses * 64));
    }
    let execution = object.get("execution").map_or_else(|| "plain".to_owned(), text_of);
    if values.is_empty() {
        return Ok(QueryKind::Nothing.into());
    }
    let (class, is_whole) = match execution.as_str() {
        "plain" => (FilterClass::Terms, true),
        "fielddata" if context.mapped(field).is_none() => return Ok(QueryKind::Nothing.into()),
        "fielddata" => (FilterClass::Terms, false),
        "bool" => (FilterClass::Boolean(values.len()), false),
        "bool_nocache" => (FilterClass::Boolean(values.len()), true),
        "and" => (FilterClass::And, false),
        "and_nocache" => (FilterClass::And, true),
        "or" => (FilterClass::Or, false),
        "or_nocache" => (FilterClass::Or, true),
        _ => {
            return Err(parsing_error(
                context,
                &format!("terms filter execution value [{execution}] not supported"),
            ));
        }
    };
    // Either the whole filter is cached, or each of its terms.
    let term_caching = if is_whole { Caching::Uncached } else { Caching::Cached };
    let clause = |value: &Value| {
        let term = term(context, field, value)?;
        Ok(match class {
            FilterClass::Terms => term,
            _ => term.filter(FilterClass::Plain, term_caching),
        })
    };
    let clauses = values.iter().map(clause).collect::<Result<Vec<_>>>()?;
    let query = match class {
        FilterClass::And => Query::every(clauses),
        _ => Query::any(clauses),
    };
    let filter = query.filter(class, Caching::of(object, is_whole));
    Ok(context.filter_of_named_type(field, filter))
}

/// Returns the values of a terms lookup.
fn lookup_terms(context: &Context<'_>, lookup: &Map<String, Value>) -> Result<Vec<Value>> {
    let known = ["index", "type", "id", "path", "routing", "cache"];
    if let Some(key) = lookup.keys().find(|key| !known.contains(&key.as_str())) {
        let reason = format!("[terms] filter does not support [{key}] within lookup element");
        return Err(parsing_error(context, &reason));
    }
    let text = |key: &str| lookup.get(key).map(text_of);
    let needed = |key: &str| {
        let reason = || {
            parsing_error(
                context,
                &format!("[terms] filter lookup element requires specifying the {key}"),
            )
        };
        text(key).ok_or_else(reason)
    };
    let (type_name, id, path) = (needed("type")?, needed("id")?, needed("path")?);
    let index = text("index").unwrap_or_else(|| context.index.to_owned());
    let source = match context.documents {
        Some(documents) => documents.source(&index, &type_name, &id, text("routing").as_deref())?,
        None => None,
    };
    Ok(source
        .map(|source| extract(&source, &path).into_iter().cloned().collect())
        .unwrap_or_default())
}
