//! Query DSL of request bodies: compound queries.
//!
//! Guarantees: every body is parsed to a query or an error; nesting depth and number of clauses are bounded.
//!
//! Source: the query parsers of Elasticsearch 1.5.

use base64::Engine;
use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::json::is_scalar;
use crate::mapping::truth;
use crate::mustache::Template;
use crate::query::dsl_function::function_score;
use crate::query::dsl_leaf::leaf;
use crate::query::dsl_parts::{
    boost_of, check_keys, check_minimum, check_part, check_settings, has_no_value, minimum, number, parse_clauses,
    parsing_error, replaced, unsupported, values, with_boost,
};
use crate::query::dsl_similar::similar;
use crate::query::dsl_span::span;
use crate::query::join::{has_child, has_parent, nested};
use crate::query::text::too_many_clauses;
use crate::query::{Context, Occur, Query, QueryKind};

/// Numeric settings. Their values can be numbers or strings.
const NUMBERS: [&str; 15] = [
    "boost",
    "slop",
    "phrase_slop",
    "tie_breaker",
    "cutoff_frequency",
    "max_expansions",
    "prefix_length",
    "fuzzy_max_expansions",
    "fuzzy_prefix_length",
    "max_boost",
    "negative_boost",
    "min_term_freq",
    "min_doc_freq",
    "max_query_terms",
    "max_doc_freq",
];

/// Parses a query of the DSL.
///
/// # Errors
/// A body that is not a query, or that is nested too deeply.
pub(crate) fn parse_body(outer: &Context<'_>, body: &Value) -> Result<Query> {
    let context = &outer.nested()?;
    let Value::Object(object) = body else {
        return Err(parsing_error(
            context,
            "[_na] query malformed, must start with start_object",
        ));
    };
    let first = object.iter().next();
    let Some((name, inner)) = first.filter(|(_, inner)| inner.is_object() || inner.is_array()) else {
        return Err(parsing_error(
            context,
            "[_na] query malformed, no field after start_object",
        ));
    };
    let empty = Map::new();
    let object = inner.as_object().unwrap_or(&empty);
    check_numbers(name, object)?;
    let query = match compound(context, name, object)? {
        Some(query) => query,
        None => leaf(context, name, inner)?,
    };
    context.name(object.get("_name").or_else(|| name_beside_value(name, object)), &query);
    replaced(outer, body, query, parse_body)
}

/// Returns whether a query has its settings under the name of a field.
fn is_of_field(query: &str) -> bool {
    query.starts_with("match") && query != "match_all"
        || matches!(
            query,
            "term" | "prefix" | "wildcard" | "regexp" | "fuzzy" | "range" | "common"
        )
}

/// Returns `_name` from the settings under the name of a field.
fn name_beside_value<'a>(query: &str, object: &'a Map<String, Value>) -> Option<&'a Value> {
    object
        .values()
        .filter(|_| is_of_field(query))
        .find_map(|settings| settings.get("_name"))
}

/// Checks that numeric settings are numbers.
fn check_numbers(query: &str, object: &Map<String, Value>) -> Result<()> {
    let malformed = |settings: &Map<String, Value>| {
        let mut given = NUMBERS.iter().filter_map(|key| settings.get(*key)?.as_str());
        given
            .find(|text| text.trim().parse::<f64>().is_err())
            .map(str::to_owned)
    };
    let found = if is_of_field(query) {
        object.values().filter_map(Value::as_object).find_map(malformed)
    } else {
        malformed(object)
    };
    found.map_or(Ok(()), |text| Err(SearchError::float(&text)))
}

/// Parses a compound query. Returns `None` if `name` is not one.
fn compound(context: &Context<'_>, name: &str, object: &Map<String, Value>) -> Result<Option<Query>> {
    let given = |key: &str| match object.get(key).filter(|part| !part.is_null()) {
        Some(part) if is_scalar(part) => Err(unsupported(context, name, key)),
        Some(part) => check_part(context, name, key, part).map(|()| Some(part)),
        None => Ok(None),
    };
    let part = |key: &str| given(key)?.map(|part| context.parse_query(part)).transpose();
    let filter = |key: &str| {
        given(key)?
            .filter(|part| part.as_object().is_none_or(|part| !part.is_empty()))
            .map(|part| context.parse_filter(part))
            .transpose()
    };
    let query = match name {
        "match_all" => {
            check_settings(context, (name, "query"), values(object), &["boost", "_name"])?;
            match boost_of(object) {
                1.0 => QueryKind::All.into(),
                boost => Query::from(QueryKind::AllDocs).boosted(boost),
            }
        }
        "bool" => boolean(context, object, parse_body, "query")?.fix_negative(),
        "filtered" => {
            let known = ["query", "filter", "strategy", "_name", "boost", "_cache", "_cache_key"];
            check_keys(context, name, object, &known)?;
            let query = part("query")?.unwrap_or_else(|| QueryKind::All.into());
            let boost = boost_of(object);
            match filter("filter")?.map(|filter| filter.cached_if(object)) {
                // A filter that matches all documents is omitted.
                None => query,
                Some(filter) if filter.kind == QueryKind::All => query,
                // All documents that match the filter have the same score.
                Some(filter) if query.kind == QueryKind::All => filter.constant().boosted(query.boost * boost),
                Some(filter) => with_boost(query.filtered(filter), boost),
            }
        }
        "constant_score" => {
            check_keys(
                context,
                name,
                object,
                &["query", "filter", "boost", "_name", "_cache", "_cache_key"],
            )?;
            let inner = match filter("filter")? {
                Some(filter) => Some(filter.cached_if(object)),
                // As a query, all documents are a constant-score query, too.
                None => part("query")?.map(|query| match query.kind {
                    QueryKind::All => query.constant(),
                    _ => query,
                }),
            };
            inner
                .ok_or_else(|| parsing_error(context, "[constant_score] requires either 'filter' or 'query' element"))?
                .constant()
                .boosted(boost_of(object))
        }
        "dis_max" | "disMax" => {
            check_keys(
                context,
                "dis_max",
                object,
                &["queries", "boost", "tie_breaker", "tieBreaker", "_name"],
            )?;
            let queries = object
                .get("queries")
                .ok_or_else(|| parsing_error(context, "[dis_max] requires 'queries' field"))?;
            let queries = parse_clauses(context, queries, parse_body)?;
            let tie = number(object.get("tie_breaker").or_else(|| object.get("tieBreaker"))).unwrap_or(0.0);
            Query::from(QueryKind::DisjunctionMax { queries, tie }).boosted(boost_of(object))
        }
        "boosting" => {
            check_keys(
                context,
                name,
                object,
                &["positive", "negative", "negative_boost", "negativeBoost", "boost"],
            )?;
            let missing =
                |what: &str| parsing_error(context, &format!("[boosting] query requires '{what}' query to be set'"));
            let negative_boost = object.get("negative_boost").or_else(|| object.get("negativeBoost"));
            Query::from(QueryKind::Boosting {
                positive: Box::new(part("positive")?.ok_or_else(|| missing("positive"))?),
                // It has no score.
                negative: Box::new(part("negative")?.ok_or_else(|| missing("negative"))?.boosted(0.0)),
                is_rewritten: false,
                factor: number(negative_boost).ok_or_else(|| {
                    parsing_error(
                        context,
                        "[boosting] query requires 'negative_boost' to be set to be a positive value'",
                    )
                })?,
            })
            .boosted(boost_of(object))
        }
        "function_score" | "functionScore" => function_score(context, object)?,
        "wrapper" => parse_body(context, &unwrap(context, object)?)?,
        "template" => parse_body(context, &templated(context, object)?)?,
        "nested" => nested(context, object)?,
        "has_child" | "hasChild" => has_child(context, "has_child", object)?,
        "top_children" | "topChildren" => has_child(context, "top_children", object)?,
        "has_parent" | "hasParent" => has_parent(context, object)?,
        "indices" => indices(context, object, parse_body, "query")?,
        _ => match span(context, name, object)? {
            Some(query) => query,
            None => return similar(context, name, object),
        },
    };
    Ok(Some(query))
}

/// Renders the query of a `template`.
fn templated(context: &Context<'_>, object: &Map<String, Value>) -> Result<Value> {
    let rendered = Template::of_query(object)
        .ok_or_else(SearchError::null_pointer)?
        .render()?;
    let query = crate::json::object(rendered.as_bytes()).map_err(|error| match error.kind {
        "JsonParseException" => parsing_error(context, "Failed to parse").caused_by(error),
        _ => error,
    })?;
    let query = Value::Object(query);
    if let Some(budget) = context.budget {
        budget.check_time()?;
        budget.query(&query)?;
    }
    Ok(query)
}

/// Decodes the body of a `wrapper`: base64, or plain text.
pub(super) fn unwrap(context: &Context<'_>, object: &Map<String, Value>) -> Result<Value> {
    let text = ["query", "filter"]
        .iter()
        .find_map(|key| object.get(*key))
        .and_then(Value::as_str)
        .ok_or_else(|| parsing_error(context, "[wrapper] query malformed"))?;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(text)
        .unwrap_or_else(|_| text.as_bytes().to_vec());
    crate::json::object(&bytes).map(Value::Object)
}

/// Parses `indices`: one query for the named indices, another one for the others.
pub(super) fn indices(
    context: &Context<'_>,
    object: &Map<String, Value>,
    parse: fn(&Context<'_>, &Value) -> Result<Query>,
    kind: &str,
) -> Result<Query> {
    let names = ["indices", "index"]
        .iter()
        .find_map(|key| object.get(*key))
        .map(crate::find::names)
        .ok_or_else(|| parsing_error(context, "[indices] requires 'indices' or 'index' element"))?;
    let inner = object
        .get(kind)
        .ok_or_else(|| parsing_error(context, &format!("[indices] requires '{kind}' element")))?;
    if names.iter().any(|name| crate::pattern::matches(name, context.index)) {
        return parse(context, inner);
    }
    match object.get(&format!("no_match_{kind}")) {
        None => Ok(QueryKind::All.into()),
        Some(Value::String(text)) if text == "none" => Ok(QueryKind::Nothing.into()),
        Some(Value::String(_)) => Ok(QueryKind::All.into()),
        Some(other) => parse(context, other),
    }
}

/// Parses `bool`, of queries or of filters.
pub(super) fn boolean(
    context: &Context<'_>,
    object: &Map<String, Value>,
    parse: fn(&Context<'_>, &Value) -> Result<Query>,
    kind: &str,
) -> Result<Query> {
    let mut clauses = Vec::new();
    let mut minimum_should_match = None;
    let mut coord = true;
    for (key, value) in object {
        let occur = match key.as_str() {
            "must" => Occur::Must,
            "should" => Occur::Should,
            "must_not" | "mustNot" => Occur::MustNot,
            "minimum_should_match" | "minimumShouldMatch" | "minimum_number_should_match" if kind == "query" => {
                check_minimum(value)?;
                minimum_should_match = Some(value.clone());
                continue;
            }
            "disable_coord" | "disableCoord" if kind == "query" => {
                coord = !truth(value);
                continue;
            }
            "boost" | "adjust_pure_negative" if kind == "query" => continue,
            "_name" => continue,
            "_cache" | "_cache_key" | "_cacheKey" if kind == "filter" => continue,
            // Elasticsearch has another text for arrays.
            other if value.is_array() && kind == "query" => {
                return Err(parsing_error(
                    context,
                    &format!("bool query does not support [{other}]"),
                ));
            }
            other => {
                return Err(parsing_error(
                    context,
                    &format!("[bool] {kind} does not support [{other}]"),
                ));
            }
        };
        if !matches!(value, Value::Object(_) | Value::Array(_)) || !has_no_value(value) {
            return Err(parsing_error(
                context,
                &format!("[bool] {kind} does not support [{key}]"),
            ));
        }
        clauses.extend(
            parse_clauses(context, value, parse)?
                .into_iter()
                .map(|query| (occur, query)),
        );
    }
    if clauses.len() > context.max_clauses {
        return Err(too_many_clauses(context.max_clauses));
    }
    if clauses.is_empty() {
        return Ok(QueryKind::All.into());
    }
    let optional = clauses.iter().filter(|(occur, _)| *occur == Occur::Should).count();
    // Of the `should` clauses of a filter, one must match.
    let default = usize::from(kind == "filter" && optional > 0);
    let minimum_should_match = minimum_should_match.map_or(default, |wanted| minimum(&wanted, optional));
    Ok(Query::from(QueryKind::Bool {
        clauses,
        minimum_should_match,
        coord,
    })
    .boosted(boost_of(object)))
}
