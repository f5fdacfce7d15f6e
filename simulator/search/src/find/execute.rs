//! Execution of a search over the shards of its indices.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::aggs::{self, Matches, facets};
use crate::cluster::{Block, Cluster, Expand, Index};
use crate::error::{Result, SearchError};
use crate::find::Searched;
use crate::find::collect::{Candidate, TopDocs};
use crate::find::failure::Failure;
use crate::find::prepare::{Target, prepare};
use crate::find::request::{SearchRequest, SearchType};
use crate::find::rescore::rescore;
use crate::find::sort_reader::{SortReader, check_missing};
use crate::index::View;
use crate::query::{QueryField, label};
use crate::score::{END, Statistics};
use crate::suggest::suggest;

/// Result of a search.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) total: u64,
    /// Number of matches of each searched shard.
    pub(crate) totals: Vec<u64>,
    pub(crate) max_score: Option<f32>,
    pub(crate) hits: Vec<Candidate>,
    pub(crate) searched: Vec<Searched>,
    pub(crate) failures: Vec<Failure>,
    /// Number of shards, failed ones included.
    pub(crate) shards: u32,
    pub(crate) aggregations: Option<Value>,
    pub(crate) facets: Option<Value>,
    pub(crate) suggestions: Option<Value>,
    pub(crate) terminated_early: bool,
    pub(crate) timed_out: bool,
}

impl Outcome {
    /// Number of failed shards.
    pub(crate) fn failed(&self) -> u32 {
        u32::try_from(self.failures.len()).unwrap_or(u32::MAX)
    }

    /// Whether there are shards and all of them failed.
    fn is_failed(&self) -> bool {
        self.shards > 0 && self.searched.is_empty()
    }
}

/// Returns a function for the document frequency of a term and the number of documents, over all shards of a search.
fn global_statistics<'a>(
    shards: &'a [(std::sync::Arc<Index>, std::sync::Arc<View>)],
) -> impl Fn(&QueryField, &str) -> Result<(u32, u32)> + 'a {
    move |field, text| {
        let (mut doc_freq, mut max_doc) = (0u32, 0u32);
        for (index, view) in shards {
            max_doc = max_doc.saturating_add(view.max_doc());
            let mapping = index.mapping();
            if let Some(field) = mapping.field(&field.name) {
                doc_freq = doc_freq.saturating_add(view.doc_freq(field.ordinal, text)?);
            }
        }
        Ok((doc_freq, max_doc))
    }
}

/// Searches the indices of a multi-index expression. Failures of shards are part of the outcome.
///
/// # Errors
/// A missing index, or an aggregation that fails.
pub(crate) fn search(cluster: &Cluster, names: &str, expand: Expand, request: &SearchRequest) -> Result<Outcome> {
    request.check()?;
    let targets = cluster.resolve(names, expand)?;
    let routing = cluster.search_routing(names, request.routing.as_deref(), request.preference.as_deref())?;
    let mut outcome = Outcome::default();
    for (index, _) in &targets {
        index.check_block(Block::Read)?;
        cluster.refresh_if_due(index)?;
    }
    let views: Vec<_> = if request.search_type.is_dfs() {
        targets
            .iter()
            .flat_map(|(index, _)| {
                let visited = (0u32..)
                    .zip(index.views())
                    .filter(|(shard, _)| routing.visits(index, *shard));
                visited.map(|(_, view)| (index.clone(), view)).collect::<Vec<_>>()
            })
            .collect()
    } else {
        vec![]
    };
    let global = global_statistics(&views);
    let statistics: Option<&Statistics<'_>> = if request.search_type.is_dfs() {
        Some(&global)
    } else {
        None
    };
    let scan_alone = request.search_type == SearchType::Scan && !request.scrolls;
    for (index, filters) in &targets {
        let boost = request
            .indices_boost
            .iter()
            .find(|(name, _)| *name == index.name || index.aliases.read().contains_key(name))
            .map_or(1.0, |(_, boost)| *boost);
        for (number, shard) in (0u32..)
            .zip(&index.shards)
            .filter(|(shard, _)| routing.visits(index, *shard))
        {
            outcome.shards += 1;
            let target = Target {
                index,
                number,
                shard,
                filters,
                boost,
            };
            let prepared = match scan_alone {
                true => Err(SearchError::new(
                    500,
                    "ElasticsearchException",
                    "Scroll must be provided when scanning...",
                )),
                false => prepare(cluster, request, &target, statistics),
            };
            match prepared {
                Ok(searched) => outcome.searched.push(searched),
                Err(error) if request.budget.is_exceeded() => return Err(error),
                Err(error) => outcome.failures.push(Failure {
                    index: index.name.clone(),
                    shard: number,
                    error,
                }),
            }
        }
    }
    execute(cluster, request, &mut outcome)?;
    if let Some(wanted) = request.suggest.as_ref().filter(|_| !outcome.is_failed()) {
        let indices: Vec<_> = targets.iter().map(|(index, _)| index.clone()).collect();
        outcome.suggestions = Some(suggest(cluster, &indices, wanted, &request.budget)?.into());
    }
    Ok(outcome)
}

/// Collector of the hits of a search, over prepared shards.
pub(super) struct Collection<'a> {
    request: &'a SearchRequest,
    by_score: bool,
    /// Whether the scores of hits are needed.
    scores: bool,
    /// Whether all matches are recorded, for aggregations.
    records_matches: bool,
    /// Whether they are recorded with their scores.
    records_scores: bool,
    limit: usize,
    deadline: Option<Duration>,
    best: f32,
    matches: Matches,
}

fn execute(cluster: &Cluster, request: &SearchRequest, outcome: &mut Outcome) -> Result<()> {
    let limit = request
        .from
        .saturating_add(request.page())
        .min(cluster.options.limits.window.saturating_add(1));
    let mut collection = Collection::new(cluster, request, limit);
    let separate = request.search_type.fetches_every_page() || !request.rescore.is_empty();
    let mut hits = Vec::new();
    let mut top = TopDocs::new(&request.sort, limit);
    let searched = std::mem::take(&mut outcome.searched);
    for (number, shard) in searched.iter().enumerate() {
        let (began, before) = (Instant::now(), outcome.total);
        if let Some(error) = collection.failure(shard)? {
            outcome.totals.push(0);
            outcome.failures.push(Failure {
                index: shard.index.name.clone(),
                shard: shard.number,
                error: query_failure(error, request, shard),
            });
            continue;
        }
        collection.shard(cluster, number, shard, &mut top, outcome)?;
        outcome.totals.push(outcome.total - before);
        if let Some(shard) = shard.shard() {
            shard.counters.query.add(began);
        }
        if separate {
            let mut own = std::mem::replace(&mut top, TopDocs::new(&request.sort, limit)).finish();
            rescore(cluster, request, shard, &mut own)?;
            hits.extend(own);
        }
    }
    outcome.searched = searched;
    outcome.max_score = match request.page() {
        0 => Some(0.0),
        _ if outcome.shards == 0 => Some(0.0),
        _ => (collection.scores && (collection.by_score || request.track_scores) && outcome.total > 0)
            .then_some(collection.best),
    };
    outcome.hits = if separate {
        let mut merged = TopDocs::new(&request.sort, hits.len());
        hits.into_iter().for_each(|hit| merged.push(hit));
        merged.finish()
    } else {
        top.finish()
    };
    if outcome.hits.len() > cluster.options.limits.window {
        return Err(SearchError::new(
            400,
            "QueryPhaseExecutionException",
            format!(
                "Result window is too large, at most [{}] hits can be returned",
                cluster.options.limits.window
            ),
        ));
    }
    if request.search_type.fetches_every_page() {
        outcome.hits.truncate(limit.saturating_mul(outcome.searched.len()));
    } else {
        outcome.hits.truncate(limit);
        outcome.hits.drain(..request.from.min(outcome.hits.len()));
    }
    let aggregated = match &request.aggregations {
        Some(wanted) => {
            aggs::aggregate(cluster, &outcome.searched, wanted, &collection.matches, &request.budget).map(Some)
        }
        None => Ok(None),
    };
    match aggregated {
        Ok(aggregations) => outcome.aggregations = aggregations,
        Err(error) if request.budget.is_exceeded() => return Err(error),
        Err(error) if error.kind == aggs::REDUCE => return Err(request.search_type.reduce(outcome.shards, error)),
        // An error during the collection of documents is a failure of every shard.
        Err(error) => {
            for searched in outcome.searched.drain(..) {
                outcome.failures.push(Failure {
                    index: searched.index.name.clone(),
                    shard: searched.number,
                    error: with_shard(&error, request, &searched),
                });
            }
        }
    }
    if let Some(wanted) = request.facets.as_ref().filter(|_| !outcome.is_failed()) {
        outcome.facets = Some(facets::facets(
            cluster,
            &outcome.searched,
            wanted,
            &collection.matches,
            &request.budget,
        )?);
    }
    Ok(())
}

/// Wraps an error in the failure of the query phase on a shard.
fn query_failure(error: SearchError, request: &SearchRequest, searched: &Searched) -> SearchError {
    let reason = format!(
        "[{}][{}]: query[{}],from[{}],size[{}]: Query Failed [Failed to execute main query]",
        searched.index.name,
        searched.number,
        label(&searched.query),
        request.from,
        request.size.unwrap_or(10),
    );
    SearchError::new(500, "QueryPhaseExecutionException", reason).caused_by(error)
}

/// Adds the shard to the error of an aggregation, if it is a parse error or concerns a document.
fn with_shard(error: &SearchError, request: &SearchRequest, searched: &Searched) -> SearchError {
    match (error.kind, error.status) {
        ("SearchParseException", _) => {}
        ("ElasticsearchIllegalArgumentException", 500) => return query_failure(error.clone(), request, searched),
        _ => return error.clone(),
    }
    let query = label(&searched.query);
    SearchError {
        reason: format!(
            "[{}][{}]: query[{query}],from[{}],size[{}]: Parse Failure [{}]",
            searched.index.name,
            searched.number,
            request.from,
            request.size.unwrap_or(10),
            error.reason
        ),
        ..error.clone()
    }
}

impl Collection<'_> {
    /// Creates a collector of at most `limit` hits.
    pub(super) fn new<'a>(cluster: &Cluster, request: &'a SearchRequest, limit: usize) -> Collection<'a> {
        let by_score = request.sort.is_empty();
        let records_scores = request.aggregations.as_deref().is_some_and(aggs::need_scores);
        Collection {
            request,
            by_score,
            scores: limit > 0
                && (by_score || request.track_scores || request.sort.iter().any(|spec| spec.field == "_score"))
                || records_scores,
            records_matches: request.aggregations.is_some() || request.facets.is_some(),
            records_scores,
            limit,
            deadline: request
                .timeout
                .filter(|timeout| !timeout.is_zero())
                .map(|timeout| (cluster.options.ticks)().saturating_add(timeout)),
            best: f32::NEG_INFINITY,
            matches: Matches::default(),
        }
    }

    /// Returns the failure of the query on a shard, if any: a phrase without positions, an invalid sort, or a function
    /// that fails on a matching document.
    fn failure(&self, searched: &Searched) -> Result<Option<SearchError>> {
        let mapping = &searched.mapping;
        let positions = searched.weight.check_positions(mapping);
        if let Err(error) = positions.and_then(|()| check_missing(&self.request.sort, mapping)) {
            return Ok(Some(error));
        }
        if !searched.weight.can_fail() || !self.scores && self.request.min_score.is_none() {
            return Ok(None);
        }
        let budget = &self.request.budget;
        for (at, view) in searched.view.segments.iter().enumerate() {
            let Some(mut scorer) = searched.weight.scorer(at, view, budget)? else {
                continue;
            };
            let mut doc = scorer.doc();
            while doc != END {
                budget.check()?;
                if view.is_live(doc) {
                    scorer.score();
                }
                if let Some(error) = budget.failure().lock().take() {
                    return Ok(Some(error));
                }
                doc = scorer.advance();
            }
        }
        Ok(None)
    }

    /// Collects the hits of one shard.
    pub(super) fn shard(
        &mut self,
        cluster: &Cluster,
        number: usize,
        searched: &Searched,
        top: &mut TopDocs,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let request = self.request;
        let unfiltered =
            searched.post_filter.is_none() && request.min_score.is_none() && request.terminate_after.is_none();
        let plain = unfiltered && !self.records_matches;
        let mut collected = 0;
        for (at, view) in searched.view.segments.iter().enumerate() {
            if self
                .deadline
                .is_some_and(|deadline| (cluster.options.ticks)() > deadline)
            {
                outcome.timed_out = true;
                break;
            }
            // If all matches have the same score and enough are collected, the others are only counted.
            let is_complete = |top: &TopDocs| {
                let constant = searched.weight.constant().filter(|_| self.by_score && plain);
                constant.is_some_and(|score| !top.is_competitive(score))
            };
            if plain
                && (self.limit == 0 || is_complete(top))
                && let Some(count) = searched.weight.count(at, view)
            {
                outcome.total += count;
                continue;
            }
            let Some(mut scorer) = searched.weight.scorer(at, view, &request.budget)? else {
                continue;
            };
            if view.deleted.is_none()
                && self.by_score
                && plain
                && self.scores
                && searched.weight.constant().is_none()
                && !searched.weight.is_costly()
            {
                let best = &mut self.best;
                outcome.total += scorer.best(top.threshold(), &mut |doc, score| {
                    *best = best.max(score);
                    top.push(Candidate::new(number, at, doc, score));
                    top.threshold()
                });
                continue;
            }
            if view.deleted.is_none() && unfiltered && self.records_matches && !self.records_scores && self.limit == 0 {
                let mut docs = Vec::new();
                scorer.fill(&mut docs);
                outcome.total += docs.len() as u64;
                self.matches.push(number, at, docs, vec![]);
                continue;
            }
            let mut filter = searched.filter(at, &request.budget)?;
            let reader = SortReader::new(request, searched, at)?;
            let (mut docs, mut scores) = (Vec::new(), Vec::new());
            let mut doc = scorer.doc();
            while doc != END {
                request.budget.check()?;
                if view.is_live(doc) {
                    let score = if self.scores || request.min_score.is_some() {
                        scorer.score()
                    } else {
                        0.0
                    };
                    if request.min_score.is_none_or(|min_score| score >= min_score) {
                        if self.records_matches {
                            docs.push(doc);
                            if self.records_scores {
                                scores.push(score);
                            }
                        }
                        if filter.passes(doc) {
                            outcome.total += 1;
                            collected += 1;
                            self.best = self.best.max(score);
                            if !self.by_score || top.is_competitive(score) {
                                top.push(Candidate {
                                    sort: reader.read(doc, score),
                                    ..Candidate::new(number, at, doc, score)
                                });
                            }
                            if request.terminate_after.is_some_and(|limit| collected >= limit) {
                                outcome.terminated_early = true;
                                break;
                            }
                        }
                    }
                }
                if view.deleted.is_none()
                    && is_complete(top)
                    && let Some(rest) = scorer.remaining()
                {
                    outcome.total += rest;
                    break;
                }
                doc = scorer.advance();
            }
            if self.records_matches && !docs.is_empty() {
                self.matches.push(number, at, docs, scores);
            }
            if request.terminate_after.is_some_and(|limit| collected >= limit) {
                break;
            }
        }
        Ok(())
    }
}
