//! Scores of documents through others: their nested objects, children or parents.
//!
//! Source: Lucene 4.10's `ToParentBlockJoinQuery`, and Elasticsearch 1.5's `ChildrenQuery` and `ParentQuery`.

use std::collections::BTreeMap;

use crate::budget::Budget;
use crate::error::Result;
use crate::index::Bits;
use crate::query::JoinMode;
use crate::score::{END, Scorer};

/// Documents that were found through their relatives, with their scores, segment by segment.
pub(crate) struct RelatedWeight {
    pub(super) docs: Vec<Vec<(u32, f32)>>,
    /// Sum of the squared weights of the query of the relatives, where their scores count.
    pub(super) squares: Option<f32>,
}

/// Scores of several documents on their way to one.
#[derive(Clone, Copy)]
pub(super) struct Joined {
    pub(super) count: usize,
    sum: f32,
    max: f32,
}

impl Joined {
    pub(super) fn add(into: Option<Joined>, score: f32) -> Joined {
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

    pub(super) fn score(self, mode: JoinMode) -> f32 {
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

    /// The documents that the nested objects of a scorer are in.
    pub(super) fn of_nested(
        inner: &mut dyn Scorer,
        nested: &Bits,
        outer: &Bits,
        mode: JoinMode,
        budget: &Budget,
    ) -> Result<JoinScorer> {
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
        let docs = docs.into_iter().map(|(doc, joined)| (doc, joined.score(mode)));
        Ok(JoinScorer::new(docs.collect()))
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

impl RelatedWeight {
    pub(super) fn scorer(&self, at: usize) -> Option<JoinScorer> {
        self.docs.get(at).map(|docs| JoinScorer::new(docs.clone()))
    }
}
