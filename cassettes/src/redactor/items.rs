//! Items of lists without a secret, of all documents, so that a list that comes again is read only where it differs.
//!
//! An item stands for one of the same bytes in any document, at a place that is read in the same way, while no secret is
//! learned.
//! Bounded: [`PLACES`] items of up to [`LONGEST`] bytes each, [`BUDGET`] in all. An item takes the place of another with
//! the same hash.

use super::structure::ItemReading;
use foldhash::fast::RandomState;
use std::hash::BuildHasher;

/// How many items have a place.
const PLACES: usize = 1 << 14;

/// A longer item is not kept.
const LONGEST: usize = 16 << 10;

/// Bytes of all items.
const BUDGET: usize = 8 << 20;

/// Items are told apart by so many bytes at their beginning, where their name is.
const BEGINNING: usize = 128;

/// How often the place of an item is wanted by others until one gets it. More items than places come in the same order again
/// and again, and some of them shall be found.
const WANTED: u8 = 8;

/// An item in which nothing is secret.
#[derive(Debug)]
struct Item {
    reading: ItemReading,
    bytes: Box<[u8]>,
    /// How many needles were looked for in it.
    needles: usize,
    /// How often another was to have its place since it came.
    wanted: u8,
}

/// Those that were read.
#[derive(Debug, Default)]
pub(super) struct Items {
    hasher: RandomState,
    /// Empty until the first item.
    places: Vec<Option<Item>>,
    /// Bytes of all.
    size: usize,
}

impl Items {
    /// The length of the item that begins `rest`, if it was kept.
    pub(super) fn find(&mut self, reading: ItemReading, needles: usize, rest: &[u8]) -> Option<usize> {
        let place = self.place(rest)?;
        let item = self.places.get_mut(place)?.as_mut()?;
        let is_same = item.reading == reading && item.needles == needles && rest.starts_with(&item.bytes);
        is_same.then(|| {
            item.wanted = 0;
            item.bytes.len()
        })
    }

    /// Keeps an item.
    pub(super) fn add(&mut self, reading: ItemReading, needles: usize, bytes: &[u8]) {
        let Some(place) = self.place(bytes).filter(|_| bytes.len() <= LONGEST) else {
            return;
        };
        if self.places.is_empty() {
            self.places.resize_with(PLACES, Default::default);
        }
        let Some(kept) = self.places.get_mut(place) else { return };
        let is_other =
            |kept: &&mut Item| kept.needles == needles && kept.bytes.get(..BEGINNING) != bytes.get(..BEGINNING);
        if let Some(other) = kept.as_mut().filter(is_other).filter(|other| other.wanted < WANTED) {
            other.wanted += 1;
            return;
        }
        let freed = kept.take().map_or(0, |item| item.bytes.len());
        self.size -= freed;
        if self.size + bytes.len() > BUDGET {
            return;
        }
        self.size += bytes.len();
        *kept = Some(Item {
            reading,
            bytes: bytes.into(),
            needles,
            wanted: 0,
        });
    }

    /// The place of an item; none if it is too short to be told from others.
    fn place(&self, bytes: &[u8]) -> Option<usize> {
        let hash = self.hasher.hash_one(bytes.get(..BEGINNING)?);
        usize::try_from(hash % PLACES as u64).ok()
    }
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

    #[test]
    fn an_item_is_found_only_where_it_is_read_in_the_same_way() {
        let (pods, any) = (reading("PodList"), reading("List"));
        let mut items = Items::default();
        let one = item("one", 10);
        items.add(pods, 3, &one);
        let rest = [one.as_slice(), b",{}]"].concat();
        assert_eq!(items.find(pods, 3, &rest), Some(one.len()));
        assert_eq!(items.find(pods, 4, &rest), None, "a secret was learned");
        assert_eq!(items.find(any, 3, &rest), None);
        assert_eq!(items.find(pods, 3, &one[..one.len() - 1]), None);
        let changed = item("one", 11);
        items.add(pods, 3, &changed);
        assert_eq!(items.find(pods, 3, &changed), Some(changed.len()));
    }

    #[test]
    fn it_is_bounded() {
        let pods = reading("PodList");
        let mut items = Items::default();
        for short in [&b"{}"[..], &item("long", LONGEST)] {
            items.add(pods, 0, short);
            assert_eq!(items.find(pods, 0, short), None);
        }
        for n in 0..4 * BUDGET / LONGEST {
            items.add(pods, 0, &item(&n.to_string(), LONGEST / 2));
        }
        let kept = items
            .places
            .iter()
            .flatten()
            .map(|item| item.bytes.len())
            .sum::<usize>();
        assert_eq!(kept, items.size);
        assert!((BUDGET / 2..=BUDGET).contains(&kept), "{kept}");
    }
}
