//! Cache of list items without a secret, of all documents. A list that is recorded again is parsed only where it
//! differs.
//!
//! Consecutive items are cached as a run, and equal ones are skipped with one comparison. A cached item is valid in any
//! document at a position with the same [`ItemReading`], until a secret is learned.
//! Limits: items of up to [`MAX_ITEM_BYTES`], [`MAX_CACHE_BYTES`] in all, and [`SLOTS`] entry points into runs.

use super::structure::ItemReading;
use foldhash::fast::RandomState;
use std::hash::BuildHasher;
use std::ops::Range;

/// Number of slots. An item replaces another with the same hash.
const SLOTS: usize = 1 << 15;

/// Maximum length of a cached item.
const MAX_ITEM_BYTES: usize = 16 << 10;

/// Maximum size of all items and the separators between them.
const MAX_CACHE_BYTES: usize = 8 << 20;

/// Number of bytes at the beginning of an item that are hashed. They contain its name.
const HASHED_BYTES: usize = 128;

/// Maximum length of a separator: a comma, a line break and indentation.
const MAX_SEPARATOR: usize = 64;

/// Block lengths of a comparison: long blocks first, then short ones near the first difference.
const STEPS: [usize; 2] = [4 << 10, 64];

/// Number of failed reservations after which a run is evicted. If lists exceed the cache, evicting at once would evict
/// every run before its list is recorded again.
const EVICTION_ATTEMPTS: u8 = 8;

/// Consecutive items without a secret.
#[derive(Debug)]
struct Run {
    reading: ItemReading,
    /// Number of needles when the items were searched.
    needles: usize,
    /// The items and separators.
    bytes: Vec<u8>,
    items: Vec<Range<usize>>,
    /// Number of failed reservations since it was last found.
    eviction_attempts: u8,
}

/// Position of an item. Stale if the run was replaced.
#[derive(Clone, Copy, Debug)]
struct Position {
    run: usize,
    item: usize,
}

/// The cache.
#[derive(Debug, Default)]
pub(super) struct Items {
    hasher: RandomState,
    /// Empty until the first item.
    slots: Vec<Option<Position>>,
    runs: Vec<Run>,
    /// Indices of evicted runs.
    free: Vec<usize>,
    /// Index of the run of the last added item.
    last: usize,
    /// Index of the next run to consider for eviction.
    next: usize,
    /// Total size in bytes.
    size: usize,
}

impl Items {
    /// Returns the length of the cached items at the beginning of `rest`, including separators. None if the first is
    /// not cached.
    pub(super) fn find(&mut self, reading: ItemReading, needles: usize, rest: &[u8]) -> Option<usize> {
        let Position { run, item } = (*self.slots.get(self.slot(rest)?)?)?;
        let run = self.runs.get_mut(run)?;
        if run.reading != reading || run.needles != needles {
            return None;
        }
        let items = run.items.get(item..)?;
        let begin = items.first()?.start;
        let end = begin + common_prefix(run.bytes.get(begin..)?, rest);
        let count = items.partition_point(|item| item.end <= end);
        let last = items.get(count.checked_sub(1)?)?;
        run.eviction_attempts = 0;
        Some(last.end - begin)
    }

    /// Adds the item at a range of a piece. `last` is the end of the item added before in the same piece. Returns
    /// whether it was added.
    pub(super) fn add(
        &mut self,
        reading: ItemReading,
        needles: usize,
        piece: &[u8],
        range: Range<usize>,
        last: Option<usize>,
    ) -> bool {
        let between = last.and_then(|last| piece.get(last..range.start));
        let item = piece.get(range).unwrap_or_default();
        let Some(slot) = self.slot(item) else { return false };
        if item.len() > MAX_ITEM_BYTES || !self.reserve(item.len() + MAX_SEPARATOR) {
            return false;
        }
        let follows = |run: &Run| run.reading == reading && run.needles == needles && !run.items.is_empty();
        let between = between
            .filter(|between| is_separator(between))
            .filter(|_| self.runs.get(self.last).is_some_and(follows));
        if between.is_none() {
            self.begin(reading, needles);
        }
        let Some(run) = self.runs.get_mut(self.last) else {
            return false;
        };
        run.bytes.extend_from_slice(between.unwrap_or_default());
        let begin = run.bytes.len();
        run.bytes.extend_from_slice(item);
        run.items.push(begin..run.bytes.len());
        self.size += between.map_or(0, <[u8]>::len) + item.len();
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, None);
        }
        if let Some(entry) = self.slots.get_mut(slot) {
            *entry = Some(Position {
                run: self.last,
                item: run.items.len() - 1,
            });
        }
        true
    }

    /// Starts a run.
    fn begin(&mut self, reading: ItemReading, needles: usize) {
        let run = Run {
            reading,
            needles,
            bytes: Vec::new(),
            items: Vec::new(),
            eviction_attempts: 0,
        };
        let free = self.free.pop();
        self.last = free.unwrap_or(self.runs.len());
        match self.runs.get_mut(self.last) {
            Some(free) => *free = run,
            None => self.runs.push(run),
        }
    }

    /// Whether this many bytes can be added. May evict a run that was not found for long.
    fn reserve(&mut self, length: usize) -> bool {
        if self.size + length <= MAX_CACHE_BYTES {
            return true;
        }
        let slot = self.next % self.runs.len().max(1);
        self.next = slot + 1;
        let Some(run) = self.runs.get_mut(slot) else {
            return false;
        };
        run.eviction_attempts = run.eviction_attempts.saturating_add(1);
        if run.eviction_attempts >= EVICTION_ATTEMPTS && !run.items.is_empty() {
            self.size -= run.bytes.len();
            run.bytes = Vec::new();
            run.items = Vec::new();
            self.free.push(slot);
        }
        self.size + length <= MAX_CACHE_BYTES
    }

    /// The slot of an item. None if it is shorter than [`HASHED_BYTES`].
    fn slot(&self, bytes: &[u8]) -> Option<usize> {
        let hash = self.hasher.hash_one(bytes.get(..HASHED_BYTES)?);
        usize::try_from(hash % SLOTS as u64).ok()
    }
}

/// Whether the bytes between two items are a separator, so that both are in one list.
fn is_separator(between: &[u8]) -> bool {
    between.len() <= MAX_SEPARATOR && between.trim_ascii() == b","
}

/// Length of the common prefix of two texts.
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    let mut same = 0;
    for step in STEPS.into_iter().chain([1]) {
        let rest = |text: &'_ [u8]| text.len().saturating_sub(same) / step;
        let count = rest(one).min(rest(other));
        let is_same = |n: &usize| {
            let range = same + n * step..same + (n + 1) * step;
            one.get(range.clone()) == other.get(range)
        };
        same += step * (0..count).take_while(is_same).count();
    }
    same
}

#[cfg(test)]
mod tests {
    use super::super::redaction::Redaction;
    use super::super::structure::Structure;
    use super::*;
    use std::sync::Arc;

    /// The [`ItemReading`] of a list of this kind.
    fn reading(kind: &str) -> ItemReading {
        let mut structure = Structure::new(Arc::new(Redaction::default()), false);
        structure.open(false);
        structure.key("kind");
        structure.scalar(kind);
        structure.key("items");
        structure.open(true);
        structure
            .reading()
            .and_then(|reading| reading.of_item())
            .expect("an item")
    }

    fn item(name: &str, length: usize) -> Vec<u8> {
        format!(
            r#"{{"metadata":{{"name":"{name:x<HASHED_BYTES$}"}},"spec":"{}"}}"#,
            "x".repeat(length)
        )
        .into_bytes()
    }

    fn add(items: &mut Items, reading: ItemReading, needles: usize, item: &[u8]) {
        items.add(reading, needles, item, 0..item.len(), None);
    }

    /// Adds each item of a list that is one piece.
    fn add_list(items: &mut Items, reading: ItemReading, list: &[Vec<u8>], between: &str) -> Vec<u8> {
        let piece = list.join(between.as_bytes());
        let (mut begin, mut last) = (0, None);
        for item in list {
            let end = begin + item.len();
            last = items.add(reading, 0, &piece, begin..end, last).then_some(end);
            begin = end + between.len();
        }
        piece
    }

    #[test]
    fn equal_items_of_a_run_are_found() {
        let pods = reading("PodList");
        let list: Vec<Vec<u8>> = (0..5).map(|n| item(&n.to_string(), 10 * n)).collect();
        for (between, are_a_run) in [(",", true), (",\n    ", true), ("],[", false), (",,", false)] {
            let mut items = Items::default();
            let piece = add_list(&mut items, pods, &list, between);
            let found = items.find(pods, 0, &piece);
            let first = list[0].len();
            assert_eq!(found, Some(if are_a_run { piece.len() } else { first }), "{between:?}");
            let behind = first + between.len();
            let mut changed = piece.clone();
            let of_third = behind + list[1].len() + between.len() + HASHED_BYTES + 40;
            changed[of_third] = b'y';
            let two = behind + list[1].len();
            assert_eq!(
                items.find(pods, 0, &changed),
                Some(if are_a_run { two } else { first }),
                "{between:?}"
            );
            assert_eq!(
                items.find(pods, 0, &changed[two + between.len()..]),
                None,
                "{between:?}"
            );
            let from_fourth = two + 2 * between.len() + list[2].len();
            let rest = &changed[from_fourth..];
            assert_eq!(
                items.find(pods, 0, rest),
                Some(if are_a_run { rest.len() } else { list[3].len() })
            );
            assert_eq!(
                items.find(pods, 0, &rest[..rest.len() - 1]),
                Some(list[3].len()),
                "{between:?}"
            );
        }
    }

    #[test]
    fn an_item_is_found_only_with_the_same_reading() {
        let (pods, any) = (reading("PodList"), reading("List"));
        let mut items = Items::default();
        let one = item("one", 10);
        add(&mut items, pods, 3, &one);
        let rest = [one.as_slice(), b",{}]"].concat();
        assert_eq!(items.find(pods, 3, &rest), Some(one.len()));
        assert_eq!(items.find(pods, 4, &rest), None, "a secret was learned");
        assert_eq!(items.find(any, 3, &rest), None);
        assert_eq!(items.find(pods, 3, &one[..one.len() - 1]), None);
        let changed = item("one", 11);
        add(&mut items, pods, 3, &changed);
        assert_eq!(items.find(pods, 3, &changed), Some(changed.len()));
    }

    #[test]
    fn the_cache_is_bounded() {
        let pods = reading("PodList");
        let mut items = Items::default();
        for short in [&b"{}"[..], &item("long", MAX_ITEM_BYTES)] {
            add(&mut items, pods, 0, short);
            assert_eq!(items.find(pods, 0, short), None);
        }
        for n in 0..4 * MAX_CACHE_BYTES / MAX_ITEM_BYTES {
            add(&mut items, pods, 0, &item(&n.to_string(), MAX_ITEM_BYTES / 2));
        }
        let kept = items.runs.iter().map(|run| run.bytes.len()).sum::<usize>();
        assert_eq!(kept, items.size);
        assert!((MAX_CACHE_BYTES / 2..=MAX_CACHE_BYTES).contains(&kept), "{kept}");
    }
}
