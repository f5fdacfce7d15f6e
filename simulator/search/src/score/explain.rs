//! Explanations of scores.
//!
//! Source: the explanations of Lucene 4.10 and of Elasticsearch 1.5's queries.

use tantivy::DocSet;
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;

use crate::budget::Budget;
use crate::error::Result;
use crate::index::View;
use crate::json::java_number;
use crate::mapping::Mapping;
use crate::query::{Occur, Query, QueryKind, boost_label, filter_label, label};
use crate::score::Scorer;
use crate::score::corpus::Corpus;
use crate::score::explain_function::explain_functions;
use crate::score::explanation::Explanation;
use crate::score::rewrite::Rewriter;
use crate::score::similarity::Found;
use crate::score::weight::{Weight, WeightKind, segment_functions};

/// Description of a query that does not match a document.
fn missing(query: &Query, weight: &Weight, doc: u32) -> String {
    match (&weight.kind, &query.kind) {
        (
            WeightKind::Term { .. }
            | WeightKind::ListedTerm { .. }
            | WeightKind::Phrase { .. }
            | WeightKind::Span { .. },
            _,
        ) => "no matching term".to_owned(),
        (_, QueryKind::Nothing) | (WeightKind::Related(_), _) => "MatchNoDocs matches nothing".to_owned(),
        (WeightKind::Nested { .. }, _) => "Not a match".to_owned(),
        _ => format!("{} doesn't match id {doc}", constant_label(query)),
    }
}

/// Description of a `dis_max` query.
fn maximum(tie: f32) -> String {
    match tie {
        0.0 => "max of:".to_owned(),
        tie => format!("max plus {} times others of:", java_number(tie)),
    }
}

/// Prints a query whose score is constant.
fn constant_label(query: &Query) -> String {
    match query.kind {
        QueryKind::Constant { form: None, .. } => label(query),
        QueryKind::All => label(query),
        QueryKind::AllDocs => "MatchAllDocsQuery".to_owned(),
        _ => format!("ConstantScore({}){}", filter_label(query), boost_label(query.boost)),
    }
}

/// A query and its weight on a shard, for explanations.
pub(crate) struct Explained {
    query: Query,
    weight: Weight,
}

impl Explained {
    /// Prepares the explanation of a query.
    pub(crate) fn new(query: &Query, corpus: &Corpus<'_>, budget: &Budget) -> Result<Explained> {
        let rewriter = Rewriter {
            view: corpus.view,
            budget,
            explains: true,
        };
        let query = rewriter.rewrite(query)?.into_owned();
        let weight = Weight::of(&query, corpus, budget)?;
        Ok(Explained { query, weight })
    }

    /// Checks what fails on the shard, as [`Weight::check`].
    ///
    /// # Errors
    /// The failure of the shard.
    pub(crate) fn check(&self, mapping: &Mapping) -> Result<()> {
        self.weight.check(mapping)
    }

    /// Explains the score of a document. `place` is the position of the segment and the document number.
    ///
    /// # Errors
    /// A function that fails for the document.
    pub(crate) fn of(&self, view: &View, place: (usize, u32), budget: &Budget) -> Result<Explanation> {
        let explanation = explain(&self.query, &self.weight, view, place, budget)?;
        budget.failure().lock().take().map_or(Ok(explanation), Err)
    }
}

/// Explains the score of a document for a rewritten query and its weight.
fn explain(query: &Query, weight: &Weight, shard: &View, place: (usize, u32), budget: &Budget) -> Result<Explanation> {
    let (at, doc) = place;
    let missed = || Ok(Explanation::missed(missing(query, weight, doc)));
    let Some(view) = shard.segments.get(at) else {
        return missed();
    };
    let matches = |weight: &Weight| -> Result<bool> {
        let scorer = weight.scorer(at, view, budget)?;
        Ok(scorer.is_some_and(|mut scorer| scorer.seek(doc) == doc))
    };
    let clause = |query: &Query, weight: &Weight| -> Result<Option<Explanation>> {
        let is_empty = !weight.has_scorer(at, view, budget)?;
        let explained = || explain(query, weight, shard, place, budget);
        (!is_empty).then(explained).transpose()
    };
    match (&weight.kind, &query.kind) {
        (
            WeightKind::Bool {
                clauses: weights,
                minimum_should_match,
                coord,
            },
            kind @ (QueryKind::Bool { .. } | QueryKind::Blended { .. }),
        ) => {
            let parts = weights.iter().enumerate().map(|(number, (occur, weight))| {
                // The terms of a blended query have no queries of their own.
                let query = match kind {
                    QueryKind::Bool { clauses, .. } => clauses.get(number).map_or(query, |(_, query)| query),
                    _ => query,
                };
                Ok((*occur, query, clause(query, weight)?))
            });
            let parts = parts.collect::<Result<Vec<_>>>()?;
            return Ok(boolean(parts, *minimum_should_match, |overlap, scoring| {
                (*coord).then(|| overlap as f32 / scoring as f32)
            }));
        }
        (
            WeightKind::Boosting {
                positive,
                negative,
                factor,
            },
            QueryKind::Boosting {
                positive: positive_query,
                negative: negative_query,
                ..
            },
        ) => {
            let parts = vec![
                (Occur::Must, &**positive_query, clause(positive_query, positive)?),
                (Occur::Should, &**negative_query, clause(negative_query, negative)?),
            ];
            // The factor counts if both clauses match.
            return Ok(boolean(parts, 0, |overlap, _| (overlap > 1).then_some(*factor)));
        }
        (
            WeightKind::Filtered { query: inner, filter },
            QueryKind::Filtered {
                query,
                filter: filter_query,
            },
        ) => {
            let inner = explain(query, inner, shard, place, budget)?;
            if matches(filter)? {
                return Ok(inner);
            }
            let what = format!("failure to match filter: {}", filter_label(filter_query));
            return Ok(Explanation {
                details: vec![inner],
                ..Explanation::missed(what)
            });
        }
        (WeightKind::DisjunctionMax { weights, tie }, kind) => {
            let queries = match kind {
                QueryKind::DisjunctionMax { queries, .. } => queries.as_slice(),
                _ => &[],
            };
            let mut details = Vec::new();
            for (number, weight) in weights.iter().enumerate() {
                // The terms of a blended query have no queries of their own.
                let query = queries.get(number).unwrap_or(query);
                details.push(explain(query, weight, shard, place, budget)?);
            }
            details.retain(|part| part.matched);
            let best = details.iter().map(|part| part.value).fold(0.0, f32::max);
            let sum = details.iter().fold(0.0, |sum, part| sum + part.value);
            return Ok(Explanation {
                matched: !details.is_empty(),
                ..Explanation::new(best + (sum - best) * tie, maximum(*tie), details)
            });
        }
        (WeightKind::Related(related), _) if related.is_explained => {
            return Ok(Explanation::new(weight.boost, "not implemented yet...", vec![]));
        }
        _ => {}
    }
    let scorer = weight.scorer(at, view, budget)?;
    let found = scorer.and_then(|mut scorer| (scorer.seek(doc) == doc).then_some(scorer));
    let Some(mut scorer) = found else {
        return match (&weight.kind, &query.kind) {
            // The score may be less than `min_score`.
            (WeightKind::Functions { .. }, _) => with_functions(query, weight, shard, place, budget),
            _ => missed(),
        };
    };
    let score = scorer.score();
    let found = |name: String, frequency: f32, frequency_name: &'static str| Found {
        name,
        doc,
        frequency,
        frequency_name,
        boost: weight.boost,
        score,
    };
    Ok(match &weight.kind {
        WeightKind::Term {
            similarity,
            text,
            infos,
            boosts,
        } => {
            let mut frequency = 0;
            if let Some(Some(info)) = infos.get(at) {
                let mut postings = view.segment.postings(info, IndexRecordOption::WithFreqs)?;
                if postings.doc() < doc {
                    postings.seek(doc);
                }
                frequency = postings.term_freq();
            }
            let name = format!("{}:{text}", similarity.field.name);
            if let (Some(boosts), Some(term)) = (boosts, weight.term_scorer(at, &view.segment)?) {
                let mut scorer = boosts.scorer(term, at, &view.segment)?;
                scorer.seek(doc);
                let found = Found {
                    score: scorer.unboosted(),
                    ..found(name, scorer.frequency(), "phraseFreq")
                };
                let parts = vec![
                    similarity.explanation(found, view)?,
                    Explanation::new(scorer.boost(), "allPayload(...)", vec![]),
                ];
                return Ok(Explanation::new(score, "btq, product of:", parts));
            }
            similarity.explanation(found(name, frequency as f32, "termFreq"), view)?
        }
        WeightKind::ListedTerm { similarity, text, .. } => {
            let name = format!("{}:{text}", similarity.field.name);
            similarity.explanation(found(name, 1.0, "termFreq"), view)?
        }
        WeightKind::Phrase { similarity, text, .. } => {
            let mut frequency = 0.0;
            if let Some(mut scorer) = weight.phrase_scorer(at, &view.segment)? {
                scorer.seek(doc);
                frequency = scorer.frequency();
            }
            let name = format!("{}:{text}", similarity.field.name);
            similarity.explanation(found(name, frequency, "phraseFreq"), view)?
        }
        WeightKind::Span { similarity, span } => {
            let mut scorer = weight.span_scorer(span, similarity, at, &view.segment)?;
            scorer.seek(doc);
            let name = match &query.kind {
                QueryKind::Span(span) => span.rewritten(shard, budget)?.label(),
                _ => label(query),
            };
            similarity.explanation(found(name, scorer.frequency(), "phraseFreq"), view)?
        }
        WeightKind::Functions { .. } => with_functions(query, weight, shard, place, budget)?,
        WeightKind::Nested { outer, .. } => {
            let before = shard.segments.iter().take(at);
            let base: u32 = before.map(|view| view.segment.max_doc()).sum();
            let previous = outer
                .get(at)
                .and_then(|outer| (0..doc).rev().find(|doc| outer.contains(*doc)));
            let (first, last) = (previous.map_or(0, |doc| doc + 1), doc.saturating_sub(1));
            let range = format!("from {} to {}", base + first, base + last);
            Explanation::new(score, format!("Score based on child doc range {range}"), vec![])
        }
        _ => {
            let mut factors = vec![
                Explanation::new(weight.boost, "boost", vec![]),
                Explanation::new(weight.norm, "queryNorm", vec![]),
            ];
            if weight.boost == 1.0 && query.kind == QueryKind::AllDocs {
                factors.remove(0);
            }
            Explanation::new(score, format!("{}, product of:", constant_label(query)), factors)
        }
    })
}

/// Explains a query with functions. A document that the query does not match has no functions.
fn with_functions(
    query: &Query,
    weight: &Weight,
    shard: &View,
    place: (usize, u32),
    budget: &Budget,
) -> Result<Explanation> {
    let (at, doc) = place;
    let (
        WeightKind::Functions {
            query: inner,
            functions,
            settings,
        },
        Some(view),
    ) = (&weight.kind, shard.segments.get(at))
    else {
        return explain(query, weight, shard, place, budget);
    };
    let query = match &query.kind {
        QueryKind::Functions { query, .. } => query,
        _ => query,
    };
    let own = explain(query, inner, shard, place, budget)?;
    if !own.matched {
        return Ok(own);
    }
    let ready = segment_functions(functions, at, view, budget)?;
    let functions = functions.iter().map(|(_, function)| function);
    let functions = ready.into_iter().zip(functions).collect();
    Ok(explain_functions(own, functions, settings, weight.boost, doc))
}

/// Explains a boolean query from the explanations of its clauses. A clause that matches nothing in the segment has
/// none. `coord` returns the factor for a number of matching clauses and the number of clauses, if there is one.
fn boolean(
    parts: Vec<(Occur, &Query, Option<Explanation>)>,
    minimum_should_match: usize,
    coord: impl Fn(usize, usize) -> Option<f32>,
) -> Explanation {
    let scoring = parts.iter().filter(|(occur, ..)| *occur != Occur::MustNot).count();
    let (mut details, mut overlap, mut optional, mut fails) = (Vec::new(), 0usize, 0usize, false);
    for (occur, query, part) in parts {
        let matched = part.as_ref().is_some_and(|part| part.matched);
        let failure = match (occur, matched) {
            (Occur::Must, false) => "no match on required clause",
            (Occur::MustNot, true) => "match on prohibited clause",
            (Occur::Should, false) | (Occur::MustNot, false) => continue,
            (_, true) => {
                overlap += 1;
                optional += usize::from(occur == Occur::Should);
                details.extend(part);
                continue;
            }
        };
        fails = true;
        let what = format!("{failure} ({})", label(query));
        details.push(Explanation::new(0.0, what, part.into_iter().collect()));
    }
    let failed = |what: String, details| Explanation {
        details,
        ..Explanation::missed(what)
    };
    if fails {
        let what = "Failure to meet condition(s) of required/prohibited clause(s)";
        return failed(what.to_owned(), details);
    }
    if optional < minimum_should_match {
        let what = format!("Failure to match minimum number of optional clauses: {minimum_should_match}");
        return failed(what, details);
    }
    let matched = overlap > 0;
    let explained = |value: f32, what: &str, details| Explanation {
        matched,
        ..Explanation::new(value, what, details)
    };
    let sum = explained(
        details.iter().fold(0.0, |sum, part| sum + part.value),
        "sum of:",
        details,
    );
    match coord(overlap, scoring) {
        None | Some(1.0) => sum,
        Some(factor) => {
            let coord = Explanation::new(factor, format!("coord({overlap}/{scoring})"), vec![]);
            explained(sum.value * factor, "product of:", vec![sum, coord])
        }
    }
}
