//! Lists that are asked for again before anything has changed.
//!
//! - What is kept is a whole, unselected list at the revision it was read at; it is the answer only while that is the latest revision.
//! - Bounded: when the lists together grow past [`KEPT`] bytes, all are dropped.

use std::collections::HashMap;

use bytes::Bytes;
use parking_lot::Mutex;

use super::RequestInfo;

/// The most bytes of lists that are kept.
const KEPT: usize = 16 << 20;

/// The lists that are kept, by the path of their collection.
#[derive(Default)]
pub(super) struct ListCache(Mutex<Lists>);

#[derive(Default)]
struct Lists {
    by_path: HashMap<Path, (u64, Bytes)>,
    bytes: usize,
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
    /// The list at `at`, where it was read at `revision`.
    pub(super) fn at(&self, request: &RequestInfo, revision: u64) -> Option<Bytes> {
        let lists = self.0.lock();
        lists
            .by_path
            .get(&path(request))
            .filter(|(read, _)| *read == revision)
            .map(|(_, list)| list.clone())
    }

    /// Keeps a list that was read at `revision`.
    pub(super) fn keep(&self, request: &RequestInfo, revision: u64, list: &Bytes) {
        if list.len() > KEPT {
            return;
        }
        let mut lists = self.0.lock();
        if lists.bytes + list.len() > KEPT {
            *lists = Lists::default();
        }
        let before = lists.by_path.insert(path(request), (revision, list.clone()));
        lists.bytes = lists.bytes + list.len() - before.map_or(0, |(_, list)| list.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::Scheme;

    fn pods(namespace: &str) -> RequestInfo {
        let resource = Scheme::builtin().resource("", "v1", "pods").unwrap().clone();
        RequestInfo {
            resource,
            namespace: Some(namespace.to_owned()),
            name: None,
            subresource: None,
        }
    }

    #[test]
    fn a_list_is_the_answer_only_at_its_revision() {
        let listed = ListCache::default();
        listed.keep(&pods("a"), 7, &Bytes::from_static(b"list"));
        assert_eq!(listed.at(&pods("a"), 7).as_deref(), Some(b"list".as_slice()));
        assert_eq!(listed.at(&pods("a"), 8), None);
        assert_eq!(listed.at(&pods("b"), 7), None);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let listed = ListCache::default();
        let large = Bytes::from(vec![0; KEPT / 2]);
        for namespace in ["a", "a", "b", "c"] {
            listed.keep(&pods(namespace), 1, &large);
        }
        assert_eq!(listed.at(&pods("a"), 1), None);
        assert!(listed.at(&pods("c"), 1).is_some());
        listed.keep(&pods("d"), 1, &vec![0; KEPT + 1].into());
        assert_eq!(listed.at(&pods("d"), 1), None);
    }
}
