//! Scorers of join queries: nested objects, children, parents.
//!
//! Source: Lucene 4.10's `ToParentBlockJoinQuery`, and Elasticsearch 1.5's `ChildrenQuery` and `ParentQuery`.

use std::collections::BTreeMap;

use crate::budget::Budget;
use crate::error::Result;
use crate::index::Bits;
use crate::query::JoinMode;
use crate::score::{END, Scorer};

/// Matching documents of a parent or child query with their scores, by segment.
pub(crate) struct RelatedWeight {
    pub(super) docs: Vec<Vec<(u32, f32)>>,
    /// Whether the query is explained as if it matched all documents: if its inner query matches any document.
    pub(super) is_explained: bool,
    /// Sum of squared weights of the inner query. `None` if its scores are not used.
    pub(super) squares: Option<f32>,
}

/// Accumulator of the scores of joined documents.
#[derive(Clone, Copy)]
pub(super) struct JoinedScore {
    pub(super) count: usize,
    sum: f32,
    max: f32,
    min: f32,
}

impl JoinedScore {
    pub(super) fn add(into: Option<JoinedScore>, score: f32) -> JoinedScore {
        match into {
            None => JoinedScore {
                count: 1,
                sum: score,
                max: score,
                min: score,
            },
            Some(joined) => JoinedScore {
                count: joined.count + 1,
                sum: joined.sum + score,
                max: joined.max.max(score),
                min: joined.min.min(score),
            },
        }
    }

    pub(super) fn score(self, mode: JoinMode) -> f32 {
        match mode {
            JoinMode::None => 0.0,
            JoinMode::Avg => self.sum / self.count as f32,
            JoinMode::Max => self.max,
            JoinMode::Min => self.min,
            JoinMode::Sum => self.sum,
        }
    }
}

/// Scorer of documents with precomputed scores.
pub(super) struct JoinScorer {
    docs: Vec<(u32, f32)>,
    at: usize,
}

impl JoinScorer {
    fn new(docs: Vec<(u32, f32)>) -> JoinScorer {
        JoinScorer { docs, at: 0 }
    }

    /// Joins the nested objects of a scorer to the documents that contain them.
    pub(super) fn of_nested(
        inner: &mut dyn Scorer,
        nested: &Bits,
        outer: &Bits,
        mode: JoinMode,
        budget: &Budget,
    ) -> Result<JoinScorer> {
        let mut docs: BTreeMap<u32, JoinedScore> = BTreeMap::new();
        let mut doc = inner.doc();
        while doc != END {
            budget.check()?;
            if let (true, Some(owner)) = (nested.contains(doc), outer.next(doc + 1)) {
                let joined = JoinedScore::add(docs.get(&owner).copied(), inner.score());
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
