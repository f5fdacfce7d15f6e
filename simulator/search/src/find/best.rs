//! Selection of the best documents from a set of matches.

use crate::aggs::Matches;
use crate::error::Result;
use crate::find::request::SearchRequest;
use crate::find::searched::Searched;
use crate::find::sort_reader::SortReader;
use crate::find::top_docs::{Candidate, TopDocs};

/// Returns the best of the matches in the order of `request`, and the maximum score.
pub(crate) fn best_of(
    searched: &[Searched],
    request: &SearchRequest,
    matches: &Matches,
) -> Result<(Vec<Candidate>, Option<f32>)> {
    let mut top = TopDocs::new(&request.sort, request.from.saturating_add(request.page()));
    let mut best: Option<f32> = None;
    for set in &matches.sets {
        let Some(own) = searched.get(set.index) else {
            continue;
        };
        let reader = SortReader::new(request, own, set.segment)?;
        for (at, doc) in set.docs.iter().enumerate() {
            let score = set.score(at);
            best = Some(best.map_or(score, |best| best.max(score)));
            top.push(Candidate {
                sort: reader.read(*doc, score),
                ..Candidate::new(set.index, set.segment, *doc, score)
            });
        }
    }
    let mut hits = top.finish();
    hits.drain(..request.from.min(hits.len()));
    Ok((hits, best))
}
