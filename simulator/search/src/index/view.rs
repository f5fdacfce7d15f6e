//! View of a shard: its segments as of one refresh. Searches use views.

use std::sync::{Arc, OnceLock};

use foldhash::HashMap;

use super::bits::Bits;
use super::segment::{Segment, term_key};
use super::version_map::id_key;
use crate::error::Result;
use crate::mapping::FieldOrdinal;

/// A segment and its deleted documents at one refresh.
#[derive(Clone)]
pub(crate) struct SegmentView {
    pub(crate) segment: Arc<Segment>,
    pub(crate) deleted: Option<Arc<Bits>>,
}

impl SegmentView {
    /// Returns whether a document is not deleted.
    #[inline]
    pub(crate) fn is_live(&self, doc: u32) -> bool {
        self.deleted.as_ref().is_none_or(|deleted| !deleted.contains(doc))
    }

    /// Number of live documents.
    pub(crate) fn live_docs(&self) -> u32 {
        self.segment.max_doc() - self.deleted.as_ref().map_or(0, |deleted| deleted.len())
    }
}

/// The segments of a shard as of one refresh.
#[derive(Default)]
pub(crate) struct View {
    pub(crate) segments: Vec<SegmentView>,
    places: OnceLock<Places>,
}

/// Position of a document's segment in a view, and its number there, by its key in the version map.
type Places = HashMap<Box<str>, (usize, u32)>;

impl View {
    pub(super) fn new(segments: Vec<SegmentView>) -> View {
        View {
            segments,
            places: OnceLock::new(),
        }
    }

    /// Size of the segments, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.segments.iter().map(|view| view.segment.bytes()).sum()
    }

    /// Number of documents that the statistics count; deleted documents count until they are merged away.
    pub(crate) fn max_doc(&self) -> u32 {
        self.segments.iter().map(|view| view.segment.max_doc()).sum()
    }

    /// Number of live documents.
    pub(crate) fn live_docs(&self) -> u32 {
        self.segments.iter().map(SegmentView::live_docs).sum()
    }

    /// Returns the position of a segment in the view, and the document, if the view has both.
    pub(super) fn place(&self, (segment, doc): (u32, u32)) -> Option<(usize, u32)> {
        let at = self.segments.iter().position(|view| view.segment.number == segment)?;
        let view = self.segments.get(at)?;
        (doc < view.segment.max_doc() && view.is_live(doc)).then_some((at, doc))
    }

    /// Returns the places of all visible documents but nested objects. They are read from the stored fields at the
    /// first use, which only a view needs that was replaced while a search uses it.
    pub(super) fn places(&self) -> Result<&Places> {
        if let Some(places) = self.places.get() {
            return Ok(places);
        }
        let mut places = Places::default();
        for (at, view) in self.segments.iter().enumerate() {
            for doc in (0..view.segment.max_doc()).filter(|doc| view.is_live(*doc)) {
                let stored = view.segment.stored(doc)?;
                if stored.identity().is_none() {
                    places.insert(id_key(stored.type_name(), stored.id()), (at, doc));
                }
            }
        }
        Ok(self.places.get_or_init(|| places))
    }

    /// Number of documents that have a term.
    pub(crate) fn doc_freq(&self, field: FieldOrdinal, text: &str) -> Result<u32> {
        let key = term_key(field, text);
        self.segments
            .iter()
            .map(|view| Ok(view.segment.term_info(&key)?.map_or(0, |info| info.doc_freq)))
            .sum()
    }
}
