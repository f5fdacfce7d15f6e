//! Scores of documents through others: their nested objects, children or parents.
//!
//! Source: Lucene 4.10's `ToParentBlockJoinQuery`, and Elasticsearch 1.5's `ChildrenQuery` and `ParentQuery`.

use std::collections::BTreeMap;

use tantivy::DocSet;
use tantivy::schema::IndexRecordOption;

use crate::budget::Budget;
use crate::error::Result;
use crate::index::{Bits, SegmentView, nested_docs, outer_docs, term_key};
use crate::mapping::PARENT;
use crate::query::{JoinMode, NestedQuery, RelatedQuery, Relation};
use crate::score::weigh::Weigher;
use crate::score::weight::Weight;
use crate::score::{END, Scorer};

/// A query of nested objects, with the places of these and of what they are in.
pub(crate) struct NestedWeight {
    pub(super) inner: Weight,
    mode: JoinMode,
    nested: Vec<Bits>,
    outer: Vec<Bits>,
}

/// Documents that were found through their relatives, with their scores, segment by segment.
pub(crate) struct RelatedWeight {
    docs: Vec<Vec<(u32, f32)>>,
    /// Sum of the squared weights of the query of the relatives, where their scores count.
    pub(super) squares: Option<f32>,
}

/// Scores of several documents on their way to one.
#[derive(Clone, Copy)]
struct Joined {
    count: usize,
    sum: f32,
    max: f32,
}

impl Joined {
    fn add(into: Option<Joined>, score: f32) -> Joined {
        match into {
            None => Joined {
                count: 1,
                sum: score,
                max: score,
            },
            Some(joined) => Joined {
                count: joined.count + 1,
                sum: joined.sum + score,
                max: joined.max.max(score),
            },
        }
    }

    fn score(self, mode: JoinMode) -> f32 {
        match mode {
            JoinMode::None => 0.0,
            JoinMode::Avg => self.sum / self.count as f32,
            JoinMode::Max => self.max,
            JoinMode::Sum => self.sum,
        }
    }
}

/// Walks documents whose scores are known.
pub(super) struct JoinScorer {
    docs: Vec<(u32, f32)>,
    at: usize,
}

impl JoinScorer {
    fn new(docs: Vec<(u32, f32)>) -> JoinScorer {
        JoinScorer { docs, at: 0 }
    }
}

impl Scorer for JoinScorer {
    fn doc(&self) -> u32 {
        self.docs.get(self.at).map_or(END, |(doc, _)| *doc)
    }

    fn advance(&mut self) -> u32 {
        self.at += 1;
        self.doc()
    }

    fn seek(&mut self, target: u32) -> u32 {
        let rest = self.docs.get(self.at..).unwrap_or(&[]);
        self.at += rest.partition_point(|(doc, _)| *doc < target);
        self.doc()
    }

    fn score(&mut self) -> f32 {
        self.docs.get(self.at).map_or(0.0, |(_, score)| *score)
    }
}

impl NestedWeight {
    pub(super) fn scorer(&self, at: usize, view: &SegmentView, budget: &Budget) -> Result<Option<JoinScorer>> {
        let (Some(nested), Some(outer)) = (self.nested.get(at), self.outer.get(at)) else {
            return Ok(None);
        };
        let Some(mut inner) = self.inner.scorer(at, view, budget)? else {
            return Ok(None);
        };
        let mut docs: BTreeMap<u32, Joined> = BTreeMap::new();
        let mut doc = inner.doc();
        while doc != END {
            budget.check()?;
            if let (true, Some(owner)) = (nested.contains(doc), outer.next(doc + 1)) {
                let joined = Joined::add(docs.get(&owner).copied(), inner.score());
                docs.insert(owner, joined);
            }
            doc = inner.advance();
        }
        let docs = docs.into_iter().map(|(doc, joined)| (doc, joined.score(self.mode)));
        Ok(Some(JoinScorer::new(docs.collect())))
    }
}

impl RelatedWeight {
    pub(super) fn scorer(&self, at: usize) -> Option<JoinScorer> {
        self.docs.get(at).map(|docs| JoinScorer::new(docs.clone()))
    }
}

impl Weigher<'_> {
    pub(super) fn nested(&self, query: &NestedQuery) -> Result<NestedWeight> {
        let segments = &self.view.segments;
        let nested = segments.iter().map(|view| nested_docs(&view.segment, &query.path));
        let outer = segments
            .iter()
            .map(|view| outer_docs(&view.segment, query.outer.as_deref()));
        Ok(NestedWeight {
            inner: self.build(&query.query)?,
            mode: query.mode,
            nested: nested.collect::<Result<_>>()?,
            outer: outer.collect::<Result<_>>()?,
        })
    }

    /// Runs the query of the relatives by itself, which is how it is scored.
    pub(super) fn related(&self, query: &RelatedQuery) -> Result<RelatedWeight> {
        let weight = Weight::of(&query.query, self.view, self.shard, self.statistics, self.budget)?;
        let squares = (query.mode != JoinMode::None).then(|| weight.sum_of_squares());
        let mut found: Vec<(usize, u32, f32)> = Vec::new();
        for (at, view) in self.view.segments.iter().enumerate() {
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
        let docs = match &query.relation {
            Relation::Children { parent_type, min, max } => {
                self.parents_of(&found, parent_type, *min..=*max, query.mode)?
            }
            Relation::Parent { parent_type } => self.children_of(&found, parent_type)?,
        };
        Ok(RelatedWeight { docs, squares })
    }

    fn parents_of(
        &self,
        children: &[(usize, u32, f32)],
        parent_type: &str,
        wanted: std::ops::RangeInclusive<usize>,
        mode: JoinMode,
    ) -> Result<Vec<Vec<(u32, f32)>>> {
        let mut joined: BTreeMap<(usize, u32), Joined> = BTreeMap::new();
        for (at, doc, score) in children {
            let Some(view) = self.view.segments.get(*at) else {
                continue;
            };
            let terms = view.segment.ordinals(PARENT)?;
            for ordinal in terms.of(*doc) {
                let parent = terms.term(*ordinal).split_once('#');
                let place = parent
                    .filter(|(type_name, _)| *type_name == parent_type)
                    .and_then(|(type_name, id)| self.view.place(self.shard.locate(type_name, id)?));
                if let Some(place) = place {
                    let sum = Joined::add(joined.get(&place).copied(), *score);
                    joined.insert(place, sum);
                }
            }
        }
        let mut docs = vec![Vec::new(); self.view.segments.len()];
        for ((at, doc), joined) in joined {
            if let (true, Some(docs)) = (wanted.contains(&joined.count), docs.get_mut(at)) {
                docs.push((doc, joined.score(mode)));
            }
        }
        Ok(docs)
    }

    fn children_of(&self, parents: &[(usize, u32, f32)], parent_type: &str) -> Result<Vec<Vec<(u32, f32)>>> {
        let mut docs: Vec<BTreeMap<u32, f32>> = vec![BTreeMap::new(); self.view.segments.len()];
        for (at, doc, score) in parents {
            let Some(view) = self.view.segments.get(*at) else {
                continue;
            };
            let stored = view.segment.stored(*doc)?;
            let key = term_key(PARENT, &format!("{parent_type}#{}", stored.id()));
            for (view, docs) in self.view.segments.iter().zip(&mut docs) {
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
