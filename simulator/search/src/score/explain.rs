//! How a score came about, as a tree.
//!
//! Source: the explanations of Lucene 4.10.

use serde_json::{Value, json};

use crate::budget::Budget;
use crate::error::Result;
use crate::index::SegmentView;
use crate::query::Occur;
use crate::score::weight::{Weight, WeightKind};
use crate::score::{Scorer, norm_value};
use tantivy::DocSet;
use tantivy::postings::Postings;
use tantivy::schema::IndexRecordOption;

/// A number and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Explanation {
    pub(crate) value: f32,
    pub(crate) description: String,
    pub(crate) details: Vec<Explanation>,
    pub(crate) matched: bool,
}

impl Explanation {
    fn new(value: f32, description: impl Into<String>, details: Vec<Explanation>) -> Explanation {
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

    /// The tree as it is answered.
    pub(crate) fn json(&self) -> Value {
        let mut shown = json!({"value": super::shown(self.value), "description": self.description});
        if !self.details.is_empty() {
            shown["details"] = self.details.iter().map(Explanation::json).collect();
        }
        shown
    }
}

/// Why a query does not match.
fn missing(weight: &Weight) -> &'static str {
    match &weight.kind {
        WeightKind::Term { .. } => "no matching term",
        _ => "no matching clause",
    }
}

/// How `weight` scores a document of segment number `at`.
pub(crate) fn explain(
    weight: &Weight,
    at: usize,
    view: &SegmentView,
    doc: u32,
    budget: &Budget,
) -> Result<Explanation> {
    let Some(mut scorer) = weight.scorer(at, view, budget)? else {
        return Ok(Explanation::missed(missing(weight)));
    };
    if scorer.seek(doc) != doc {
        return Ok(Explanation::missed(missing(weight)));
    }
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
        WeightKind::Bool { clauses, coord, .. } => {
            let mut details = Vec::new();
            let mut scoring = 0usize;
            for (occur, clause) in clauses {
                if *occur == Occur::MustNot {
                    continue;
                }
                scoring += 1;
                let part = explain(clause, at, view, doc, budget)?;
                if part.matched {
                    details.push(part);
                }
            }
            let overlap = details.len();
            let sum = details.iter().map(|part| part.value).sum();
            let sum = if let ([only], true) = (details.as_slice(), overlap == scoring) {
                only.clone()
            } else {
                product(sum, "sum of:", details)
            };
            if *coord && scoring > 1 && overlap < scoring {
                let factor = overlap as f32 / scoring as f32;
                product(
                    score,
                    "product of:",
                    vec![
                        sum,
                        Explanation::new(factor, format!("coord({overlap}/{scoring})"), vec![]),
                    ],
                )
            } else {
                sum
            }
        }
        WeightKind::DisjunctionMax { weights, tie } => {
            let details = weights
                .iter()
                .map(|weight| explain(weight, at, view, doc, budget))
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
        WeightKind::Filtered { query, .. } => explain(query, at, view, doc, budget)?,
        kind => {
            let name = match kind {
                WeightKind::All => "MatchAllDocsQuery, product of:".to_owned(),
                WeightKind::MultiTerm { label, .. } | WeightKind::Docs { label, .. } => {
                    format!("ConstantScore({label}), product of:")
                }
                WeightKind::Range {
                    field, lower, upper, ..
                } => format!("ConstantScore({}:[{lower} TO {upper}]), product of:", field.name),
                WeightKind::Constant(inner) => match &inner.kind {
                    WeightKind::Docs { label, .. } | WeightKind::MultiTerm { label, .. } => {
                        format!("ConstantScore({label}), product of:")
                    }
                    WeightKind::Term { field, text, .. } => {
                        format!("ConstantScore({}:{text}), product of:", field.name)
                    }
                    WeightKind::All => "ConstantScore(*:*), product of:".to_owned(),
                    _ => "ConstantScore, product of:".to_owned(),
                },
                _ => "ConstantScore, product of:".to_owned(),
            };
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
