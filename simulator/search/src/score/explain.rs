//! Explanations of scores.
//!
//! Limits: the explanation of a `boosting` query has no details of the negative clause.
//!
//! Source: the explanations of Lucene 4.10 and of Elasticsearch 1.5's queries.

use serde_json::{Value, json};

use crate::budget::Budget;
use crate::error::Result;
use crate::index::{SegmentView, View};
use crate::query::{Matcher, Occur, Query, QueryKind, boost_label, filter_label, label};
use crate::score::explain_function::explain_functions;
use crate::score::weight::{Weight, WeightKind, segment_functions};
use crate::score::{Scorer, norm_value};
use tantivy::DocSet;
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;

/// Node of an explanation: a value and its factors.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Explanation {
    pub(crate) value: f32,
    pub(crate) description: String,
    pub(crate) details: Vec<Explanation>,
    pub(crate) matched: bool,
}

impl Explanation {
    pub(super) fn new(value: f32, description: impl Into<String>, details: Vec<Explanation>) -> Explanation {
        Explanation {
            value,
            description: description.into(),
            details,
            matched: true,
        }
    }

    fn missed(description: impl Into<String>) -> Explanation {
        Explanation {
            value: 0.0,
            description: description.into(),
            details: vec![],
            matched: false,
        }
    }

    /// Renders the tree.
    pub(crate) fn json(&self) -> Value {
        let mut shown = json!({"value": super::score_json(self.value), "description": self.description});
        if !self.details.is_empty() {
            shown["details"] = self.details.iter().map(Explanation::json).collect();
        }
        shown
    }
}

/// Description of a query that does not match a document.
fn missing(query: Option<&Query>, weight: &Weight, doc: u32) -> String {
    let shown = query.map(label).unwrap_or_default();
    match (&weight.kind, query.map(|query| &query.kind)) {
        (WeightKind::Term { .. }, _) => "no matching term".to_owned(),
        (_, Some(QueryKind::Nothing)) => "MatchNoDocs matches nothing".to_owned(),
        (_, Some(QueryKind::DisjunctionMax { tie: 0.0, .. })) => "max of:".to_owned(),
        (_, Some(QueryKind::DisjunctionMax { tie, .. })) => format!("max plus {tie} times others of:"),
        _ if shown.starts_with("ConstantScore(") => format!("{shown} doesn't match id {doc}"),
        (
            _,
            Some(QueryKind::MultiTerm {
                matcher: Matcher::Fuzzy { .. },
                ..
            }),
        ) => "sum of:".to_owned(),
        (_, Some(QueryKind::Range { .. } | QueryKind::MultiTerm { .. })) => {
            let boost = query.map(boost_label).unwrap_or_default();
            format!("ConstantScore({shown}){boost} doesn't match id {doc}")
        }
        // Most other queries are rewritten to boolean ones.
        _ => "sum of:".to_owned(),
    }
}

/// Explains the score of a document. `query` is the query of `weight`, if known. `place` is the position of the segment
/// and the document number.
pub(crate) fn explain(
    query: Option<&Query>,
    weight: &Weight,
    shard: &View,
    place: (usize, u32),
    budget: &Budget,
) -> Result<Explanation> {
    let (at, doc) = place;
    let missed = || Ok(Explanation::missed(missing(query, weight, doc)));
    let Some(view) = shard.segments.get(at) else {
        return missed();
    };
    if let WeightKind::Bool {
        clauses,
        minimum_should_match,
        coord,
    } = &weight.kind
    {
        let parts = clauses_of(query, clauses)
            .map(|(query, (occur, clause))| Ok((*occur, query, explain(query, clause, shard, place, budget)?)))
            .collect::<Result<Vec<_>>>()?;
        return Ok(boolean(parts, *minimum_should_match, *coord));
    }
    let scorer = weight.scorer(at, view, budget)?;
    let found = scorer.and_then(|mut scorer| (scorer.seek(doc) == doc).then_some(scorer));
    let Some(mut scorer) = found else {
        return match (&weight.kind, query.map(|query| &query.kind)) {
            (WeightKind::Functions { query: weight, .. }, Some(QueryKind::Functions { query, .. })) => {
                explain(Some(query), weight, shard, place, budget)
            }
            (WeightKind::Filtered { query: weight, .. }, Some(QueryKind::Filtered { query, filter })) => {
                let inner = explain(Some(query), weight, shard, place, budget)?;
                if !inner.matched {
                    return Ok(inner);
                }
                Ok(Explanation {
                    details: vec![inner],
                    ..Explanation::missed(format!("failure to match filter: {}", filter_label(filter)))
                })
            }
            _ => missed(),
        };
    };
    let score = scorer.score();
    let product = |value: f32, what: &str, details: Vec<Explanation>| Explanation::new(value, what, details);
    Ok(match &weight.kind {
        WeightKind::Term {
            field,
            text,
            idf,
            doc_freq,
            max_doc,
            query_norm,
            infos,
        } => {
            let mut frequency = 0;
            if let Some(Some(info)) = infos.get(at) {
                let mut postings = view.segment.postings(info, IndexRecordOption::WithFreqs)?;
                if postings.doc() < doc {
                    postings.seek(doc);
                }
                frequency = postings.term_freq();
            }
            let name = format!("{}:{text}", field.name);
            let idf_part = Explanation::new(*idf, format!("idf(docFreq={doc_freq}, maxDocs={max_doc})"), vec![]);
            similarity(
                weight,
                &name,
                score,
                frequency as f32,
                idf_part,
                *query_norm,
                norm(field.norms, field.ordinal, view, doc)?,
                doc,
            )
        }
        WeightKind::Phrase {
            field,
            text,
            idf,
            query_norm,
            ..
        } => {
            let mut frequency = 0.0;
            if let Some(mut scorer) = weight.phrase_scorer(at, &view.segment)? {
                scorer.seek(doc);
                frequency = scorer.frequency();
            }
            let idf_part = Explanation::new(*idf, "idf(), sum of:", vec![]);
            similarity(
                weight,
                &format!("{}:{text}", field.name),
                score,
                frequency,
                idf_part,
                *query_norm,
                norm(field.norms, field.ordinal, view, doc)?,
                doc,
            )
        }
        WeightKind::DisjunctionMax { weights, tie } => {
            let queries = match query.map(|query| &query.kind) {
                Some(QueryKind::DisjunctionMax { queries, .. }) => queries.as_slice(),
                _ => &[],
            };
            let details = weights
                .iter()
                .enumerate()
                .map(|(number, weight)| explain(queries.get(number), weight, shard, place, budget))
                .collect::<Result<Vec<_>>>()?
                .into_iter()
                .filter(|part| part.matched)
                .collect();
            product(
                score,
                if *tie == 0.0 { "max of:" } else { "max plus others of:" },
                details,
            )
        }
        WeightKind::Filtered { query: inner, .. } => {
            let query = match query.map(|query| &query.kind) {
                Some(QueryKind::Filtered { query, .. }) => Some(&**query),
                _ => None,
            };
            explain(query, inner, shard, place, budget)?
        }
        WeightKind::Functions {
            query: inner,
            functions,
            settings,
        } => {
            let query = match query.map(|query| &query.kind) {
                Some(QueryKind::Functions { query, .. }) => Some(&**query),
                _ => None,
            };
            let own = explain(query, inner, shard, place, budget)?;
            let ready = segment_functions(functions, at, view, budget)?;
            let functions = functions.iter().map(|(_, function)| function);
            explain_functions(
                own,
                ready.into_iter().zip(functions).collect(),
                settings,
                weight.boost,
                doc,
            )
        }
        WeightKind::Boosting {
            positive,
            negative,
            factor,
        } => {
            let own = explain(None, positive, shard, place, budget)?;
            let lowers = explain(None, negative, shard, place, budget)?;
            if lowers.matched {
                let none = Explanation::new(0.0, lowers.description, vec![]);
                let sum = Explanation::new(own.value, "sum of:", vec![own, none]);
                let coord = Explanation::new(*factor, "coord(2/2)", vec![]);
                product(score, "product of:", vec![sum, coord])
            } else {
                product(score, "sum of:", vec![own])
            }
        }
        WeightKind::Nested { outer, .. } => {
            let before = shard.segments.iter().take(at);
            let base: u32 = before.map(|view| view.segment.max_doc()).sum();
            let previous = outer
                .get(at)
                .and_then(|outer| (0..doc).rev().find(|doc| outer.contains(*doc)));
            let (first, last) = (previous.map_or(0, |doc| doc + 1), doc.saturating_sub(1));
            let range = format!("from {} to {}", base + first, base + last);
            product(score, &format!("Score based on child doc range {range}"), vec![])
        }
        WeightKind::Related(_) => product(weight.boost, "not implemented yet...", vec![]),
        kind => {
            let constant = match query {
                Some(Query {
                    kind: QueryKind::Constant { query, form: None },
                    ..
                }) => Some(filter_label(query)),
                Some(
                    filter @ Query {
                        kind: QueryKind::Constant { .. },
                        ..
                    },
                ) => Some(label(filter)),
                _ => None,
            };
            let name = match kind {
                WeightKind::All if weight.boost != 1.0 => "MatchAllDocsQuery".to_owned(),
                WeightKind::All => "ConstantScore(*:*)".to_owned(),
                WeightKind::MultiTerm { label, .. }
                | WeightKind::Range { label, .. }
                | WeightKind::Docs { label, .. } => format!("ConstantScore({label})"),
                _ => constant.map_or_else(|| "ConstantScore".to_owned(), |inner| format!("ConstantScore({inner})")),
            };
            let name = format!("{name}, product of:");
            let query_norm = if weight.boost == 0.0 { 0.0 } else { score / weight.boost };
            product(
                score,
                &name,
                vec![
                    Explanation::new(weight.boost, "boost", vec![]),
                    Explanation::new(query_norm, "queryNorm", vec![]),
                ],
            )
        }
    })
}

/// Pairs the weights of a boolean query's clauses with their queries, if known.
fn clauses_of<'a>(
    query: Option<&'a Query>,
    clauses: &'a [(Occur, Weight)],
) -> impl Iterator<Item = (Option<&'a Query>, &'a (Occur, Weight))> {
    let queries = match query.map(|query| &query.kind) {
        Some(QueryKind::Bool { clauses: known, .. }) if known.len() == clauses.len() => known.as_slice(),
        _ => &[],
    };
    let queries = queries.iter().map(|(_, query)| Some(query));
    queries.chain(std::iter::repeat(None)).zip(clauses)
}

/// Explains a boolean query from the explanations of its clauses.
fn boolean(parts: Vec<(Occur, Option<&Query>, Explanation)>, minimum_should_match: usize, coord: bool) -> Explanation {
    // A query with one clause is explained as that clause.
    if minimum_should_match == 0
        && let [(Occur::Must | Occur::Should, _, only)] = parts.as_slice()
    {
        return only.clone();
    }
    let scoring = parts.iter().filter(|(occur, ..)| *occur != Occur::MustNot).count();
    let (mut details, mut overlap, mut optional, mut fails) = (Vec::new(), 0usize, 0usize, false);
    for (occur, query, part) in parts {
        let failure = match (occur, part.matched) {
            (Occur::Must, false) => "no match on required clause",
            (Occur::MustNot, true) => "match on prohibited clause",
            (Occur::Should, false) | (Occur::MustNot, false) => continue,
            (_, true) => {
                overlap += 1;
                optional += usize::from(occur == Occur::Should);
                details.push(part);
                continue;
            }
        };
        fails = true;
        let query = query.map(label).unwrap_or_default();
        details.push(Explanation::new(0.0, format!("{failure} ({query})"), vec![part]));
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
    if overlap == 0 {
        let sum = failed("sum of:".to_owned(), details);
        if !coord {
            return sum;
        }
        let coord = Explanation::new(0.0, format!("coord(0/{scoring})"), vec![]);
        return failed("product of:".to_owned(), vec![sum, coord]);
    }
    let sum = details.iter().map(|part| part.value).sum();
    let sum = Explanation::new(sum, "sum of:", details);
    if !coord || overlap == scoring {
        return sum;
    }
    let factor = overlap as f32 / scoring as f32;
    let coord = Explanation::new(factor, format!("coord({overlap}/{scoring})"), vec![]);
    Explanation::new(sum.value * factor, "product of:", vec![sum, coord])
}

fn norm(norms: bool, ordinal: Option<u32>, view: &SegmentView, doc: u32) -> Result<f32> {
    match ordinal {
        Some(ordinal) if norms => Ok(norm_value(
            view.segment.norms(ordinal)?.get(doc as usize).copied().unwrap_or(0),
        )),
        _ => Ok(1.0),
    }
}

#[expect(clippy::too_many_arguments, reason = "the factors of one formula")]
fn similarity(
    weight: &Weight,
    name: &str,
    score: f32,
    frequency: f32,
    idf: Explanation,
    query_norm: f32,
    norm: f32,
    doc: u32,
) -> Explanation {
    let tf = frequency.sqrt();
    let field_weight = Explanation::new(
        tf * idf.value * norm,
        format!("fieldWeight in {doc}, product of:"),
        vec![
            Explanation::new(
                tf,
                format!("tf(freq={frequency:?}), with freq of:"),
                vec![Explanation::new(
                    frequency,
                    if name.contains('"') {
                        format!("phraseFreq={frequency:?}")
                    } else {
                        format!("termFreq={frequency:?}")
                    },
                    vec![],
                )],
            ),
            idf.clone(),
            Explanation::new(norm, format!("fieldNorm(doc={doc})"), vec![]),
        ],
    );
    let mut query_parts = vec![idf.clone(), Explanation::new(query_norm, "queryNorm", vec![])];
    if weight.boost != 1.0 {
        query_parts.insert(0, Explanation::new(weight.boost, "boost", vec![]));
    }
    let query_weight = Explanation::new(
        weight.boost * idf.value * query_norm,
        "queryWeight, product of:",
        query_parts,
    );
    let inner = if query_weight.value == 1.0 {
        field_weight
    } else {
        Explanation::new(
            score,
            format!("score(doc={doc},freq={frequency:?}), product of:"),
            vec![query_weight, field_weight],
        )
    };
    Explanation::new(
        score,
        format!("weight({name} in {doc}) [PerFieldSimilarity], result of:"),
        vec![inner],
    )
}
