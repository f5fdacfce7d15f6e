//! How often a phrase is in a document when its terms may stand some way from their places.
//!
//! Promises: a match of distance d counts 1 / (d + 1); two places with the same term never stand on the same position.
//! Limits: none beyond those of the phrase.
//! Source: Lucene 4.10's sloppy phrase scoring: the least term moves on, and whenever it passes the next one, the closest that it came counts.

/// A place of the phrase on its way through the positions.
struct Runner<'a> {
    positions: &'a [u32],
    next: usize,
    offset: i64,
    /// The position less the offset: equal for all when the phrase is exact.
    at: i64,
    /// Which group of places shares a term with this one, and the place in the group.
    group: Option<(usize, usize)>,
}

impl Runner<'_> {
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

struct Race<'a> {
    runners: Vec<Runner<'a>>,
    groups: Vec<Vec<usize>>,
    /// The runners in order, the least first.
    queue: Vec<usize>,
    end: i64,
}

/// The frequency of a phrase whose places have these positions, offsets and terms.
pub(super) fn sloppy_frequency(places: &[(&[u32], u32, &[usize])], slop: u32) -> f32 {
    let groups = groups(places);
    let runners = places
        .iter()
        .enumerate()
        .map(|(place, (positions, offset, _))| {
            let group = groups.iter().enumerate().find_map(|(group, members)| {
                members
                    .iter()
                    .position(|member| *member == place)
                    .map(|index| (group, index))
            });
            Runner {
                positions,
                next: 0,
                offset: i64::from(*offset),
                at: 0,
                group,
            }
        })
        .collect();
    Race {
        runners,
        groups,
        queue: vec![],
        end: i64::MIN,
    }
    .run(i64::from(slop))
    .unwrap_or(0.0)
}

/// The places that share terms, directly or through others; those alone are left out.
fn groups(places: &[(&[u32], u32, &[usize])]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (place, (_, _, terms)) in places.iter().enumerate() {
        let shares = |members: &Vec<usize>| {
            members.iter().any(|member| {
                places
                    .get(*member)
                    .is_some_and(|(_, _, others)| others.iter().any(|term| terms.contains(term)))
            })
        };
        let (joined, mut apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(shares);
        let mut group: Vec<usize> = joined.into_iter().flatten().collect();
        group.push(place);
        apart.push(group);
        groups = apart;
    }
    groups.retain(|group| group.len() > 1);
    for group in &mut groups {
        group.sort_by_key(|place| places.get(*place).map(|(_, offset, _)| *offset));
    }
    groups
}

impl Race<'_> {
    fn order(&self, runner: usize) -> (i64, i64, usize) {
        self.runners
            .get(runner)
            .map_or((i64::MAX, 0, runner), |state| (state.at, state.offset, runner))
    }

    fn enqueue(&mut self, runner: usize) {
        let key = self.order(runner);
        let place = self.queue.partition_point(|other| self.order(*other) < key);
        self.queue.insert(place, runner);
    }

    fn dequeue(&mut self) -> Option<usize> {
        if self.queue.is_empty() {
            None
        } else {
            Some(self.queue.remove(0))
        }
    }

    fn at(&self, runner: usize) -> i64 {
        self.runners.get(runner).map_or(i64::MAX, |state| state.at)
    }

    fn step(&mut self, runner: usize) -> bool {
        let Some(state) = self.runners.get_mut(runner) else {
            return false;
        };
        let moved = state.step();
        if moved {
            self.end = self.end.max(state.at);
        }
        moved
    }

    /// Puts every runner on its first position, those that share terms on different ones.
    fn line_up(&mut self) -> bool {
        if !self.runners.iter_mut().all(Runner::step) {
            return false;
        }
        for group in self.groups.clone() {
            for (times, runner) in group.iter().enumerate() {
                for _ in 0..times {
                    if !self.runners.get_mut(*runner).is_some_and(Runner::step) {
                        return false;
                    }
                }
            }
        }
        self.end = self.runners.iter().map(|state| state.at).max().unwrap_or(i64::MIN);
        (0..self.runners.len()).for_each(|runner| self.enqueue(runner));
        true
    }

    fn run(&mut self, slop: i64) -> Option<f32> {
        if !self.line_up() {
            return None;
        }
        let mut frequency = 0.0;
        let mut runner = self.dequeue()?;
        let mut length = self.end - self.at(runner);
        let mut next = self.queue.first().map_or(i64::MAX, |first| self.at(*first));
        let count = |length: i64| {
            if length <= slop { 1.0 / (length + 1) as f32 } else { 0.0 }
        };
        while self.step(runner) {
            if !self.resolve(runner) {
                break;
            }
            if self.at(runner) > next {
                frequency += count(length);
                self.enqueue(runner);
                runner = self.dequeue()?;
                next = self.queue.first().map_or(i64::MAX, |first| self.at(*first));
                length = self.end - self.at(runner);
            } else {
                length = length.min(self.end - self.at(runner));
            }
        }
        Some(frequency + count(length))
    }

    /// Moves on whoever stands where another of its group stands, the lesser of the two, until none does; false if one runs out.
    fn resolve(&mut self, moved: usize) -> bool {
        let Some((group, start)) = self.runners.get(moved).and_then(|state| state.group) else {
            return true;
        };
        let Some(members) = self.groups.get(group).cloned() else {
            return true;
        };
        let mut current = moved;
        let mut stale: Vec<usize> = Vec::new();
        while let Some((index, other)) = self.collision(current, &members) {
            let lesser = (self.at(current), self.order(current).1) < (self.at(other), self.order(other).1);
            if !lesser {
                current = other;
            }
            if !self.step(current) {
                return false;
            }
            if index != start && !stale.contains(&other) {
                stale.push(other);
            }
        }
        // Those that moved while they stood in the queue have to be put in again, and the queue down to them with them.
        let mut taken = Vec::new();
        while !stale.is_empty() {
            let Some(runner) = self.dequeue() else { break };
            stale.retain(|other| *other != runner);
            taken.push(runner);
        }
        taken.into_iter().rev().for_each(|runner| self.enqueue(runner));
        true
    }

    fn collision(&self, runner: usize, members: &[usize]) -> Option<(usize, usize)> {
        let position = self.runners.get(runner)?.position();
        members
            .iter()
            .enumerate()
            .find(|(_, other)| {
                **other != runner
                    && self
                        .runners
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
    fn a_match_counts_by_its_distance(
        #[case] positions: [Vec<u32>; 2],
        #[case] terms: [usize; 2],
        #[case] slop: u32,
        #[case] expected: f32,
    ) {
        let terms = terms.map(|term| [term]);
        let places: Vec<(&[u32], u32, &[usize])> = positions
            .iter()
            .zip(0..)
            .zip(&terms)
            .map(|((positions, offset), term)| (positions.as_slice(), offset, term.as_slice()))
            .collect();
        assert_eq!(sloppy_frequency(&places, slop), expected);
    }
}
