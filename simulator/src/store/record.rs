//! Stored object: its bytes, labels and selectable fields.

use std::{
    ops::Range,
    sync::{Arc, Weak},
};

use bytes::{Bytes, BytesMut};
use memchr::memmem;
use parking_lot::Mutex;

use super::Key;
use crate::{
    api::{Object, Pairs, tree},
    scheme::{ByVersion, Resource},
};

/// Resource version in the metadata of a [`Draft`], replaced by the revision.
const UNVERSIONED: &[u8] = br#""resourceVersion":"0""#;

/// Object to be stored: encoded, without its revision.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    head: Bytes,
    tail: Bytes,
    sent_self_link: Box<str>,
    hidden: Box<str>,
    initial_event_is_modified: bool,
    labels: Pairs,
    fields: Pairs,
}

impl Draft {
    /// Returns a draft of `encoded`, an object with `"resourceVersion":"0"` in its metadata; `None` without it.
    ///
    /// `sent_self_link` is the selfLink in the request. v1.2 stores it but shows the correct one; a write with another
    /// selfLink is a change. The first match is the field: a JSON string cannot contain unescaped quotation marks,
    /// and metadata come first.
    pub(crate) fn new(
        encoded: impl Into<Bytes>,
        sent_self_link: Box<str>,
        labels: Pairs,
        fields: Pairs,
    ) -> Option<Self> {
        let encoded: Bytes = encoded.into();
        let at = memmem::find(&encoded, UNVERSIONED)? + UNVERSIONED.len() - 2;
        Some(Self {
            head: encoded.slice(..at),
            tail: encoded.slice(at + 1..),
            sent_self_link,
            hidden: Box::default(),
            initial_event_is_modified: false,
            labels,
            fields,
        })
    }

    /// Sets other state that v1.2 stores but does not show. A write with other hidden state is a change.
    pub(crate) fn with_hidden(self, hidden: &str) -> Self {
        Self {
            hidden: hidden.into(),
            ..self
        }
    }

    /// Makes a watch that starts with the existing objects show this one as MODIFIED instead of ADDED.
    pub(crate) fn with_modified_initial_event(self) -> Self {
        Self {
            initial_event_is_modified: true,
            ..self
        }
    }

    /// Returns the record of this draft at `revision`.
    pub(super) fn into_record(self, key: Key, revision: u64) -> Record {
        let digits = revision.to_string();
        let mut bytes = BytesMut::with_capacity(self.head.len() + digits.len() + self.tail.len());
        bytes.extend_from_slice(&self.head);
        bytes.extend_from_slice(digits.as_bytes());
        bytes.extend_from_slice(&self.tail);
        let version = self.head.len()..self.head.len() + digits.len();
        Record {
            key,
            revision,
            bytes: bytes.freeze(),
            version,
            sent_self_link: self.sent_self_link,
            hidden: self.hidden,
            initial_event_is_modified: self.initial_event_is_modified,
            labels: self.labels,
            fields: self.fields,
            converted: ByVersion::default(),
            object: Mutex::default(),
        }
    }
}

/// Stored object at one revision.
#[derive(Debug)]
pub(crate) struct Record {
    pub(super) key: Key,
    pub(super) revision: u64,
    pub(super) bytes: Bytes,
    pub(super) version: Range<usize>,
    pub(super) sent_self_link: Box<str>,
    pub(super) hidden: Box<str>,
    pub(super) initial_event_is_modified: bool,
    pub(super) labels: Pairs,
    pub(super) fields: Pairs,
    pub(super) converted: ByVersion<Bytes>,
    pub(super) object: Mutex<Weak<Object>>,
}

impl Record {
    /// Key of the object.
    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    /// Revision of the write: the object's resourceVersion.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// Object as compact JSON in the kind's storage version.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Object as a tree. Parsed on first use, then shared while it is in use.
    pub(crate) fn object(&self) -> Arc<Object> {
        let mut kept = self.object.lock();
        if let Some(object) = kept.upgrade() {
            return object;
        }
        let object = Arc::new(tree::parse(&self.bytes).unwrap_or_default());
        *kept = Arc::downgrade(&object);
        object
    }

    /// SelfLink in the request of the write. Empty if it had none.
    pub(crate) fn sent_self_link(&self) -> &str {
        &self.sent_self_link
    }

    /// Whether a watch that starts with the existing objects shows this one as MODIFIED.
    pub(crate) fn initial_event_is_modified(&self) -> bool {
        self.initial_event_is_modified
    }

    /// Labels of the object.
    pub(crate) fn labels(&self) -> &Pairs {
        &self.labels
    }

    /// Selectable fields of the object.
    pub(crate) fn fields(&self) -> &Pairs {
        &self.fields
    }

    /// Object as compact JSON in `version`, a version of its kind. Converted on first use, then shared.
    pub(crate) fn bytes_in(&self, version: &Arc<Resource>) -> &Bytes {
        if version.is_storage_version() {
            return &self.bytes;
        }
        self.converted
            .get_or_init(version, || version.convert_stored(&self.bytes))
    }

    /// Whether `draft` is the same object.
    pub(crate) fn is_same_as(&self, draft: &Draft) -> bool {
        self.sent_self_link == draft.sent_self_link
            && self.hidden == draft.hidden
            && self.bytes[..self.version.start] == draft.head
            && self.bytes[self.version.end..] == draft.tail
    }

    /// Returns the same object with another revision, as in the event of its deletion.
    pub(crate) fn with_revision(&self, revision: u64) -> Self {
        let draft = Draft {
            head: self.bytes.slice(..self.version.start),
            tail: self.bytes.slice(self.version.end..),
            sent_self_link: self.sent_self_link.clone(),
            hidden: self.hidden.clone(),
            initial_event_is_modified: self.initial_event_is_modified,
            labels: self.labels.clone(),
            fields: self.fields.clone(),
        };
        draft.into_record(self.key.clone(), revision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::GroupResource;

    fn draft(json: &'static str) -> Option<Draft> {
        Draft::new(json.as_bytes(), "".into(), Pairs::default(), Pairs::default())
    }

    #[test]
    fn a_record_has_its_revision_in_its_bytes() {
        let draft =
            draft(r#"{"metadata":{"name":"a","resourceVersion":"0","labels":{"x":"\"resourceVersion\":\"0\""}}}"#)
                .unwrap();
        let record = draft.into_record(Key::new(&GroupResource::core("pods"), "n", "a"), 1234);
        assert_eq!(
            record.bytes(),
            br#"{"metadata":{"name":"a","resourceVersion":"1234","labels":{"x":"\"resourceVersion\":\"0\""}}}"#
                .as_slice()
        );
        let later = record.with_revision(99999);
        assert_eq!(
            later.bytes(),
            br#"{"metadata":{"name":"a","resourceVersion":"99999","labels":{"x":"\"resourceVersion\":\"0\""}}}"#
                .as_slice()
        );
        assert_eq!(later.revision(), 99999);
    }

    #[test]
    fn a_tree_is_shared_while_it_is_in_use() {
        let record = draft(r#"{"metadata":{"resourceVersion":"0"}}"#)
            .unwrap()
            .into_record(Key::new(&GroupResource::core("pods"), "n", "a"), 7);
        let object = record.object();
        assert_eq!(object["metadata"]["resourceVersion"], "7");
        assert!(Arc::ptr_eq(&object, &record.object()));
    }

    #[test]
    fn a_draft_without_a_place_for_its_revision_is_none() {
        assert!(draft(r#"{"metadata":{"name":"a","annotations":{"k":"\"resourceVersion\":\"0\""}}}"#).is_none());
    }
}
