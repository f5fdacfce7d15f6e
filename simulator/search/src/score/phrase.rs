//! Phrases: terms at given distances from one another.

use tantivy::DocSet;
use tantivy::postings::{Postings, SegmentPostings};

use super::END;
use super::leaf::TermScore;
use super::matching::{MatchScorer, Matching};
use super::sloppy::sloppy_frequency;

/// One place of a phrase: the postings of the terms that may stand there.
pub(super) struct Slot {
    pub(super) alternatives: Vec<SegmentPostings>,
    /// The terms by number, the same term having the same number in every place.
    pub(super) terms: Vec<usize>,
    /// How far the place is from the beginning of the phrase.
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

    /// How many documents it goes through.
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
            if postings.doc() < target {
                postings.seek(target);
            }
        }
        self.doc()
    }

    /// Reads the positions in `doc`, in order.
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

/// The documents of a phrase.
pub(super) type PhraseScorer = MatchScorer<Phrase>;

/// The places of a phrase.
pub(super) struct Phrase {
    slots: Vec<Slot>,
    slop: u32,
    score: TermScore,
    frequency: f32,
    starts: Vec<u32>,
    /// The places, the rarest first.
    order: Vec<usize>,
}

impl PhraseScorer {
    pub(super) fn new(slots: Vec<Slot>, slop: u32, score: TermScore) -> PhraseScorer {
        let mut order: Vec<usize> = (0..slots.len()).collect();
        order.sort_by_key(|place| slots.get(*place).map(Slot::cost));
        MatchScorer::on(Phrase {
            order,
            slots,
            slop,
            score,
            frequency: 0.0,
            starts: Vec::new(),
        })
    }

    /// How often the phrase is in the document that it stands on.
    pub(super) fn frequency(&self) -> f32 {
        self.matching.frequency
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

impl Matching for Phrase {
    fn settle(&mut self, mut target: u32) -> u32 {
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
        self.score.of_share(doc, self.frequency)
    }
}
