//! Weights of join queries.
//!
//! Source: Elasticsearch 1.5's `NestedQueryParser`, `ChildrenQuery` and `ParentQuery`.

use std::collections::BTreeMap;

use tantivy::DocSet;
use tantivy::schema::IndexRecordOption;

use crate::error::Result;
use crate::index::{nested_docs, outer_docs, term_key};
use crate::mapping::PARENT;
use crate::query::{JoinMode, NestedQuery, RelatedQuery, Relation};
use crate::score::END;
use crate::score::corpus::Corpus;
use crate::score::join::{JoinedScore, RelatedWeight};
use crate::score::weight::{Weight, WeightKind};
use crate::score::weight_builder::WeightBuilder;

impl WeightBuilder<'_> {
    /// Creates the weight of a nested query, with the nested objects and their containers by segment.
    pub(super) fn nested(&self, query: &NestedQuery) -> Result<WeightKind> {
        let segments = &self.corpus.view.segments;
        let nested = segments.iter().map(|view| nested_docs(&view.segment, &query.path));
        let outer = segments
            .iter()
            .map(|view| outer_docs(&view.segment, query.outer.as_deref()));
        Ok(WeightKind::Nested {
            inner: Box::new(self.build(&query.query)?),
            mode: query.mode,
            nested: nested.collect::<Result<_>>()?,
            outer: outer.collect::<Result<_>>()?,
        })
    }

    /// Runs the inner query of a parent or child query by itself; it is scored independently, too, by the statistics of
    /// the shard.
    pub(super) fn related(&self, query: &RelatedQuery) -> Result<RelatedWeight> {
        let alone = Corpus {
            statistics: None,
            ..*self.corpus
        };
        let weight = Weight::of(&query.query, &alone, self.budget)?;
        let mut squares = (query.mode != JoinMode::None).then(|| weight.sum_of_squares());
        let mut found: Vec<(usize, u32, f32)> = Vec::new();
        for (at, view) in self.corpus.view.segments.iter().enumerate() {
            let Some(mut scorer) = weight.scorer(at, view, self.budget)? else {
                continue;
            };
            let mut doc = scorer.doc();
            while doc != END {
                self.budget.check()?;
                if view.is_live(doc) {
                    found.push((at, doc, scorer.score()));
                }
                doc = scorer.advance();
            }
        }
        if found.is_empty() {
            // Nothing is weighed.
            squares = Some(0.0);
        }
        let docs = match &query.relation {
            Relation::Children { parent_type, min, max } => {
                self.parents_of(&found, parent_type, *min..=*max, query.mode)?
            }
            Relation::Parent { parent_type } => self.children_of(&found, parent_type)?,
        };
        Ok(RelatedWeight {
            docs,
            is_explained: query.is_top || !found.is_empty(),
            squares,
        })
    }

    fn parents_of(
        &self,
        children: &[(usize, u32, f32)],
        parent_type: &str,
        wanted: std::ops::RangeInclusive<usize>,
        mode: JoinMode,
    ) -> Result<Vec<Vec<(u32, f32)>>> {
        let mut joined: BTreeMap<(usize, u32), JoinedScore> = BTreeMap::new();
        for (at, doc, score) in children {
            let Some(view) = self.corpus.view.segments.get(*at) else {
                continue;
            };
            let terms = view.segment.ordinals(PARENT)?;
            for ordinal in terms.of(*doc) {
                let parent = terms.term(*ordinal).split_once('#');
                let Some((type_name, id)) = parent.filter(|(type_name, _)| *type_name == parent_type) else {
                    continue;
                };
                if let Some(place) = self.corpus.shard.place(self.corpus.view, type_name, id)? {
                    let sum = JoinedScore::add(joined.get(&place).copied(), *score);
                    joined.insert(place, sum);
                }
            }
        }
        let mut docs = vec![Vec::new(); self.corpus.view.segments.len()];
        for ((at, doc), joined) in joined {
            if let (true, Some(docs)) = (wanted.contains(&joined.count), docs.get_mut(at)) {
                docs.push((doc, joined.score(mode)));
            }
        }
        Ok(docs)
    }

    fn children_of(&self, parents: &[(usize, u32, f32)], parent_type: &str) -> Result<Vec<Vec<(u32, f32)>>> {
        let mut docs: Vec<BTreeMap<u32, f32>> = vec![BTreeMap::new(); self.corpus.view.segments.len()];
        for (at, doc, score) in parents {
            let Some(view) = self.corpus.view.segments.get(*at) else {
                continue;
            };
            let stored = view.segment.stored(*doc)?;
            let key = term_key(PARENT, &format!("{parent_type}#{}", stored.id()));
            for (view, docs) in self.corpus.view.segments.iter().zip(&mut docs) {
                self.budget.check()?;
                let Some(info) = view.segment.term_info(&key)? else {
                    continue;
                };
                let mut postings = view.segment.postings(&info, IndexRecordOption::Basic)?;
                while postings.doc() != END {
                    docs.insert(postings.doc(), *score);
                    postings.advance();
                }
            }
        }
        Ok(docs.into_iter().map(|docs| docs.into_iter().collect()).collect())
    }
}
