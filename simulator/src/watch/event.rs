//! One change as followers see it.

use std::sync::{Arc, OnceLock};

use bytes::{BufMut, Bytes, BytesMut};

use crate::{
    scheme::Resource,
    store::{Change, Record},
};

/// What a notification says of its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventType {
    /// It came into view.
    Added,
    /// It changed.
    Modified,
    /// It went out of view.
    Deleted,
}

impl EventType {
    /// The word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// Which version of its kind a follower asks for.
#[derive(Clone, Copy)]
pub enum Version {
    /// The one that the kind is stored in.
    Storage,
    /// The other.
    Converted {
        /// The kind in that version.
        resource: &'static Resource,
        /// Makes its bytes of the stored ones.
        convert: fn(&'static Resource, &Bytes) -> Bytes,
    },
}

impl Version {
    /// The record's object in this version.
    pub fn of(self, record: &Record) -> &Bytes {
        match self {
            Self::Storage => record.bytes(),
            Self::Converted { resource, convert } => record.converted(|bytes| convert(resource, bytes)),
        }
    }

    fn index(self) -> usize {
        matches!(self, Self::Converted { .. }).into()
    }
}

/// One change, with the frames that were made of it.
#[derive(Debug)]
pub struct Event {
    revision: u64,
    before: Option<Arc<Record>>,
    last: Arc<Record>,
    removed: bool,
    frames: [[OnceLock<Bytes>; 3]; 2],
}

impl Event {
    /// The event of a committed change; `None` for a change that has neither a before nor an after.
    pub fn new(change: Change) -> Option<Self> {
        let Change {
            revision,
            before,
            after,
        } = change;
        let removed = after.is_none();
        let last = match (after, &before) {
            (Some(after), _) => after,
            (None, Some(before)) => Arc::new(before.restated(revision)),
            (None, None) => return None,
        };
        Some(Self {
            revision,
            before,
            last,
            removed,
            frames: Default::default(),
        })
    }

    /// The revision of the change.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The object after the change; of a removal the last state, restated at the removal's revision.
    pub fn last(&self) -> &Arc<Record> {
        &self.last
    }

    /// Whether the object was removed.
    pub fn removed(&self) -> bool {
        self.removed
    }

    /// What the change is to one who sees only the objects that pass `sees`.
    pub fn seen_by(&self, sees: impl Fn(&Record) -> bool) -> Option<EventType> {
        let before = self.before.as_deref().is_some_and(&sees);
        let after = !self.removed && sees(&self.last);
        match (before, after) {
            (false, true) => Some(EventType::Added),
            (true, true) => Some(EventType::Modified),
            (true, false) => Some(EventType::Deleted),
            (false, false) => None,
        }
    }

    /// The frame that tells of this event: one line of JSON. Made once for each type and version.
    pub fn frame(&self, kind: EventType, version: Version) -> Bytes {
        self.frames[version.index()][kind as usize]
            .get_or_init(|| frame(kind, version.of(&self.last)))
            .clone()
    }
}

/// A line of a watch stream: `{"type":"ADDED","object":{...}}`.
pub(super) fn frame(kind: EventType, object: &Bytes) -> Bytes {
    let mut line = BytesMut::with_capacity(object.len() + 40);
    line.put_slice(b"{\"type\":\"");
    line.put_slice(kind.word().as_bytes());
    line.put_slice(b"\",\"object\":");
    line.put_slice(object);
    line.put_slice(b"}\n");
    line.freeze()
}
