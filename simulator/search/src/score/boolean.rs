//! The scorers made of others: boolean, best-of, filtered.

use super::matching::{MatchScorer, Matching};
use super::{END, Scorer};

/// The documents of a boolean query.
pub(super) type BooleanScorer = MatchScorer<Clauses>;

/// What must, may and must not match, with the factor for how many did.
pub(super) struct Clauses {
    must: Vec<Box<dyn Scorer>>,
    should: Vec<Box<dyn Scorer>>,
    must_not: Vec<Box<dyn Scorer>>,
    /// How many of `should` have to match.
    minimum_should_match: usize,
    /// The factor by the number of matching clauses.
    coord: Vec<f32>,
    /// Number of optional clauses that match.
    met: usize,
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
        MatchScorer::on(Clauses {
            must,
            should,
            must_not,
            minimum_should_match,
            coord,
            met: 0,
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

impl Matching for Clauses {
    fn settle(&mut self, mut target: u32) -> u32 {
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
            self.met = 0;
            for scorer in &mut self.should {
                self.met += usize::from(scorer.seek(target) == target);
            }
            if self.met >= self.minimum_should_match {
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
        if self.met > 0 {
            for scorer in &mut self.should {
                if scorer.doc() == doc {
                    sum += scorer.score();
                }
            }
        }
        sum * self.coord.get(self.must.len() + self.met).copied().unwrap_or(1.0)
    }
}

/// What any of several find; the best score counts, and a share of the others.
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

/// What one finds and another does not leave out; the first one's score.
pub(super) struct FilteredScorer {
    query: Box<dyn Scorer>,
    filter: Box<dyn Scorer>,
}

impl FilteredScorer {
    pub(super) fn new(query: Box<dyn Scorer>, filter: Box<dyn Scorer>) -> FilteredScorer {
        let mut scorer = FilteredScorer { query, filter };
        scorer.settle();
        scorer
    }

    fn settle(&mut self) -> u32 {
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
        self.settle()
    }

    fn seek(&mut self, target: u32) -> u32 {
        self.query.seek(target);
        self.settle()
    }

    fn score(&mut self) -> f32 {
        self.query.score()
    }
}
