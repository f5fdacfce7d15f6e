//! What a search sees: the segments of an index at one refresh.

use std::sync::Arc;

use super::bits::Bits;
use super::segment::{Segment, term_key};
use crate::error::Result;
use crate::mapping::FieldOrdinal;

/// A segment and which of its documents were dead at the refresh.
#[derive(Clone)]
pub(crate) struct SegmentView {
    pub(crate) segment: Arc<Segment>,
    pub(crate) dead: Option<Arc<Bits>>,
}

impl SegmentView {
    /// True if the document is there to be found.
    #[inline]
    pub(crate) fn is_alive(&self, doc: u32) -> bool {
        self.dead.as_ref().is_none_or(|dead| !dead.contains(doc))
    }

    /// How many documents are there to be found.
    pub(crate) fn alive(&self) -> u32 {
        self.segment.max_doc() - self.dead.as_ref().map_or(0, |dead| dead.len())
    }
}

/// The segments of an index at one refresh.
#[derive(Clone, Default)]
pub(crate) struct View {
    pub(crate) segments: Vec<SegmentView>,
}

impl View {
    /// How many documents the statistics count: dead ones are counted until they are merged away.
    pub(crate) fn max_doc(&self) -> u32 {
        self.segments.iter().map(|view| view.segment.max_doc()).sum()
    }

    /// How many documents there are to be found.
    pub(crate) fn alive(&self) -> u32 {
        self.segments.iter().map(SegmentView::alive).sum()
    }

    /// How many documents have a term.
    pub(crate) fn doc_freq(&self, field: FieldOrdinal, text: &str) -> Result<u32> {
        let key = term_key(field, text);
        self.segments
            .iter()
            .map(|view| Ok(view.segment.term_info(&key)?.map_or(0, |info| info.doc_freq)))
            .sum()
    }
}
