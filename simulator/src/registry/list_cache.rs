//! Cache of encoded lists.
//!
//! - It has whole lists by path and selectors. A list is valid until an object of its kind changes; changes of other kinds only change its revision.
//! - When the lists and their keys together grow past [`LIMIT`] bytes, all are dropped.

use std::{collections::HashMap, fmt::Write, sync::Arc};

use bytes::Bytes;
use parking_lot::Mutex;

use super::{
    encoded_list::EncodedList,
    request::{ListOptions, RequestInfo},
};
use crate::scheme::Resource;

/// Limit of the cached bytes.
const LIMIT: usize = 16 << 20;

/// What a cached list takes besides its body and its key.
const OVERHEAD: usize = 256;

/// Cached lists by path and selectors.
#[derive(Default)]
pub(super) struct ListCache(Mutex<Lists>);

#[derive(Default)]
struct Lists {
    by_key: HashMap<Box<str>, Entry>,
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

/// Path and selectors of a request: texts, each with its length before it. A namespace is never empty.
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
    list.body().len() + key.len() + OVERHEAD
}

impl ListCache {
    /// The list of a request at `revision`, if nothing of its kind has changed after it was read; `changed` is the revision of the kind's last change.
    pub(super) fn at(
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
        let list = list.at(revision);
        let body = list.body().clone();
        if let Some(entry) = self.0.lock().by_key.get_mut(&*key).filter(|e| e.revision < revision) {
            (entry.revision, entry.list) = (revision, list);
        }
        Some(body)
    }

    /// Keeps a list that was read at `revision`, which it shows.
    pub(super) fn keep(&self, request: &RequestInfo, options: &ListOptions, revision: u64, list: EncodedList) {
        let key = key(request, options);
        let added = size(&key, &list);
        if added > LIMIT {
            return;
        }
        let mut lists = self.0.lock();
        if lists.bytes + added > LIMIT {
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
        cache.keep(&pods("a"), &all(), 7, list("a", 7));
        assert_eq!(cache.at(&pods("a"), &all(), 7, 7).as_ref(), Some(list("a", 7).body()));
        assert_eq!(cache.at(&pods("a"), &all(), 8, 8), None);
        assert_eq!(cache.at(&pods("b"), &all(), 7, 7), None);
    }

    #[test]
    fn lists_of_other_selectors_are_other_lists() {
        let selecting = |labels: &str, fields: &str| ListOptions {
            label_selector: labels.to_owned(),
            field_selector: fields.to_owned(),
            ..ListOptions::default()
        };
        let cache = ListCache::default();
        cache.keep(&pods("a"), &selecting("x=1", ""), 7, list("a", 7));
        assert!(cache.at(&pods("a"), &selecting("x=1", ""), 7, 7).is_some());
        for (labels, fields) in [("", ""), ("x=2", ""), ("", "x=1"), ("x=", "1"), ("x=1", "y=2")] {
            assert_eq!(
                cache.at(&pods("a"), &selecting(labels, fields), 7, 7),
                None,
                "{labels} {fields}"
            );
        }
    }

    #[test]
    fn a_change_of_another_kind_only_changes_the_revision() {
        let cache = ListCache::default();
        cache.keep(&pods("a"), &all(), 9, list("a", 9));
        for revision in [10, 123] {
            assert_eq!(
                cache.at(&pods("a"), &all(), 9, revision).as_ref(),
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
        cache.keep(&pods("a"), &all(), 1, half("a"));
        cache.keep(&pods("b"), &all(), 1, half("b"));
        assert_eq!(cache.at(&pods("a"), &all(), 1, 1), None);
        assert!(cache.at(&pods("b"), &all(), 1, 1).is_some());
    }
}
