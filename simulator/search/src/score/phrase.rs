//! Phrase scorer.

use tantivy::DocSet;
use tantivy::postings::{Postings, SegmentPostings};

use super::END;
use super::match_scorer::{DocMatcher, MatchScorer};
use super::sloppy::sloppy_frequency;
use super::term_score::TermScore;

/// Slot of a phrase: the postings of the alternative terms at one position.
pub(super) struct Slot {
    pub(super) alternatives: Vec<SegmentPostings>,
    /// Numbers of the terms. The same term has the same number in every slot.
    pub(super) terms: Vec<usize>,
    /// Offset from the start of the phrase, with the words that were removed there.
    pub(super) offset: u32,
    /// Number of the slot in the phrase.
    place: usize,
    /// Added to each position. In an exact phrase it is the distance to the last slot, so that the positions of a match
    /// are equal.
    shift: u32,
    /// First position, with the shift, at which an exact phrase can be.
    floor: u32,
    positions: Vec<u32>,
}

impl Slot {
    pub(super) fn new(alternatives: Vec<SegmentPostings>, terms: Vec<usize>, offset: u32) -> Slot {
        Slot {
            alternatives,
            terms,
            offset,
            place: 0,
            shift: 0,
            floor: 0,
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

    fn seek(&mut self, target: u32) -> u32 {
        if let [only] = self.alternatives.as_mut_slice() {
            return seek(only, target);
        }
        let docs = self.alternatives.iter_mut().map(|postings| seek(postings, target));
        docs.min().unwrap_or(END)
    }

    /// Reads the positions in `doc`, ascending. `distinct`: each only once, even if it has several of the terms.
    fn read(&mut self, doc: u32, distinct: bool) {
        self.positions.clear();
        if let [only] = self.alternatives.as_mut_slice() {
            only.append_positions_with_offset(self.shift, &mut self.positions);
        } else {
            for postings in &mut self.alternatives {
                if postings.doc() == doc {
                    postings.append_positions_with_offset(self.shift, &mut self.positions);
                }
            }
            self.positions.sort_unstable();
            if distinct {
                self.positions.dedup();
            }
        }
        if self.floor > 0 {
            self.positions.retain(|position| *position >= self.floor);
        }
    }
}

/// Moves postings to their first document from `target` on, and returns it.
fn seek(postings: &mut SegmentPostings, target: u32) -> u32 {
    let doc = postings.doc();
    if doc >= target {
        doc
    } else if doc + 1 == target {
        postings.advance()
    } else {
        postings.seek(target)
    }
}

/// Returns how many numbers are in both of two ascending lists.
fn common(left: &[u32], right: &[u32]) -> usize {
    let (mut count, mut at, mut other) = (0, 0, 0);
    while let (Some(a), Some(b)) = (left.get(at), right.get(other)) {
        count += usize::from(a == b);
        at += usize::from(a <= b);
        other += usize::from(b <= a);
    }
    count
}

/// Scorer of a phrase.
pub(super) type PhraseScorer = MatchScorer<Phrase>;

/// Matcher of a phrase.
pub(super) struct Phrase {
    /// The rarest first.
    slots: Vec<Slot>,
    slop: u32,
    score: TermScore,
    frequency: f32,
    /// Positions that all slots but the last have in common.
    shared: Vec<u32>,
}

impl PhraseScorer {
    pub(super) fn new(mut slots: Vec<Slot>, slop: u32, score: TermScore) -> PhraseScorer {
        let offsets = slots.iter().map(|slot| slot.offset);
        let last = offsets.clone().max().unwrap_or(0);
        let is_first = offsets.min() == Some(0);
        for (place, slot) in slots.iter_mut().enumerate() {
            slot.place = place;
            slot.shift = if slop == 0 { last - slot.offset } else { 0 };
            slot.floor = if slop == 0 && !is_first { last } else { 0 };
        }
        slots.sort_by_key(Slot::cost);
        MatchScorer::of(Phrase {
            slots,
            slop,
            score,
            frequency: 0.0,
            shared: Vec::new(),
        })
    }

    /// Frequency of the phrase in the current document.
    pub(super) fn frequency(&self) -> f32 {
        self.matcher.frequency
    }
}

impl Phrase {
    /// Moves all slots to their first common document from `target` on, and returns it.
    fn seek(&mut self, mut target: u32) -> u32 {
        'again: loop {
            for slot in &mut self.slots {
                let doc = slot.seek(target);
                if doc == END {
                    return END;
                }
                if doc > target {
                    target = doc;
                    continue 'again;
                }
            }
            return target;
        }
    }

    fn exact_frequency(&mut self) -> f32 {
        let Some((first, rest)) = self.slots.split_first() else {
            return 0.0;
        };
        let Some((last, middle)) = rest.split_last() else {
            return first.positions.len() as f32;
        };
        if middle.is_empty() {
            return common(&first.positions, &last.positions) as f32;
        }
        self.shared.clone_from(&first.positions);
        for slot in middle {
            let mut rest = slot.positions.iter().peekable();
            self.shared.retain(|position| {
                while rest.next_if(|other| *other < position).is_some() {}
                rest.peek() == Some(&position)
            });
        }
        common(&self.shared, &last.positions) as f32
    }

    fn sloppy_frequency(&self) -> f32 {
        let mut slots: Vec<&Slot> = self.slots.iter().collect();
        slots.sort_by_key(|slot| slot.place);
        let places: Vec<(&[u32], u32, &[usize])> = slots
            .iter()
            .map(|slot| (slot.positions.as_slice(), slot.offset, slot.terms.as_slice()))
            .collect();
        sloppy_frequency(&places, self.slop)
    }
}

impl DocMatcher for Phrase {
    fn next_match(&mut self, mut target: u32) -> u32 {
        loop {
            target = self.seek(target);
            if target == END {
                return END;
            }
            let is_exact = self.slop == 0;
            for slot in &mut self.slots {
                slot.read(target, is_exact);
            }
            self.frequency = if is_exact {
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
