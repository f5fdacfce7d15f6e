//! Parser and validator of aggregation requests.
//!
//! Guarantees: every error that does not depend on documents is returned before documents are collected.
//! Source: Elasticsearch 1.5's `AggregatorParsers` and the parsers of its aggregations.

use serde_json::Value;

use crate::aggs::ranges::check_masks;
use crate::aggs::{Aggregation, failed, heuristic, histogram, refuse, terms};
use crate::error::{Result, SearchError};
use crate::json::{self, token_of};
use crate::script::Script;

/// Settings that define the source of the values.
const FIELD: [&str; 6] = ["field", "script", "script_file", "script_id", "lang", "params"];

/// Integer settings of the kinds in [`COUNTED`].
const COUNTS: [&str; 6] = [
    "shard_size",
    "shardSize",
    "min_doc_count",
    "minDocCount",
    "shard_min_doc_count",
    "shardMinDocCount",
];
/// Kinds that count terms.
const COUNTED: [&str; 2] = ["terms", "significant_terms"];

/// Returns the settings of a kind of aggregation, except [`FIELD`] and [`COUNTS`]. `None` if the kind is unknown.
fn settings_of(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "terms" => &[
            "size",
            "order",
            "include",
            "exclude",
            "execution_hint",
            "executionHint",
            "collect_mode",
            "collectMode",
            "show_term_doc_count_error",
            "showTermDocCountError",
            "value_type",
            "valueType",
            "format",
        ],
        "significant_terms" => &[
            "size",
            "include",
            "exclude",
            "execution_hint",
            "executionHint",
            "background_filter",
            "mutual_information",
            "chi_square",
            "gnd",
            "percentage",
            "jlh",
            "script_heuristic",
            "format",
        ],
        "histogram" => &[
            "interval",
            "min_doc_count",
            "minDocCount",
            "keyed",
            "order",
            "extended_bounds",
            "extendedBounds",
            "format",
        ],
        "date_histogram" => &[
            "interval",
            "min_doc_count",
            "minDocCount",
            "keyed",
            "order",
            "extended_bounds",
            "extendedBounds",
            "format",
            "time_zone",
            "timeZone",
            "pre_zone",
            "preZone",
            "post_zone",
            "postZone",
            "pre_offset",
            "preOffset",
            "post_offset",
            "postOffset",
            "offset",
            "pre_zone_adjust_large_interval",
            "preZoneAdjustLargeInterval",
            "factor",
        ],
        "range" | "date_range" | "ip_range" => &["ranges", "keyed", "format"],
        "geo_distance" => &[
            "ranges",
            "keyed",
            "origin",
            "point",
            "center",
            "unit",
            "distance_type",
            "distanceType",
        ],
        "min" | "max" | "avg" | "sum" | "stats" | "value_count" | "missing" => &["format"],
        "extended_stats" => &["format", "sigma"],
        "percentiles" => &["percents", "keyed", "compression", "format"],
        "percentile_ranks" => &["values", "keyed", "compression", "format"],
        "cardinality" => &["precision_threshold", "precisionThreshold", "rehash"],
        "geohash_grid" => &["precision", "size", "shard_size", "shardSize"],
        "geo_bounds" => &["wrap_longitude", "wrapLongitude"],
        "filter" | "filters" | "global" | "top_hits" | "nested" | "reverse_nested" | "children" => &[],
        _ => return None,
    })
}

/// Parses aggregations with at most `depth` levels.
///
/// # Errors
/// No kind or several, an unknown kind, invalid settings, or too many levels.
pub(crate) fn parse(wanted: &Value, depth: usize) -> Result<Vec<Aggregation>> {
    parse_level(wanted, depth, None)
}

/// Parses the sub-aggregations of `parent`; top-level aggregations have no parent.
fn parse_level(wanted: &Value, depth: usize, parent: Option<&str>) -> Result<Vec<Aggregation>> {
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
            if name.is_empty()
                || !name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
            {
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
            let mut sub_aggregations = Vec::new();
            for (key, value) in definition {
                if !value.is_object() {
                    return Err(refuse(format!(
                        "Expected [START_OBJECT] under [{key}], but got a [{}] in [{name}]",
                        token_of(value)
                    )));
                }
                match (key.as_str(), found) {
                    ("aggs" | "aggregations", _) => sub_aggregations = parse_level(value, depth - 1, Some(name))?,
                    (_, None) => {
                        check(name, key, value)?;
                        found = Some((key, value));
                    }
                    (kind, Some((first, _))) => {
                        return Err(refuse(format!(
                            "Found two aggregation type definitions in [{name}]: [{first}] and [{kind}]"
                        )));
                    }
                }
            }
            let (kind, settings) =
                found.ok_or_else(|| refuse(format!("Missing definition for aggregation [{name}]")))?;
            if !sub_aggregations.is_empty() && is_leaf(kind) {
                return Err(SearchError::new(
                    500,
                    "AggregationInitializationException",
                    format!("Aggregator [{name}] of type [{kind}] cannot accept sub-aggregations"),
                ));
            }
            if let (Some(parent), "global") = (parent, kind.as_str()) {
                return Err(failed(format!(
                    "Aggregation [{parent}] cannot have a global sub-aggregation [{name}]. Global aggregations can \
                     only be defined as top level aggregations"
                )));
            }
            let script = settings.get("script").is_some_and(Value::is_string);
            let script = script.then(|| Script::parse(settings)).transpose();
            Ok(Aggregation {
                script: script.map_err(|error| refuse(format!("Parse Failure [{error}]")))?,
                name: name.clone(),
                kind: kind.clone(),
                settings: settings.clone(),
                sub_aggregations,
            })
        })
        .collect()
}

/// Returns whether a kind accepts no sub-aggregations.
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
            | "cardinality"
            | "geo_bounds"
            | "top_hits"
    )
}

/// Returns whether `top_hits` accepts a setting with this type of value.
fn has_setting(key: &str, value: &Value) -> bool {
    match (key, value) {
        ("sort" | "_source", _) => true,
        ("highlight" | "script_fields" | "scriptFields", Value::Object(_)) => true,
        ("fielddata_fields" | "fielddataFields" | "fields", Value::Array(_)) => true,
        (_, Value::Object(_) | Value::Array(_)) => false,
        ("from" | "size" | "track_scores" | "trackScores" | "version" | "explain" | "fields", _) => true,
        _ => false,
    }
}

/// Validates the kind and the settings of an aggregation.
fn check(name: &str, kind: &str, settings: &Value) -> Result<()> {
    let known =
        settings_of(kind).ok_or_else(|| refuse(format!("Could not find aggregator type [{kind}] in [{name}]")))?;
    let free = matches!(
        kind,
        "filter" | "filters" | "global" | "top_hits" | "nested" | "reverse_nested" | "children"
    );
    if kind == "top_hits"
        && let Some((key, value)) = settings
            .as_object()
            .and_then(|settings| settings.iter().find(|(key, value)| !has_setting(key, value)))
    {
        return Err(refuse(format!(
            "Unknown key for a {} in [{name}]: [{key}].",
            token_of(value)
        )));
    }
    if free {
        return required(name, kind, settings);
    }
    let place = if kind.ends_with("histogram") {
        "aggregation "
    } else {
        ""
    };
    for (key, value) in settings.as_object().into_iter().flatten() {
        let key = key.as_str();
        let is_counted = COUNTED.contains(&kind);
        // Numeric and boolean settings: some kinds refuse them as strings.
        let is_text = value.is_string() && (COUNTS.contains(&key) || matches!(key, "keyed" | "compression"));
        if is_text && matches!(kind, "percentiles" | "percentile_ranks") {
            return Err(refuse(format!("Unexpected token VALUE_STRING in [{name}].")));
        }
        let is_refused = is_text && (is_counted || kind == "date_histogram");
        let is_known = known.contains(&key) || FIELD.contains(&key) || is_counted && COUNTS.contains(&key);
        let is_count = is_counted && (key == "size" || COUNTS.contains(&key));
        let is_number = value.is_number() || value.is_string();
        if is_refused || !is_known || is_count && !is_number {
            return Err(refuse(format!(
                "Unknown key for a {} in {place}[{name}]: [{key}].",
                token_of(value)
            )));
        }
        if is_count {
            json::int(value)?;
        }
    }
    if kind.ends_with("histogram") {
        histogram::Rounding::parse(settings, kind == "date_histogram", name)?;
    }
    required(name, kind, settings)?;
    match kind {
        "terms" => terms::check(name, settings)?,
        "significant_terms" => heuristic::Heuristic::parse(settings).map(drop)?,
        _ => {}
    }
    if settings.get("field").is_none() && settings.get("script").is_none() {
        return Err(SearchError::new(
            400,
            "AggregationExecutionException",
            format!("could not find the appropriate value context to perform aggregation [{name}]"),
        ));
    }
    Ok(())
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
        "percentile_ranks" if !has(&["values"]) => format!("Missing token values in [{name}]."),
        "ip_range" => return check_masks(name, settings.get("ranges")),
        _ => return Ok(()),
    };
    Err(refuse(missing))
}
