//! Watch events.

use std::sync::{Arc, OnceLock};

use bytes::{BufMut, Bytes, BytesMut};

use crate::{
    scheme::{ByVersion, Resource},
    store::{Change, Record},
};

/// Type of a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventType {
    /// The object was created, or now matches the filter.
    Added,
    /// The object was changed.
    Modified,
    /// The object was removed, or no longer matches the filter.
    Deleted,
}

impl EventType {
    /// Type as sent to clients.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// Estimated size of an event besides its object (keys, labels, fields), in bytes.
const EVENT_OVERHEAD: usize = 512;

/// Maximum size of an object whose frames are cached, in bytes. Larger frames are encoded for each watcher.
const MAX_CACHED_FRAME: usize = 64 << 10;

/// Encoded frames of an event, one per type.
type Frames = [OnceLock<Bytes>; 3];

/// Change with its encoded frames.
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
    /// Returns the event of a committed change. `None` for a change with neither an object before nor after it.
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

    /// Object before and after the change.
    pub(super) fn states(&self) -> impl Iterator<Item = &Record> {
        self.before.as_deref().into_iter().chain([&*self.last])
    }

    /// Size in bytes: the object and, if frames are cached, one frame. Watchers mostly see one type in one version.
    /// If they see all three types, the real size is at most twice as large for each version.
    pub(crate) fn size(&self) -> usize {
        let object = self.last.bytes().len();
        let frame = if object > MAX_CACHED_FRAME { 0 } else { object };
        object + frame + EVENT_OVERHEAD
    }

    /// Revision of the change.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Object after the change. After a removal: the last state, with the removal's revision.
    pub(crate) fn last(&self) -> &Arc<Record> {
        &self.last
    }

    /// Whether the object was removed.
    pub(crate) fn removed(&self) -> bool {
        self.removed
    }

    /// Type of the event for a watcher of the objects that match. `None` if neither state matches.
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

    /// Returns the frame of this event in `version`, a version of its kind: one line of JSON, encoded once per type
    /// and version. Frames of large objects are not cached: the limit of the history counts bytes of objects.
    pub(crate) fn frame(&self, kind: EventType, version: &Arc<Resource>) -> Bytes {
        let object = self.last.bytes_in(version);
        if object.len() > MAX_CACHED_FRAME {
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

/// Encodes a line of a watch stream: `{"type":"ADDED","object":{...}}`.
pub(crate) fn frame(kind: EventType, object: &Bytes) -> Bytes {
    let mut line = BytesMut::with_capacity(object.len() + 40);
    line.put_slice(b"{\"type\":\"");
    line.put_slice(kind.as_str().as_bytes());
    line.put_slice(b"\",\"object\":");
    line.put_slice(object);
    line.put_slice(b"}\n");
    line.freeze()
}
