//! Cache of encoded lists.
//!
//! - Holds whole lists by path and selectors.
//! - A list is valid until an object of its kind changes. Changes of other kinds only change its revision.
//! - When bodies and keys together exceed [`MAX_BYTES`], all entries are dropped.

use std::{collections::HashMap, fmt::Write, sync::Arc};

use bytes::Bytes;
use parking_lot::Mutex;

use super::{
    encoded_list::EncodedList,
    request::{ListOptions, RequestInfo},
};
use crate::scheme::Resource;

/// Maximum size of the cache, in bytes.
const MAX_BYTES: usize = 16 << 20;

/// Estimated size of an entry besides its body and its key, in bytes.
const ENTRY_OVERHEAD: usize = 256;

/// Encoded lists by path and selectors.
#[derive(Default)]
pub(super) struct ListCache(Mutex<Lists>);

#[derive(Default)]
struct Lists {
    by_key: HashMap<Box<str>, Entry>,
    bytes: usize,
}

struct Entry {
    /// Identity of the resource: one that was removed and added again has other lists.
    resource: Arc<Resource>,
    /// Revision at which the list was read.
    read: u64,
    /// Revision in the list's metadata.
    revision: u64,
    list: EncodedList,
}

/// Cache key: path and selectors, each with its length in front. A namespace is never empty.
fn key(request: &RequestInfo, options: &ListOptions) -> String {
    let texts = [
        request.resource.group_version(),
        &request.resource.plural,
        request.namespace.as_deref().unwrap_or_default(),
        &options.label_selector,
        &options.field_selector,
    ];
    let mut key = String::with_capacity(texts.iter().map(|text| text.len() + 8).sum());
    for text in texts {
        // Writing to a string does not fail.
        let _ = write!(key, "{}:{text}", text.len());
    }
    key
}

fn size(key: &str, list: &EncodedList) -> usize {
    list.body().len() + key.len() + ENTRY_OVERHEAD
}

impl ListCache {
    /// Returns the list of a request at `revision`, unless its kind has changed after the list was read. `changed` is
    /// the revision of the kind's last change.
    pub(super) fn get(
        &self,
        request: &RequestInfo,
        options: &ListOptions,
        changed: u64,
        revision: u64,
    ) -> Option<Bytes> {
        let key = key(request, options);
        let list = {
            let lists = self.0.lock();
            let is_valid = |entry: &&Entry| changed <= entry.read && Arc::ptr_eq(&entry.resource, &request.resource);
            let entry = lists.by_key.get(&*key).filter(is_valid)?;
            if entry.revision >= revision {
                return Some(entry.list.body().clone());
            }
            entry.list.clone()
        };
        let list = list.with_revision(revision);
        let body = list.body().clone();
        if let Some(entry) = self.0.lock().by_key.get_mut(&*key).filter(|e| e.revision < revision) {
            (entry.revision, entry.list) = (revision, list);
        }
        Some(body)
    }

    /// Stores a list that was read at `revision`, which is in its metadata.
    pub(super) fn insert(&self, request: &RequestInfo, options: &ListOptions, revision: u64, list: EncodedList) {
        let key = key(request, options);
        let added = size(&key, &list);
        if added > MAX_BYTES {
            return;
        }
        let mut lists = self.0.lock();
        if lists.bytes + added > MAX_BYTES {
            *lists = Lists::default();
        }
        let entry = Entry {
            resource: request.resource.clone(),
            read: revision,
            revision,
            list,
        };
        let replaced = lists.by_key.get(&*key).map_or(0, |before| size(&key, &before.list));
        lists.by_key.insert(key.into(), entry);
        lists.bytes = (lists.bytes + added).saturating_sub(replaced);
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

    fn all() -> ListOptions {
        ListOptions::default()
    }

    #[test]
    fn a_list_is_valid_until_an_object_of_its_kind_changes() {
        let cache = ListCache::default();
        cache.insert(&pods("a"), &all(), 7, list("a", 7));
        assert_eq!(cache.get(&pods("a"), &all(), 7, 7).as_ref(), Some(list("a", 7).body()));
        assert_eq!(cache.get(&pods("a"), &all(), 8, 8), None);
        assert_eq!(cache.get(&pods("b"), &all(), 7, 7), None);
    }

    #[test]
    fn lists_of_other_selectors_are_other_lists() {
        let selecting = |labels: &str, fields: &str| ListOptions {
            label_selector: labels.to_owned(),
            field_selector: fields.to_owned(),
            ..ListOptions::default()
        };
        let cache = ListCache::default();
        cache.insert(&pods("a"), &selecting("x=1", ""), 7, list("a", 7));
        assert!(cache.get(&pods("a"), &selecting("x=1", ""), 7, 7).is_some());
        for (labels, fields) in [("", ""), ("x=2", ""), ("", "x=1"), ("x=", "1"), ("x=1", "y=2")] {
            assert_eq!(
                cache.get(&pods("a"), &selecting(labels, fields), 7, 7),
                None,
                "{labels} {fields}"
            );
        }
    }

    #[test]
    fn a_change_of_another_kind_only_changes_the_revision() {
        let cache = ListCache::default();
        cache.insert(&pods("a"), &all(), 9, list("a", 9));
        for revision in [10, 123] {
            assert_eq!(
                cache.get(&pods("a"), &all(), 9, revision).as_ref(),
                Some(list("a", revision).body())
            );
        }
    }

    #[test]
    fn its_size_in_bytes_is_bounded() {
        let cache = ListCache::default();
        let half = |namespace: &str| {
            let name = "n".repeat(MAX_BYTES / 2);
            let request = RequestInfo {
                namespace: Some(name),
                ..pods(namespace)
            };
            EncodedList::of(&request, &[], Some(1), None, Profile::Documented)
        };
        cache.insert(&pods("a"), &all(), 1, half("a"));
        cache.insert(&pods("b"), &all(), 1, half("b"));
        assert_eq!(cache.get(&pods("a"), &all(), 1, 1), None);
        assert!(cache.get(&pods("b"), &all(), 1, 1).is_some());
    }
}
