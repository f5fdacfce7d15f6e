//! Rescoring: combination of the scores of a shard's best hits with those of a second query.
//!
//! Source: Elasticsearch 1.5's `QueryRescorer`.

use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::find::Searched;
use crate::find::failure::dfs_failure;
use crate::find::request::SearchRequest;
use crate::find::rescore_settings;
use crate::find::top_docs::Candidate;
use crate::json::number_of;
use crate::query::{Context, Query};
use crate::score::{Explained, Explanation, Weight};

/// Number of the best hits of a shard that a rescorer asks for.
fn asked_window(settings: &Value) -> i32 {
    settings.get("window_size").and_then(number_of).unwrap_or(10.0) as i32
}

/// Number of the best hits of a shard that are rescored.
pub(super) fn window(settings: &Value) -> usize {
    usize::try_from(asked_window(settings)).unwrap_or(0)
}

/// Checks that each rescorer of a request has a query and rescores hits. Elasticsearch only finds out when there are
/// hits.
///
/// # Errors
/// The failure of the shard.
fn check_rescorers(request: &SearchRequest) -> Result<()> {
    match request.sort.is_empty() && request.page() > 0 {
        true => request.rescore.iter().try_for_each(check_rescorer),
        false => Ok(()),
    }
}

fn check_rescorer(settings: &Value) -> Result<()> {
    let query = settings.get("query").and_then(|query| query.get("rescore_query"));
    match asked_window(settings) {
        _ if query.is_none() => Err(SearchError::null_pointer()),
        0 => {
            let reason = "Index 0 out of bounds for length 0";
            Err(SearchError::new(500, Exception::ArrayIndexOutOfBounds, reason))
        }
        window if window < 0 => Err(SearchError::new(500, Exception::NegativeArraySize, window.to_string())),
        _ => Ok(()),
    }
}

/// Checks that the terms of each rescorer's query are known before it is rewritten, as statistics of terms are
/// collected before a `dfs` search.
///
/// # Errors
/// The failure of the shard.
pub(super) fn check_terms(cluster: &Cluster, request: &SearchRequest, searched: &Searched) -> Result<()> {
    rescorers(request).try_for_each(|rescorer| {
        let checked = rescorer.parsed(cluster, searched)?.check_terms_are_known();
        checked.map_err(|error| dfs_failure(error, request, searched))
    })
}

/// A rescorer of a request.
struct Rescorer<'a> {
    query: &'a Value,
    window: usize,
    /// Weight of the score of the search.
    first: f32,
    /// Weight of the score of the second query.
    second: f32,
    mode: &'a str,
}

/// Returns the rescorers of a request. Hits in another order than that of their scores are not rescored.
fn rescorers(request: &SearchRequest) -> impl Iterator<Item = Rescorer<'_>> {
    let all = request.rescore.iter().filter(|_| request.sort.is_empty());
    all.filter_map(|settings| {
        let query = settings.get("query")?;
        let factor = |key: &str| query.get(key).and_then(number_of).unwrap_or(1.0) as f32;
        Some(Rescorer {
            query: query.get("rescore_query")?,
            window: window(settings),
            first: factor("query_weight"),
            second: factor("rescore_query_weight"),
            mode: query.get("score_mode").and_then(Value::as_str).unwrap_or("total"),
        })
    })
}

impl Rescorer<'_> {
    fn parsed(&self, cluster: &Cluster, searched: &Searched) -> Result<Query> {
        searched.context(cluster).parse_query(self.query)
    }

    /// Combines two weighted scores.
    fn combined(&self, first: f32, second: f32) -> f32 {
        match self.mode {
            "multiply" => first * second,
            "avg" => (first + second) / 2.0,
            "max" => first.max(second),
            "min" => first.min(second),
            _ => first + second,
        }
    }

    fn explained(&self, first: Explanation, second: Explanation) -> Explanation {
        let weighted = |own: Explanation, weight: f32, name: &str| Explanation {
            matched: own.matched,
            ..Explanation::new(
                own.value * weight,
                "product of:",
                vec![own, Explanation::new(weight, name, vec![])],
            )
        };
        let first = weighted(first, self.first, "primaryWeight");
        if !second.matched {
            return first;
        }
        let second = weighted(second, self.second, "secondaryWeight");
        let mode = match self.mode {
            "multiply" => "product",
            "total" => "sum",
            mode => mode,
        };
        let value = self.combined(first.value, second.value);
        Explanation {
            matched: first.matched,
            ..Explanation::new(value, format!("{mode} of:"), vec![first, second])
        }
    }
}

/// Checks the queries of the rescorers of a request for an index.
///
/// # Errors
/// A query that the index cannot parse.
pub(super) fn check_queries(request: &SearchRequest, context: &Context<'_>) -> Result<()> {
    let mut queries = request
        .rescore
        .iter()
        .filter_map(|settings| settings.get("query")?.get("rescore_query"));
    queries.try_for_each(|query| rescore_settings::check_rest(context.check_query(query)?))
}

/// Rescores the best hits of a shard and sorts them again.
pub(super) fn rescore(
    cluster: &Cluster,
    request: &SearchRequest,
    searched: &Searched,
    hits: &mut Vec<Candidate>,
) -> Result<()> {
    if hits.is_empty() {
        return Ok(());
    }
    check_rescorers(request)?;
    for rescorer in rescorers(request) {
        let Some(corpus) = searched.corpus() else {
            continue;
        };
        let parsed = rescorer.parsed(cluster, searched)?;
        let weight = Weight::of(&parsed, &corpus, &request.budget)?;
        weight.check(&searched.mapping)?;
        let window = rescorer.window.min(hits.len());
        let (best, rest) = hits.split_at_mut(window);
        for hit in best {
            let own = match searched.view.segments.get(hit.segment) {
                Some(view) => weight
                    .scorer(hit.segment, view, &request.budget)?
                    .and_then(|mut scorer| (scorer.seek(hit.doc) == hit.doc).then(|| scorer.score())),
                None => None,
            };
            let score = hit.score * rescorer.first;
            hit.score = own.map_or(score, |own| rescorer.combined(score, own * rescorer.second));
        }
        rest.iter_mut().for_each(|hit| hit.score *= rescorer.first);
        hits.sort_by(|a, b| {
            let by_place = (a.segment, a.doc).cmp(&(b.segment, b.doc));
            b.score.total_cmp(&a.score).then(by_place)
        });
    }
    if rescorers(request).next().is_some() {
        // Elasticsearch keeps the size of a page, wherever the page starts.
        hits.truncate(request.page());
    }
    Ok(())
}

/// Adds the rescorers of a request to the explanation of a hit. Elasticsearch does so for hits beyond their windows,
/// too.
pub(super) fn explain_rescored(
    cluster: &Cluster,
    request: &SearchRequest,
    searched: &Searched,
    place: (usize, u32),
    mut explanation: Explanation,
) -> Result<Explanation> {
    for rescorer in rescorers(request) {
        let Some(corpus) = searched.corpus() else {
            continue;
        };
        let parsed = rescorer.parsed(cluster, searched)?;
        let second = Explained::new(&parsed, &corpus, &request.budget)?;
        let second = second.of(&searched.view, place, &request.budget)?;
        explanation = rescorer.explained(explanation, second);
    }
    Ok(explanation)
}
