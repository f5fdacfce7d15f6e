//! One change as watchers see it.

use std::sync::{Arc, OnceLock};

use bytes::{BufMut, Bytes, BytesMut};

use crate::{
    scheme::{ByVersion, Resource},
    store::{Change, Record},
};

/// Type of a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventType {
    /// The object was created, or now passes the filter.
    Added,
    /// The object was changed.
    Modified,
    /// The object was removed, or no longer passes the filter.
    Deleted,
}

impl EventType {
    /// The word on the wire.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// Bytes of an event besides those of its object: keys, labels, fields.
const OVERHEAD: usize = 512;

/// Frames of larger objects are made for each watcher, in bytes of the object.
const LARGEST_KEPT_FRAME: usize = 64 << 10;

/// The encoded frames of an event, one for each type.
type Frames = [OnceLock<Bytes>; 3];

/// One change, with the frames that were made of it.
#[derive(Debug)]
pub(crate) struct Event {
    revision: u64,
    before: Option<Arc<Record>>,
    last: Arc<Record>,
    removed: bool,
    frames: Frames,
    converted: ByVersion<Frames>,
}

impl Event {
    /// The event of a committed change; `None` for a change that has neither a before nor an after.
    pub(crate) fn new(change: Change) -> Option<Self> {
        let Change {
            revision,
            before,
            after,
        } = change;
        let removed = after.is_none();
        let last = match (after, &before) {
            (Some(after), _) => after,
            (None, Some(before)) => Arc::new(before.with_revision(revision)),
            (None, None) => return None,
        };
        Some(Self {
            revision,
            before,
            last,
            removed,
            frames: Frames::default(),
            converted: ByVersion::default(),
        })
    }

    /// The object before and after the change.
    pub(super) fn states(&self) -> impl Iterator<Item = &Record> {
        self.before.as_deref().into_iter().chain([&*self.last])
    }

    /// Bytes that it holds: its object and, where it is kept, one frame. Watchers mostly see one type in one version. If they see all three types, it
    /// holds at most twice as much for each version.
    pub(crate) fn size(&self) -> usize {
        let object = self.last.bytes().len();
        let frame = if object > LARGEST_KEPT_FRAME { 0 } else { object };
        object + frame + OVERHEAD
    }

    /// The revision of the change.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The object after the change; of a removal the last state, with_revision at the removal's revision.
    pub(crate) fn last(&self) -> &Arc<Record> {
        &self.last
    }

    /// Whether the object was removed.
    pub(crate) fn removed(&self) -> bool {
        self.removed
    }

    /// The type of the change for a watcher of the objects that pass `matches`; `None` if it concerns none of them.
    pub(crate) fn type_for(&self, matches: impl Fn(&Record) -> bool) -> Option<EventType> {
        let before = self.before.as_deref().is_some_and(&matches);
        let after = !self.removed && matches(&self.last);
        match (before, after) {
            (false, true) => Some(EventType::Added),
            (true, true) => Some(EventType::Modified),
            (true, false) => Some(EventType::Deleted),
            (false, false) => None,
        }
    }

    /// The watch frame of this event in `version`, one of the versions of its kind: one line of JSON, encoded once for each type and version. The
    /// frame of a large object is not kept: the history is bounded by the bytes of its objects.
    pub(crate) fn frame(&self, kind: EventType, version: &Arc<Resource>) -> Bytes {
        let object = self.last.bytes_in(version);
        if object.len() > LARGEST_KEPT_FRAME {
            return frame(kind, object);
        }
        let frames = if version.is_storage_version() {
            &self.frames
        } else {
            self.converted.get_or_init(version, Frames::default)
        };
        frames[kind as usize].get_or_init(|| frame(kind, object)).clone()
    }
}

/// A line of a watch stream: `{"type":"ADDED","object":{...}}`.
pub(crate) fn frame(kind: EventType, object: &Bytes) -> Bytes {
    let mut line = BytesMut::with_capacity(object.len() + 40);
    line.put_slice(b"{\"type\":\"");
    line.put_slice(kind.word().as_bytes());
    line.put_slice(b"\",\"object\":");
    line.put_slice(object);
    line.put_slice(b"}\n");
    line.freeze()
}
