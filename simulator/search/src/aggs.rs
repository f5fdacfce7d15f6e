//! Aggregations: numbers about the documents that a search matched.
//!
//! Guarantees: every aggregation with buckets takes every other one as a sub-aggregation; terms are counted per shard.
//! Limits: a bounded number of buckets and levels; scripts are expressions.
//! Source: Elasticsearch 1.5's aggregations.

mod buckets;
pub(crate) mod facets;
mod geo;
mod histogram;
mod join;
mod metrics;
mod ranges;
mod significant;
mod terms;
mod values;

use serde_json::{Map, Value, json};

use crate::budget::Budget;
use crate::cluster::Cluster;
use crate::error::{Result, SearchError};
use crate::find::Searched;
use crate::script::Script;

/// The matching documents of a segment, in order, with their scores if those are needed.
#[derive(Clone, Debug)]
pub(crate) struct DocSet {
    pub(crate) index: usize,
    pub(crate) segment: usize,
    pub(crate) docs: Vec<u32>,
    pub(crate) scores: Vec<f32>,
}

/// The matching documents of a search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matches {
    pub(crate) sets: Vec<DocSet>,
}

impl Matches {
    pub(crate) fn push(&mut self, index: usize, segment: usize, docs: Vec<u32>, scores: Vec<f32>) {
        self.sets.push(DocSet {
            index,
            segment,
            docs,
            scores,
        });
    }

    pub(crate) fn count(&self) -> usize {
        self.sets.iter().map(|set| set.docs.len()).sum()
    }

    /// The documents for which `keep` returns true; it gets the position of the set and the document.
    fn filtered(&self, mut keep: impl FnMut(usize, u32) -> bool) -> Matches {
        let mut kept = Matches::default();
        for (at, set) in self.sets.iter().enumerate() {
            kept.push_part(set, |doc| keep(at, doc));
        }
        kept
    }

    /// Adds the document at a place of a set.
    fn push_doc(&mut self, set: &DocSet, at: usize) {
        let Some(doc) = set.docs.get(at) else { return };
        match self.sets.last_mut() {
            Some(last) if (last.index, last.segment) == (set.index, set.segment) => {
                last.docs.push(*doc);
                last.scores.extend(set.scores.get(at));
            }
            _ => self.push(
                set.index,
                set.segment,
                vec![*doc],
                set.scores.get(at).copied().into_iter().collect(),
            ),
        }
    }

    /// Adds what `keep` keeps of a set, if that is anything.
    fn push_part(&mut self, set: &DocSet, mut keep: impl FnMut(u32) -> bool) {
        let (mut docs, mut scores) = (Vec::new(), Vec::new());
        for (at, doc) in set.docs.iter().enumerate() {
            if keep(*doc) {
                docs.push(*doc);
                scores.extend(set.scores.get(at));
            }
        }
        if !docs.is_empty() {
            self.push(set.index, set.segment, docs, scores);
        }
    }
}

impl DocSet {
    /// The score of the document at a place of the set, if scores were kept.
    pub(crate) fn score(&self, at: usize) -> f32 {
        self.scores.get(at).copied().unwrap_or(0.0)
    }
}

/// An aggregation of a request: its name, its kind, its settings, and its sub-aggregations.
#[derive(Clone, Debug)]
pub(crate) struct Aggregation {
    name: String,
    kind: String,
    settings: Value,
    /// What makes the values, in the place of a field.
    script: Option<Script>,
    sub_aggregations: Vec<Aggregation>,
}

/// What all aggregations of a search share.
#[derive(Clone, Copy)]
struct Scope<'a> {
    cluster: &'a Cluster,
    searched: &'a [Searched],
    now: i64,
    budget: &'a Budget,
    /// Path of the nested objects that are aggregated; none for whole documents.
    nested: Option<&'a str>,
}

impl<'a> Scope<'a> {
    fn new(cluster: &'a Cluster, searched: &'a [Searched], budget: &'a Budget) -> Scope<'a> {
        Scope {
            cluster,
            searched,
            now: cluster.now(),
            budget,
            nested: None,
        }
    }

    /// Counts buckets against the limit.
    fn spend(&self, buckets: usize) -> Result<()> {
        self.budget.check_time()?;
        self.budget.buckets(buckets)
    }
}

fn refuse(reason: impl Into<String>) -> SearchError {
    SearchError::search(reason)
}

/// An error while documents are collected.
fn failed(reason: impl Into<String>) -> SearchError {
    SearchError::new(500, "AggregationExecutionException", reason)
}

const FIELD: [&str; 6] = ["field", "script", "script_file", "script_id", "lang", "params"];

/// The settings of a kind of aggregation; none if there is no such kind.
fn settings_of(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "terms" => &[
            "size",
            "shard_size",
            "shardSize",
            "min_doc_count",
            "minDocCount",
            "shard_min_doc_count",
            "shardMinDocCount",
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
            "shard_size",
            "shardSize",
            "min_doc_count",
            "minDocCount",
            "shard_min_doc_count",
            "shardMinDocCount",
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

/// Parses aggregations.
///
/// # Errors
/// An aggregation of no kind or of several, settings that it does not have, too many levels.
pub(crate) fn parse(wanted: &Value, depth: usize) -> Result<Vec<Aggregation>> {
    let all = wanted
        .as_object()
        .ok_or_else(|| refuse("aggregations must be an object"))?;
    if depth == 0 {
        return Err(refuse("aggregations are nested too deeply"));
    }
    all.iter()
        .map(|(name, definition)| {
            let definition = definition.as_object().ok_or_else(|| {
                refuse(format!(
                    "Aggregation definition for [{name} starts with a [{}], expected a [START_OBJECT].",
                    token_of(definition)
                ))
            })?;
            let mut found: Option<(&String, &Value)> = None;
            let mut sub_aggregations = Vec::new();
            for (key, value) in definition {
                match (key.as_str(), found) {
                    ("aggs" | "aggregations", _) => sub_aggregations = parse(value, depth - 1)?,
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

/// Name of a value's first token.
fn token_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "VALUE_NULL",
        Value::Bool(_) => "VALUE_BOOLEAN",
        Value::Number(_) => "VALUE_NUMBER",
        Value::String(_) => "VALUE_STRING",
        Value::Array(_) => "START_ARRAY",
        Value::Object(_) => "START_OBJECT",
    }
}

/// Fails for a kind that does not exist, settings that it does not have, and a field that is missing.
fn check(name: &str, kind: &str, settings: &Value) -> Result<()> {
    let known =
        settings_of(kind).ok_or_else(|| refuse(format!("Could not find aggregator type [{kind}] in [{name}]")))?;
    let free = matches!(
        kind,
        "filter" | "filters" | "global" | "top_hits" | "nested" | "reverse_nested" | "children"
    );
    if free {
        return Ok(());
    }
    let place = if kind.ends_with("histogram") {
        "aggregation "
    } else {
        ""
    };
    for (key, value) in settings.as_object().into_iter().flatten() {
        if !known.contains(&key.as_str()) && !FIELD.contains(&key.as_str()) {
            return Err(refuse(format!(
                "Unknown key for a {} in {place}[{name}]: [{key}].",
                token_of(value)
            )));
        }
    }
    if kind.ends_with("histogram") {
        histogram::Rounding::parse(settings, kind == "date_histogram", name)?;
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

/// Number of aggregations, sub-aggregations included.
pub(crate) fn count(wanted: &[Aggregation]) -> usize {
    wanted
        .iter()
        .map(|aggregation| 1 + count(&aggregation.sub_aggregations))
        .sum()
}

/// Returns whether aggregations need the scores of documents.
pub(crate) fn need_scores(wanted: &[Aggregation]) -> bool {
    wanted
        .iter()
        .any(|aggregation| aggregation.kind == "top_hits" || need_scores(&aggregation.sub_aggregations))
}

/// The aggregations of the documents that a search matched.
///
/// # Errors
/// An aggregation that fails, or that has too many buckets.
pub(crate) fn aggregate(
    cluster: &Cluster,
    searched: &[Searched],
    wanted: &[Aggregation],
    matches: &Matches,
    budget: &Budget,
) -> Result<Value> {
    all(&Scope::new(cluster, searched, budget), wanted, matches).map(Value::Object)
}

fn all(scope: &Scope<'_>, wanted: &[Aggregation], matches: &Matches) -> Result<Map<String, Value>> {
    wanted
        .iter()
        .map(|aggregation| Ok((aggregation.name.clone(), one(scope, aggregation, matches)?)))
        .collect()
}

fn one(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    scope.budget.check_time()?;
    match aggregation.kind.as_str() {
        "terms" => terms::terms(scope, aggregation, matches),
        "significant_terms" => significant::significant_terms(scope, aggregation, matches),
        "date_histogram" | "histogram" => histogram::histogram(scope, aggregation, matches),
        "range" | "date_range" | "ip_range" => ranges::ranges(scope, aggregation, matches),
        "filter" | "filters" | "missing" | "global" => buckets::buckets(scope, aggregation, matches),
        "top_hits" => metrics::top_hits(scope, aggregation, matches),
        "geohash_grid" => geo::geohash_grid(scope, aggregation, matches),
        "geo_bounds" => geo::geo_bounds(scope, aggregation, matches),
        "children" => join::children(scope, aggregation, matches),
        "nested" => join::nested(scope, aggregation, matches),
        "reverse_nested" => join::reverse_nested(scope, aggregation, matches),
        _ => metrics::metric(scope, aggregation, matches),
    }
}

/// A bucket: its key, its number of documents, its sub-aggregations.
fn bucket(
    scope: &Scope<'_>,
    sub_aggregations: &[Aggregation],
    mut head: Map<String, Value>,
    matches: &Matches,
) -> Result<Value> {
    head.insert("doc_count".to_owned(), json!(matches.count()));
    head.extend(all(scope, sub_aggregations, matches)?);
    Ok(Value::Object(head))
}
