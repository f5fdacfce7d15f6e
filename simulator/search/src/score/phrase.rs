//! Phrase scorer.

use tantivy::DocSet;
use tantivy::postings::{Postings, SegmentPostings};

use super::END;
use super::leaf::TermScore;
use super::match_scorer::{DocMatcher, MatchScorer};
use super::sloppy::sloppy_frequency;

/// Slot of a phrase: the postings of the alternative terms at one position.
pub(super) struct Slot {
    pub(super) alternatives: Vec<SegmentPostings>,
    /// Numbers of the terms. The same term has the same number in every slot.
    pub(super) terms: Vec<usize>,
    /// Offset from the start of the phrase.
    pub(super) offset: u32,
    positions: Vec<u32>,
}

impl Slot {
    pub(super) fn new(alternatives: Vec<SegmentPostings>, terms: Vec<usize>, offset: u32) -> Slot {
        Slot {
            alternatives,
            terms,
            offset,
            positions: Vec::new(),
        }
    }

    /// Number of documents to visit.
    fn cost(&self) -> u64 {
        self.alternatives
            .iter()
            .map(|postings| u64::from(postings.doc_freq()))
            .sum()
    }

    fn doc(&self) -> u32 {
        if let [only] = self.alternatives.as_slice() {
            return only.doc();
        }
        self.alternatives
            .iter()
            .map(|postings| postings.doc())
            .min()
            .unwrap_or(END)
    }

    fn seek(&mut self, target: u32) -> u32 {
        for postings in &mut self.alternatives {
            let doc = postings.doc();
            if doc + 1 == target {
                postings.advance();
            } else if doc < target {
                postings.seek(target);
            }
        }
        self.doc()
    }

    /// Reads the positions in `doc`, ascending.
    fn read(&mut self, doc: u32) {
        self.positions.clear();
        for postings in &mut self.alternatives {
            if postings.doc() == doc {
                postings.append_positions_with_offset(0, &mut self.positions);
            }
        }
        if self.alternatives.len() > 1 {
            self.positions.sort_unstable();
        }
    }
}

/// Scorer of a phrase.
pub(super) type PhraseScorer = MatchScorer<Phrase>;

/// Matcher of a phrase.
pub(super) struct Phrase {
    slots: Vec<Slot>,
    slop: u32,
    score: TermScore,
    frequency: f32,
    starts: Vec<u32>,
    /// Indices of the slots, the rarest first.
    order: Vec<usize>,
}

impl PhraseScorer {
    pub(super) fn new(slots: Vec<Slot>, slop: u32, score: TermScore) -> PhraseScorer {
        let mut order: Vec<usize> = (0..slots.len()).collect();
        order.sort_by_key(|place| slots.get(*place).map(Slot::cost));
        MatchScorer::of(Phrase {
            order,
            slots,
            slop,
            score,
            frequency: 0.0,
            starts: Vec::new(),
        })
    }

    /// Frequency of the phrase in the current document.
    pub(super) fn frequency(&self) -> f32 {
        self.matcher.frequency
    }
}

impl Phrase {
    fn exact_frequency(&mut self) -> f32 {
        let Some((first, rest)) = self.slots.split_first() else {
            return 0.0;
        };
        self.starts.clear();
        self.starts.extend(
            first
                .positions
                .iter()
                .filter_map(|position| position.checked_sub(first.offset)),
        );
        for slot in rest {
            let mut at = 0;
            self.starts.retain(|start| {
                let wanted = start + slot.offset;
                while slot.positions.get(at).is_some_and(|position| *position < wanted) {
                    at += 1;
                }
                slot.positions.get(at) == Some(&wanted)
            });
            if self.starts.is_empty() {
                return 0.0;
            }
        }
        self.starts.len() as f32
    }

    fn sloppy_frequency(&self) -> f32 {
        let places: Vec<(&[u32], u32, &[usize])> = self
            .slots
            .iter()
            .map(|slot| (slot.positions.as_slice(), slot.offset, slot.terms.as_slice()))
            .collect();
        sloppy_frequency(&places, self.slop)
    }
}

impl DocMatcher for Phrase {
    fn next_match(&mut self, mut target: u32) -> u32 {
        'again: loop {
            for place in &self.order {
                let Some(slot) = self.slots.get_mut(*place) else {
                    continue;
                };
                let doc = slot.seek(target);
                if doc == END {
                    return END;
                }
                if doc > target {
                    target = doc;
                    continue 'again;
                }
            }
            for slot in &mut self.slots {
                slot.read(target);
            }
            self.frequency = if self.slop == 0 {
                self.exact_frequency()
            } else {
                self.sloppy_frequency()
            };
            if self.frequency > 0.0 {
                return target;
            }
            target += 1;
        }
    }

    fn score(&mut self, doc: u32) -> f32 {
        self.score.of_sloppy(doc, self.frequency)
    }
}
