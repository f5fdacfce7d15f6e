//! Boosts of the fields whose values are in `_all`.
//!
//! Source: Elasticsearch 1.5's `AllTermQuery`: the score of a term is that of a span, times the average boost of its
//! occurrences in fields with a boost.

use tantivy::DocSet;
use tantivy::postings::{Postings, SegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;

use crate::error::Result;
use crate::index::{Segment, View, term_key};
use crate::mapping::ALL_BOOSTS;
use crate::score::Scorer;
use crate::score::leaf::TermScorer;

/// Boosts of the occurrences of a term, with the postings of these occurrences, by segment.
pub(super) struct AllBoosts(Vec<Vec<(f32, TermInfo)>>);

impl AllBoosts {
    /// Reads the boosts of a term.
    pub(super) fn of(view: &View, text: &str) -> Result<AllBoosts> {
        let from = term_key(ALL_BOOSTS, &format!("{text}\u{0}"));
        let to = term_key(ALL_BOOSTS, &format!("{text}\u{1}"));
        let boosts = view.segments.iter().map(|view| {
            let mut found = Vec::new();
            let mut terms = view.segment.terms().terms().range().ge(&from).lt(&to).into_stream()?;
            while terms.advance() {
                let boost = terms
                    .key()
                    .get(from.len()..)
                    .and_then(|text| std::str::from_utf8(text).ok());
                found.extend(boost.and_then(|text| Some((text.parse().ok()?, terms.value().clone()))));
            }
            Ok(found)
        });
        boosts.collect::<Result<_>>().map(AllBoosts)
    }

    /// Returns the scorer of the term in segment number `at`.
    pub(super) fn scorer(&self, term: TermScorer, at: usize, segment: &Segment) -> Result<BoostedTermScorer> {
        let boosts = self.0.get(at).into_iter().flatten();
        let boosts = boosts.map(|(boost, info)| Ok((*boost, segment.postings(info, IndexRecordOption::WithFreqs)?)));
        Ok(BoostedTermScorer {
            term,
            boosts: boosts.collect::<Result<_>>()?,
        })
    }
}

/// Scorer of a term of `_all`.
pub(super) struct BoostedTermScorer {
    term: TermScorer,
    boosts: Vec<(f32, SegmentPostings)>,
}

impl BoostedTermScorer {
    /// Frequency of the term in the current document as that of a span.
    pub(super) fn frequency(&self) -> f32 {
        self.term.postings.term_freq() as f32 / 2.0
    }

    /// Average boost in the current document.
    pub(super) fn boost(&mut self) -> f32 {
        let doc = self.term.doc();
        let (mut sum, mut count) = (0.0, 0);
        for (boost, postings) in &mut self.boosts {
            if postings.doc() < doc {
                postings.seek(doc);
            }
            if postings.doc() == doc {
                sum += *boost * postings.term_freq() as f32;
                count += postings.term_freq();
            }
        }
        if count > 0 { sum / count as f32 } else { 1.0 }
    }

    /// Score of the current document without boosts.
    pub(super) fn unboosted(&self) -> f32 {
        self.term.score.of_sloppy(self.term.doc(), self.frequency())
    }
}

impl Scorer for BoostedTermScorer {
    fn doc(&self) -> u32 {
        self.term.doc()
    }

    fn advance(&mut self) -> u32 {
        self.term.advance()
    }

    fn seek(&mut self, target: u32) -> u32 {
        self.term.seek(target)
    }

    fn score(&mut self) -> f32 {
        self.unboosted() * self.boost()
    }
}
