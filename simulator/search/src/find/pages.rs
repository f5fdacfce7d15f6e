//! Further pages of a scroll.
//!
//! Guarantees: all pages are from the point in time of the search; a page takes memory for its own hits only.

use std::collections::BTreeSet;

use crate::cluster::Cluster;
use crate::error::Result;
use crate::find::collection::{Collection, Part};
use crate::find::execute::Outcome;
use crate::find::request::SearchRequest;
use crate::find::searched::Searched;
use crate::find::sort_reader::SortReader;
use crate::find::top_docs::{Candidate, TopDocs};
use crate::score::END;

/// Position of a scan in a shard: index of the segment, number of the document.
type Position = (usize, u32);

/// Positions of the shards of a search whose index was deleted or closed.
pub(crate) type Lost = BTreeSet<usize>;

/// Returns at most `limit` hits that come after `after` in the order of the search, without those of lost shards.
pub(crate) fn hits_after(
    cluster: &Cluster,
    request: &SearchRequest,
    (outcome, lost): (&Outcome, &Lost),
    after: &Candidate,
    limit: usize,
) -> Result<Vec<Candidate>> {
    let mut collection = Collection::new(cluster, request, limit);
    let mut top = TopDocs::new(&request.sort, limit).after(after.clone());
    let mut counted = Outcome::default();
    let available = outcome.searched.iter().enumerate();
    for (number, searched) in available.filter(|(number, _)| !lost.contains(number)) {
        collection.part(cluster, &Part::whole(number, searched), &mut top, &mut counted)?;
    }
    Ok(top.finish())
}

/// Progress of a scan: a search in index order whose pages have a number of hits from every shard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scan {
    /// By shard.
    positions: Vec<Position>,
    /// The shards whose last page was not full. They are asked no more.
    ended: BTreeSet<usize>,
}

impl Scan {
    /// Number of shards that the next page asks.
    pub(crate) fn shards(&self, outcome: &Outcome) -> usize {
        outcome.searched.len().saturating_sub(self.ended.len())
    }

    /// Returns the next `size` hits of every shard that is not lost.
    pub(crate) fn page(
        &mut self,
        request: &SearchRequest,
        outcome: &Outcome,
        size: usize,
        lost: &Lost,
    ) -> Result<Vec<Candidate>> {
        let mut positions = self.positions.clone();
        positions.resize(outcome.searched.len(), (0, 0));
        let mut hits = Vec::new();
        let shards = outcome.searched.iter().enumerate().zip(&mut positions);
        let mut ended = self.ended.clone();
        for ((number, searched), position) in shards {
            if lost.contains(&number) || self.ended.contains(&number) {
                continue;
            }
            let before = hits.len();
            *position = scan_shard(request, number, searched, *position, size, &mut hits)?;
            if hits.len() - before < size {
                ended.insert(number);
            }
        }
        (self.positions, self.ended) = (positions, ended);
        Ok(hits)
    }
}

/// Adds the next `size` hits of a shard to `hits`. Returns the position after them.
fn scan_shard(
    request: &SearchRequest,
    number: usize,
    searched: &Searched,
    (first, from): Position,
    size: usize,
    hits: &mut Vec<Candidate>,
) -> Result<Position> {
    let end = hits.len().saturating_add(size);
    for (at, view) in searched.view.segments.iter().enumerate().skip(first) {
        let Some(mut scorer) = searched.weight.scorer(at, view, &request.budget)? else {
            continue;
        };
        let mut filter = searched.filter(at, &request.budget)?;
        let reader = SortReader::new(request, searched, at)?;
        let mut doc = scorer.seek(if at == first { from } else { 0 });
        while doc != END {
            request.budget.check()?;
            if hits.len() >= end {
                return Ok((at, doc));
            }
            let scores = request.min_score.is_none_or(|min_score| scorer.score() >= min_score);
            if view.is_live(doc) && scores && filter.passes(doc) {
                hits.push(Candidate {
                    sort: reader.read(doc, 0.0),
                    ..Candidate::new(number, at, doc, 0.0)
                });
            }
            doc = scorer.advance();
        }
    }
    Ok((searched.view.segments.len(), 0))
}
