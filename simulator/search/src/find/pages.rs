//! Further pages of a search that is kept open.
//!
//! Guarantees: pages are of the moment of the search; a page takes memory for its own hits only.

use std::collections::BTreeSet;

use crate::cluster::Cluster;
use crate::error::Result;
use crate::find::collect::{Candidate, TopDocs};
use crate::find::execute::{Collection, Outcome};
use crate::find::request::SearchRequest;
use crate::find::searched::Searched;
use crate::find::sort_reader::SortReader;
use crate::score::END;

/// Where a scan continues in a shard: position of the segment, number of the document.
type Place = (usize, u32);

/// Shards of a search that are there no more, by their position.
pub(crate) type Lost = BTreeSet<usize>;

/// The hits of a search that come after another one in its order, without those of lost shards; at most `limit`.
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
    let there = outcome.searched.iter().enumerate();
    for (number, searched) in there.filter(|(number, _)| !lost.contains(number)) {
        collection.shard(cluster, number, searched, &mut top, &mut counted)?;
    }
    Ok(top.finish())
}

/// How far a scan has come. A page has so many hits of every shard, in the order of the index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scan {
    /// By shard.
    places: Vec<Place>,
}

impl Scan {
    /// The next `size` hits of every shard that is not lost.
    pub(crate) fn page(
        &mut self,
        request: &SearchRequest,
        outcome: &Outcome,
        size: usize,
        lost: &Lost,
    ) -> Result<Vec<Candidate>> {
        let mut places = self.places.clone();
        places.resize(outcome.searched.len(), (0, 0));
        let mut hits = Vec::new();
        let shards = outcome.searched.iter().enumerate().zip(&mut places);
        for ((number, searched), place) in shards.filter(|((number, _), _)| !lost.contains(number)) {
            *place = scan_shard(request, number, searched, *place, size, &mut hits)?;
        }
        self.places = places;
        Ok(hits)
    }
}

/// Adds the next `size` hits of a shard; returns where the following ones are.
fn scan_shard(
    request: &SearchRequest,
    number: usize,
    searched: &Searched,
    (first, from): Place,
    size: usize,
    hits: &mut Vec<Candidate>,
) -> Result<Place> {
    let most = hits.len().saturating_add(size);
    for (at, view) in searched.view.segments.iter().enumerate().skip(first) {
        let Some(mut scorer) = searched.weight.scorer(at, view, &request.budget)? else {
            continue;
        };
        let mut filter = searched.filter(at, &request.budget)?;
        let reader = SortReader::new(request, searched, at)?;
        let mut doc = scorer.seek(if at == first { from } else { 0 });
        while doc != END {
            request.budget.check()?;
            if hits.len() >= most {
                return Ok((at, doc));
            }
            let scores = request.min_score.is_none_or(|least| scorer.score() >= least);
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
