//! Parser and validator of aggregation requests.
//!
//! Guarantees: every error that does not depend on documents is returned before documents are collected.
//! Source: Elasticsearch 1.5's `AggregatorParsers` and the parsers of its aggregations.

use std::slice;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::aggs::include_exclude::IncludeExclude;
use crate::aggs::ranges::{check_distances, check_masks};
use crate::aggs::thresholds::Thresholds;
use crate::aggs::{Aggregation, geo, heuristic, histogram, refuse, scripted, settings, terms};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::find::SearchRequest;
use crate::json::{PART, boolean_token, double, int, java_number, not_numeric, token_of};
use crate::options::Limits;
use crate::script::Script;

/// Parses aggregations.
///
/// # Errors
/// No kind or several, an unknown kind, invalid settings, or too many levels.
pub(crate) fn parse(wanted: &Value, limits: &Limits) -> Result<Vec<Aggregation>> {
    parse_level(wanted, limits.depth, limits)
}

/// Settings that say where the values of an aggregation come from, and how they are shown.
const SOURCE: [&str; 6] = ["field", "script", "lang", "params", "format", "value_type"];

/// Settings one of which an aggregation of values has.
const VALUES: [&str; 6] = ["field", "script", "script_id", "id", "script_file", "file"];

/// Gives aggregations of values without a source that of the closest aggregation above them that has one.
///
/// # Errors
/// None above has one.
fn inherit_source(aggregations: &mut [Aggregation], above: Option<(&Value, &Option<Result<Script>>)>) -> Result<()> {
    for aggregation in aggregations {
        let (name, kind) = (&aggregation.name, aggregation.kind.as_str());
        if settings::has_no_values(kind) {
            inherit_source(&mut aggregation.sub_aggregations, above)?;
            continue;
        }
        if !has_source(kind, &aggregation.settings) {
            let (settings, script) = above.ok_or_else(|| {
                let reason = format!("could not find the appropriate value context to perform aggregation [{name}]");
                SearchError::new(400, Exception::AggregationExecution, reason)
            })?;
            if let Value::Object(own) = &mut aggregation.settings {
                own.retain(|key, _| !SOURCE.contains(&key.as_str()));
                let source = SOURCE.iter().filter_map(|key| Some((*key, settings.get(*key)?)));
                own.extend(source.map(|(key, value)| (key.to_owned(), value.clone())));
            }
            aggregation.script.clone_from(script);
        }
        let own = (&aggregation.settings, &aggregation.script);
        inherit_source(&mut aggregation.sub_aggregations, Some(own))?;
    }
    Ok(())
}

/// Counts the aggregations above each one of which Elasticsearch has one aggregator for each bucket.
fn count_levels(aggregations: &mut [Aggregation], above: u32) {
    for aggregation in aggregations {
        aggregation.bucket_levels = above;
        let is_by_bucket = matches!(
            aggregation.kind.as_str(),
            "terms" | "significant_terms" | "histogram" | "date_histogram" | "geohash_grid"
        );
        count_levels(&mut aggregation.sub_aggregations, above + u32::from(is_by_bucket));
    }
}

/// Returns whether an aggregation of a kind names a field or a script. A grid has no scripts.
fn has_source(kind: &str, settings: &Value) -> bool {
    let keys = if kind == "geohash_grid" { &VALUES[..1] } else { &VALUES };
    keys.iter().any(|key| settings.get(*key).is_some_and(Value::is_string))
}

/// Parses the request of `top_hits`. An error that is none of Elasticsearch's own is the cause of one.
fn top_hits(settings: &Value, limits: &Limits) -> Result<SearchRequest> {
    let mut settings = settings.as_object().cloned().unwrap_or_default();
    settings.entry("size").or_insert(json!(3));
    let number = |key: &str| settings.get(key).and_then(|value| int(value, PART).ok());
    // Elasticsearch collects their sum, and fails when it collects none.
    if number("from")
        .unwrap_or(0i32)
        .saturating_add(number("size").unwrap_or(1))
        <= 0
    {
        settings.extend([("from".to_owned(), json!(0)), ("size".to_owned(), json!(0))]);
    }
    SearchRequest::of_object(&settings, limits).map_err(|error| match error.kind {
        Exception::NumberFormat | Exception::JsonParse | Exception::NullPointer => {
            SearchError::new(error.status, Exception::Elasticsearch, error.reason.clone()).caused_by(error)
        }
        _ => error,
    })
}

/// Parses aggregations with at most `depth` levels.
fn parse_level(wanted: &Value, depth: usize, limits: &Limits) -> Result<Vec<Aggregation>> {
    let all = wanted.as_object().ok_or_else(|| {
        let token = match wanted {
            Value::Array(items) => items.first().map_or("END_ARRAY", token_of),
            other => token_of(other),
        };
        refuse(format!(
            "Unexpected token {token} in [aggs]: aggregations definitions must start with the name of the aggregation."
        ))
    })?;
    if depth == 0 {
        return Err(refuse("aggregations are nested too deeply"));
    }
    all.iter()
        .map(|(name, definition)| {
            if name.is_empty() || name.contains(['[', ']', '>']) {
                return Err(refuse(format!(
                    "Invalid aggregation name [{name}]. Aggregation names must be alpha-numeric and can only contain \
                     '_' and '-'"
                )));
            }
            let definition = definition.as_object().ok_or_else(|| {
                refuse(format!(
                    "Aggregation definition for [{name} starts with a [{}], expected a [START_OBJECT].",
                    token_of(definition)
                ))
            })?;
            let mut found: Option<(&String, &Value)> = None;
            let mut sub_aggregations = None;
            for (key, value) in definition {
                if !value.is_object() {
                    return Err(refuse(format!(
                        "Expected [START_OBJECT] under [{key}], but got a [{}] in [{name}]",
                        token_of(value)
                    )));
                }
                match (key.as_str(), found) {
                    ("aggs" | "aggregations", _) => sub_aggregations = Some(parse_level(value, depth - 1, limits)?),
                    (_, None) => {
                        check(name, key, value)?;
                        found = Some((key, value));
                    }
                    (kind, Some((first, _))) => {
                        return Err(refuse(format!(
                            "Found two aggregation type definitions in [{name}]: [{}] and [{kind}]",
                            type_of(first)
                        )));
                    }
                }
            }
            let (kind, settings) =
                found.ok_or_else(|| refuse(format!("Missing definition for aggregation [{name}]")))?;
            if sub_aggregations.is_some() && is_leaf(kind) {
                return Err(SearchError::new(
                    500,
                    Exception::AggregationInitialization,
                    format!(
                        "Aggregator [{name}] of type [{}] cannot accept sub-aggregations",
                        type_of(kind)
                    ),
                ));
            }
            let hits = (kind == "top_hits").then(|| top_hits(settings, limits)).transpose()?;
            let mut aggregation = Aggregation {
                hits: hits.map(Arc::new),
                // A grid ignores its script.
                script: Script::parse(settings).transpose().filter(|_| kind != "geohash_grid"),
                name: name.clone(),
                kind: kind.clone(),
                settings: settings.clone(),
                sub_aggregations: sub_aggregations.unwrap_or_default(),
                bucket_levels: 0,
            };
            if depth == limits.depth {
                inherit_source(slice::from_mut(&mut aggregation), None)?;
                count_levels(slice::from_mut(&mut aggregation), 0);
            }
            Ok(aggregation)
        })
        .collect()
}

/// The type of a kind of aggregation, as errors have it.
fn type_of(kind: &str) -> &str {
    match kind {
        "percentile_ranks" => "percentiles",
        other => other,
    }
}

/// Returns whether a kind accepts no sub-aggregations. Elasticsearch ignores those of `cardinality` and `geo_bounds`.
fn is_leaf(kind: &str) -> bool {
    matches!(
        kind,
        "min"
            | "max"
            | "avg"
            | "sum"
            | "stats"
            | "extended_stats"
            | "value_count"
            | "percentiles"
            | "percentile_ranks"
            | "top_hits"
    )
}

/// Validates the kind and the settings of an aggregation.
fn check(name: &str, kind: &str, settings: &Value) -> Result<()> {
    if kind == "scripted_metric" {
        return scripted::check(name, settings);
    }
    settings::check(name, kind, settings)?;
    if settings::has_no_values(kind) {
        return required(name, kind, settings);
    }
    if kind.ends_with("histogram") {
        histogram::check(name, kind == "date_histogram", settings)?;
    }
    if kind == "geo_distance" {
        check_distances(name, settings)?;
    }
    required(name, kind, settings)?;
    let directions = settings.get("order").and_then(Value::as_object);
    let mut directions = directions
        .into_iter()
        .flat_map(|order| order.values().filter_map(Value::as_str));
    match kind {
        "histogram" => {
            if let Some(other) = directions.find(|direction| !matches!(*direction, "asc" | "desc")) {
                return Err(refuse(format!(
                    "Unknown order direction [{other}] in aggregation [{name}]. Should be either [asc] or [desc]"
                )));
            }
        }
        "extended_stats" => {
            let sigma = settings.get("sigma").and_then(Value::as_f64);
            if let Some(sigma) = sigma.filter(|sigma| *sigma < 0.0) {
                let reason = format!("[sigma] must not be negative. Value provided was{}", java_number(sigma));
                return Err(refuse(reason));
            }
        }
        "terms" => {
            IncludeExclude::parse(settings)?;
            terms::check(name, settings)?;
        }
        "date_range" => check_bounds(name, settings.get("ranges"))?,
        "percentiles" => check_numbers(settings.get("percents"))?,
        "percentile_ranks" => check_numbers(settings.get("values"))?,
        "geohash_grid" => {
            for key in ["precision", "size", "shard_size", "shardSize"] {
                geo::grid_number(settings, key)?;
            }
        }
        "significant_terms" => {
            if !has_source(kind, settings) {
                return Err(SearchError::null_pointer_of_request());
            }
            IncludeExclude::parse(settings)?;
            Thresholds::check(400, settings)?;
            heuristic::Heuristic::parse(settings).map(drop)?;
        }
        _ => {}
    }
    Ok(())
}

/// Fails for a member of a date range that it does not have.
fn check_bounds(name: &str, ranges: Option<&Value>) -> Result<()> {
    let ranges = ranges.and_then(Value::as_array).into_iter().flatten();
    let mut members = ranges.filter_map(Value::as_object).flatten();
    let unknown = members.find(|(key, value)| match value {
        Value::String(_) => !matches!(key.as_str(), "from" | "to" | "key"),
        Value::Number(_) => !matches!(key.as_str(), "from" | "to"),
        _ => false,
    });
    match unknown {
        Some((_, value)) => Err(refuse(format!(
            "Unknown key for a {} in [{name}]: [ranges].",
            token_of(value)
        ))),
        None => Ok(()),
    }
}

/// Fails for an item of a list that is neither a number nor the text of one.
fn check_numbers(listed: Option<&Value>) -> Result<()> {
    let mut items = listed.and_then(Value::as_array).into_iter().flatten();
    items.try_for_each(|item| match item {
        Value::String(text) => double(text).map(drop),
        Value::Bool(flag) => Err(not_numeric(boolean_token(*flag), PART)),
        Value::Number(_) => Ok(()),
        other => Err(not_numeric(token_of(other), PART)),
    })
}

/// Fails if a required setting is missing.
fn required(name: &str, kind: &str, settings: &Value) -> Result<()> {
    let has = |keys: &[&str]| keys.iter().any(|key| settings.get(*key).is_some());
    let missing = match kind {
        "children" if !has(&["type"]) => format!("Missing [child_type] field for children aggregation [{name}]"),
        "nested" if !has(&["path"]) => format!("Missing [path] field for nested aggregation [{name}]"),
        "range" | "date_range" | "ip_range" if !has(&["ranges"]) => {
            format!("Missing [ranges] in ranges aggregator [{name}]")
        }
        "geo_distance" if !has(&["ranges"]) => format!("Missing [ranges] in geo_distance aggregator [{name}]"),
        "geo_distance" if !has(&["origin", "point", "center"]) => {
            format!("Missing [origin] in geo_distance aggregator [{name}]")
        }
        "filters" if !has(&["filters"]) => {
            return Err(SearchError::null_pointer_of_request());
        }
        "percentile_ranks" if !has(&["values"]) => format!("Missing token values in [{name}]."),
        "ip_range" => return check_masks(name, settings.get("ranges")),
        _ => return Ok(()),
    };
    Err(refuse(missing))
}
