//! BOOKMARK events of a watch: resource versions without a change, for newer clients that ask for them.
//!
//! - Guarantee: every change up to a bookmark's version has been sent before it.
//! - Source: watch bookmarks of newer Kubernetes.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use crate::scheme::Resource;

/// Time between two bookmarks.
const INTERVAL: Duration = Duration::from_secs(60);

/// Bookmark schedule of one watch.
pub(super) struct Bookmarks {
    /// Kind and apiVersion of the bookmark object, as the first fields of its JSON.
    head: String,
    /// Lowest revision of a bookmark: the start of the watch.
    start: u64,
    next: Instant,
}

impl Bookmarks {
    /// Returns the bookmarks of a watch of `resource` that starts at the revision `start`.
    pub(super) fn new(resource: &Resource, start: u64) -> Self {
        Self {
            head: resource.head().to_owned(),
            start,
            next: Instant::now() + INTERVAL,
        }
    }

    /// Time of the next bookmark.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Schedules the next bookmark one interval from now.
    pub(super) fn postpone(&mut self) {
        self.next = Instant::now() + INTERVAL;
    }

    /// Encodes a bookmark at `revision`.
    pub(super) fn frame(&self, revision: u64) -> Bytes {
        self.annotated(revision, "")
    }

    /// Encodes the bookmark that ends the initial events.
    pub(super) fn initial_events_end(&self) -> Bytes {
        self.annotated(self.start, r#","annotations":{"k8s.io/initial-events-end":"true"}"#)
    }

    fn annotated(&self, revision: u64, annotations: &str) -> Bytes {
        let (head, revision) = (&self.head, revision.max(self.start));
        let metadata = format!(r#"{{"resourceVersion":"{revision}","creationTimestamp":null{annotations}}}"#);
        format!("{{\"type\":\"BOOKMARK\",\"object\":{head},\"metadata\":{metadata}}}}}\n").into()
    }
}
