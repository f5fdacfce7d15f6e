//! Segment: an immutable part of an index, on tantivy's postings, columns and document store.
//!
//! - Guarantees: norms and values are cached; documents stay in the order of indexing.
//! - Limits: in memory, or in memory-mapped files of a data directory.
//!
//! The file formats are tantivy's.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tantivy::directory::{CompositeFile, Directory, FileSlice, OwnedBytes, RamDirectory};
use tantivy::fastfield::{AliveBitSet, write_alive_bitset};
use tantivy::index::{InvertedIndexReader, SegmentComponent, SegmentReader};
use tantivy::positions::PositionReader;
use tantivy::postings::{BlockSegmentPostings, Postings, SegmentPostings, TermInfo};
use tantivy::schema::{IndexRecordOption, Value as _};
use tantivy::store::StoreReader;
use tantivy::{BitSet, DocSet, TantivyDocument, TantivyError};

use super::batch::Batch;
use super::bits::Bits;
use super::encoded::{ColumnName, Fields, NORMS, field_prefix, norm_in};
use super::ordinals::Ordinals;
use super::segment_writer::{self, COLUMNS, schema, settings};
use super::stored::Stored;
use super::values::Values;
use super::versions::Versions;
use crate::budget::Budget;
use crate::durable::SegmentFiles;
use crate::error::{Result, SearchError};
use crate::mapping::{Field, FieldOrdinal, TermFilter};

/// Returns the directory of tantivy's files: `files`, or memory.
fn directory(files: Option<&SegmentFiles>) -> Box<dyn Directory> {
    match files {
        Some(files) => Box::new(files.clone()),
        None => Box::new(RamDirectory::create()),
    }
}

/// The settings of a filter, and the terms that it has accepted.
type FilteredTerms = (BTreeMap<String, String>, Arc<Ordinals>);

/// A segment.
pub(crate) struct Segment {
    /// Number in the index. Segments are in the order of their numbers.
    pub(crate) number: u32,
    /// Files; `None` in memory.
    pub(super) files: Option<SegmentFiles>,
    /// Whether a commit contains the segment.
    committed: AtomicBool,
    optimized: AtomicBool,
    pub(super) versions: Versions,
    source: tantivy::Segment,
    fields: Fields,
    reader: SegmentReader,
    terms: Arc<InvertedIndexReader>,
    positions: FileSlice,
    store: StoreReader,
    norms: Mutex<HashMap<FieldOrdinal, Arc<[u8]>>>,
    values: Mutex<HashMap<FieldOrdinal, Arc<Values>>>,
    ordinals: Mutex<HashMap<FieldOrdinal, Arc<Ordinals>>>,
    filtered: Mutex<HashMap<FieldOrdinal, FilteredTerms>>,
    occurrences: Mutex<HashMap<FieldOrdinal, u64>>,
}

impl Segment {
    /// Returns whether statistics report a compound file: as long as the segment is not rewritten by an optimization.
    pub(crate) fn is_compound(&self) -> bool {
        !self.optimized.load(Ordering::Relaxed)
    }

    /// Lets statistics report the segment as rewritten.
    pub(super) fn set_optimized(&self) {
        self.optimized.store(true, Ordering::Relaxed);
    }

    /// The generation in statistics, which starts at 0.
    pub(crate) fn generation(&self) -> u32 {
        self.number.saturating_sub(u32::from(self.is_compound()))
    }

    /// The name in statistics: the generation to the base of 36.
    pub(crate) fn name(&self) -> String {
        let mut digits = Vec::new();
        let mut rest = self.generation();
        loop {
            digits.extend(char::from_digit(rest % 36, 36));
            rest /= 36;
            if rest == 0 {
                return format!("_{}", digits.iter().rev().collect::<String>());
            }
        }
    }

    /// Opens a segment from its files.
    pub(super) fn open(number: u32, files: SegmentFiles, versions: Versions) -> Result<Segment> {
        let index = tantivy::Index::open(files.clone())?;
        let segment = Segment::of_index(number, Some(files), &index, versions)?;
        segment.set_committed();
        Ok(segment)
    }

    /// Writes the documents of a batch to `files`, or to memory.
    pub(super) fn of_batch(number: u32, files: Option<SegmentFiles>, batch: &Arc<Batch>) -> Result<Segment> {
        let index = segment_writer::write(batch, directory(files.as_ref()))?;
        Segment::of_index(number, files, &index, batch.versions.clone())
    }

    fn of_index(
        number: u32,
        files: Option<SegmentFiles>,
        index: &tantivy::Index,
        versions: Versions,
    ) -> Result<Segment> {
        let source = index
            .searchable_segments()?
            .into_iter()
            .next()
            .ok_or_else(|| SearchError::engine("a finished segment has no reader"))?;
        let (_, fields) = schema();
        let reader = SegmentReader::open(&source)?;
        let terms = reader.inverted_index(fields.terms)?;
        let positions = reader
            .open_read(SegmentComponent::Positions)
            .map_err(TantivyError::from)?;
        let positions = CompositeFile::open(&positions)?.open_read(fields.terms);
        let store = reader.get_store_reader(8)?;
        Ok(Segment {
            number,
            files,
            committed: AtomicBool::new(false),
            optimized: AtomicBool::new(false),
            versions,
            source,
            fields,
            reader,
            terms,
            positions: positions.unwrap_or_else(FileSlice::empty),
            store,
            norms: Mutex::default(),
            values: Mutex::default(),
            ordinals: Mutex::default(),
            filtered: Mutex::default(),
            occurrences: Mutex::default(),
        })
    }

    /// Merges segments, without their deleted documents, to one whose documents have the given versions.
    pub(super) fn merged(
        segments: &[(&Segment, Option<&Bits>)],
        number: u32,
        files: Option<SegmentFiles>,
        versions: Versions,
    ) -> Result<Segment> {
        let sources: Vec<tantivy::Segment> = segments.iter().map(|(segment, _)| segment.source.clone()).collect();
        let filters = segments
            .iter()
            .map(|(segment, deleted)| match deleted {
                None => Ok(None),
                Some(deleted) => {
                    let mut alive = BitSet::with_max_value_and_full(segment.max_doc());
                    deleted
                        .iter()
                        .filter(|doc| *doc < segment.max_doc())
                        .for_each(|doc| alive.remove(doc));
                    let mut bytes = Vec::new();
                    write_alive_bitset(&alive, &mut bytes)?;
                    Ok(Some(AliveBitSet::open(OwnedBytes::new(bytes))))
                }
            })
            .collect::<Result<Vec<_>>>()?;
        let target = directory(files.as_ref());
        let index = tantivy::indexer::merge_filtered_segments(&sources, settings(), filters, target)?;
        Segment::of_index(number, files, &index, versions)
    }

    /// Returns whether a commit contains the segment.
    pub(crate) fn is_committed(&self) -> bool {
        self.committed.load(Ordering::Relaxed)
    }

    pub(super) fn set_committed(&self) {
        self.committed.store(true, Ordering::Relaxed);
    }

    /// Number of documents, including deleted ones.
    pub(crate) fn max_doc(&self) -> u32 {
        self.reader.max_doc()
    }

    /// Size of the files, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.reader.space_usage().map_or(0, |usage| usage.total().get_bytes())
    }

    pub(crate) fn terms(&self) -> &InvertedIndexReader {
        &self.terms
    }

    /// Returns the version of a document.
    pub(crate) fn version(&self, doc: u32) -> u64 {
        self.versions.get(doc)
    }

    /// Looks up a term in the dictionary. `key` is from [`term_key`].
    pub(crate) fn term_info(&self, key: &[u8]) -> Result<Option<TermInfo>> {
        Ok(self.terms.terms().get(key)?)
    }

    pub(crate) fn postings(&self, info: &TermInfo, option: IndexRecordOption) -> Result<SegmentPostings> {
        Ok(self.terms.read_postings_from_terminfo(info, option)?)
    }

    /// Blocks of the postings of a term, and the reader of its positions.
    pub(crate) fn blocks(&self, info: &TermInfo) -> Result<(BlockSegmentPostings, PositionReader)> {
        let option = IndexRecordOption::WithFreqsAndPositions;
        let positions = self.positions.read_bytes_slice(info.positions_range.clone())?;
        let blocks = self.terms.read_block_postings_from_terminfo(info, option)?;
        Ok((blocks, PositionReader::open(positions)?))
    }

    /// Reads the stored fields of a document.
    pub(crate) fn stored(&self, doc: u32) -> Result<Stored> {
        let document: TantivyDocument = self.store.get(doc)?;
        let mut bytes = Vec::new();
        for part in document.get_all(self.fields.stored) {
            bytes.extend_from_slice(part.as_bytes().unwrap_or_default());
            bytes.extend_from_slice(part.as_str().unwrap_or_default().as_bytes());
        }
        Stored::decode(bytes).ok_or_else(|| SearchError::engine("a document was stored without its source"))
    }

    /// Length norms of a field, one byte per document.
    pub(crate) fn norms(&self, field: FieldOrdinal) -> Result<Arc<[u8]>> {
        if let Some(norms) = self.norms.lock().get(&field) {
            return Ok(norms.clone());
        }
        let mut norms = vec![0; self.max_doc() as usize];
        if let Some(column) = self.column(ColumnName::of_norms(field))? {
            for (doc, norm) in (0..).zip(&mut norms) {
                *norm = column.first(doc).and_then(|norm| u8::try_from(norm).ok()).unwrap_or(0);
            }
        }
        if let Some(column) = self.reader.fast_fields().str(&format!("{COLUMNS}.{NORMS}"))? {
            let mut by_value = Vec::with_capacity(column.num_terms());
            let mut values = column.dictionary().stream()?;
            while let Some((value, ())) = values.next() {
                let norm = std::str::from_utf8(value).ok().and_then(|value| norm_in(value, field));
                by_value.push(norm.unwrap_or(0));
            }
            let norm_of = |value: u64| by_value.get(value as usize).copied().unwrap_or(0);
            for (doc, norm) in (0..).zip(&mut norms) {
                *norm = column.term_ords(doc).map(norm_of).fold(*norm, u8::max);
            }
        }
        let norms: Arc<[u8]> = norms.into();
        self.norms.lock().insert(field, norms.clone());
        Ok(norms)
    }

    /// Numbers of a field.
    pub(crate) fn values(&self, field: FieldOrdinal) -> Result<Arc<Values>> {
        if let Some(values) = self.values.lock().get(&field) {
            return Ok(values.clone());
        }
        let values = Arc::new(match self.column(ColumnName::new(field))? {
            None => Values::Empty,
            Some(column) => Values::read(&column, self.max_doc()),
        });
        self.values.lock().insert(field, values.clone());
        Ok(values)
    }

    /// Terms of a field, by document.
    pub(crate) fn ordinals(&self, field: FieldOrdinal) -> Result<Arc<Ordinals>> {
        if let Some(ordinals) = self.ordinals.lock().get(&field) {
            return Ok(ordinals.clone());
        }
        let ordinals = Arc::new(Ordinals::read(self, field)?);
        self.ordinals.lock().insert(field, ordinals.clone());
        Ok(ordinals)
    }

    /// Terms of a field that its filter of field data accepts, by document.
    pub(crate) fn field_terms(&self, field: &Field) -> Result<Arc<Ordinals>> {
        let Some(settings) = field.field_type.term_filter() else {
            return self.ordinals(field.ordinal);
        };
        if let Some((own, terms)) = self.filtered.lock().get(&field.ordinal)
            && *own == settings
        {
            return Ok(terms.clone());
        }
        let all = Ordinals::read(self, field.ordinal)?;
        let terms = Arc::new(all.filtered(&TermFilter::new(&settings)));
        self.filtered.lock().insert(field.ordinal, (settings, terms.clone()));
        Ok(terms)
    }

    /// Number of terms in a field, those of deleted documents included.
    pub(crate) fn occurrences(&self, field: FieldOrdinal, budget: &Budget) -> Result<u64> {
        if let Some(count) = self.occurrences.lock().get(&field) {
            return Ok(*count);
        }
        let (from, to) = (field_prefix(field).to_string(), field_prefix(field + 1).to_string());
        let mut stream = self.terms.terms().range().ge(&from).lt(&to).into_stream()?;
        let mut count = 0;
        while stream.advance() {
            budget.check()?;
            let mut postings = self.postings(stream.value(), IndexRecordOption::WithFreqs)?;
            while postings.doc() != tantivy::TERMINATED {
                count += u64::from(postings.term_freq());
                postings.advance();
            }
        }
        self.occurrences.lock().insert(field, count);
        Ok(count)
    }

    /// Fields with loaded values or terms, and the size of these in bytes.
    pub(crate) fn field_data(&self) -> Vec<(FieldOrdinal, u64)> {
        let values = self.values.lock();
        let ordinals = self.ordinals.lock();
        let filtered = self.filtered.lock();
        let filtered = filtered.iter().map(|(field, (_, terms))| (*field, terms.bytes()));
        let values = values.iter().map(|(field, values)| (*field, values.bytes()));
        let ordinals = ordinals.iter().map(|(field, ordinals)| (*field, ordinals.bytes()));
        values.chain(ordinals).chain(filtered).collect()
    }

    fn column(&self, name: ColumnName) -> Result<Option<tantivy::columnar::Column<i64>>> {
        Ok(self
            .reader
            .fast_fields()
            .column_opt::<i64>(&format!("{COLUMNS}.{}", name.as_str()))?)
    }
}

/// Returns the key of a field's term in the dictionary.
pub(crate) fn term_key(field: FieldOrdinal, text: &str) -> Vec<u8> {
    let mut key = String::with_capacity(text.len() + 4);
    key.push(field_prefix(field));
    key.push_str(text);
    key.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::encoded::Encoded;
    use super::*;

    fn segment_of(number: u32, documents: &[Encoded]) -> Arc<Segment> {
        let mut batch = Batch::default();
        documents.iter().for_each(|document| batch.push(document));
        Arc::new(Segment::of_batch(number, None, &Arc::new(batch)).unwrap())
    }

    fn merge(segments: &[Arc<Segment>]) -> Segment {
        let segments: Vec<(&Segment, Option<&Bits>)> = segments.iter().map(|segment| (&**segment, None)).collect();
        Segment::merged(&segments, 1, None, Versions::default()).unwrap()
    }

    #[test]
    fn stored_fields_of_one_value_and_of_two_are_read_and_merged() {
        // Before format 4, all stored fields are bytes. So they are if the source is not a text.
        let sources: [&[u8]; 2] = [b"\xff", b"{}"];
        let segment_with = |number: u32, source: &[u8]| {
            let mut document = Encoded::default();
            document.store(["t", "1", "", "", ""], Default::default(), source);
            segment_of(number, &[document])
        };
        let segments = [segment_with(1, sources[0]), segment_with(2, sources[1])];
        let merged = merge(&segments);
        for (doc, source) in (0..).zip(sources) {
            let stored = merged.stored(doc).unwrap();
            assert_eq!((stored.id(), stored.source()), ("1", source));
        }
    }

    #[test]
    fn norms_of_any_number_of_fields_are_read_and_merged() {
        const FIELDS: u32 = 40_000;
        let with_norms = |norms: &[(FieldOrdinal, u8)]| {
            let mut document = Encoded::default();
            document.set_norms(norms);
            [Encoded::default(), document]
        };
        let all: Vec<(FieldOrdinal, u8)> = (0..FIELDS).map(|field| (field, (field % 200) as u8 + 1)).collect();
        let segments = [segment_of(1, &with_norms(&all)), segment_of(2, &with_norms(&[(7, 99)]))];
        let merged = merge(&segments);
        for (segment, expected) in [(&*segments[0], &[0, 8][..]), (&merged, &[0, 8, 0, 99][..])] {
            assert_eq!(&*segment.norms(7).unwrap(), expected);
        }
        let mut older = Encoded::default();
        older.push_older_norm(7, 42);
        let older = segment_of(3, &[older]);
        assert_eq!(&*older.norms(7).unwrap(), &[42]);
        let both = merge(&[older, segments[1].clone()]);
        assert_eq!(&*both.norms(7).unwrap(), &[42, 0, 99]);
        let last = segments[0].norms(FIELDS - 1).unwrap();
        assert_eq!(&*last, &[0, ((FIELDS - 1) % 200) as u8 + 1][..]);
        assert_eq!(&*merged.norms(FIELDS).unwrap(), &[0; 4][..]);
    }
}
