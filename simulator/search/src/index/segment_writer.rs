//! Writer of segments: the files of a batch, in tantivy's formats.
//!
//! Guarantees: documents stay in the order of the batch.

use std::path::Path;
use std::sync::Arc;

use tantivy::directory::{Directory, TerminatingWrite as _};
use tantivy::fastfield::FastFieldsWriter;
use tantivy::fieldnorm::FieldNormsSerializer;
use tantivy::index::{IndexMeta, IndexSettings, SegmentComponent};
use tantivy::schema::{FAST, IndexRecordOption, JsonObjectOptions, STORED, Schema, TextFieldIndexing, TextOptions};
use tantivy::store::StoreWriter;
use tantivy::{Index, TantivyError};

use super::batch::Batch;
use super::encoded::Fields;
use super::postings::Postings;
use crate::error::{Result, SearchError};

const TERMS: &str = "t";
/// Name of the field of columns.
pub(super) const COLUMNS: &str = "c";
const STORED_FIELD: &str = "d";
/// Name of the tokenizer in the schema. Nothing is tokenized with it.
const TOKENIZER: &str = "stream";
/// tantivy's file of the segments of an index.
const META_FILE: &str = "meta.json";

pub(super) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions)
        .set_fieldnorms(false);
    let terms = builder.add_text_field(TERMS, TextOptions::default().set_indexing_options(indexing));
    let columns = builder.add_json_field(COLUMNS, JsonObjectOptions::from(FAST));
    let stored = builder.add_bytes_field(STORED_FIELD, STORED);
    (builder.build(), Fields { terms, columns, stored })
}

pub(super) fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}

/// Writes an index of one segment.
pub(super) fn write(batch: &Arc<Batch>, directory: Box<dyn Directory>) -> Result<Index> {
    let (schema, fields) = schema();
    let index = Index::create(directory, schema.clone(), settings())?;
    let segment = index.new_segment();
    Postings::of(batch).write(&segment, fields.terms)?;
    let norms = segment
        .open_write(SegmentComponent::FieldNorms)
        .map_err(TantivyError::from)?;
    FieldNormsSerializer::from_write(norms)?.close()?;
    write_documents(batch, fields, &segment)?;
    let meta = IndexMeta {
        index_settings: settings(),
        persisted_custom_extensions: Vec::new(),
        segments: vec![index.new_segment_meta(segment.id(), batch.len())],
        schema,
        opstamp: 0,
        payload: None,
    };
    let meta = serde_json::to_vec(&meta).map_err(SearchError::engine)?;
    index.directory().atomic_write(Path::new(META_FILE), &meta)?;
    Ok(index)
}

/// Writes columns and stored fields.
fn write_documents(batch: &Arc<Batch>, fields: Fields, segment: &tantivy::Segment) -> Result<()> {
    let schema = segment.schema();
    let open = |component: SegmentComponent| segment.open_write(component).map_err(TantivyError::from);
    let settings = settings();
    let mut store = StoreWriter::new(
        open(SegmentComponent::Store)?,
        settings.docstore_compression,
        settings.docstore_blocksize,
        settings.docstore_compress_dedicated_thread,
    )?;
    let tokenizers = segment.index().fast_field_tokenizer().clone();
    let mut columns = FastFieldsWriter::from_schema_and_tokenizer_manager(&schema, tokenizers)?;
    for document in batch.documents(fields) {
        columns.add_document(&document)?;
        store.store(&document, &schema)?;
    }
    store.close()?;
    let mut file = open(SegmentComponent::FastFields)?;
    columns.serialize(&mut file, None)?;
    file.terminate()?;
    Ok(())
}
