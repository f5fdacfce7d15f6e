//! Rescoring: combination of the scores of a shard's best hits with those of a second query.
//!
//! Source: Elasticsearch 1.5's `QueryRescorer`.

use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::Result;
use crate::find::Searched;
use crate::find::request::SearchRequest;
use crate::find::top_docs::Candidate;
use crate::query::parse_body;
use crate::score::Weight;

/// Number of the best hits of a shard that are rescored.
pub(super) fn window(settings: &Value) -> usize {
    let window = settings.get("window_size").and_then(Value::as_u64).unwrap_or(10);
    usize::try_from(window).unwrap_or(usize::MAX)
}

/// Rescores the best hits of a shard and sorts them again.
pub(super) fn rescore(
    cluster: &Cluster,
    request: &SearchRequest,
    searched: &Searched,
    hits: &mut [Candidate],
) -> Result<()> {
    // Hits in another order than that of their scores are not rescored.
    let rescorers = request.rescore.iter().filter(|_| request.sort.is_empty());
    for settings in rescorers {
        let Some(query) = settings.get("query") else { continue };
        let Some(rescore_query) = query.get("rescore_query") else {
            continue;
        };
        let factor = |key: &str| query.get(key).and_then(Value::as_f64).unwrap_or(1.0) as f32;
        let (first, second) = (factor("query_weight"), factor("rescore_query_weight"));
        let mode = query.get("score_mode").and_then(Value::as_str).unwrap_or("total");
        let Some(shard) = searched.shard() else { continue };
        let weight = {
            let mapping = &searched.mapping;
            let parsed = parse_body(&searched.index.context(mapping, cluster), rescore_query)?;
            Weight::of(&parsed, &searched.view, shard, None, &request.budget)?
        };
        let (best, rest) = hits.split_at_mut(window(settings).min(hits.len()));
        for hit in best {
            let own = match searched.view.segments.get(hit.segment) {
                Some(view) => weight
                    .scorer(hit.segment, view, &request.budget)?
                    .and_then(|mut scorer| (scorer.seek(hit.doc) == hit.doc).then(|| scorer.score() * second)),
                None => None,
            };
            let score = hit.score * first;
            hit.score = match (own, mode) {
                (None, _) => score,
                (Some(own), "multiply") => score * own,
                (Some(own), "avg") => (score + own) / 2.0,
                (Some(own), "max") => score.max(own),
                (Some(own), "min") => score.min(own),
                (Some(own), _) => score + own,
            };
        }
        rest.iter_mut().for_each(|hit| hit.score *= first);
        hits.sort_by(|a, b| {
            let by_place = (a.segment, a.doc).cmp(&(b.segment, b.doc));
            b.score.total_cmp(&a.score).then(by_place)
        });
    }
    Ok(())
}
