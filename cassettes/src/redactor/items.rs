//! Items of lists without a secret, of all documents, so that a list that comes again is read only where it differs.
//!
//! Items that followed one another are a run: as many of it as come again are passed over at once. An item stands for one of
//! the same bytes in any document, at a place that is read in the same way, while no secret is learned.
//! Bounded: items of up to [`LONGEST`] bytes each, [`BUDGET`] in all, [`PLACES`] at which a run can be begun again.

use super::structure::ItemReading;
use foldhash::fast::RandomState;
use std::hash::BuildHasher;
use std::ops::Range;

/// How many items have a place. One takes the place of another with the same hash.
const PLACES: usize = 1 << 15;

/// A longer item is not kept.
const LONGEST: usize = 16 << 10;

/// Bytes of all items, and of what is between them.
const BUDGET: usize = 8 << 20;

/// Items are told apart by so many bytes at their beginning, where their name is.
const BEGINNING: usize = 128;

/// The most that is between two items of a run: a comma, the end of a line and the space before the next.
const SEPARATOR: usize = 64;

/// How many bytes are compared at once, first and near the first difference.
const STEPS: [usize; 2] = [4 << 10, 64];

/// How often others want the room of a run until they get it. More items than there is room for come in the same order
/// again and again, and some of them shall be found.
const WANTED: u8 = 8;

/// Items in which nothing is secret.
#[derive(Debug)]
struct Run {
    reading: ItemReading,
    /// How many needles were looked for in them.
    needles: usize,
    /// The items and what is between them.
    bytes: Vec<u8>,
    items: Vec<Range<usize>>,
    /// How often others wanted its room since it was found.
    wanted: u8,
}

/// Where an item is, unless another run has its room.
#[derive(Clone, Copy, Debug)]
struct Place {
    run: usize,
    item: usize,
}

/// Those that were read.
#[derive(Debug, Default)]
pub(super) struct Items {
    hasher: RandomState,
    /// Empty until the first item.
    places: Vec<Option<Place>>,
    runs: Vec<Run>,
    /// Runs without items.
    free: Vec<usize>,
    /// The run that the last item is in.
    last: usize,
    /// The run whose room is wanted next.
    next: usize,
    /// Bytes of all.
    size: usize,
}

impl Items {
    /// The length of the items that `rest` begins with, and of what is between them, if the first was kept.
    pub(super) fn find(&mut self, reading: ItemReading, needles: usize, rest: &[u8]) -> Option<usize> {
        let Place { run, item } = (*self.places.get(self.place(rest)?)?)?;
        let run = self.runs.get_mut(run)?;
        if run.reading != reading || run.needles != needles {
            return None;
        }
        let items = run.items.get(item..)?;
        let begin = items.first()?.start;
        let end = begin + alike(run.bytes.get(begin..)?, rest);
        let count = items.partition_point(|item| item.end <= end);
        let last = items.get(count.checked_sub(1)?)?;
        run.wanted = 0;
        Some(last.end - begin)
    }

    /// Keeps the item at a range of a piece; `last` is where in the piece the one ends that was kept before. Returns whether
    /// it is kept.
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
        let Some(place) = self.place(item) else { return false };
        if item.len() > LONGEST || !self.has_room(item.len() + SEPARATOR) {
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
        if self.places.is_empty() {
            self.places.resize(PLACES, None);
        }
        if let Some(place) = self.places.get_mut(place) {
            *place = Some(Place {
                run: self.last,
                item: run.items.len() - 1,
            });
        }
        true
    }

    /// Begins a run.
    fn begin(&mut self, reading: ItemReading, needles: usize) {
        let run = Run {
            reading,
            needles,
            bytes: Vec::new(),
            items: Vec::new(),
            wanted: 0,
        };
        let free = self.free.pop();
        self.last = free.unwrap_or(self.runs.len());
        match self.runs.get_mut(self.last) {
            Some(free) => *free = run,
            None => self.runs.push(run),
        }
    }

    /// Whether there is room for so many bytes: that of a run which was not found for long is given to others.
    fn has_room(&mut self, length: usize) -> bool {
        if self.size + length <= BUDGET {
            return true;
        }
        let slot = self.next % self.runs.len().max(1);
        self.next = slot + 1;
        let Some(run) = self.runs.get_mut(slot) else {
            return false;
        };
        run.wanted = run.wanted.saturating_add(1);
        if run.wanted >= WANTED && !run.items.is_empty() {
            self.size -= run.bytes.len();
            run.bytes = Vec::new();
            run.items = Vec::new();
            self.free.push(slot);
        }
        self.size + length <= BUDGET
    }

    /// The place of an item; none if it is too short to be told from others.
    fn place(&self, bytes: &[u8]) -> Option<usize> {
        let hash = self.hasher.hash_one(bytes.get(..BEGINNING)?);
        usize::try_from(hash % PLACES as u64).ok()
    }
}

/// Whether only a comma and space are between two items: they follow one another in one list.
fn is_separator(between: &[u8]) -> bool {
    between.len() <= SEPARATOR && between.trim_ascii() == b","
}

/// How many bytes two texts begin with that are the same.
fn alike(one: &[u8], other: &[u8]) -> usize {
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

    /// By what the items of a list of this kind are read.
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
            r#"{{"metadata":{{"name":"{name:x<BEGINNING$}"}},"spec":"{}"}}"#,
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
    fn as_many_items_of_a_run_are_found_as_are_the_same() {
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
            let of_third = behind + list[1].len() + between.len() + BEGINNING + 40;
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
    fn an_item_is_found_only_where_it_is_read_in_the_same_way() {
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
    fn it_is_bounded() {
        let pods = reading("PodList");
        let mut items = Items::default();
        for short in [&b"{}"[..], &item("long", LONGEST)] {
            add(&mut items, pods, 0, short);
            assert_eq!(items.find(pods, 0, short), None);
        }
        for n in 0..4 * BUDGET / LONGEST {
            add(&mut items, pods, 0, &item(&n.to_string(), LONGEST / 2));
        }
        let kept = items.runs.iter().map(|run| run.bytes.len()).sum::<usize>();
        assert_eq!(kept, items.size);
        assert!((BUDGET / 2..=BUDGET).contains(&kept), "{kept}");
    }
}
