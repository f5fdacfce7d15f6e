//! Cache of the objects and lists of one document without a secret, which are often repeated in the items of a list.
//!
//! For each key the last value and the last element of a list are cached. A cached one is valid at a position with the
//! same [`Reading`], until a secret is learned.
//! Limits: [`MAX_KEYS`] keys, values of up to [`MAX_BYTES`].

use super::structure::Reading;

/// Number of keys with a cache entry: the first ones of a document.
const MAX_KEYS: usize = 256;

/// Maximum length of a cached object or list.
const MAX_BYTES: usize = 2 << 10;

/// Minimum length of a cached object or list. Parsing a shorter one is as fast as comparing it.
const MIN_BYTES: usize = 16;

/// After this many different values in a row, only every n-th one is cached.
const MAX_MISSES: u32 = 8;

/// A cached object or list.
#[derive(Debug)]
struct Repeat {
    reading: Reading,
    bytes: Vec<u8>,
    /// Index of its last key.
    last_key: usize,
    /// Number of needles when it was searched.
    needles: usize,
}

/// Cache entry of a key, or of the elements of its list.
#[derive(Debug, Default)]
struct Slot {
    last: Option<Repeat>,
    /// Number of different values since the last hit.
    misses: u32,
}

/// An object or list that has not ended.
#[derive(Debug)]
struct Open {
    /// Its start in the piece.
    at: usize,
    reading: Option<Reading>,
}

/// The cache.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// Entries by index of the key: that of its value, and that of the elements of its list.
    kept: Vec<[Slot; 2]>,
    open: Vec<Open>,
    /// Number of open ones, from the outermost, that cannot be cached because they were altered or start in an earlier
    /// piece.
    altered: usize,
}

impl Repeats {
    /// Returns the length and the last key of the cached one at the beginning of `rest`.
    pub(super) fn find(&mut self, reading: Reading, needles: usize, rest: &[u8]) -> Option<(usize, usize)> {
        let slot = self.slot(reading)?;
        let last = slot.last.as_ref()?;
        let is_same = last.reading == reading && last.needles == needles && rest.starts_with(&last.bytes);
        is_same.then(|| {
            slot.misses = 0;
            (last.bytes.len(), last.last_key)
        })
    }

    fn slot(&mut self, reading: Reading) -> Option<&mut Slot> {
        let of_key = self.kept.get_mut(reading.key)?;
        of_key.get_mut(usize::from(reading.is_element))
    }

    /// An object or list starts. `reading` is none if it cannot be cached.
    pub(super) fn opened(&mut self, at: usize, reading: Option<Reading>) {
        self.open.push(Open { at, reading });
    }

    /// Excludes the open ones: a value was replaced or deferred, a secret was learned, or a piece has ended.
    pub(super) fn altered(&mut self) {
        self.altered = self.open.len();
    }

    /// An object or list ends at the end of `read`. Returns its reading and bytes if it can be cached.
    pub(super) fn closed<'a>(&mut self, read: &'a [u8]) -> Option<(Reading, &'a [u8])> {
        let Open { at, reading } = self.open.pop()?;
        if self.open.len() < self.altered {
            self.altered = self.open.len();
            return None;
        }
        reading.zip(read.get(at..))
    }

    /// Caches an object or list without a secret.
    pub(super) fn keep(&mut self, reading: Reading, needles: usize, bytes: &[u8], last_key: usize) {
        if !(MIN_BYTES..=MAX_BYTES).contains(&bytes.len()) || reading.key >= MAX_KEYS {
            return;
        }
        if self.kept.len() <= reading.key {
            self.kept.resize_with(reading.key + 1, Default::default);
        }
        let Some(slot) = self.slot(reading) else { return };
        slot.misses = slot.misses.saturating_add(1);
        if slot.misses > MAX_MISSES && !slot.misses.is_multiple_of(MAX_MISSES) {
            return;
        }
        // Its memory is reused.
        let mut kept = slot.last.take().map(|last| last.bytes).unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(bytes);
        slot.last = Some(Repeat {
            reading,
            bytes: kept,
            last_key,
            needles,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::redaction::Redaction;
    use super::super::structure::Structure;
    use super::*;
    use std::sync::Arc;

    /// The reading of the value of the last of these keys.
    fn reading(keys: &[&str]) -> Reading {
        let mut structure = Structure::new(Arc::new(Redaction::default()), false);
        structure.open(false);
        keys.iter().for_each(|key| structure.key(key));
        structure.reading().expect("a place where nothing is secret")
    }

    fn close(repeats: &mut Repeats, read: &[u8], needles: usize, last_key: usize) {
        if let Some((reading, bytes)) = repeats.closed(read) {
            repeats.keep(reading, needles, bytes, last_key);
        }
    }

    const TEXT: &[u8] = br#"{"app":"web","tier":"front"}"#;

    #[test]
    fn a_value_is_found_only_with_the_same_reading() {
        let (labels, spec) = (reading(&["labels"]), reading(&["labels", "spec"]));
        let mut repeats = Repeats::default();
        repeats.opened(0, Some(labels));
        close(&mut repeats, TEXT, 3, 7);
        let rest = [TEXT, b",\"x\":1"].concat();
        assert_eq!(repeats.find(labels, 3, &rest), Some((TEXT.len(), 7)));
        assert_eq!(repeats.find(labels, 4, &rest), None, "a secret was learned");
        assert_eq!(repeats.find(spec, 3, &rest), None);
        assert_eq!(repeats.find(labels, 3, &TEXT[..TEXT.len() - 1]), None);
    }

    #[test]
    fn an_altered_value_is_not_cached_and_the_next_one_is() {
        let labels = reading(&["labels"]);
        let mut repeats = Repeats::default();
        repeats.opened(0, None);
        repeats.opened(0, Some(labels));
        repeats.altered();
        close(&mut repeats, TEXT, 0, 0);
        assert_eq!(repeats.find(labels, 0, TEXT), None);
        repeats.opened(0, Some(labels));
        close(&mut repeats, TEXT, 0, 0);
        assert!(repeats.find(labels, 0, TEXT).is_some());
        let longer = vec![b'['; MAX_BYTES + 1];
        repeats.opened(0, Some(labels));
        close(&mut repeats, &longer, 0, 0);
        assert!(repeats.find(labels, 0, &longer).is_none(), "it is too long");
    }

    #[test]
    fn values_that_always_differ_are_seldom_cached() {
        let labels = reading(&["labels"]);
        let text = |n: u32| format!(r#"{{"labels":"of {n:08}"}}"#).into_bytes();
        let mut repeats = Repeats::default();
        let keep = |n: u32, repeats: &mut Repeats| {
            let known = repeats.find(labels, 0, &text(n)).is_some();
            if !known {
                repeats.opened(0, Some(labels));
                close(repeats, &text(n), 0, 0);
            }
            known
        };
        assert!((0..10 * MAX_MISSES).all(|n| !keep(n, &mut repeats)));
        let again = (0..2 * MAX_MISSES).filter(|_| !keep(0, &mut repeats)).count();
        assert!(again <= MAX_MISSES as usize, "{again}");
        assert!(!keep(1, &mut repeats) && keep(1, &mut repeats));
    }
}
