//! Runs a search over the indices that it is for.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use super::collect::{Candidate, Top};
use super::request::{QuerySource, SearchRequest};
use super::sort::SortReader;
use crate::aggs::{self, Matches};
use crate::cluster::{Cluster, Expand, Index};
use crate::error::{Result, SearchError};
use crate::index::View;
use crate::query::{Context, Query, parse_body, parse_string};
use crate::score::{END, Scorer, Weight};

/// An index that refused.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) index: String,
    pub(crate) shards: u32,
    pub(crate) error: SearchError,
}

/// An index that is searched: what of it, and with what.
pub(crate) struct Searched {
    pub(crate) index: Arc<Index>,
    pub(crate) view: Arc<View>,
    pub(crate) weight: Weight,
    pub(crate) query: Query,
    post_filter: Option<Weight>,
}

/// What a search came to.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) total: u64,
    pub(crate) max_score: Option<f32>,
    pub(crate) hits: Vec<Candidate>,
    pub(crate) searched: Vec<Searched>,
    pub(crate) failures: Vec<Failure>,
    pub(crate) shards: u32,
    pub(crate) aggregations: Option<Value>,
    pub(crate) terminated_early: bool,
    pub(crate) timed_out: bool,
}

impl Outcome {
    /// How many shards refused.
    pub(crate) fn failed(&self) -> u32 {
        self.failures.iter().map(|failure| failure.shards).sum()
    }

    /// The `_shards` of an answer.
    pub(crate) fn shards_json(&self) -> Value {
        let failed = self.failed();
        let mut shown = json!({"total": self.shards, "successful": self.shards - failed, "failed": failed});
        if failed > 0 {
            let failures = self.failures.iter().flat_map(|failure| {
                (0..failure.shards).map(move |shard| json!({"index": failure.index, "shard": shard, "status": failure.error.status, "reason": format!("SearchParseException[[{}][{shard}]: from[-1],size[-1]: Parse Failure [Failed to parse source]]; nested: {}", failure.index, failure.error)}))
            });
            shown["failures"] = failures.collect();
        }
        shown
    }
}

/// The refusal of a search that every index refuses.
fn all_failed(failures: &[Failure]) -> SearchError {
    let status = failures.iter().map(|failure| failure.error.status).max().unwrap_or(503);
    let reasons: Vec<String> = failures
        .iter()
        .map(|failure| {
            format!(
                "{{[{}][0]: SearchParseException[[{}][0]: from[-1],size[-1]: Parse Failure [Failed to parse source]]; nested: {}}}",
                failure.index, failure.index, failure.error
            )
        })
        .collect();
    SearchError::new(
        status,
        "SearchPhaseExecutionException",
        format!(
            "Failed to execute phase [query], all shards failed; shardFailures {}",
            reasons.join("")
        ),
    )
}

/// The query of a request against one index, with the types and the alias filters that narrow it.
pub(crate) fn prepare_query(
    context: &Context<'_>,
    source: &QuerySource,
    types: &[String],
    filters: &[Value],
    depth: usize,
) -> Result<Query> {
    let query = match source {
        QuerySource::All => crate::query::QueryKind::All.into(),
        QuerySource::Text(text, settings) => parse_string(context, text, settings)?,
        QuerySource::Body(body) => parse_body(context, body, depth)?,
    };
    let mut narrowing = Vec::new();
    if !types.is_empty() {
        let named: Vec<&str> = context
            .mapping
            .type_names()
            .filter(|name| types.iter().any(|wanted| crate::pattern::matches(wanted, name)))
            .collect();
        narrowing.push(Query::any(
            named.into_iter().map(|name| context.of_type(name)).collect(),
        ));
    }
    if !filters.is_empty() {
        narrowing.push(Query::any(
            filters
                .iter()
                .map(|filter| parse_body(context, filter, depth))
                .collect::<Result<Vec<_>>>()?,
        ));
    }
    Ok(if narrowing.is_empty() {
        query
    } else {
        query.filtered(Query::every(narrowing))
    })
}

/// Resolves the names of indices and searches them.
///
/// # Errors
/// An index that is not there, or a query that every index refuses.
pub(crate) fn search(cluster: &Cluster, names: &str, expand: Expand, request: &SearchRequest) -> Result<Outcome> {
    let targets = cluster.resolve(names, expand)?;
    let now = cluster.now();
    let limits = &cluster.options.limits;
    let mut outcome = Outcome::default();
    for (index, filters) in targets {
        index.refresh_if_due((cluster.options.ticks)(), cluster.options.refresh_interval)?;
        let shards = index.shards();
        outcome.shards += shards;
        index.counters.searched.fetch_add(1, Ordering::Relaxed);
        let prepared = {
            let mapping = index.mapping.read();
            let context = index.context(&mapping, now, limits.clauses);
            let view = index.shard.view();
            prepare_query(&context, &request.query, &request.types, &filters, limits.depth).and_then(|query| {
                let weight = Weight::of(&query, &view, &index.shard)?;
                let post_filter = match &request.post_filter {
                    None => None,
                    Some(filter) => Some(Weight::of(
                        &parse_body(&context, filter, limits.depth)?,
                        &view,
                        &index.shard,
                    )?),
                };
                for segment in &view.segments {
                    SortReader::new(&request.sort, &mapping, &index.name, segment)?;
                }
                Ok((view, weight, query, post_filter))
            })
        };
        match prepared {
            Ok((view, weight, query, post_filter)) => outcome.searched.push(Searched {
                index,
                view,
                weight,
                query,
                post_filter,
            }),
            Err(error) => outcome.failures.push(Failure {
                index: index.name.clone(),
                shards,
                error,
            }),
        }
    }
    if outcome.searched.is_empty() && !outcome.failures.is_empty() {
        return Err(all_failed(&outcome.failures));
    }
    execute(cluster, request, &mut outcome)?;
    Ok(outcome)
}

/// Finds the hits of what has been prepared.
pub(crate) fn execute(cluster: &Cluster, request: &SearchRequest, outcome: &mut Outcome) -> Result<()> {
    let by_score = request.sort.is_empty()
        || matches!(request.sort.as_slice(), [only] if only.field == "_score" && only.descending);
    let specs = if by_score { &[][..] } else { &request.sort };
    let mut top = Top::new(specs, request.from + request.size);
    let tracks = by_score || request.track_scores || request.sort.iter().any(|spec| spec.field == "_score");
    let mut best = f32::NEG_INFINITY;
    let mut matches = Matches::default();
    let deadline = request
        .timeout
        .map(|timeout| (cluster.options.ticks)().saturating_add(timeout));
    let keeps = request.aggregations.is_some();
    // Only the best hits of a bucket need scores where no hits are asked for.
    let bucket_scores = request
        .aggregations
        .as_ref()
        .is_some_and(|wanted| wanted.to_string().contains("top_hits"));
    let tracks = tracks && request.size > 0 || bucket_scores;
    for (number, searched) in outcome.searched.iter().enumerate() {
        let mapping = searched.index.mapping.read();
        let mut found_here = 0;
        for (at, view) in searched.view.segments.iter().enumerate() {
            if deadline.is_some_and(|deadline: Duration| (cluster.options.ticks)() > deadline) {
                outcome.timed_out = true;
                break;
            }
            let plain = searched.post_filter.is_none()
                && request.min_score.is_none()
                && request.terminate_after.is_none()
                && !keeps;
            // Where all matches score the same and enough have been found, the others only count.
            let settled =
                |top: &Top| by_score && plain && searched.weight.constant().is_some_and(|score| !top.wants(score));
            if plain
                && (request.from + request.size == 0 || settled(&top))
                && let Some(count) = searched.weight.count(at, view)
            {
                outcome.total += count;
                continue;
            }
            let Some(mut scorer) = searched.weight.scorer(at, view)? else {
                continue;
            };
            if view.dead.is_none() && by_score && plain && tracks && searched.weight.constant().is_none() {
                outcome.total += scorer.best(top.threshold(), &mut |doc, score| {
                    best = best.max(score);
                    top.push(Candidate {
                        index: number,
                        segment: at,
                        doc,
                        score,
                        sort: vec![],
                    });
                    top.threshold()
                });
                continue;
            }
            let unfiltered =
                searched.post_filter.is_none() && request.min_score.is_none() && request.terminate_after.is_none();
            if view.dead.is_none() && unfiltered && keeps && !bucket_scores && request.from + request.size == 0 {
                let mut docs = Vec::new();
                scorer.fill(&mut docs);
                outcome.total += docs.len() as u64;
                matches.push(number, at, docs, vec![]);
                continue;
            }
            let mut filter = match &searched.post_filter {
                None => None,
                Some(weight) => Some(weight.scorer(at, view)?),
            };
            let reader = SortReader::new(specs, &mapping, &searched.index.name, view)?;
            let mut docs = Vec::new();
            let mut scores = Vec::new();
            let mut doc = scorer.doc();
            while doc != END {
                if view.is_alive(doc) {
                    let score = if tracks || request.min_score.is_some() {
                        scorer.score()
                    } else {
                        0.0
                    };
                    if request.min_score.is_none_or(|least| score >= least) {
                        if keeps {
                            docs.push(doc);
                            if bucket_scores {
                                scores.push(score);
                            }
                        }
                        if passes(&mut filter, doc) {
                            outcome.total += 1;
                            found_here += 1;
                            best = best.max(score);
                            if !by_score || top.wants(score) {
                                top.push(Candidate {
                                    index: number,
                                    segment: at,
                                    doc,
                                    score,
                                    sort: reader.read(doc, score),
                                });
                            }
                            if request.terminate_after.is_some_and(|most| found_here >= most) {
                                outcome.terminated_early = true;
                                break;
                            }
                        }
                    }
                }
                if view.dead.is_none()
                    && settled(&top)
                    && let Some(rest) = scorer.remaining()
                {
                    outcome.total += rest;
                    break;
                }
                doc = scorer.advance();
            }
            if keeps && !docs.is_empty() {
                matches.push(number, at, docs, scores);
            }
            if request.terminate_after.is_some_and(|most| found_here >= most) {
                break;
            }
        }
    }
    outcome.max_score = match request.size {
        0 => Some(0.0),
        _ if outcome.shards == 0 => Some(0.0),
        _ => (tracks && outcome.total > 0).then_some(best),
    };
    outcome.hits = top.finish();
    outcome.hits.drain(..request.from.min(outcome.hits.len()));
    if let Some(wanted) = &request.aggregations {
        outcome.aggregations = Some(aggs::aggregate(cluster, &outcome.searched, wanted, matches)?);
    }
    Ok(())
}

fn passes(filter: &mut Option<Option<Box<dyn Scorer>>>, doc: u32) -> bool {
    match filter {
        None => true,
        Some(None) => false,
        Some(Some(filter)) => filter.seek(doc) == doc,
    }
}

/// The best of documents that have been matched, as `request` orders them, and the best score.
pub(crate) fn best_of(
    searched: &[Searched],
    request: &SearchRequest,
    matches: &Matches,
) -> Result<(Vec<Candidate>, Option<f32>)> {
    let mut top = Top::new(&request.sort, request.from + request.size);
    let mut best: Option<f32> = None;
    for set in &matches.sets {
        let Some(own) = searched.get(set.index) else {
            continue;
        };
        let Some(view) = own.view.segments.get(set.segment) else {
            continue;
        };
        let reader = SortReader::new(&request.sort, &own.index.mapping.read(), &own.index.name, view)?;
        for (at, doc) in set.docs.iter().enumerate() {
            let score = &set.score(at);
            best = Some(best.map_or(*score, |best| best.max(*score)));
            top.push(Candidate {
                index: set.index,
                segment: set.segment,
                doc: *doc,
                score: *score,
                sort: reader.read(*doc, *score),
            });
        }
    }
    let mut hits = top.finish();
    hits.drain(..request.from.min(hits.len()));
    Ok((hits, best))
}
