//! Uninverted terms of a field: the ordinals of the terms of each document.
//!
//! Limits: built on first use and cached; four bytes per term of a document.

use tantivy::DocSet;
use tantivy::TERMINATED;
use tantivy::schema::IndexRecordOption;

use super::encoded::field_prefix;
use super::segment::Segment;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::mapping::{FieldOrdinal, TermFilter, UID};

/// Maximum number of ordinals of one field in a segment.
const MAX_ORDINALS: usize = 100_000_000;

/// Terms of a field, by document.
pub(crate) struct Ordinals {
    terms: Vec<Box<str>>,
    starts: Vec<u32>,
    ordinals: Vec<u32>,
}

impl Ordinals {
    /// Memory in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let texts: usize = self.terms.iter().map(|term| term.len() + size_of::<Box<str>>()).sum();
        (texts + (self.starts.len() + self.ordinals.len()) * size_of::<u32>()) as u64
    }

    /// Creates the ordinals of a field with one term per document.
    pub(crate) fn of_texts(texts: &[String]) -> Ordinals {
        let mut terms: Vec<Box<str>> = texts.iter().map(|text| text.as_str().into()).collect();
        terms.sort_unstable();
        terms.dedup();
        let ordinal = |text: &String| terms.binary_search_by(|term| (**term).cmp(text)).unwrap_or(0);
        let ordinals = texts
            .iter()
            .map(|text| u32::try_from(ordinal(text)).unwrap_or(u32::MAX));
        Ordinals {
            starts: (0..=u32::try_from(texts.len()).unwrap_or(u32::MAX)).collect(),
            ordinals: ordinals.collect(),
            terms,
        }
    }

    pub(super) fn read(segment: &Segment, field: FieldOrdinal) -> Result<Ordinals> {
        if field == UID {
            let uid = |doc| {
                let stored = segment.stored(doc)?;
                Ok(format!("{}#{}", stored.type_name(), stored.id()))
            };
            let texts = (0..segment.max_doc()).map(uid).collect::<Result<Vec<_>>>()?;
            return Ok(Ordinals::of_texts(&texts));
        }
        let prefix = field_prefix(field).to_string();
        let mut stream = segment
            .terms()
            .terms()
            .range()
            .ge(prefix.as_bytes())
            .lt(field_prefix(field + 1).to_string().as_bytes())
            .into_stream()?;
        let mut terms: Vec<Box<str>> = Vec::new();
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        while stream.advance() {
            let ordinal = u32::try_from(terms.len()).unwrap_or(u32::MAX);
            let text = stream
                .key()
                .get(prefix.len()..)
                .map(String::from_utf8_lossy)
                .unwrap_or_default();
            terms.push(text.into());
            let mut postings = segment.postings(stream.value(), IndexRecordOption::Basic)?;
            let mut doc = postings.doc();
            while doc != TERMINATED {
                pairs.push((doc, ordinal));
                doc = postings.advance();
            }
            if pairs.len() > MAX_ORDINALS {
                return Err(SearchError::new(
                    500,
                    Exception::CircuitBreaking,
                    format!("Data too large, data for field would be larger than limit of [{MAX_ORDINALS}] terms"),
                ));
            }
        }
        let mut starts = vec![0u32; segment.max_doc() as usize + 1];
        for (doc, _) in &pairs {
            if let Some(count) = starts.get_mut(*doc as usize + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut ordinals = vec![0; pairs.len()];
        // The pairs are in term order, so the ordinals of each document are ascending.
        for (doc, ordinal) in pairs {
            if let Some(at) = next.get_mut(doc as usize) {
                if let Some(slot) = ordinals.get_mut(*at as usize) {
                    *slot = ordinal;
                }
                *at += 1;
            }
        }
        Ok(Ordinals {
            terms,
            starts,
            ordinals,
        })
    }

    /// Returns the terms that a filter accepts.
    pub(super) fn filtered(&self, filter: &TermFilter) -> Ordinals {
        let docs = self.starts.windows(2).filter(|range| range[0] < range[1]).count();
        let docs = u32::try_from(docs).unwrap_or(u32::MAX);
        let mut doc_freqs = vec![0u32; self.terms.len()];
        for ordinal in &self.ordinals {
            if let Some(count) = doc_freqs.get_mut(*ordinal as usize) {
                *count += 1;
            }
        }
        // New ordinal of each accepted term.
        let mut terms = Vec::new();
        let mut accepted = Vec::with_capacity(self.terms.len());
        for (term, doc_freq) in self.terms.iter().zip(doc_freqs) {
            let is_accepted = filter.accepts(term, doc_freq, docs);
            accepted.push(is_accepted.then(|| u32::try_from(terms.len()).unwrap_or(u32::MAX)));
            if is_accepted {
                terms.push(term.clone());
            }
        }
        let (mut starts, mut ordinals) = (vec![0], Vec::new());
        for doc in 0..u32::try_from(self.starts.len().saturating_sub(1)).unwrap_or(u32::MAX) {
            let own = self.of(doc).iter();
            ordinals.extend(own.filter_map(|ordinal| accepted.get(*ordinal as usize).copied().flatten()));
            starts.push(u32::try_from(ordinals.len()).unwrap_or(u32::MAX));
        }
        Ordinals {
            terms,
            starts,
            ordinals,
        }
    }

    /// Ordinals of a document's terms, ascending and distinct.
    pub(crate) fn of(&self, doc: u32) -> &[u32] {
        match (self.starts.get(doc as usize), self.starts.get(doc as usize + 1)) {
            (Some(from), Some(to)) => self.ordinals.get(*from as usize..*to as usize).unwrap_or(&[]),
            _ => &[],
        }
    }

    pub(crate) fn term(&self, ordinal: u32) -> &str {
        self.terms.get(ordinal as usize).map_or("", |term| term)
    }

    /// Returns the ordinal of a term, if the segment has it.
    pub(crate) fn find(&self, text: &str) -> Option<u32> {
        self.terms
            .binary_search_by(|term| (**term).cmp(text))
            .ok()
            .and_then(|at| u32::try_from(at).ok())
    }

    pub(crate) fn len(&self) -> usize {
        self.terms.len()
    }
}
