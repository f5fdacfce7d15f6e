//! Postings of a batch: the documents and positions of each term.
//!
//! - Guarantees: terms are written in the order of their bytes, documents in the order of the batch.
//! - Limits: 16 bytes for each occurrence of a term, while they are sorted.
//!
//! A text is looked up once for its field and `_all`, and occurrences are sorted by counting, in the order in which
//! they are written, as a hash table of terms with a list for each waits for memory.

use foldhash::HashMap;
use tantivy::Segment;
use tantivy::postings::InvertedIndexSerializer;
use tantivy::schema::Field;

use super::batch::Batch;
use super::encoded::StreamTerms;
use super::texts::{Text, Texts};
use crate::error::Result;

/// Least size of a term in a batch, in bytes: its length, its position and its prefix character.
const MIN_TERM_BYTES: usize = 3;

/// Terms of a batch, and where they occur.
#[derive(Default)]
pub(super) struct Postings<'a> {
    texts: Texts<'a>,
    /// By text: the last term with this text, and the last one that had it from the term before it. Prefix characters
    /// and numbers.
    recent: Vec<[Option<(char, u32)>; 2]>,
    /// Numbers of the other terms, by text and prefix character.
    others: HashMap<(u32, char), u32>,
    terms: Vec<Term>,
    /// Term and position, in the order of the batch.
    occurrences: Vec<(u32, u32)>,
    /// For each document, the end of its occurrences.
    ends: Vec<usize>,
}

struct Term {
    prefix: char,
    text: u32,
    /// Number of occurrences.
    count: u32,
}

/// A term among those in the order of their bytes.
struct Ordered {
    prefix: char,
    /// Place of its text among those in the order of their bytes.
    text: u32,
    term: u32,
    /// Number of occurrences.
    count: u32,
}

/// An occurrence of a term: the document in the upper half, the position in the lower half.
type Occurrence = u64;

fn occurrence(doc: u32, position: u32) -> Occurrence {
    u64::from(doc) << 32 | u64::from(position)
}

fn doc_of(occurrence: Occurrence) -> u32 {
    (occurrence >> 32) as u32
}

fn position_of(occurrence: Occurrence) -> u32 {
    occurrence as u32
}

impl<'a> Postings<'a> {
    pub(super) fn of(batch: &'a Batch) -> Postings<'a> {
        let mut postings = Postings {
            occurrences: Vec::with_capacity(batch.stream_bytes() / MIN_TERM_BYTES),
            ..Postings::default()
        };
        for stream in batch.streams() {
            postings.add(stream);
        }
        postings
    }

    /// Adds a document.
    fn add(&mut self, stream: &'a str) {
        let mut text = 0;
        for term in StreamTerms::new(stream) {
            if !term.is_same {
                text = self.texts.insert(term.text);
                self.recent.resize(self.texts.len(), [None; 2]);
            }
            let id = self.term(text, term.prefix, term.is_same);
            if let Some(term) = self.terms.get_mut(id as usize) {
                term.count += 1;
            }
            self.occurrences.push((id, term.position));
        }
        self.ends.push(self.occurrences.len());
    }

    /// Returns the number of a term.
    fn term(&mut self, text: u32, prefix: char, is_same: bool) -> u32 {
        let Some(recent) = self.recent.get_mut(text as usize) else {
            return 0;
        };
        if let Some((_, term)) = recent.iter().flatten().find(|(known, _)| *known == prefix) {
            return *term;
        }
        let term = self.others.get(&(text, prefix)).copied().unwrap_or_else(|| {
            self.terms.push(Term { prefix, text, count: 0 });
            self.terms.len() as u32 - 1
        });
        let [own, same] = recent;
        let place = if is_same { same } else { own };
        if let Some((prefix, term)) = place.replace((prefix, term)) {
            self.others.insert((text, prefix), term);
        }
        term
    }

    /// Writes the postings of a field.
    pub(super) fn write(self, segment: &Segment, field: Field) -> Result<()> {
        let mut serializer = InvertedIndexSerializer::open(segment)?;
        let mut field = serializer.new_field(field, self.occurrences.len() as u64, None)?;
        let texts = self.texts.ordered();
        let ordered = self.ordered(&texts);
        let sorted = self.sorted(&ordered);
        let mut rest = sorted.as_slice();
        let mut key = Vec::new();
        let mut deltas = Vec::new();
        for term in ordered {
            let (occurrences, after) = rest.split_at_checked(term.count as usize).unwrap_or_default();
            rest = after;
            key.clear();
            key.extend_from_slice(term.prefix.encode_utf8(&mut [0; 4]).as_bytes());
            if let Some((text, _)) = texts.get(term.text as usize) {
                text.append_to(&mut key);
            }
            let by_doc = || occurrences.chunk_by(|a, b| doc_of(*a) == doc_of(*b));
            field.new_term(&key, by_doc().count() as u32, true)?;
            for in_doc in by_doc() {
                let mut last = 0;
                deltas.clear();
                for occurrence in in_doc {
                    let position = position_of(*occurrence);
                    deltas.push(position.saturating_sub(last));
                    last = position;
                }
                let doc = in_doc.first().map_or(0, |first| doc_of(*first));
                field.write_doc(doc, in_doc.len() as u32, &deltas);
            }
            field.close_term()?;
        }
        field.close()?;
        Ok(serializer.close()?)
    }

    /// Returns the terms in the order of their bytes. `texts` are in this order.
    fn ordered(&self, texts: &[(Text<'a>, u32)]) -> Vec<Ordered> {
        let mut places = vec![0; texts.len()];
        for (place, (_, number)) in (0..).zip(texts) {
            if let Some(own) = places.get_mut(*number as usize) {
                *own = place;
            }
        }
        let ordered = (0..).zip(&self.terms).map(|(number, term)| Ordered {
            prefix: term.prefix,
            text: places.get(term.text as usize).copied().unwrap_or(0),
            term: number,
            count: term.count,
        });
        let mut ordered: Vec<Ordered> = ordered.collect();
        ordered.sort_unstable_by_key(|term| (term.prefix, term.text));
        ordered
    }

    /// Returns the occurrences by term, in the order of the terms.
    fn sorted(&self, ordered: &[Ordered]) -> Vec<Occurrence> {
        let mut free = 0;
        let mut next: Vec<u32> = vec![0; self.terms.len()];
        for term in ordered {
            if let Some(next) = next.get_mut(term.term as usize) {
                *next = free;
            }
            free += term.count;
        }
        let mut sorted = vec![0; self.occurrences.len()];
        let mut start = 0;
        for (doc, end) in (0..).zip(&self.ends) {
            for (term, position) in self.occurrences.get(start..*end).unwrap_or_default() {
                if let Some(next) = next.get_mut(*term as usize)
                    && let Some(place) = sorted.get_mut(*next as usize)
                {
                    *place = occurrence(doc, *position);
                    *next += 1;
                }
            }
            start = *end;
        }
        sorted
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use tantivy::postings::Postings as _;
    use tantivy::schema::IndexRecordOption;
    use tantivy::{DocSet, TERMINATED};

    use super::super::encoded::Encoded;
    use super::super::segment::{Segment, term_key};
    use super::*;

    type Expected = BTreeMap<Vec<u8>, BTreeMap<u32, Vec<u32>>>;

    const WORDS: [&str; 7] = ["", "a", "ab", "größe", "abcdefgh", "abcdefghi", "\u{10FFFF}"];
    const FIELDS: [u32; 4] = [0, 3, 90, 70_000];
    const ALL: u32 = 2;

    /// Returns documents in which every word occurs in several fields, and what their postings are.
    fn documents() -> (Batch, Expected) {
        let mut batch = Batch::default();
        let mut expected = Expected::new();
        for doc in 0..300 {
            let mut document = Encoded::default();
            let mut add = |field: u32, word: &str, position: u32| {
                let docs = expected.entry(term_key(field, word)).or_default();
                docs.entry(doc).or_default().push(position);
            };
            for place in 0..doc % 40 {
                let (word, field) = ((doc * 5 + place * place) as usize, (place / 3 + doc) as usize);
                let (word, field) = (WORDS[word % WORDS.len()], FIELDS[field % FIELDS.len()]);
                let position = 3 * place;
                document.push_term(field, word, position);
                add(field, word, position);
                if place % 2 == 0 {
                    document.push_last_term_in(ALL, position);
                    add(ALL, word, position);
                }
            }
            batch.push(&document);
        }
        (batch, expected)
    }

    #[test]
    fn postings_are_those_of_the_documents() {
        let (batch, expected) = documents();
        let segment = Segment::of_batch(1, None, &Arc::new(batch)).unwrap();
        let mut found = Expected::new();
        let mut terms = segment.terms().terms().stream().unwrap();
        while let Some((key, info)) = terms.next() {
            let option = IndexRecordOption::WithFreqsAndPositions;
            let mut postings = segment.postings(info, option).unwrap();
            assert_eq!(info.doc_freq as usize, expected[key].len());
            while postings.doc() != TERMINATED {
                let mut positions = Vec::new();
                postings.positions(&mut positions);
                assert_eq!(postings.term_freq() as usize, positions.len());
                found.entry(key.to_vec()).or_default().insert(postings.doc(), positions);
                postings.advance();
            }
        }
        assert_eq!(found, expected);
    }
}
