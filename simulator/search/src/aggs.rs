//! Aggregations over the documents that match a search.
//!
//! - Guarantees: every bucket aggregation accepts all others as sub-aggregations; terms are counted per shard.
//! - Limits: a bounded number of buckets and levels; scripts are expressions.
//!
//! Source: Elasticsearch 1.5's aggregations.

mod buckets;
mod cardinality;
pub(crate) mod facets;
mod geo;
mod heuristic;
mod histogram;
mod include_exclude;
mod join;
mod metrics;
mod number_format;
mod order;
mod parse;
mod ranges;
mod scripted;
mod settings;
mod significant;
mod terms;
mod thresholds;
mod values;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::budget::Budget;
use crate::cluster::Cluster;
use crate::dates::DateFormat;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::find::{SearchRequest, Searched, check_sort};
use crate::mapping::{DataUse, FieldData, Kind, truth};
use crate::query::Context;
use crate::script::Script;

pub(crate) use metrics::check_percents;
pub(crate) use parse::parse;

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

    /// Number of documents of a shard.
    fn count_of(&self, shard: usize) -> u64 {
        let sets = self.sets.iter().filter(|set| set.index == shard);
        sets.map(|set| set.docs.len() as u64).sum()
    }

    /// Returns the documents of a shard.
    fn of_shard(&self, shard: usize) -> Cow<'_, Matches> {
        let is_own = |set: &&DocSet| set.index == shard;
        if self.sets.iter().all(|set| is_own(&set)) {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Matches {
            sets: self.sets.iter().filter(is_own).cloned().collect(),
        })
    }

    /// Returns the documents of a shard, as those of the only one.
    pub(crate) fn alone(&self, shard: usize) -> Matches {
        let mut own = self.of_shard(shard).into_owned();
        own.sets.iter_mut().for_each(|set| set.index = 0);
        own
    }

    /// Returns the documents for which `keep` returns true. `keep` is called with the index of the set and the
    /// document.
    fn filtered(&self, mut keep: impl FnMut(usize, u32) -> bool) -> Matches {
        let mut kept = Matches::default();
        for (at, set) in self.sets.iter().enumerate() {
            kept.push_part(set, |doc| keep(at, doc));
        }
        kept
    }

    /// Adds the document at index `at` of a set.
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

    /// Adds the documents of a set for which `keep` returns true, if there are any.
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
    /// Score of the document at index `at` of the set; 0 without scores.
    pub(crate) fn score(&self, at: usize) -> f32 {
        self.scores.get(at).copied().unwrap_or(0.0)
    }
}

/// An aggregation of a request.
#[derive(Clone, Debug)]
pub(crate) struct Aggregation {
    name: String,
    kind: String,
    settings: Value,
    /// Script that computes the values, or that changes those of a field. An index without the field ignores it.
    script: Option<Result<Script>>,
    /// Request of `top_hits`.
    hits: Option<Arc<SearchRequest>>,
    sub_aggregations: Vec<Aggregation>,
    /// Number of aggregations above it of which Elasticsearch has one aggregator for each bucket.
    bucket_levels: u32,
}

impl Aggregation {
    /// Returns a setting that is a text.
    fn text(&self, name: &str) -> Option<&str> {
        self.settings.get(name).and_then(Value::as_str)
    }
}

/// Context that all aggregations of a search share.
#[derive(Clone, Copy)]
struct Scope<'a> {
    cluster: &'a Cluster,
    searched: &'a [Searched],
    now: i64,
    budget: &'a Budget,
    /// Path of the nested objects that are aggregated. `None` for root documents.
    nested: Option<&'a str>,
    /// Whether the aggregation is in a bucket of another one.
    in_bucket: bool,
}

impl<'a> Scope<'a> {
    fn new(cluster: &'a Cluster, searched: &'a [Searched], budget: &'a Budget) -> Scope<'a> {
        Scope {
            cluster,
            searched,
            now: cluster.now(),
            budget,
            nested: None,
            in_bucket: false,
        }
    }

    /// Returns whether Elasticsearch collects in a shard: not in a bucket without documents. Such a shard returns
    /// nothing, not even the size of its background.
    fn collects(&self, matches: &Matches, shard: usize) -> bool {
        !self.in_bucket || matches.count_of(shard) > 0
    }

    /// Returns the scope of the aggregations in a bucket.
    fn in_bucket(&self) -> Scope<'a> {
        Scope {
            in_bucket: true,
            ..*self
        }
    }

    /// Counts buckets in the budget.
    fn spend(&self, buckets: usize) -> Result<()> {
        self.budget.check_time()?;
        self.budget.buckets(buckets)
    }
}

/// Returns the error for results of the shards that cannot be brought together.
pub(crate) fn unreduced(cause: SearchError) -> SearchError {
    SearchError::new(503, Exception::ReduceSearchPhase, "").caused_by(cause)
}

fn refuse(reason: impl Into<String>) -> SearchError {
    SearchError::search(reason)
}

/// Returns an error in the collection of documents.
fn failed(reason: impl Into<String>) -> SearchError {
    SearchError::new(500, Exception::AggregationExecution, reason)
}

/// Number of aggregations, sub-aggregations included.
pub(crate) fn count(wanted: &[Aggregation]) -> usize {
    wanted
        .iter()
        .map(|aggregation| 1 + count(&aggregation.sub_aggregations))
        .sum()
}

/// Checks the filters of aggregations for an index.
///
/// # Errors
/// A filter that the index cannot parse.
pub(crate) fn check_filters(wanted: &[Aggregation], context: &Context<'_>) -> Result<()> {
    for aggregation in wanted {
        check_format(aggregation, context)?;
        check_script(aggregation, context)?;
        if aggregation.kind == "children" {
            join::check_children(aggregation, context.mapping)?;
        }
        if let Some(hits) = &aggregation.hits {
            check_sort(&hits.sort, context)?;
        }
        if let Some(field) = aggregation.settings.get("field").and_then(Value::as_str)
            && let Some(data) = context.mapping.field_data(field)
        {
            data.check(field)?;
        }
        let filters: Vec<&Value> = match (aggregation.kind.as_str(), aggregation.settings.get("filters")) {
            ("filter", _) => vec![&aggregation.settings],
            ("filters", Some(Value::Object(named))) => named.values().collect(),
            ("filters", Some(Value::Array(listed))) => listed.iter().collect(),
            _ => vec![],
        };
        for filter in filters {
            context.parse_filter(filter)?;
        }
        match aggregation.settings.get("background_filter") {
            Some(Value::Object(empty)) if empty.is_empty() => {
                return Err(SearchError::null_pointer_of_request());
            }
            Some(filter) => drop(context.parse_filter(filter)?),
            None => {}
        }
        check_filters(&aggregation.sub_aggregations, context)?;
    }
    Ok(())
}

/// Checks the paths of nested objects of aggregations for an index, once the whole search is parsed.
///
/// # Errors
/// A path of objects that are not nested.
pub(crate) fn check_paths(wanted: &[Aggregation], context: &Context<'_>) -> Result<()> {
    for aggregation in wanted {
        if matches!(aggregation.kind.as_str(), "nested" | "reverse_nested") {
            join::check_path(aggregation, context)?;
        }
        check_paths(&aggregation.sub_aggregations, context)?;
    }
    Ok(())
}

/// Fails for a script that is none, or with unknown variables, unless an index lacks its field.
fn check_script(aggregation: &Aggregation, context: &Context<'_>) -> Result<()> {
    let field = aggregation.settings.get("field").and_then(Value::as_str);
    if field.is_some_and(|field| context.mapping.field_data(field).is_none()) {
        return Ok(());
    }
    match &aggregation.script {
        Some(script) => script.clone()?.mapped(context.mapping).map(drop),
        None => Ok(()),
    }
}

/// Fails for a format of dates that is none.
fn check_format(aggregation: &Aggregation, context: &Context<'_>) -> Result<()> {
    let text = |key: &str| aggregation.settings.get(key).and_then(Value::as_str);
    let (Some(field), Some(format)) = (text("field"), text("format")) else {
        return Ok(());
    };
    let is_date = match context.mapped(field) {
        Some(field) => field.field_type.kind == Kind::Date,
        None => matches!(aggregation.kind.as_str(), "date_histogram" | "date_range"),
    };
    if is_date {
        DateFormat::new(format).map(drop)
    } else {
        Ok(())
    }
}

/// Returns whether one of the aggregations is over all documents.
pub(crate) fn has_global(wanted: &[Aggregation]) -> bool {
    wanted.iter().any(|aggregation| aggregation.kind == "global")
}

/// Returns whether aggregations explain the scores of hits.
pub(crate) fn have_explanations(wanted: &[Aggregation]) -> bool {
    wanted.iter().any(|aggregation| {
        let explains = aggregation.settings.get("explain").is_some_and(truth);
        aggregation.kind == "top_hits" && explains || have_explanations(&aggregation.sub_aggregations)
    })
}

/// Returns whether aggregations need the scores of documents.
pub(crate) fn need_scores(wanted: &[Aggregation]) -> bool {
    wanted
        .iter()
        .any(|aggregation| aggregation.kind == "top_hits" || need_scores(&aggregation.sub_aggregations))
}

/// Computes the aggregations of the matching documents.
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
    let scope = Scope::new(cluster, searched, budget);
    check_parts(&scope, wanted, Above::default())?;
    all(&scope, wanted, matches).map(Value::Object)
}

/// What is around aggregations.
#[derive(Clone, Copy, Default)]
struct Above<'a> {
    /// Name of the innermost aggregation.
    name: Option<&'a str>,
    has_nested: bool,
    /// Whether Elasticsearch makes none of the aggregations within one of them.
    is_skipped: bool,
}

/// Fails for aggregations that cannot be computed, whatever the documents.
fn check_parts(scope: &Scope<'_>, wanted: &[Aggregation], above: Above<'_>) -> Result<()> {
    for aggregation in wanted {
        let name = &aggregation.name;
        match (aggregation.kind.as_str(), above.name) {
            ("global", Some(parent)) => {
                return Err(failed(format!(
                    "Aggregation [{parent}] cannot have a global sub-aggregation [{name}]. Global aggregations can \
                     only be defined as top level aggregations"
                )));
            }
            ("reverse_nested", _) if !above.has_nested && !above.is_skipped => {
                return Err(refuse(format!(
                    "Reverse nested aggregation [{name}] can only be used inside a [nested] aggregation"
                )));
            }
            _ => {
                for (data, field) in values::field_data(scope, aggregation) {
                    check_use(aggregation, data, field)?;
                }
            }
        }
        let within = Above {
            name: Some(name),
            has_nested: above.has_nested || aggregation.kind == "nested",
            is_skipped: above.is_skipped || skips_inner(scope, aggregation),
        };
        check_parts(scope, &aggregation.sub_aggregations, within)?;
    }
    Ok(())
}

/// Returns whether Elasticsearch makes none of the aggregations within an aggregation, and none in its buckets.
fn skips_inner(scope: &Scope<'_>, aggregation: &Aggregation) -> bool {
    match aggregation.kind.as_str() {
        "cardinality" | "geo_bounds" => true,
        "children" => join::has_no_type(scope, aggregation),
        "range" | "date_range" | "ip_range" | "geo_distance" | "geohash_grid" | "significant_terms" => {
            let input = values::input_of(aggregation);
            input.is_ok_and(|input| values::is_unmapped(scope, input))
        }
        _ => false,
    }
}

/// Fails for an aggregation that cannot use the values of its field.
fn check_use(aggregation: &Aggregation, data: FieldData, field: &str) -> Result<()> {
    data.check_loading(field)?;
    match aggregation.kind.as_str() {
        "geohash_grid" | "geo_bounds" | "geo_distance" => data.cast(field, DataUse::Points),
        "min" | "max" | "sum" | "avg" | "stats" | "extended_stats" | "percentiles" | "percentile_ranks"
        | "histogram" | "date_histogram" | "range" | "date_range" | "ip_range" => data.cast(field, DataUse::Numbers),
        "terms" | "significant_terms"
            if !matches!(data, FieldData::PagedBytes | FieldData::SortedSet) && has_pattern(aggregation) =>
        {
            Err(failed(format!(
                "Aggregation [{}] cannot support regular expression style include/exclude settings as they can only \
                 be applied to string fields. Use an array of numeric values for include/exclude clauses used to \
                 filter numeric fields",
                aggregation.name
            )))
        }
        kind @ ("terms" | "significant_terms") if data == FieldData::Points => {
            let name = if kind == "terms" { kind } else { "sigfnificant_terms" };
            Err(failed(format!(
                "{name} aggregation cannot be applied to field [{field}]. It can only be applied to numeric or string \
                 fields."
            )))
        }
        _ => Ok(()),
    }
}

/// Returns whether the terms of an aggregation are chosen by a pattern.
fn has_pattern(aggregation: &Aggregation) -> bool {
    let choices = ["include", "exclude"].into_iter();
    let mut choices = choices.filter_map(|key| aggregation.settings.get(key));
    choices.any(|names| names.is_string() || names.get("pattern").is_some_and(Value::is_string))
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
        "geo_distance" => ranges::geo_distance(scope, aggregation, matches),
        "children" => join::children(scope, aggregation, matches),
        "scripted_metric" => scripted::scripted_metric(scope, aggregation, matches),
        "nested" => join::nested(scope, aggregation, matches),
        "reverse_nested" => join::reverse_nested(scope, aggregation, matches),
        _ => metrics::metric(scope, aggregation, matches),
    }
}

/// Renders a bucket: `head`, number of documents, sub-aggregations.
fn bucket(
    scope: &Scope<'_>,
    sub_aggregations: &[Aggregation],
    mut head: Map<String, Value>,
    matches: &Matches,
) -> Result<Value> {
    head.insert("doc_count".to_owned(), json!(matches.count()));
    head.extend(all(&scope.in_bucket(), sub_aggregations, matches)?);
    Ok(Value::Object(head))
}
