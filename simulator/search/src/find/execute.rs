//! Execution of a search over the shards of its indices.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::aggs::{self, facets};
use crate::cluster::{Block, Cluster, Expand, check_open};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::find::Searched;
use crate::find::collection::{Collection, collect_all};
use crate::find::failure::{Failure, query_failure};
use crate::find::prepare::{Target, prepare};
use crate::find::request::{SearchRequest, SearchType};
use crate::find::rescore::{check_terms, window};
use crate::find::top_docs::{Candidate, TopDocs};
use crate::query::label;
use crate::score::Statistics;
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
    /// Adds the counts and the failures of further parts of the search.
    pub(super) fn add(&mut self, next: Outcome) {
        self.total += next.total;
        for (number, total) in next.totals.into_iter().enumerate() {
            self.add_total(number, total);
        }
        self.failures.extend(next.failures);
        self.terminated_early |= next.terminated_early;
        self.timed_out |= next.timed_out;
    }

    /// Adds matches of a searched shard.
    pub(super) fn add_total(&mut self, number: usize, total: u64) {
        if self.totals.len() <= number {
            self.totals.resize(number + 1, 0);
        }
        if let Some(own) = self.totals.get_mut(number) {
            *own += total;
        }
    }

    /// Number of failed shards.
    pub(crate) fn failed(&self) -> u32 {
        u32::try_from(self.failures.len()).unwrap_or(u32::MAX)
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
    check_open(targets.iter().map(|(index, _)| index))?;
    for (index, _) in &targets {
        index.check_block(Block::Read)?;
        cluster.refresh_if_due(index)?;
    }
    let mut shards: Vec<_> = targets
        .iter()
        .flat_map(|target| {
            (0u32..)
                .zip(&target.0.shards)
                .map(move |(number, shard)| (number, shard, target))
        })
        .filter(|(number, _, (index, _))| routing.visits(index, *number))
        .collect();
    // The first shards of all indices go before their second ones; hits of the same rank are in this order.
    shards.sort_by_key(|(number, ..)| *number);
    let statistics = request.search_type.is_dfs().then(|| {
        let shards = shards.iter();
        Statistics::of(shards.map(|(_, shard, (index, _))| (index.mapping(), shard.view())))
    });
    let count = shards.len();
    let scan_alone = request.search_type == SearchType::Scan && !request.scrolls;
    for (number, shard, (index, filters)) in shards {
        outcome.shards += 1;
        // An error of the boost is one of the shard, which is found when its elements are parsed.
        let boost = request.boost_of(index).unwrap_or(1.0);
        let target = Target {
            index,
            number,
            shard,
            filters,
            boost,
        };
        // A request that cannot be parsed has the error of its parser.
        let prepared = prepare(cluster, request, &target, statistics.as_ref()).and_then(|searched| match scan_alone {
            true => {
                let reason = "Scroll must be provided when scanning...";
                Err(SearchError::new(500, Exception::Elasticsearch, reason))
            }
            false => Ok(searched),
        });
        let prepared = prepared.and_then(|searched| match &statistics {
            Some(_) if count > 1 => check_terms(cluster, request, &searched).map(|()| searched),
            _ => Ok(searched),
        });
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
    execute(cluster, request, &mut outcome)?;
    if let Some(wanted) = request.suggest.as_ref().filter(|_| !outcome.searched.is_empty()) {
        let indices: Vec<_> = targets.iter().map(|(index, _)| index.clone()).collect();
        outcome.suggestions = Some(suggest(cluster, &indices, wanted, &request.budget)?.into());
    }
    Ok(outcome)
}

fn execute(cluster: &Cluster, request: &SearchRequest, outcome: &mut Outcome) -> Result<()> {
    let limit = request
        .from
        .saturating_add(request.page())
        .min(cluster.options.limits.window.saturating_add(1));
    let searched = std::mem::take(&mut outcome.searched);
    let windows = request.rescore.iter().map(window);
    let collected_limit = windows
        .fold(limit, usize::max)
        .min(cluster.options.limits.window.saturating_add(1));
    let collected = collect_all(cluster, Collection::new(cluster, request, collected_limit), &searched)?;
    let collection = collected.collection;
    outcome.searched = searched;
    outcome.add(collected.outcome);
    outcome.max_score = match request.page() {
        0 if request.from == 0 || request.search_type == SearchType::Count => Some(0.0),
        _ if outcome.shards == 0 => Some(0.0),
        _ => (collection.scores && (collection.by_score || request.track_scores) && outcome.total > 0)
            .then_some(collection.best),
    };
    let kept = if request.separates_shards() {
        collected.hits.len()
    } else {
        limit
    };
    let mut top = TopDocs::new(&request.sort, kept);
    collected.hits.into_iter().for_each(|hit| top.push(hit));
    outcome.hits = top.finish();
    if outcome.hits.len() > cluster.options.limits.window {
        return Err(SearchError::new(
            400,
            Exception::QueryPhaseExecution,
            format!(
                "Result window is too large, at most [{}] hits can be returned",
                cluster.options.limits.window
            ),
        ));
    }
    if request.search_type.fetches_every_page() {
        outcome.hits = pages_of_shards(&outcome.hits, request.from, request.page(), outcome.searched.len());
    } else {
        outcome.hits.truncate(limit);
        outcome.hits.drain(..request.from.min(outcome.hits.len()));
    }
    let of = (outcome.searched.as_slice(), &collection.matches);
    let aggregated = if outcome.shards > 0 {
        aggregations_and_facets(cluster, request, of)
    } else {
        Ok((None, None))
    };
    match aggregated {
        Ok(aggregated) => {
            (outcome.aggregations, outcome.facets) = aggregated;
            if let (Some(aggregations), Some(response)) = (&request.aggregations, &outcome.aggregations)
                && !outcome.searched.is_empty()
            {
                aggs::check_percents(aggregations, response)?;
            }
        }
        Err(error) if request.budget.is_exceeded() => return Err(error),
        Err(error) if error.kind == Exception::ReduceSearchPhase => {
            return Err(request.search_type.reduce(outcome.shards, error));
        }
        // An error during the collection of documents is a failure of its shard.
        Err(error) => without_failed(cluster, request, outcome, &collection.matches, &error)?,
    }
    Ok(())
}

/// Searches again without the shards whose aggregations or facets fail. `error` is that of all shards together.
fn without_failed(
    cluster: &Cluster,
    request: &SearchRequest,
    outcome: &mut Outcome,
    matches: &aggs::Matches,
    error: &SearchError,
) -> Result<()> {
    let known = outcome.failures.len();
    let mut rest = Outcome {
        shards: outcome.shards,
        failures: std::mem::take(&mut outcome.failures),
        ..Outcome::default()
    };
    let failure = |error: &SearchError, searched: &Searched| Failure {
        index: searched.index.name.clone(),
        shard: searched.number,
        error: with_shard(error, request, searched),
    };
    for (at, searched) in std::mem::take(&mut outcome.searched).into_iter().enumerate() {
        let own = matches.alone(at);
        match aggregations_and_facets(cluster, request, (std::slice::from_ref(&searched), &own)) {
            Err(error) if request.budget.is_exceeded() => return Err(error),
            Err(error) if error.kind != Exception::ReduceSearchPhase => rest.failures.push(failure(&error, &searched)),
            _ => rest.searched.push(searched),
        }
    }
    if rest.failures.len() == known {
        // Only all shards together fail.
        let failures = rest.searched.drain(..).map(|searched| failure(error, &searched));
        rest.failures.extend(failures.collect::<Vec<_>>());
    }
    if !rest.searched.is_empty() {
        execute(cluster, request, &mut rest)?;
    }
    *outcome = rest;
    Ok(())
}

/// Computes the aggregations and the facets of a search over some shards.
fn aggregations_and_facets(
    cluster: &Cluster,
    request: &SearchRequest,
    (searched, matches): (&[Searched], &aggs::Matches),
) -> Result<(Option<Value>, Option<Value>)> {
    let (aggregations, facets) = (request.aggregations.as_deref(), request.facets.as_ref());
    let aggregate = |wanted: &[aggs::Aggregation]| aggs::aggregate(cluster, searched, wanted, matches, &request.budget);
    let facet = |wanted: &Value| facets::facets(cluster, searched, wanted, matches, &request.budget);
    Ok((aggregations.map(aggregate).transpose()?, facets.map(facet).transpose()?))
}

/// Returns the hits of a search whose shards return their pages at once.
///
/// Each shard skips the hits before its page. Then the hits before the page are skipped in the order of the search. So
/// if several shards have hits, a hit has the score and the sort values of its rank, and is a document of a later one.
fn pages_of_shards(hits: &[Candidate], from: usize, size: usize, shards: usize) -> Vec<Candidate> {
    let mut by_shard: BTreeMap<usize, Vec<&Candidate>> = BTreeMap::new();
    for hit in hits {
        by_shard.entry(hit.index).or_default().push(hit);
    }
    let size = if by_shard.len() > 1 {
        size.saturating_mul(shards)
    } else {
        size
    };
    let mut next: BTreeMap<usize, usize> = BTreeMap::new();
    let ranks = hits.iter().skip(from).take(size);
    ranks
        .filter_map(|hit| {
            let rank = next.entry(hit.index).or_insert(from);
            *rank += 1;
            let shown = by_shard.get(&hit.index)?.get(*rank - 1)?;
            Some(Candidate {
                segment: shown.segment,
                doc: shown.doc,
                ..hit.clone()
            })
        })
        .collect()
}

/// Adds the shard to the error of an aggregation, if it is a parse error or concerns a document.
fn with_shard(error: &SearchError, request: &SearchRequest, searched: &Searched) -> SearchError {
    match (error.kind, error.status) {
        (Exception::SearchParse, _) => {}
        (
            Exception::ElasticsearchIllegalArgument
            | Exception::IllegalArgument
            | Exception::IllegalState
            | Exception::NullPointer
            | Exception::ExpressionScriptExecution,
            500,
        ) => {
            return query_failure(error.clone(), request, searched);
        }
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
