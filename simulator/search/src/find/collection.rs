//! Collection of the hits of a search, on several threads if there are many documents.
//!
//! Guarantees: the hits do not depend on the number of threads.

use std::ops::Range;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::aggs::{self, Matches};
use crate::cluster::Cluster;
use crate::error::{Result, SearchError};
use crate::find::Searched;
use crate::find::execute::Outcome;
use crate::find::failure::{Failure, query_failure};
use crate::find::request::SearchRequest;
use crate::find::rescore::rescore;
use crate::find::sort_reader::{SortReader, check_missing};
use crate::find::top_docs::{Candidate, TopDocs};
use crate::score::END;

/// Number of documents from which on a search is divided among threads.
pub(crate) const DIVIDED_DOCS: u64 = 20_000;

/// Number of tasks per thread, so that no thread waits long for another.
const TASKS_PER_THREAD: usize = 4;

/// Consecutive segments of a shard.
pub(super) struct Part<'s> {
    /// Position of the shard among the searched shards.
    number: usize,
    searched: &'s Searched,
    segments: Range<usize>,
}

impl Part<'_> {
    /// All segments of a shard.
    pub(super) fn whole(number: usize, searched: &Searched) -> Part<'_> {
        Part {
            number,
            searched,
            segments: 0..searched.view.segments.len(),
        }
    }
}

/// Divides the segments of all shards into tasks of at least `enough` documents each, except the last one. A shard is
/// divided only if `divides_shards`.
fn tasks(searched: &[Searched], enough: u64, divides_shards: bool) -> Vec<Vec<Part<'_>>> {
    let (mut tasks, mut task, mut docs) = (Vec::new(), Vec::new(), 0);
    for (number, searched) in searched.iter().enumerate() {
        let mut rest = Part::whole(number, searched);
        for (at, view) in searched.view.segments.iter().enumerate() {
            docs += u64::from(view.segment.max_doc());
            if docs >= enough && (divides_shards || at + 1 == rest.segments.end) {
                let segments = rest.segments.start..at + 1;
                rest.segments.start = at + 1;
                task.push(Part { segments, ..rest });
                tasks.push(std::mem::take(&mut task));
                docs = 0;
            }
        }
        if !rest.segments.is_empty() || searched.view.segments.is_empty() {
            task.push(rest);
        }
    }
    if !task.is_empty() {
        tasks.push(task);
    }
    tasks
}

/// Hits and matches of consecutive parts of a search.
pub(super) struct Collected<'a> {
    /// Counts and failures.
    pub(super) outcome: Outcome,
    pub(super) collection: Collection<'a>,
    /// The best hits, or those of each shard.
    pub(super) hits: Vec<Candidate>,
}

impl Collected<'_> {
    /// Adds those of the next parts.
    fn append(&mut self, next: Self) {
        self.outcome.add(next.outcome);
        self.collection.best = self.collection.best.max(next.collection.best);
        self.collection.matches.sets.extend(next.collection.matches.sets);
        self.hits.extend(next.hits);
    }
}

/// Collects the hits of consecutive parts.
fn collect<'a>(cluster: &Cluster, mut collection: Collection<'a>, parts: &[Part<'_>]) -> Result<Collected<'a>> {
    let request = collection.request;
    let mut outcome = Outcome::default();
    let mut hits = Vec::new();
    let mut top = TopDocs::new(&request.sort, collection.limit);
    for part in parts {
        let (began, before) = (Instant::now(), outcome.total);
        let searched = part.searched;
        let is_first = part.segments.start == 0;
        let failure = |error| Failure {
            index: searched.index.name.clone(),
            shard: searched.number,
            error,
        };
        if let Some(error) = collection.failure(searched)? {
            if is_first {
                outcome.failures.push(failure(query_failure(error, request, searched)));
            }
            continue;
        }
        collection.part(cluster, part, &mut top, &mut outcome)?;
        let own = request
            .separates_shards()
            .then(|| std::mem::replace(&mut top, TopDocs::new(&request.sort, collection.limit)).finish());
        if let Some(mut own) = own {
            match rescore(cluster, request, searched, &mut own) {
                Ok(()) => hits.extend(own),
                Err(error) if request.budget.is_exceeded() => return Err(error),
                Err(error) => {
                    outcome.total = before;
                    outcome.failures.push(failure(error));
                    continue;
                }
            }
        }
        outcome.add_total(part.number, outcome.total - before);
        if let Some(shard) = searched.shard().filter(|_| is_first) {
            shard
                .counters
                .searched(&request.groups, |meters| meters.query.add(began));
        }
    }
    hits.extend(top.finish());
    Ok(Collected {
        outcome,
        collection,
        hits,
    })
}

/// Collects the hits of all shards, on several threads if they have many documents.
pub(super) fn collect_all<'a>(
    cluster: &Cluster,
    collection: Collection<'a>,
    searched: &[Searched],
) -> Result<Collected<'a>> {
    let request = collection.request;
    let docs: u64 = searched.iter().map(|shard| u64::from(shard.view.max_doc())).sum();
    // A failure of a document is recorded in the budget, which all threads share.
    let is_divided = docs >= DIVIDED_DOCS && searched.iter().all(|shard| !shard.weight.can_fail());
    let enough = if is_divided {
        docs.div_ceil((TASKS_PER_THREAD * rayon::current_num_threads()) as u64)
    } else {
        u64::MAX
    };
    let divides_shards = !request.separates_shards() && request.terminate_after.is_none();
    let tasks = tasks(searched, enough, divides_shards);
    if let [only] = tasks.as_slice() {
        return collect(cluster, collection, only);
    }
    let each = tasks.par_iter().with_max_len(1);
    let collected = each.map(|parts| collect(cluster, collection.clone(), parts));
    let collected: Vec<Collected<'a>> = collected.collect::<Result<_>>()?;
    let mut all = Collected {
        outcome: Outcome::default(),
        collection,
        hits: Vec::new(),
    };
    collected.into_iter().for_each(|next| all.append(next));
    Ok(all)
}

/// Collector of the hits of a search, over prepared shards.
#[derive(Clone)]
pub(super) struct Collection<'a> {
    request: &'a SearchRequest,
    pub(super) by_score: bool,
    /// Whether the scores of hits are needed.
    pub(super) scores: bool,
    /// Whether all matches are recorded, for aggregations.
    records_matches: bool,
    /// Whether they are recorded with their scores.
    records_scores: bool,
    limit: usize,
    deadline: Option<Duration>,
    pub(super) best: f32,
    pub(super) matches: Matches,
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
        let weights = [Some(&searched.weight), searched.post_filter.as_ref()];
        let checked = weights
            .into_iter()
            .flatten()
            .try_for_each(|weight| weight.check(mapping));
        let checked = checked.and_then(|()| match self.limit {
            0 => Ok(()),
            _ => check_missing(&self.request.sort, mapping),
        });
        if let Err(error) = checked {
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

    /// Collects the hits of a part.
    pub(super) fn part(
        &mut self,
        cluster: &Cluster,
        part: &Part<'_>,
        top: &mut TopDocs,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let request = self.request;
        let Part {
            number,
            searched,
            ref segments,
        } = *part;
        let unfiltered =
            searched.post_filter.is_none() && request.min_score.is_none() && request.terminate_after.is_none();
        let plain = unfiltered && !self.records_matches;
        let mut collected = 0;
        let views = searched.view.segments.iter().enumerate();
        for (at, view) in views.take(segments.end).skip(segments.start) {
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
                                // The last document ends the search before it is aggregated.
                                docs.pop();
                                scores.pop();
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
