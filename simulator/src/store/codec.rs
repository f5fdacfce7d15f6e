//! Encoding of records and changes in persistent stores.

use std::fmt::Display;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{
    api::{GroupResource, Pairs},
    store::{Key, Record},
};

/// Stored form of a record.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredRecord<'a> {
    revision: u64,
    /// Object as JSON.
    body: &'a str,
    /// Position of the revision's digits in the body.
    version_start: usize,
    sent_self_link: &'a str,
    hidden: &'a str,
    initial_event_is_modified: bool,
    labels: Vec<(&'a str, &'a str)>,
    fields: Vec<(&'a str, &'a str)>,
}

/// Stored form of a change. Its revision is its key.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredChange<'a> {
    resource: &'a str,
    namespace: &'a str,
    name: &'a str,
    /// Object after the change. `None` if it was removed.
    #[serde(borrow)]
    pub(super) after: Option<StoredRecord<'a>>,
}

/// Error of encoding or decoding a record or a change.
#[derive(Debug, thiserror::Error)]
#[error("cannot encode or decode an object: {0}")]
pub(super) struct Malformed(String);

fn malformed(why: impl Display) -> Malformed {
    Malformed(why.to_string())
}

impl<'a> StoredRecord<'a> {
    pub(super) fn of(record: &'a Record) -> Result<Self, Malformed> {
        Ok(Self {
            revision: record.revision,
            body: std::str::from_utf8(&record.bytes).map_err(malformed)?,
            version_start: record.version.start,
            sent_self_link: &record.sent_self_link,
            hidden: &record.hidden,
            initial_event_is_modified: record.initial_event_is_modified,
            labels: borrowed(&record.labels),
            fields: borrowed(&record.fields),
        })
    }

    pub(super) fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        postcard::from_bytes(bytes).map_err(malformed)
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>, Malformed> {
        postcard::to_stdvec(self).map_err(malformed)
    }

    /// Returns the record. Fails if its body does not contain its revision.
    pub(super) fn into_record(self, key: Key) -> Result<Record, Malformed> {
        let digits = self.revision.to_string();
        let version = self.version_start..self.version_start.saturating_add(digits.len());
        if self.body.get(version.clone()) != Some(digits.as_str()) {
            return Err(malformed("its revision is not in its body"));
        }
        Ok(Record {
            key,
            revision: self.revision,
            bytes: Bytes::copy_from_slice(self.body.as_bytes()),
            version,
            sent_self_link: self.sent_self_link.into(),
            hidden: self.hidden.into(),
            initial_event_is_modified: self.initial_event_is_modified,
            labels: owned(&self.labels),
            fields: owned(&self.fields),
            converted: Default::default(),
            object: Default::default(),
        })
    }
}

impl<'a> StoredChange<'a> {
    pub(super) fn of(key: &'a Key, after: Option<&'a Record>) -> Result<Self, Malformed> {
        Ok(Self {
            resource: key.resource.as_str(),
            namespace: &key.namespace,
            name: &key.name,
            after: after.map(StoredRecord::of).transpose()?,
        })
    }

    pub(super) fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        postcard::from_bytes(bytes).map_err(malformed)
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>, Malformed> {
        postcard::to_stdvec(self).map_err(malformed)
    }

    /// Resource, namespace and name.
    pub(super) fn place(&self) -> (&'a str, &'a str, &'a str) {
        (self.resource, self.namespace, self.name)
    }

    pub(super) fn key(&self) -> Key {
        key(self.place())
    }
}

/// Returns the key of an object from its resource, namespace and name.
pub(super) fn key((resource, namespace, name): (&str, &str, &str)) -> Key {
    Key::new(&GroupResource::named(resource), namespace, name)
}

fn borrowed(pairs: &Pairs) -> Vec<(&str, &str)> {
    pairs.iter().collect()
}

fn owned(pairs: &[(&str, &str)]) -> Pairs {
    pairs.iter().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Draft;

    #[test]
    fn a_change_round_trips() {
        let key = Key::new(&GroupResource::new("batch", "jobs"), "n", "a");
        let json = r#"{"metadata":{"name":"a","resourceVersion":"0"}}"#;
        let labels: Pairs = [("app", "x")].into_iter().collect();
        let draft = Draft::new(json, "/link".into(), labels, Pairs::default()).unwrap();
        let record = draft.with_hidden("hidden").into_record(key.clone(), 71);
        let bytes = StoredChange::of(&key, Some(&record)).unwrap().encode().unwrap();
        let read = StoredChange::decode(&bytes).unwrap();
        assert_eq!(read.key(), key);
        let read = read.after.unwrap().into_record(key.clone()).unwrap();
        assert_eq!(format!("{read:?}"), format!("{record:?}"));
        let removed = StoredChange::of(&key, None).unwrap().encode().unwrap();
        assert!(StoredChange::decode(&removed).unwrap().after.is_none());
    }

    #[test]
    fn a_record_without_its_revision_in_its_body_is_an_error() {
        let stored = StoredRecord {
            revision: 7,
            body: r#"{"metadata":{"resourceVersion":"8"}}"#,
            version_start: 32,
            sent_self_link: "",
            hidden: "",
            initial_event_is_modified: false,
            labels: Vec::new(),
            fields: Vec::new(),
        };
        assert!(
            stored
                .into_record(Key::new(&GroupResource::core("pods"), "n", "a"))
                .is_err()
        );
    }
}
