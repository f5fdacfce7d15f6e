//! Frequency of a sloppy phrase in a document.
//!
//! Guarantees: a match of distance d counts 1 / (d + 1); two slots with the same term never match at the same position.
//!
//! Source: Lucene 4.10's `SloppyPhraseScorer`. The first term in order advances; each time it passes the next one, the
//! smallest distance before that counts.

/// A slot of the phrase and its current position in the document.
struct PhrasePositions<'a> {
    positions: &'a [u32],
    next: usize,
    offset: i64,
    /// Position minus offset: equal for all slots in an exact match.
    at: i64,
    /// Group of slots with shared terms, and index within the group.
    group: Option<(usize, usize)>,
}

impl PhrasePositions<'_> {
    fn step(&mut self) -> bool {
        match self.positions.get(self.next) {
            Some(position) => {
                self.at = i64::from(*position) - self.offset;
                self.next += 1;
                true
            }
            None => false,
        }
    }

    fn position(&self) -> i64 {
        self.at + self.offset
    }
}

struct SloppyMatcher<'a> {
    slots: Vec<PhrasePositions<'a>>,
    groups: Vec<Vec<usize>>,
    /// Whether a slot of a group has several terms.
    has_alternatives: bool,
    /// Indices of the slots in order, the first one in front.
    queue: Vec<usize>,
    end: i64,
}

/// Computes the frequency of a phrase whose slots have these positions, offsets and terms.
pub(super) fn sloppy_frequency(slots: &[(&[u32], u32, &[usize])], slop: u32) -> f32 {
    let groups = groups(slots);
    let has_several = |slot: &usize| slots.get(*slot).is_some_and(|(_, _, terms)| terms.len() > 1);
    let has_alternatives = groups.iter().flatten().any(has_several);
    let slots = slots
        .iter()
        .enumerate()
        .map(|(slot, (positions, offset, _))| {
            let group = groups.iter().enumerate().find_map(|(group, members)| {
                members
                    .iter()
                    .position(|member| *member == slot)
                    .map(|index| (group, index))
            });
            PhrasePositions {
                positions,
                next: 0,
                offset: i64::from(*offset),
                at: 0,
                group,
            }
        })
        .collect();
    SloppyMatcher {
        slots,
        groups,
        has_alternatives,
        queue: vec![],
        end: i64::MIN,
    }
    .run(i64::from(slop))
    .unwrap_or(0.0)
}

/// Groups the slots that share terms, directly or transitively. Groups of one slot are omitted.
fn groups(slots: &[(&[u32], u32, &[usize])]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (slot, (_, _, terms)) in slots.iter().enumerate() {
        let shares = |members: &Vec<usize>| {
            members.iter().any(|member| {
                slots
                    .get(*member)
                    .is_some_and(|(_, _, others)| others.iter().any(|term| terms.contains(term)))
            })
        };
        let (joined, mut apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(shares);
        let mut group: Vec<usize> = joined.into_iter().flatten().collect();
        group.push(slot);
        apart.push(group);
        groups = apart;
    }
    groups.retain(|group| group.len() > 1);
    for group in &mut groups {
        group.sort_by_key(|slot| slots.get(*slot).map(|(_, offset, _)| *offset));
    }
    groups
}

impl SloppyMatcher<'_> {
    fn order(&self, slot: usize) -> (i64, i64, usize) {
        self.slots
            .get(slot)
            .map_or((i64::MAX, 0, slot), |state| (state.at, state.offset, slot))
    }

    fn enqueue(&mut self, slot: usize) {
        let key = self.order(slot);
        let position = self.queue.partition_point(|other| self.order(*other) < key);
        self.queue.insert(position, slot);
    }

    fn dequeue(&mut self) -> Option<usize> {
        if self.queue.is_empty() {
            None
        } else {
            Some(self.queue.remove(0))
        }
    }

    fn at(&self, slot: usize) -> i64 {
        self.slots.get(slot).map_or(i64::MAX, |state| state.at)
    }

    fn step(&mut self, slot: usize) -> bool {
        let Some(state) = self.slots.get_mut(slot) else {
            return false;
        };
        let moved = state.step();
        if moved {
            self.end = self.end.max(state.at);
        }
        moved
    }

    /// Moves every slot to its first position; slots that share terms to different ones. Returns whether all have one.
    fn init_positions(&mut self) -> bool {
        if !self.slots.iter_mut().all(PhrasePositions::step) {
            return false;
        }
        for group in self.groups.clone() {
            if self.has_alternatives {
                if !self.part(&group) {
                    return false;
                }
                continue;
            }
            for (times, slot) in group.iter().enumerate() {
                for _ in 0..times {
                    if !self.slots.get_mut(*slot).is_some_and(PhrasePositions::step) {
                        return false;
                    }
                }
            }
        }
        self.end = self.slots.iter().map(|state| state.at).max().unwrap_or(i64::MIN);
        (0..self.slots.len()).for_each(|slot| self.enqueue(slot));
        true
    }

    /// Moves the slots of a group, in order, until no two are at the same position: always the first one of the two.
    /// Returns false if one has no more positions.
    fn part(&mut self, group: &[usize]) -> bool {
        let mut index = 0;
        while let Some(slot) = group.get(index) {
            index += 1;
            while let Some((other_index, other)) = self.collision(*slot, group) {
                let (moved, moved_index) = match self.is_lesser(*slot, other) {
                    true => (*slot, index - 1),
                    false => (other, other_index),
                };
                if !self.step(moved) {
                    return false;
                }
                if moved_index < index - 1 {
                    index -= 1;
                    break;
                }
            }
        }
        true
    }

    fn is_lesser(&self, slot: usize, other: usize) -> bool {
        (self.at(slot), self.order(slot).1) < (self.at(other), self.order(other).1)
    }

    fn run(&mut self, slop: i64) -> Option<f32> {
        if !self.init_positions() {
            return None;
        }
        let mut frequency = 0.0;
        let mut slot = self.dequeue()?;
        let mut length = self.end - self.at(slot);
        let mut next = self.queue.first().map_or(i64::MAX, |first| self.at(*first));
        let count = |length: i64| {
            if length <= slop { 1.0 / (length + 1) as f32 } else { 0.0 }
        };
        while self.step(slot) {
            if !self.advance_repeats(slot) {
                break;
            }
            if self.at(slot) > next {
                frequency += count(length);
                self.enqueue(slot);
                slot = self.dequeue()?;
                next = self.queue.first().map_or(i64::MAX, |first| self.at(*first));
                length = self.end - self.at(slot);
            } else {
                length = length.min(self.end - self.at(slot));
            }
        }
        Some(frequency + count(length))
    }

    /// Advances slots with shared terms until no two of them are at the same position: always the first one of the two.
    /// Returns false if one has no more positions.
    fn advance_repeats(&mut self, moved: usize) -> bool {
        let Some((group, start)) = self.slots.get(moved).and_then(|state| state.group) else {
            return true;
        };
        let Some(members) = self.groups.get(group).cloned() else {
            return true;
        };
        let mut current = moved;
        let mut stale: Vec<usize> = Vec::new();
        while let Some((index, other)) = self.collision(current, &members) {
            if !self.is_lesser(current, other) {
                current = other;
            }
            if !self.step(current) {
                return false;
            }
            if index != start && !stale.contains(&other) {
                stale.push(other);
            }
        }
        // Slots that moved while they were in the queue are inserted again, with all slots before them.
        let mut taken = Vec::new();
        while !stale.is_empty() {
            let Some(slot) = self.dequeue() else { break };
            stale.retain(|other| *other != slot);
            taken.push(slot);
        }
        taken.into_iter().rev().for_each(|slot| self.enqueue(slot));
        true
    }

    fn collision(&self, slot: usize, members: &[usize]) -> Option<(usize, usize)> {
        let position = self.slots.get(slot)?.position();
        members
            .iter()
            .enumerate()
            .find(|(_, other)| {
                **other != slot
                    && self
                        .slots
                        .get(**other)
                        .is_some_and(|state| state.position() == position)
            })
            .map(|(index, other)| (index, *other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case([vec![0], vec![1]], [0, 1], 2, 1.0)]
    #[case([vec![0], vec![2]], [0, 1], 2, 0.5)]
    #[case([vec![1], vec![0]], [0, 1], 2, 1.0 / 3.0)]
    #[case([vec![0], vec![9]], [0, 1], 2, 0.0)]
    #[case([vec![0, 4], vec![1, 5]], [0, 1], 1, 2.0)]
    #[case([vec![3], vec![3]], [0, 0], 2, 0.0)]
    #[case([vec![3, 4], vec![3, 4]], [0, 0], 2, 1.0)]
    #[case([vec![3, 5], vec![3, 5]], [0, 0], 2, 0.5)]
    fn the_weight_of_a_match_depends_on_its_distance(
        #[case] positions: [Vec<u32>; 2],
        #[case] terms: [usize; 2],
        #[case] slop: u32,
        #[case] expected: f32,
    ) {
        let terms = terms.map(|term| [term]);
        let slots: Vec<(&[u32], u32, &[usize])> = positions
            .iter()
            .zip(0..)
            .zip(&terms)
            .map(|((positions, offset), term)| (positions.as_slice(), offset, term.as_slice()))
            .collect();
        assert_eq!(sloppy_frequency(&slots, slop), expected);
    }
}
