//! Terms that are not in the index: numbers, and `_uid`. Their documents are found otherwise, and scored as those of a
//! term.

use super::END;
use super::statistics::TermStatistics;
use super::weight::WeightKind;
use super::weight_builder::WeightBuilder;
use crate::error::Result;
use crate::index::{Bits, outer_docs};
use crate::query::{Query, QueryField};

/// The field of types and ids, which nested objects have, too.
const UID: &str = "_uid";

impl WeightBuilder<'_> {
    /// Builds the weight of a term whose documents are those of a query.
    pub(super) fn listed_term(&self, field: &QueryField, text: &str, docs: &Query) -> Result<WeightKind> {
        let weight = self.build(docs)?;
        let view = self.corpus.view;
        let mut listed = Vec::with_capacity(view.segments.len());
        for (at, segment) in view.segments.iter().enumerate() {
            let mut docs = Bits::with_capacity(segment.segment.max_doc());
            if let Some(mut scorer) = weight.scorer(at, segment, self.budget)? {
                let outer = outer_docs(&segment.segment, None)?;
                while scorer.doc() != END {
                    docs.insert(scorer.doc());
                    if &*field.name == UID {
                        let nested = (0..scorer.doc()).rev().take_while(|doc| !outer.contains(*doc));
                        nested.for_each(|doc| docs.insert(doc));
                    }
                    scorer.advance();
                }
            }
            listed.push(docs);
        }
        let doc_freq = listed.iter().map(Bits::len).sum();
        let statistics = TermStatistics {
            doc_freq,
            max_doc: view.max_doc(),
            total: u64::from(doc_freq),
        };
        Ok(WeightKind::ListedTerm {
            similarity: self.similarity(field, vec![statistics])?,
            text: text.to_owned(),
            docs: listed,
        })
    }
}
