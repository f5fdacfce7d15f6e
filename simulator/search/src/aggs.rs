//! Aggregations: numbers about the documents that a search matched.
//!
//! Promises: exact counts, over all indices at once; any aggregation can stand under any that has buckets.
//! Limits: so many buckets an answer; so many levels; no scripts.
//! Source: Elasticsearch 1.5's aggregations.

mod buckets;
mod histogram;
mod metrics;
mod ranges;
mod terms;
mod values;

use std::cell::Cell;

use serde_json::{Map, Value, json};

use crate::cluster::Cluster;
use crate::error::{Result, SearchError};
use crate::find::Searched;

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

    /// The documents that `keep` keeps, told by the place of their set and their number.
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

/// An aggregation that is wanted: its name, its kind, its settings, and what stands under it.
#[derive(Clone, Debug)]
struct Aggregation {
    name: String,
    kind: String,
    settings: Value,
    under: Vec<Aggregation>,
    meta: Option<Value>,
}

/// What all aggregations of a search share.
struct Scope<'a> {
    cluster: &'a Cluster,
    searched: &'a [Searched],
    now: i64,
    buckets: Cell<usize>,
}

impl Scope<'_> {
    /// Counts buckets against the limit.
    fn spend(&self, buckets: usize) -> Result<()> {
        let spent = self.buckets.get() + buckets;
        self.buckets.set(spent);
        let most = self.cluster.options.limits.buckets;
        if spent > most {
            Err(SearchError::new(
                400,
                "AggregationExecutionException",
                format!("more than {most} buckets"),
            ))
        } else {
            Ok(())
        }
    }
}

fn refuse(reason: impl Into<String>) -> SearchError {
    SearchError::new(
        400,
        "SearchParseException",
        format!("Parse Failure [{}]", reason.into()),
    )
}

fn parse(wanted: &Value, depth: usize) -> Result<Vec<Aggregation>> {
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
                    "Aggregation definition for [{name}] starts with a value, expected an object"
                ))
            })?;
            let mut found = None;
            let mut under = Vec::new();
            let mut meta = None;
            for (key, value) in definition {
                match key.as_str() {
                    "aggs" | "aggregations" => under = parse(value, depth - 1)?,
                    "meta" => meta = Some(value.clone()),
                    kind if found.is_none() => found = Some((kind.to_owned(), value.clone())),
                    kind => {
                        return Err(refuse(format!(
                            "Found two aggregation type definitions in [{name}]: [{}] and [{kind}]",
                            found.as_ref().map_or("", |(kind, _)| kind.as_str())
                        )));
                    }
                }
            }
            let (kind, settings) =
                found.ok_or_else(|| refuse(format!("Missing definition for aggregation [{name}]")))?;
            if settings.get("script").is_some() {
                return Err(refuse(format!("scripts are disabled, but [{name}] has one")));
            }
            Ok(Aggregation {
                name: name.clone(),
                kind,
                settings,
                under,
                meta,
            })
        })
        .collect()
}

/// What `wanted` comes to over `matches`.
///
/// # Errors
/// Aggregations that are not understood, or that have too many buckets.
pub(crate) fn aggregate(cluster: &Cluster, searched: &[Searched], wanted: &Value, matches: Matches) -> Result<Value> {
    let scope = Scope {
        cluster,
        searched,
        now: cluster.now(),
        buckets: Cell::new(0),
    };
    all(&scope, &parse(wanted, cluster.options.limits.depth)?, &matches).map(Value::Object)
}

fn all(scope: &Scope<'_>, wanted: &[Aggregation], matches: &Matches) -> Result<Map<String, Value>> {
    wanted
        .iter()
        .map(|aggregation| {
            let mut shown = one(scope, aggregation, matches)?;
            if let Some(meta) = &aggregation.meta {
                shown["meta"] = meta.clone();
            }
            Ok((aggregation.name.clone(), shown))
        })
        .collect()
}

fn one(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    match aggregation.kind.as_str() {
        "terms" => terms::terms(scope, aggregation, matches),
        "significant_terms" | "nested" | "reverse_nested" | "children" | "geohash_grid" | "geo_distance"
        | "geo_bounds" | "scripted_metric" => Err(refuse(format!(
            "[{}] aggregations are not part of this backend",
            aggregation.kind
        ))),
        "date_histogram" | "histogram" => histogram::histogram(scope, aggregation, matches),
        "range" | "date_range" | "ip_range" => ranges::ranges(scope, aggregation, matches),
        "filter" | "filters" | "missing" | "global" => buckets::buckets(scope, aggregation, matches),
        "top_hits" => metrics::top_hits(scope, aggregation, matches),
        "min" | "max" | "avg" | "sum" | "stats" | "extended_stats" | "value_count" | "cardinality" | "percentiles" => {
            metrics::metric(scope, aggregation, matches)
        }
        other => Err(refuse(format!(
            "Could not find aggregator type [{other}] in [{}]",
            aggregation.name
        ))),
    }
}

/// A bucket: what says which it is, how many documents it has, and what stands under it.
fn bucket(scope: &Scope<'_>, under: &[Aggregation], mut head: Map<String, Value>, matches: &Matches) -> Result<Value> {
    head.insert("doc_count".to_owned(), json!(matches.count()));
    head.extend(all(scope, under, matches)?);
    Ok(Value::Object(head))
}
