//! View of a shard: its segments as of one refresh. Searches use views.

use std::sync::Arc;

use super::bits::Bits;
use super::segment::{Segment, term_key};
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
#[derive(Clone, Default)]
pub(crate) struct View {
    pub(crate) segments: Vec<SegmentView>,
}

impl View {
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
    pub(crate) fn place(&self, (segment, doc): (u32, u32)) -> Option<(usize, u32)> {
        let at = self.segments.iter().position(|view| view.segment.number == segment)?;
        let view = self.segments.get(at)?;
        (doc < view.segment.max_doc() && view.is_live(doc)).then_some((at, doc))
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
