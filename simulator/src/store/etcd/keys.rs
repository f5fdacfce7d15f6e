//! Keys and values in etcd.
//!
//! All keys are below the prefix:
//! - `objects/RESOURCE/NAMESPACE/NAME`: an object.
//! - `claims/NAME`: an address or a port in use.
//! - `head`: changed by every write; its value is the name of the write.
//! - `fences/NAME`: invalidates writes whose call had no answer.
//! - `leader`: the elected process.
//! - `starts`: changed by each process when it starts.
//! - `format`: the format of keys and values.

use bytes::Bytes;

use super::message::{DeleteRangeRequest, KeyValue, Operation, PutRequest, RangeRequest, RequestOp};
use crate::{
    api::GroupResource,
    store::{
        Draft, Key, Record,
        codec::{Malformed, StoredRecord},
    },
};

/// Format of keys and values.
pub(super) const FORMAT: &str = "1";

/// Meaning of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    Object(Key),
    Claim(String),
    Head,
    Other,
}

/// Keys of one cluster.
pub(super) struct Keys {
    prefix: String,
}

impl Keys {
    pub(super) fn new(prefix: &str) -> Self {
        Self {
            prefix: format!("{prefix}/"),
        }
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the key with this name below the prefix.
    pub(super) fn named(&self, name: &str) -> Bytes {
        format!("{}{name}", self.prefix).into()
    }

    pub(super) fn object(&self, key: &Key) -> Bytes {
        self.named(&format!("objects/{key}"))
    }

    pub(super) fn claim(&self, name: &str) -> Bytes {
        self.named(&format!("claims/{name}"))
    }

    pub(super) fn head(&self) -> Bytes {
        self.named("head")
    }

    /// Start and end of the range of all keys: `0` is the byte after `/`.
    pub(super) fn all(&self) -> (Bytes, Bytes) {
        let end = format!("{}0", self.prefix.trim_end_matches('/'));
        (self.prefix.clone().into(), end.into())
    }

    pub(super) fn place(&self, key: &[u8]) -> Place {
        self.parsed(key).unwrap_or(Place::Other)
    }

    fn parsed(&self, key: &[u8]) -> Option<Place> {
        let name = std::str::from_utf8(key).ok()?.strip_prefix(&self.prefix)?;
        if name == "head" {
            return Some(Place::Head);
        }
        if let Some(claim) = name.strip_prefix("claims/") {
            return Some(Place::Claim(claim.to_owned()));
        }
        let mut parts = name.strip_prefix("objects/")?.splitn(3, '/');
        let (resource, namespace, name) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Place::Object(Key::new(
            &GroupResource::named(resource),
            namespace,
            name,
        )))
    }
}

/// Encodes an object. Its revision is not included: it is that of the key.
pub(super) fn encode(key: &Key, draft: Draft) -> Result<Bytes, Malformed> {
    Ok(StoredRecord::of(&draft.into_record(key.clone(), 0))?.encode()?.into())
}

/// Decodes an object from its key and value.
pub(super) fn decode(key: Key, kv: &KeyValue) -> Result<Record, Malformed> {
    let stored = StoredRecord::decode(&kv.value)?.into_record(key)?;
    Ok(stored.with_revision(revision(kv.mod_revision)))
}

/// Converts a revision of etcd, which is never negative.
pub(super) fn revision(number: i64) -> u64 {
    number.try_into().unwrap_or(0)
}

/// Converts a revision for etcd.
pub(super) fn number(revision: u64) -> i64 {
    revision.try_into().unwrap_or(i64::MAX)
}

pub(super) fn get(key: Bytes) -> RangeRequest {
    RangeRequest {
        key,
        ..RangeRequest::default()
    }
}

pub(super) fn read(key: Bytes) -> RequestOp {
    Operation::Range(get(key)).into()
}

pub(super) fn put(key: Bytes, value: impl Into<Bytes>) -> RequestOp {
    put_for(key, value, 0)
}

/// Returns a put of a key that is deleted when a lease expires.
pub(super) fn put_for(key: Bytes, value: impl Into<Bytes>, lease: i64) -> RequestOp {
    let value = value.into();
    Operation::Put(PutRequest { key, value, lease }).into()
}

pub(super) fn delete(key: Bytes) -> RequestOp {
    Operation::Delete(DeleteRangeRequest { key }).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Pairs;

    #[test]
    fn keys_round_trip() {
        let keys = Keys::new("/a/b");
        let object = Key::new(&GroupResource::new("batch", "jobs"), "n", "x");
        let clusterwide = Key::new(&GroupResource::core("nodes"), "", "x.y");
        for key in [object, clusterwide] {
            assert_eq!(keys.place(&keys.object(&key)), Place::Object(key));
        }
        assert_eq!(
            keys.place(&keys.claim("ports/30080")),
            Place::Claim("ports/30080".to_owned())
        );
        assert_eq!(keys.place(&keys.head()), Place::Head);
        for other in ["/a/b/leader", "/a/b/objects/pods/n", "/a/c/head", "/a/bc/head"] {
            assert_eq!(keys.place(other.as_bytes()), Place::Other, "{other}");
        }
        let (first, end) = keys.all();
        for key in [keys.head(), keys.claim("x"), keys.named("\u{10ffff}")] {
            assert!(first <= key && key < end, "{key:?}");
        }
    }

    #[test]
    fn an_object_has_the_revision_of_its_key() {
        let key = Key::new(&GroupResource::core("pods"), "n", "a");
        let json = r#"{"metadata":{"name":"a","resourceVersion":"0"}}"#;
        let labels: Pairs = [("app", "x")].into_iter().collect();
        let draft = Draft::new(json, "/link".into(), labels, Pairs::default()).unwrap();
        let kv = KeyValue {
            key: Keys::new("/p").object(&key),
            mod_revision: 71,
            value: encode(&key, draft.clone()).unwrap(),
        };
        let read = decode(key.clone(), &kv).unwrap();
        assert_eq!(format!("{read:?}"), format!("{:?}", draft.into_record(key, 71)));
    }
}
