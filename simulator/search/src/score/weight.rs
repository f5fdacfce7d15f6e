//! Weight: a query with the statistics of one shard, ready to score its segments.

use tantivy::DocSet;
use tantivy::postings::TermInfo;
use tantivy::schema::IndexRecordOption;

use crate::budget::Budget;
use crate::error::{Result, SearchError};
use crate::index::{Bits, Segment, SegmentView, Within};
use crate::query::{FunctionSettings, JoinMode, Occur, Query, ScoreFunction};
use crate::score::all_boosts::AllBoosts;
use crate::score::boolean::{BooleanScorer, DisjunctionMaxScorer, FilteredScorer};
use crate::score::corpus::Corpus;
use crate::score::frequent_phrase::{FrequentPhrase, Word};
use crate::score::function::{BoostingScorer, FunctionScorer, SegmentFunction};
use crate::score::join::{JoinScorer, RelatedWeight};
use crate::score::leaf::{AllScorer, BitsScorer, ConstantScorer, ListedTermScorer, TermScorer};
use crate::score::limit::LimitScorer;
use crate::score::match_scorer::MatchScorer;
use crate::score::phrase::{PhraseScorer, Slot};
use crate::score::similarity::SimilarityWeight;
use crate::score::span::{SpanScorer, SpanWeight};
use crate::score::term_score::TermScore;
use crate::score::weight_builder::WeightBuilder;
use crate::score::{END, Scorer, query_norm};

/// Weight of a query or of one of its clauses.
pub(crate) struct Weight {
    pub(super) kind: WeightKind,
    pub(super) boost: f32,
    /// Factor of its scores, once normalized.
    pub(super) value: f32,
    /// Norm of the query and boosts of the queries around it, once normalized.
    pub(super) norm: f32,
}

pub(super) enum WeightKind {
    Nothing,
    All,
    Term {
        similarity: SimilarityWeight,
        text: String,
        infos: Vec<Option<TermInfo>>,
        boosts: Option<AllBoosts>,
    },
    Phrase {
        similarity: SimilarityWeight,
        text: String,
        /// First term.
        first: String,
        slop: u32,
        slots: Vec<PhraseSlot>,
    },
    MultiTerm {
        infos: Vec<Vec<TermInfo>>,
    },
    Range {
        docs: Vec<Within>,
    },
    Docs {
        docs: Vec<Bits>,
    },
    /// A filter that fails on every shard.
    Failing(SearchError),
    /// A term that the index does not have, and its documents by segment.
    ListedTerm {
        similarity: SimilarityWeight,
        text: String,
        docs: Vec<Bits>,
    },
    /// The first of the documents, by segment.
    Limit {
        docs: Vec<Bits>,
        limit: u32,
    },
    Bool {
        clauses: Vec<(Occur, Weight)>,
        minimum_should_match: usize,
        coord: bool,
    },
    DisjunctionMax {
        weights: Vec<Weight>,
        tie: f32,
    },
    Span {
        similarity: SimilarityWeight,
        span: SpanWeight,
    },
    Boosting {
        positive: Box<Weight>,
        negative: Box<Weight>,
        factor: f32,
    },
    Functions {
        query: Box<Weight>,
        functions: Vec<(Option<Weight>, ScoreFunction)>,
        settings: FunctionSettings,
    },
    /// A nested query, with the nested objects and their containers by segment.
    Nested {
        inner: Box<Weight>,
        mode: JoinMode,
        nested: Vec<Bits>,
        outer: Vec<Bits>,
    },
    Related(RelatedWeight),
    Constant(Box<Weight>),
    Filtered {
        query: Box<Weight>,
        filter: Box<Weight>,
    },
}

/// Slot of a phrase: numbers of its alternative terms, with their postings by segment.
pub(super) struct PhraseSlot {
    pub(super) offset: u32,
    pub(super) terms: Vec<(usize, Vec<Option<TermInfo>>)>,
}

impl Weight {
    /// Builds the normalized weight of a query on a shard.
    pub(crate) fn of(query: &Query, corpus: &Corpus<'_>, budget: &Budget) -> Result<Weight> {
        let mut weight = WeightBuilder { corpus, budget }.build_rewritten(query)?;
        let norm = match corpus.base.is_classic() {
            true => query_norm(weight.sum_of_squares()),
            false => 1.0,
        };
        weight.normalize(norm, 1.0);
        Ok(weight)
    }

    pub(super) fn sum_of_squares(&self) -> f32 {
        let square = self.boost * self.boost;
        match &self.kind {
            WeightKind::Nothing | WeightKind::Failing(_) => 0.0,
            WeightKind::Term { similarity, .. }
            | WeightKind::ListedTerm { similarity, .. }
            | WeightKind::Phrase { similarity, .. }
            | WeightKind::Span { similarity, .. } => similarity.sum_of_squares(self.boost),
            WeightKind::Boosting { positive, negative, .. } => {
                square * (positive.sum_of_squares() + negative.sum_of_squares())
            }
            WeightKind::Nested { inner, .. } => square * inner.sum_of_squares(),
            WeightKind::Related(related) => square * related.squares.unwrap_or(1.0),
            WeightKind::Functions { query, .. } => square * query.sum_of_squares(),
            WeightKind::All
            | WeightKind::MultiTerm { .. }
            | WeightKind::Range { .. }
            | WeightKind::Docs { .. }
            | WeightKind::Limit { .. }
            | WeightKind::Constant(_) => square,
            WeightKind::Bool { clauses, .. } => {
                square
                    * clauses
                        .iter()
                        .filter(|(occur, _)| *occur != Occur::MustNot)
                        .map(|(_, weight)| weight.sum_of_squares())
                        .sum::<f32>()
            }
            WeightKind::DisjunctionMax { weights, tie } => {
                let sums: Vec<f32> = weights.iter().map(Weight::sum_of_squares).collect();
                let (sum, best) = (sums.iter().sum::<f32>(), sums.iter().copied().fold(0.0, f32::max));
                ((sum - best) * tie * tie + best) * square
            }
            WeightKind::Filtered { query, .. } => square * query.sum_of_squares(),
        }
    }

    fn normalize(&mut self, norm: f32, top_boost: f32) {
        let boost = self.boost;
        match &mut self.kind {
            WeightKind::Boosting { positive, negative, .. } => {
                positive.normalize(norm, top_boost * boost);
                negative.normalize(norm, top_boost * boost);
            }
            WeightKind::Nested { inner, .. } => inner.normalize(norm, top_boost * boost),
            WeightKind::Functions { query, functions, .. } => {
                query.normalize(norm, top_boost * boost);
                functions
                    .iter_mut()
                    .filter_map(|(filter, _)| filter.as_mut())
                    .for_each(|filter| filter.normalize(norm, 1.0));
                self.value = boost;
            }
            WeightKind::Term { similarity, .. }
            | WeightKind::ListedTerm { similarity, .. }
            | WeightKind::Phrase { similarity, .. }
            | WeightKind::Span { similarity, .. } => self.value = similarity.normalize(boost, norm, top_boost),
            WeightKind::Bool { clauses, .. } => clauses
                .iter_mut()
                .for_each(|(_, weight)| weight.normalize(norm, top_boost * boost)),
            WeightKind::DisjunctionMax { weights, .. } => weights
                .iter_mut()
                .for_each(|weight| weight.normalize(norm, top_boost * boost)),
            WeightKind::Filtered { query, .. } => query.normalize(norm, top_boost * boost),
            _ => {
                self.norm = norm * top_boost;
                self.value = boost * self.norm;
            }
        }
    }

    /// Returns a scorer for segment number `at`, or `None` if no document of it matches.
    pub(crate) fn scorer(&self, at: usize, view: &SegmentView, budget: &Budget) -> Result<Option<Box<dyn Scorer>>> {
        budget.check()?;
        let segment = &view.segment;
        let scorer: Box<dyn Scorer> = match &self.kind {
            WeightKind::Nothing => return Ok(None),
            WeightKind::Failing(error) => return Err(error.clone()),
            WeightKind::All => Box::new(AllScorer::new(segment.max_doc(), self.value)),
            WeightKind::Term { boosts, .. } => match (self.term_scorer(at, segment)?, boosts) {
                (None, _) => return Ok(None),
                (Some(term), None) => Box::new(term),
                (Some(term), Some(boosts)) => Box::new(boosts.scorer(term, at, segment)?),
            },
            WeightKind::Phrase { .. } => {
                if let Some(scorer) = self.frequent_phrase_scorer(at, segment)? {
                    Box::new(scorer)
                } else if let Some(scorer) = self.phrase_scorer(at, segment)? {
                    Box::new(scorer)
                } else {
                    return Ok(None);
                }
            }
            WeightKind::MultiTerm { infos, .. } => match infos.get(at).map(Vec::as_slice) {
                None | Some([]) => return Ok(None),
                Some([only]) => {
                    let postings = segment.postings(only, IndexRecordOption::Basic)?;
                    Box::new(ConstantScorer {
                        inner: Box::new(TermScorer {
                            postings,
                            score: TermScore::classic(0.0, None),
                        }),
                        score: self.value,
                    })
                }
                Some(infos) => Box::new(BitsScorer::new(union(segment, infos, budget)?, self.value)),
            },
            WeightKind::Range { docs, .. } => match docs.get(at) {
                None | Some(Within::Nothing) => return Ok(None),
                Some(Within::Everything) => Box::new(AllScorer::new(segment.max_doc(), self.value)),
                Some(Within::Some(docs)) => Box::new(BitsScorer::new(docs.clone(), self.value)),
            },
            WeightKind::Docs { docs, .. } => match docs.get(at) {
                Some(docs) => Box::new(BitsScorer::new(docs.clone(), self.value)),
                None => return Ok(None),
            },
            WeightKind::ListedTerm { similarity, docs, .. } => match docs.get(at) {
                Some(docs) => {
                    let score = similarity.term_score(self.value, segment)?;
                    Box::new(ListedTermScorer::new(docs.clone(), score))
                }
                None => return Ok(None),
            },
            WeightKind::Limit { docs, limit } => match docs.get(at) {
                Some(docs) => Box::new(LimitScorer::new(docs.clone(), view, *limit)),
                None => return Ok(None),
            },
            WeightKind::Span { similarity, span } => Box::new(self.span_scorer(span, similarity, at, segment)?),
            WeightKind::Boosting {
                positive,
                negative,
                factor,
            } => match positive.scorer(at, view, budget)? {
                Some(positive) => Box::new(BoostingScorer {
                    positive,
                    negative: negative.scorer(at, view, budget)?,
                    factor: *factor,
                }),
                None => return Ok(None),
            },
            WeightKind::Functions {
                query,
                functions,
                settings,
            } => match query.scorer(at, view, budget)? {
                Some(inner) => {
                    let functions = segment_functions(functions, at, view, budget)?;
                    Box::new(FunctionScorer::new(inner, functions, settings.clone(), self.boost))
                }
                None => return Ok(None),
            },
            WeightKind::Nested {
                inner,
                mode,
                nested,
                outer,
            } => match (inner.scorer(at, view, budget)?, nested.get(at), outer.get(at)) {
                (Some(mut inner), Some(nested), Some(outer)) => {
                    Box::new(JoinScorer::of_nested(&mut *inner, nested, outer, *mode, budget)?)
                }
                _ => return Ok(None),
            },
            WeightKind::Related(related) => match (related.scorer(at), related.squares) {
                (Some(scorer), Some(_)) => Box::new(scorer),
                (Some(scorer), None) => Box::new(ConstantScorer {
                    inner: Box::new(scorer),
                    score: self.value,
                }),
                (None, _) => return Ok(None),
            },
            WeightKind::Constant(inner) => match inner.scorer(at, view, budget)? {
                Some(inner) => Box::new(ConstantScorer {
                    inner,
                    score: self.value,
                }),
                None => return Ok(None),
            },
            WeightKind::Filtered { query, filter } => {
                match (query.scorer(at, view, budget)?, filter.scorer(at, view, budget)?) {
                    (Some(query), Some(filter)) => Box::new(FilteredScorer::new(query, filter)),
                    _ => return Ok(None),
                }
            }
            WeightKind::DisjunctionMax { weights, tie } => {
                let scorers = weights
                    .iter()
                    .filter_map(|weight| weight.scorer(at, view, budget).transpose())
                    .collect::<Result<Vec<_>>>()?;
                if scorers.is_empty() {
                    return Ok(None);
                }
                Box::new(DisjunctionMaxScorer::new(scorers, *tie))
            }
            WeightKind::Bool {
                clauses,
                minimum_should_match,
                coord,
            } => return boolean_scorer(clauses, *minimum_should_match, *coord, at, view, budget),
        };
        Ok((scorer.doc() != END).then_some(scorer))
    }

    pub(super) fn term_scorer(&self, at: usize, segment: &Segment) -> Result<Option<TermScorer>> {
        let WeightKind::Term { similarity, infos, .. } = &self.kind else {
            return Ok(None);
        };
        let Some(info) = infos.get(at).and_then(Option::as_ref) else {
            return Ok(None);
        };
        Ok(Some(TermScorer {
            postings: segment.postings(info, IndexRecordOption::WithFreqs)?,
            score: similarity.term_score(self.value, segment)?,
        }))
    }

    pub(super) fn span_scorer(
        &self,
        span: &SpanWeight,
        similarity: &SimilarityWeight,
        at: usize,
        segment: &Segment,
    ) -> Result<SpanScorer> {
        SpanScorer::new(span, at, segment, similarity.term_score(self.value, segment)?)
    }

    /// Scorer of an exact phrase of words that are frequent in the segment.
    fn frequent_phrase_scorer(&self, at: usize, segment: &Segment) -> Result<Option<MatchScorer<FrequentPhrase>>> {
        let WeightKind::Phrase {
            similarity,
            slots,
            slop: 0,
            ..
        } = &self.kind
        else {
            return Ok(None);
        };
        let only = slots.iter().map(|slot| match slot.terms.as_slice() {
            [(_, infos)] => Some((infos.get(at)?.as_ref()?, slot.offset)),
            _ => None,
        });
        let Some(terms) = only.collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        if !FrequentPhrase::suits(terms.iter().map(|(info, _)| info.doc_freq)) {
            return Ok(None);
        }
        // A phrase after removed words may not be at the start.
        if terms.iter().all(|(_, offset)| *offset > 0) {
            return Ok(None);
        }
        let last = terms.iter().map(|(_, offset)| *offset).max().unwrap_or(0);
        let words = terms.into_iter().map(|(info, offset)| {
            let (blocks, positions) = segment.blocks(info)?;
            Ok(Word::new(blocks, positions, last - offset))
        });
        let score = similarity.term_score(self.value, segment)?;
        let phrase = FrequentPhrase::new(words.collect::<Result<_>>()?, score);
        Ok(Some(MatchScorer::of(phrase)))
    }

    pub(super) fn phrase_scorer(&self, at: usize, segment: &Segment) -> Result<Option<PhraseScorer>> {
        let WeightKind::Phrase {
            similarity,
            slots,
            slop,
            ..
        } = &self.kind
        else {
            return Ok(None);
        };
        let mut places = Vec::with_capacity(slots.len());
        for slot in slots {
            let (mut postings, mut numbers) = (Vec::new(), Vec::new());
            for (number, infos) in &slot.terms {
                if let Some(info) = infos.get(at).and_then(Option::as_ref) {
                    postings.push(segment.postings(info, IndexRecordOption::WithFreqsAndPositions)?);
                    numbers.push(*number);
                }
            }
            if postings.is_empty() {
                return Ok(None);
            }
            places.push(Slot::new(postings, numbers, slot.offset));
        }
        Ok(Some(PhraseScorer::new(
            places,
            *slop,
            similarity.term_score(self.value, segment)?,
        )))
    }
}

/// Prepares score functions for segment number `at`.
pub(super) fn segment_functions(
    functions: &[(Option<Weight>, ScoreFunction)],
    at: usize,
    view: &SegmentView,
    budget: &Budget,
) -> Result<Vec<SegmentFunction>> {
    let ready = functions.iter().map(|(filter, function)| {
        let filter = filter.as_ref().map(|filter| filter.scorer(at, view, budget));
        SegmentFunction::new(filter.transpose()?, function, view, budget)
    });
    ready.collect()
}

fn union(segment: &Segment, infos: &[TermInfo], budget: &Budget) -> Result<Bits> {
    let mut bits = Bits::with_capacity(segment.max_doc());
    for info in infos {
        budget.check()?;
        let mut postings = segment.postings(info, IndexRecordOption::Basic)?;
        let mut doc = postings.doc();
        while doc != END {
            bits.insert(doc);
            doc = postings.advance();
        }
    }
    Ok(bits)
}

fn boolean_scorer(
    clauses: &[(Occur, Weight)],
    minimum_should_match: usize,
    coord: bool,
    at: usize,
    view: &SegmentView,
    budget: &Budget,
) -> Result<Option<Box<dyn Scorer>>> {
    let (mut must, mut should, mut must_not) = (Vec::new(), Vec::new(), Vec::new());
    let mut scoring = 0usize;
    for (occur, weight) in clauses {
        scoring += usize::from(*occur != Occur::MustNot);
        let scorer = weight.scorer(at, view, budget)?;
        match (occur, scorer) {
            (Occur::Must, None) => return Ok(None),
            (Occur::Must, Some(scorer)) => must.push(scorer),
            (Occur::Should, Some(scorer)) => should.push(scorer),
            (Occur::MustNot, Some(scorer)) => must_not.push(scorer),
            (_, None) => {}
        }
    }
    if should.len() < minimum_should_match || must.is_empty() && should.is_empty() {
        return Ok(None);
    }
    let factor = |overlap: usize| {
        if coord && scoring > 1 {
            overlap as f32 / scoring as f32
        } else {
            1.0
        }
    };
    if must_not.is_empty() && minimum_should_match <= 1 && must.len() + should.len() == 1 && factor(1) == 1.0 {
        return Ok(must.pop().or_else(|| should.pop()));
    }
    let factors = (0..=scoring).map(factor).collect();
    let scorer = BooleanScorer::new(must, should, must_not, minimum_should_match, factors);
    Ok((scorer.doc() != END).then(|| Box::new(scorer) as Box<dyn Scorer>))
}
