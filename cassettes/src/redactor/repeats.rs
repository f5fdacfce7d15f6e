//! Objects and lists without a secret, so that one that comes again is not read again: the items of a list are alike.
//!
//! Of each key the last is kept, and the last element of its list. It stands for one of the same bytes at a place that is
//! read in the same way, while no secret is learned.
//! Bounded: those of [`KEYS`] keys, of up to [`LONGEST`] bytes each.

use super::structure::Reading;

/// How many keys, the first of a document, have a place.
const KEYS: usize = 256;

/// A longer object or list is not kept.
const LONGEST: usize = 2 << 10;

/// A shorter one is read as fast as it is compared.
const SHORTEST: usize = 16;

/// One that differed so often from the one before is kept only each so many-th time.
const DIFFERENT: u32 = 8;

/// An object or list in which nothing is secret.
#[derive(Debug)]
struct Repeat {
    reading: Reading,
    bytes: Vec<u8>,
    /// The place of the last key in it.
    last_key: usize,
    /// How many needles were looked for in it.
    needles: usize,
}

/// What is kept of a key, or of the elements of its list.
#[derive(Debug, Default)]
struct Place {
    last: Option<Repeat>,
    /// How many came that differed from what was kept.
    different: u32,
}

/// An object or list that has not ended.
#[derive(Debug)]
struct Open {
    /// Where it begins in the piece.
    at: usize,
    reading: Option<Reading>,
}

/// Those that were read.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// By the place of the key: the one of the key itself, and the element.
    kept: Vec<[Place; 2]>,
    open: Vec<Open>,
    /// How many of those that are open are not kept: what was read differs from what was written, or is not in the piece.
    altered: usize,
}

impl Repeats {
    /// The one that begins `rest`: its length, and the place of the last key in it.
    pub(super) fn find(&mut self, reading: Reading, needles: usize, rest: &[u8]) -> Option<(usize, usize)> {
        let place = self.place(reading)?;
        let last = place.last.as_ref()?;
        let is_same = last.reading == reading && last.needles == needles && rest.starts_with(&last.bytes);
        is_same.then(|| {
            place.different = 0;
            (last.bytes.len(), last.last_key)
        })
    }

    fn place(&mut self, reading: Reading) -> Option<&mut Place> {
        let of_key = self.kept.get_mut(reading.key)?;
        of_key.get_mut(usize::from(reading.is_element))
    }

    /// One begins at a place of the piece; `reading` is none if it is not kept.
    pub(super) fn opened(&mut self, at: usize, reading: Option<Reading>) {
        self.open.push(Open { at, reading });
    }

    /// Something was replaced or deferred, or a secret learned, or a piece has ended: what is open is not kept.
    pub(super) fn altered(&mut self) {
        self.altered = self.open.len();
    }

    /// One ends where `read`, the piece so far, does. Returns how it was read and its bytes, if nothing in it is secret.
    pub(super) fn closed<'a>(&mut self, read: &'a [u8]) -> Option<(Reading, &'a [u8])> {
        let Open { at, reading } = self.open.pop()?;
        if self.open.len() < self.altered {
            self.altered = self.open.len();
            return None;
        }
        reading.zip(read.get(at..))
    }

    /// Keeps one in which nothing is secret.
    pub(super) fn keep(&mut self, reading: Reading, needles: usize, bytes: &[u8], last_key: usize) {
        if !(SHORTEST..=LONGEST).contains(&bytes.len()) || reading.key >= KEYS {
            return;
        }
        if self.kept.len() <= reading.key {
            self.kept.resize_with(reading.key + 1, Default::default);
        }
        let Some(place) = self.place(reading) else { return };
        place.different = place.different.saturating_add(1);
        if place.different > DIFFERENT && !place.different.is_multiple_of(DIFFERENT) {
            return;
        }
        // Its memory is taken over.
        let mut kept = place.last.take().map(|last| last.bytes).unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(bytes);
        place.last = Some(Repeat {
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

    /// By what the value of the last of these keys is read.
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
    fn one_is_found_only_where_it_is_read_in_the_same_way() {
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
    fn one_in_which_something_was_altered_is_not_kept_and_the_next_is() {
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
        let longer = vec![b'['; LONGEST + 1];
        repeats.opened(0, Some(labels));
        close(&mut repeats, &longer, 0, 0);
        assert!(repeats.find(labels, 0, &longer).is_none(), "it is too long");
    }

    #[test]
    fn what_always_differs_is_seldom_kept_and_what_comes_again_always_is() {
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
        assert!((0..10 * DIFFERENT).all(|n| !keep(n, &mut repeats)));
        let again = (0..2 * DIFFERENT).filter(|_| !keep(0, &mut repeats)).count();
        assert!(again <= DIFFERENT as usize, "{again}");
        assert!(!keep(1, &mut repeats) && keep(1, &mut repeats));
    }
}
