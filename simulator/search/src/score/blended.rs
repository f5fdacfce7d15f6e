//! Statistics of a term that is searched in several fields at once.
//!
//! Source: Elasticsearch 1.5's `BlendedTermQuery`.

use crate::budget::Budget;
use crate::error::Result;
use crate::index::{View, field_prefix};
use crate::query::{Occur, QueryField};
use crate::score::statistics::{self, TermStatistics, term_infos};
use crate::score::weight::{Weight, WeightKind};
use crate::score::weight_builder::WeightBuilder;

/// Returns the number of documents that bounds the blended document frequencies: at most the number of terms in the
/// field with the fewest ones. Fields without term frequencies do not bound it.
fn max_doc<'a>(
    view: &View,
    fields: impl Iterator<Item = &'a QueryField>,
    max_doc: u32,
    budget: &Budget,
) -> Result<u32> {
    let mut bound = max_doc;
    for field in fields {
        let count = occurrences(view, field, bound, budget)?;
        if count > 0 && !field.frequencies {
            return Ok(max_doc);
        }
        bound = bound.min(count);
    }
    Ok(bound)
}

/// Number of terms in a field, those of deleted documents included. Counts to `limit`.
fn occurrences(view: &View, field: &QueryField, limit: u32, budget: &Budget) -> Result<u32> {
    let Some(ordinal) = field.ordinal else { return Ok(0) };
    let (from, to) = (field_prefix(ordinal).to_string(), field_prefix(ordinal + 1).to_string());
    // The sum of the document frequencies is less, but needs no postings.
    let mut count = 0u32;
    for view in &view.segments {
        let mut stream = view.segment.terms().terms().range().ge(&from).lt(&to).into_stream()?;
        while count < limit && stream.advance() {
            budget.check()?;
            count = count.saturating_add(stream.value().doc_freq);
        }
    }
    if count >= limit {
        return Ok(limit);
    }
    let exact = statistics::length(view, field, budget)?;
    Ok(u32::try_from(exact).unwrap_or(limit).min(limit))
}

impl WeightBuilder<'_> {
    /// Builds a term query over several fields with blended document frequencies: the highest frequency, incremented
    /// for each lower one, within the bound of [`max_doc`] (Elasticsearch's `BlendedTermQuery`).
    pub(super) fn blended(
        &self,
        fields: &[(QueryField, f32)],
        text: &str,
        tie: f32,
        cutoff: Option<f32>,
    ) -> Result<WeightKind> {
        let mut terms = Vec::new();
        for (field, boost) in fields {
            let infos = term_infos(self.corpus.view, field, text)?;
            let statistics = self.statistics(field, text, &infos)?;
            terms.push((field, *boost, infos, statistics));
        }
        let mut order: Vec<usize> = (0..terms.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(terms.get(*at).map_or(0, |term| term.3.doc_freq)));
        let max_doc_freq = terms.iter().map(|term| term.3.doc_freq).max().unwrap_or(0);
        let most = terms.iter().map(|term| term.3.max_doc).max().unwrap_or(0);
        let bound = match fields.len() {
            0 | 1 => most,
            _ => max_doc(
                self.corpus.view,
                fields.iter().map(|(field, _)| field),
                most,
                self.budget,
            )?,
        };
        let (mut actual, mut previous) = (max_doc_freq.min(bound), max_doc_freq);
        let mut blended = vec![0u32; terms.len()];
        for at in order {
            let (Some(term), Some(slot)) = (terms.get(at), blended.get_mut(at)) else {
                continue;
            };
            if term.3.doc_freq == 0 {
                break;
            }
            if previous > term.3.doc_freq {
                actual += 1;
            }
            previous = term.3.doc_freq;
            *slot = actual.min(bound);
        }
        let frequencies: Vec<u32> = terms.iter().map(|term| term.3.doc_freq).collect();
        let weights: Vec<Weight> = terms
            .into_iter()
            .zip(blended)
            .map(|((field, boost, infos, own), doc_freq)| {
                let statistics = TermStatistics { doc_freq, ..own };
                Ok(Weight {
                    kind: self.term_kind(field, text, statistics, infos)?,
                    boost,
                    value: 0.0,
                    norm: 1.0,
                })
            })
            .collect::<Result<_>>()?;
        let all = |weights: Vec<Weight>, occur, coord| WeightKind::Bool {
            clauses: weights.into_iter().map(|weight| (occur, weight)).collect(),
            minimum_should_match: 0,
            coord,
        };
        if let Some(cutoff) = cutoff {
            let limit = if cutoff >= 1.0 {
                cutoff
            } else {
                (cutoff * self.corpus.view.max_doc() as f32).ceil()
            };
            let (mut rare, mut frequent) = (Vec::new(), Vec::new());
            for (weight, frequency) in weights.into_iter().zip(frequencies) {
                let kept = if frequency as f32 > limit {
                    &mut frequent
                } else {
                    &mut rare
                };
                kept.push(weight);
            }
            return Ok(match (rare.is_empty(), frequent.is_empty()) {
                (true, _) => all(frequent, Occur::Must, false),
                (_, true) => all(rare, Occur::Should, false),
                _ => {
                    let part = |kind| Weight {
                        kind,
                        boost: 1.0,
                        value: 0.0,
                        norm: 1.0,
                    };
                    let frequent = (Occur::Should, part(all(frequent, Occur::Should, false)));
                    WeightKind::Bool {
                        clauses: vec![frequent, (Occur::Must, part(all(rare, Occur::Should, false)))],
                        minimum_should_match: 0,
                        coord: false,
                    }
                }
            });
        }
        // Instead of the maximum and all others, the sum counts.
        if tie == 1.0 {
            return Ok(all(weights, Occur::Should, true));
        }
        Ok(WeightKind::DisjunctionMax { weights, tie })
    }
}
