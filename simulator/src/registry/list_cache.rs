//! Cache of encoded lists.
//!
//! - It has whole lists, without selectors. A list is valid until an object of its kind changes; changes of other kinds only change its revision.
//! - When the lists together grow past [`LIMIT`] bytes, all are dropped.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use parking_lot::Mutex;

use super::{encoded_list::EncodedList, request::RequestInfo};
use crate::scheme::Resource;

/// Limit of the cached bytes.
const LIMIT: usize = 16 << 20;

/// Cached lists by group and version, plural, and namespace.
#[derive(Default)]
pub(super) struct ListCache(Mutex<Lists>);

#[derive(Default)]
struct Lists {
    by_path: HashMap<Path, Entry>,
    bytes: usize,
}

struct Entry {
    /// A resource that was removed and added again has other lists.
    resource: Arc<Resource>,
    /// The revision at which the list was read.
    read: u64,
    /// The revision that the list shows.
    revision: u64,
    list: EncodedList,
}

/// Group and version, plural, and namespace.
type Path = (Box<str>, Box<str>, Option<Box<str>>);

fn path(request: &RequestInfo) -> Path {
    (
        request.resource.group_version().into(),
        request.resource.plural.as_str().into(),
        request.namespace.as_deref().map(Into::into),
    )
}

impl ListCache {
    /// The list of a request at `revision`, if nothing of its kind has changed after it was read; `changed` is the revision of the kind's last change.
    pub(super) fn at(&self, request: &RequestInfo, changed: u64, revision: u64) -> Option<Bytes> {
        let path = path(request);
        let list = {
            let lists = self.0.lock();
            let is_valid = |entry: &&Entry| changed <= entry.read && Arc::ptr_eq(&entry.resource, &request.resource);
            let entry = lists.by_path.get(&path).filter(is_valid)?;
            if entry.revision >= revision {
                return Some(entry.list.body().clone());
            }
            entry.list.clone()
        };
        let list = list.at(revision);
        let body = list.body().clone();
        if let Some(entry) = self.0.lock().by_path.get_mut(&path).filter(|e| e.revision < revision) {
            (entry.revision, entry.list) = (revision, list);
        }
        Some(body)
    }

    /// Keeps a list that was read at `revision`, which it shows.
    pub(super) fn keep(&self, request: &RequestInfo, revision: u64, list: EncodedList) {
        let size = list.body().len();
        if size > LIMIT {
            return;
        }
        let mut lists = self.0.lock();
        if lists.bytes + size > LIMIT {
            *lists = Lists::default();
        }
        let entry = Entry {
            resource: request.resource.clone(),
            read: revision,
            revision,
            list,
        };
        let before = lists.by_path.insert(path(request), entry);
        lists.bytes = (lists.bytes + size).saturating_sub(before.map_or(0, |before| before.list.body().len()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{profile::Profile, scheme::Scheme};

    fn pods(namespace: &str) -> RequestInfo {
        RequestInfo {
            resource: Scheme::builtin().resource("", "v1", "pods").unwrap().clone(),
            namespace: Some(namespace.to_owned()),
            name: None,
            subresource: None,
        }
    }

    fn list(namespace: &str, revision: u64) -> EncodedList {
        EncodedList::of(&pods(namespace), &[], Some(revision), None, Profile::Documented)
    }

    #[test]
    fn a_list_is_valid_until_an_object_of_its_kind_changes() {
        let cache = ListCache::default();
        cache.keep(&pods("a"), 7, list("a", 7));
        assert_eq!(cache.at(&pods("a"), 7, 7).as_ref(), Some(list("a", 7).body()));
        assert_eq!(cache.at(&pods("a"), 8, 8), None);
        assert_eq!(cache.at(&pods("b"), 7, 7), None);
    }

    #[test]
    fn a_change_of_another_kind_only_changes_the_revision() {
        let cache = ListCache::default();
        cache.keep(&pods("a"), 9, list("a", 9));
        for revision in [10, 123] {
            assert_eq!(
                cache.at(&pods("a"), 9, revision).as_ref(),
                Some(list("a", revision).body())
            );
        }
    }

    #[test]
    fn its_bytes_are_bounded() {
        let cache = ListCache::default();
        let half = |namespace: &str| {
            let name = "n".repeat(LIMIT / 2);
            let request = RequestInfo {
                namespace: Some(name),
                ..pods(namespace)
            };
            EncodedList::of(&request, &[], Some(1), None, Profile::Documented)
        };
        cache.keep(&pods("a"), 1, half("a"));
        cache.keep(&pods("b"), 1, half("b"));
        assert_eq!(cache.at(&pods("a"), 1, 1), None);
        assert!(cache.at(&pods("b"), 1, 1).is_some());
    }
}
