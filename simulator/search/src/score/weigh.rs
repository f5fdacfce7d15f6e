//! From a query to its weight: the terms that it means, and how rare they are.

use tantivy::postings::TermInfo;

use super::idf;
use super::weight::{PhraseSlot, Weight, WeightKind};
use crate::error::Result;
use crate::index::{Bits, Shard, View, Within, term_key};
use crate::query::{Expansion, Occur, Query, QueryField, QueryKind, expand, label, starting_with};

fn term_infos(view: &View, field: &QueryField, text: &str) -> Result<Vec<Option<TermInfo>>> {
    let Some(ordinal) = field.ordinal else {
        return Ok(vec![None; view.segments.len()]);
    };
    let key = term_key(ordinal, text);
    view.segments.iter().map(|view| view.segment.term_info(&key)).collect()
}

fn doc_freq(infos: &[Option<TermInfo>]) -> u32 {
    infos.iter().flatten().map(|info| info.doc_freq).sum()
}

fn term(view: &View, field: &QueryField, text: &str, boost: f32) -> Result<Weight> {
    let infos = term_infos(view, field, text)?;
    let (doc_freq, max_doc) = (doc_freq(&infos), view.max_doc());
    let kind = WeightKind::Term {
        field: field.clone(),
        text: text.to_owned(),
        idf: idf(doc_freq, max_doc),
        doc_freq,
        max_doc,
        query_norm: 1.0,
        infos,
    };
    Ok(Weight {
        kind,
        boost,
        value: 0.0,
    })
}

/// The weight of a query over a view, not yet normalized.
pub(super) fn build(query: &Query, view: &View, shard: &Shard) -> Result<Weight> {
    let kind = match &query.kind {
        QueryKind::Nothing => WeightKind::Nothing,
        QueryKind::All => WeightKind::All,
        QueryKind::Term { field, text } => return term(view, field, text, query.boost),
        QueryKind::Phrase { field, slots, slop } => phrase(view, field, slots, *slop)?,
        QueryKind::PhrasePrefix {
            field,
            slots,
            slop,
            last,
            expansions,
        } => {
            let mut slots = slots.clone();
            if let Some((position, prefix)) = last {
                slots.push((*position, starting_with(view, field, prefix, *expansions)?));
            }
            phrase(view, field, &slots, *slop)?
        }
        QueryKind::Multi { field, matcher } => match expand(view, field, matcher)? {
            Expansion::Constant(infos) => WeightKind::Multi {
                label: label(query),
                infos,
            },
            Expansion::Scored(near) => {
                let clauses = near
                    .iter()
                    .map(|near| Ok((Occur::Should, term(view, field, &near.text, query.boost * near.boost)?)))
                    .collect::<Result<Vec<_>>>()?;
                return Ok(Weight {
                    kind: WeightKind::Bool {
                        clauses,
                        at_least: 0,
                        coord: false,
                    },
                    boost: 1.0,
                    value: 0.0,
                });
            }
        },
        QueryKind::Range { field, lower, upper } => range(view, field, *lower, *upper)?,
        QueryKind::Ids { types, ids } => ids_weight(view, shard, types, ids),
        QueryKind::Bool {
            clauses,
            at_least,
            coord,
        } => {
            let clauses = clauses
                .iter()
                .map(|(occur, query)| Ok((*occur, build(query, view, shard)?)))
                .collect::<Result<Vec<_>>>()?;
            WeightKind::Bool {
                clauses,
                at_least: *at_least,
                coord: *coord,
            }
        }
        QueryKind::Best { queries, tie } => WeightKind::Best {
            weights: queries
                .iter()
                .map(|query| build(query, view, shard))
                .collect::<Result<Vec<_>>>()?,
            tie: *tie,
        },
        QueryKind::Constant(inner) => WeightKind::Constant(Box::new(build(inner, view, shard)?)),
        QueryKind::Filtered { query, filter } => WeightKind::Filtered {
            query: Box::new(build(query, view, shard)?),
            filter: Box::new(build(filter, view, shard)?),
        },
    };
    Ok(Weight {
        kind,
        boost: query.boost,
        value: 0.0,
    })
}

/// The weight of a range of numbers. If no document, dead ones included, has one, the query has no terms, and weighs nothing.
fn range(view: &View, field: &QueryField, lower: i64, upper: i64) -> Result<WeightKind> {
    let Some(ordinal) = field.ordinal.filter(|_| lower <= upper) else {
        return Ok(WeightKind::Nothing);
    };
    let docs = view
        .segments
        .iter()
        .map(|view| {
            Ok(view
                .segment
                .values(ordinal)?
                .within(lower, upper, view.segment.max_doc()))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(if docs.iter().all(|docs| matches!(docs, Within::Nothing)) {
        WeightKind::Nothing
    } else {
        WeightKind::Range {
            field: field.clone(),
            lower,
            upper,
            docs,
        }
    })
}

fn ids_weight(view: &View, shard: &Shard, types: &[String], ids: &[String]) -> WeightKind {
    let mut docs: Vec<Bits> = view
        .segments
        .iter()
        .map(|view| Bits::with_room(view.segment.max_doc()))
        .collect();
    for (segment, doc) in types
        .iter()
        .flat_map(|type_name| ids.iter().filter_map(|id| shard.locate(type_name, id)))
    {
        if let Some(at) = view
            .segments
            .iter()
            .position(|view| view.segment.number == segment && doc < view.segment.max_doc())
            && let Some(docs) = docs.get_mut(at)
        {
            docs.insert(doc);
        }
    }
    WeightKind::Docs {
        label: format!("_uid:{}", ids.join(" ")),
        docs,
    }
}

fn phrase(view: &View, field: &QueryField, slots: &[(u32, Vec<String>)], slop: u32) -> Result<WeightKind> {
    let max_doc = view.max_doc();
    let first = slots.first().map_or(0, |(position, _)| *position);
    let mut numbers: Vec<&str> = Vec::new();
    let mut sum = 0.0;
    let mut places = Vec::new();
    for (position, texts) in slots {
        let mut terms = Vec::new();
        for text in texts {
            let infos = term_infos(view, field, text)?;
            sum += idf(doc_freq(&infos), max_doc);
            let number = numbers.iter().position(|known| known == text).unwrap_or_else(|| {
                numbers.push(text);
                numbers.len() - 1
            });
            terms.push((number, infos));
        }
        places.push(PhraseSlot {
            offset: position - first,
            terms,
        });
    }
    let texts: Vec<String> = slots
        .iter()
        .map(|(_, texts)| {
            if let [only] = texts.as_slice() {
                only.clone()
            } else {
                format!("({})", texts.join(" "))
            }
        })
        .collect();
    let text = format!(
        "\"{}\"{}",
        texts.join(" "),
        if slop > 0 { format!("~{slop}") } else { String::new() }
    );
    Ok(WeightKind::Phrase {
        field: field.clone(),
        text,
        idf: sum,
        query_norm: 1.0,
        slop,
        slots: places,
    })
}
