//! Compound scorers: boolean, disjunction-max, filtered.

use super::match_scorer::{DocMatcher, MatchScorer};
use super::{END, Scorer};

/// Scorer of a boolean query.
pub(super) type BooleanScorer = MatchScorer<Clauses>;

/// Clauses of a boolean query.
pub(super) struct Clauses {
    must: Vec<Box<dyn Scorer>>,
    should: Vec<Box<dyn Scorer>>,
    must_not: Vec<Box<dyn Scorer>>,
    /// Number of `should` clauses that must match.
    minimum_should_match: usize,
    /// Coord factor, by number of matching clauses.
    coord: Vec<f32>,
    /// Number of `should` clauses that match the current document.
    matched: usize,
}

impl BooleanScorer {
    pub(super) fn new(
        must: Vec<Box<dyn Scorer>>,
        should: Vec<Box<dyn Scorer>>,
        must_not: Vec<Box<dyn Scorer>>,
        minimum_should_match: usize,
        coord: Vec<f32>,
    ) -> BooleanScorer {
        let minimum_should_match = if must.is_empty() {
            minimum_should_match.max(1)
        } else {
            minimum_should_match
        };
        MatchScorer::of(Clauses {
            must,
            should,
            must_not,
            minimum_should_match,
            coord,
            matched: 0,
        })
    }
}

impl Clauses {
    fn next_required(&mut self, mut target: u32) -> u32 {
        'again: loop {
            for scorer in &mut self.must {
                let doc = scorer.seek(target);
                if doc > target {
                    if doc == END {
                        return END;
                    }
                    target = doc;
                    continue 'again;
                }
            }
            return target;
        }
    }

    fn next_optional(&mut self, target: u32) -> u32 {
        self.should
            .iter_mut()
            .map(|scorer| scorer.seek(target))
            .min()
            .unwrap_or(END)
    }
}

impl DocMatcher for Clauses {
    fn next_match(&mut self, mut target: u32) -> u32 {
        loop {
            target = if self.must.is_empty() {
                self.next_optional(target)
            } else {
                self.next_required(target)
            };
            if target == END {
                return END;
            }
            if self.must_not.iter_mut().any(|scorer| scorer.seek(target) == target) {
                target += 1;
                continue;
            }
            self.matched = 0;
            for scorer in &mut self.should {
                self.matched += usize::from(scorer.seek(target) == target);
            }
            if self.matched >= self.minimum_should_match {
                return target;
            }
            target += 1;
        }
    }

    fn score(&mut self, doc: u32) -> f32 {
        let mut sum = 0.0;
        for scorer in &mut self.must {
            sum += scorer.score();
        }
        if self.matched > 0 {
            for scorer in &mut self.should {
                if scorer.doc() == doc {
                    sum += scorer.score();
                }
            }
        }
        sum * self.coord.get(self.must.len() + self.matched).copied().unwrap_or(1.0)
    }
}

/// Scorer of a disjunction: the best score plus `tie` times the others.
pub(super) struct DisjunctionMaxScorer {
    scorers: Vec<Box<dyn Scorer>>,
    tie: f32,
    doc: u32,
}

impl DisjunctionMaxScorer {
    pub(super) fn new(scorers: Vec<Box<dyn Scorer>>, tie: f32) -> DisjunctionMaxScorer {
        let doc = scorers.iter().map(|scorer| scorer.doc()).min().unwrap_or(END);
        DisjunctionMaxScorer { scorers, tie, doc }
    }
}

impl Scorer for DisjunctionMaxScorer {
    fn doc(&self) -> u32 {
        self.doc
    }

    fn advance(&mut self) -> u32 {
        if self.doc == END { END } else { self.seek(self.doc + 1) }
    }

    fn seek(&mut self, target: u32) -> u32 {
        if self.doc < target {
            self.doc = self
                .scorers
                .iter_mut()
                .map(|scorer| scorer.seek(target))
                .min()
                .unwrap_or(END);
        }
        self.doc
    }

    fn score(&mut self) -> f32 {
        let (mut sum, mut best) = (0.0, 0.0f32);
        for scorer in self.scorers.iter_mut().filter(|scorer| scorer.doc() == self.doc) {
            let score = scorer.score();
            sum += score;
            best = best.max(score);
        }
        best + (sum - best) * self.tie
    }
}

/// Scorer of the documents of a query that pass a filter.
pub(super) struct FilteredScorer {
    query: Box<dyn Scorer>,
    filter: Box<dyn Scorer>,
}

impl FilteredScorer {
    pub(super) fn new(query: Box<dyn Scorer>, filter: Box<dyn Scorer>) -> FilteredScorer {
        let mut scorer = FilteredScorer { query, filter };
        scorer.skip_filtered();
        scorer
    }

    fn skip_filtered(&mut self) -> u32 {
        loop {
            let doc = self.query.doc();
            if doc == END {
                return END;
            }
            let other = self.filter.seek(doc);
            if other == doc {
                return doc;
            }
            self.query.seek(other);
        }
    }
}

impl Scorer for FilteredScorer {
    fn doc(&self) -> u32 {
        self.query.doc()
    }

    fn advance(&mut self) -> u32 {
        self.query.advance();
        self.skip_filtered()
    }

    fn seek(&mut self, target: u32) -> u32 {
        self.query.seek(target);
        self.skip_filtered()
    }

    fn score(&mut self) -> f32 {
        self.query.score()
    }
}
