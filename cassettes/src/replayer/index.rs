//! Index of the recorded requests of a session.
//!
//! Guarantees:
//! - A request that is equal to a recorded one, apart from times, is found by its hash. So is a watch from another
//!   version.
//! - Only recorded requests with volatile values are compared one by one: those with the same method and path that were
//!   not replayed yet, in order, until one matches.
//!
//! Limit: an explanation compares at most [`MAX_COMPARED`] requests, those with the nearest paths.

use crate::matcher::{MatchQuality, ParsedRequest, RequestMatch};
use std::collections::{BTreeMap, BTreeSet, HashMap};
#[cfg(test)]
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of requests compared for an explanation, on each side of the path.
const MAX_COMPARED: usize = 200;

/// The recorded requests, grouped by equality.
pub(super) struct RequestIndex {
    groups: Vec<Group>,
    /// The groups of each interaction: of equal requests, and of watches that are equal apart from version and timeout.
    groups_of: Vec<(usize, Option<usize>)>,
    same: HashMap<u64, Vec<usize>>,
    watches: HashMap<u64, Vec<usize>>,
    /// Groups that can match other queries and bodies, by method and path.
    varying: HashMap<(String, String), Vec<usize>>,
    /// Groups that can match other paths, by method.
    varying_paths: HashMap<String, Vec<usize>>,
    by_path: BTreeMap<String, Vec<usize>>,
    #[cfg(test)]
    comparisons: AtomicUsize,
}

/// Interactions with equal requests.
struct Group {
    request: ParsedRequest,
    /// Their positions in the session, ascending.
    positions: Vec<usize>,
    /// Whether part of the body is a hash, so that a later group can match better than the first one.
    has_digest: bool,
}

/// The replayed interactions of each group.
pub(super) struct Unplayed {
    by_group: Vec<BTreeSet<usize>>,
    /// The groups of [`RequestIndex::varying`] that were not completely replayed.
    varying: HashMap<(String, String), BTreeSet<usize>>,
}

/// A group with a matching request.
pub(super) struct Candidate {
    pub(super) group: usize,
    /// Quality of the match and number of different headers.
    pub(super) rank: (MatchQuality, usize),
    /// Volatile values that differ, recorded and live.
    pub(super) values: Vec<(String, String)>,
}

impl RequestIndex {
    /// Builds the index of requests in the order of the session.
    pub(super) fn new(requests: impl Iterator<Item = ParsedRequest>) -> Self {
        let mut index = Self {
            groups: Vec::new(),
            groups_of: Vec::new(),
            same: HashMap::new(),
            watches: HashMap::new(),
            varying: HashMap::new(),
            varying_paths: HashMap::new(),
            by_path: BTreeMap::new(),
            #[cfg(test)]
            comparisons: AtomicUsize::new(0),
        };
        for (position, request) in requests.enumerate() {
            let watch = request.watch_hash_code().map(|hash| {
                let known = index.equal(index.watches.get(&hash), &request);
                known.unwrap_or_else(|| {
                    let group = index.push(request.clone());
                    index.watches.entry(hash).or_default().push(group);
                    group
                })
            });
            let known = index.equal(index.same.get(&request.hash_code()), &request);
            let same = known.unwrap_or_else(|| index.add(request));
            index.groups_of.push((same, watch));
            for group in [Some(same), watch].into_iter().flatten() {
                index
                    .groups
                    .get_mut(group)
                    .into_iter()
                    .for_each(|group| group.positions.push(position));
            }
        }
        index
    }

    /// The group of requests that are equal to this one in the hashed parts.
    fn equal(&self, groups: Option<&Vec<usize>>, request: &ParsedRequest) -> Option<usize> {
        let is_equal = |group: &usize| {
            self.groups.get(*group).is_some_and(|group| {
                let found = group.request.matches(request);
                found.is_some_and(|found| found.quality < MatchQuality::Volatile)
                    && group.request.has_headers_of(request)
            })
        };
        groups?.iter().copied().find(is_equal)
    }

    fn push(&mut self, request: ParsedRequest) -> usize {
        self.groups.push(Group {
            has_digest: request.has_digest(),
            request,
            positions: Vec::new(),
        });
        self.groups.len() - 1
    }

    fn add(&mut self, request: ParsedRequest) -> usize {
        let group = self.push(request.clone());
        self.same.entry(request.hash_code()).or_default().push(group);
        let key = (request.method.clone(), request.path.clone());
        if request.may_vary() {
            self.varying.entry(key).or_default().push(group);
        }
        if request.may_vary_in_path() {
            self.varying_paths.entry(request.method).or_default().push(group);
        }
        self.by_path.entry(request.path).or_default().push(group);
        group
    }

    /// A record with no replayed interactions.
    pub(super) fn unplayed(&self) -> Unplayed {
        let of = |groups: &Vec<usize>| groups.iter().copied().collect();
        Unplayed {
            by_group: self
                .groups
                .iter()
                .map(|group| group.positions.iter().copied().collect())
                .collect(),
            varying: self
                .varying
                .iter()
                .map(|(key, groups)| (key.clone(), of(groups)))
                .collect(),
        }
    }

    /// The request of an interaction.
    pub(super) fn request(&self, position: usize) -> Option<&ParsedRequest> {
        Some(&self.groups.get(self.groups_of.get(position)?.0)?.request)
    }

    /// The positions of a group.
    pub(super) fn positions(&self, group: usize) -> &[usize] {
        self.groups.get(group).map_or(&[], |group| group.positions.as_slice())
    }

    /// The groups that match a request best. `other_headers` counts different headers; `admits` checks volatile values
    /// against the known ones.
    pub(super) fn find(
        &self,
        request: &ParsedRequest,
        unplayed: &Unplayed,
        other_headers: impl Fn(&ParsedRequest) -> usize,
        admits: impl Fn(usize, &RequestMatch) -> bool,
    ) -> Vec<Candidate> {
        let compared = |group: usize| -> Option<Candidate> {
            let recorded = &self.groups.get(group)?.request;
            #[cfg(test)]
            self.comparisons.fetch_add(1, Ordering::Relaxed);
            let found = recorded.matches(request)?;
            admits(group, &found).then(|| Candidate {
                group,
                rank: (found.quality, other_headers(recorded)),
                values: found.values,
            })
        };
        let all = |groups: Option<&Vec<usize>>| best(groups.into_iter().flatten().copied().filter_map(compared));
        let mut found = all(self.same.get(&request.hash_code()));
        if found.is_empty()
            && let Some(hash) = request.watch_hash_code()
        {
            found = all(self.watches.get(&hash));
        }
        if found.is_empty() {
            found = self.find_varying(request, unplayed, compared);
        }
        if found.is_empty() {
            found = all(self.varying_paths.get(&request.method));
        }
        found
    }

    fn find_varying(
        &self,
        request: &ParsedRequest,
        unplayed: &Unplayed,
        compared: impl Fn(usize) -> Option<Candidate>,
    ) -> Vec<Candidate> {
        let key = (request.method.clone(), request.path.clone());
        let groups = self.varying.get(&key);
        if request.reads() {
            return best(groups.into_iter().flatten().copied().filter_map(compared));
        }
        let mut found = Vec::new();
        for group in unplayed.varying.get(&key).into_iter().flatten().copied() {
            let Some(candidate) = compared(group) else { continue };
            let digests = self.groups.get(group).is_some_and(|group| group.has_digest);
            let is_last = candidate.rank <= (MatchQuality::Volatile, 0) && !digests;
            found.push(candidate);
            if is_last {
                break;
            }
        }
        if found.is_empty() {
            // Requests that were already replayed are compared last.
            let last = groups.into_iter().flatten().rev().take(MAX_COMPARED).copied();
            found.extend(last.filter_map(compared));
        }
        best(found.into_iter())
    }

    /// The differences from the recorded requests with the nearest paths, and the first position of each. Nearest
    /// first.
    pub(super) fn nearest(&self, request: &ParsedRequest) -> Vec<(Vec<String>, usize)> {
        let path = request.path.as_str();
        let groups = |(_, groups): (&String, &Vec<usize>)| groups.clone();
        let before = self
            .by_path
            .range(..request.path.clone())
            .rev()
            .flat_map(groups)
            .take(MAX_COMPARED);
        let after = self
            .by_path
            .range(request.path.clone()..)
            .flat_map(groups)
            .take(MAX_COMPARED);
        let mut found = Vec::new();
        for group in before.chain(after).filter_map(|group| self.groups.get(group)) {
            let differences = group.request.differences(request);
            if let (false, Some(position)) = (differences.is_empty(), group.positions.first()) {
                let near = std::cmp::Reverse(shared(&group.request.path, path));
                let other_method = group.request.method != request.method;
                found.push(((other_method, differences.len(), near), differences, *position));
            }
        }
        found.sort();
        found
            .into_iter()
            .map(|(_, differences, position)| (differences, position))
            .collect()
    }

    /// Marks an interaction as replayed. Returns whether it was before.
    pub(super) fn play(&self, position: usize, unplayed: &mut Unplayed) -> bool {
        let Some((same, watch)) = self.groups_of.get(position).copied() else {
            return true;
        };
        if let Some(left) = watch.and_then(|group| unplayed.by_group.get_mut(group)) {
            left.remove(&position);
        }
        let Some(left) = unplayed.by_group.get_mut(same) else {
            return true;
        };
        let again = !left.remove(&position);
        if left.is_empty()
            && let Some(request) = self.request(position)
            && let Some(groups) = unplayed
                .varying
                .get_mut(&(request.method.clone(), request.path.clone()))
        {
            groups.remove(&same);
        }
        again
    }

    /// Whether an interaction was replayed.
    pub(super) fn is_played(&self, position: usize, unplayed: &Unplayed) -> bool {
        let left = self
            .groups_of
            .get(position)
            .and_then(|(group, _)| unplayed.by_group.get(*group));
        left.is_none_or(|left| !left.contains(&position))
    }

    /// Number of comparisons so far.
    #[cfg(test)]
    pub(super) fn comparisons(&self) -> usize {
        self.comparisons.load(Ordering::Relaxed)
    }
}

impl Unplayed {
    /// The first position of a group after this one that was not replayed.
    pub(super) fn after(&self, group: usize, position: Option<usize>) -> Option<usize> {
        let left = self.by_group.get(group)?;
        match position {
            Some(position) => left.range(position + 1..).next().copied(),
            None => left.first().copied(),
        }
    }
}

/// Keeps the candidates with the best rank.
fn best(candidates: impl Iterator<Item = Candidate>) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = candidates.collect();
    let rank = found.iter().map(|candidate| candidate.rank).min();
    found.retain(|candidate| Some(candidate.rank) == rank);
    found
}

/// Number of common leading segments and characters of two paths.
fn shared(one: &str, two: &str) -> (usize, usize) {
    let segments = one.split('/').zip(two.split('/')).take_while(|(one, two)| one == two);
    let characters = one.chars().zip(two.chars()).take_while(|(one, two)| one == two);
    (segments.count(), characters.count())
}
