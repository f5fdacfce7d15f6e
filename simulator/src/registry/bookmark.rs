//! BOOKMARK events of a watch: a version without a change, which newer clients ask for.
//!
//! A bookmark at a version promises that all changes up to it have been sent.
//! Source: watch bookmarks of newer Kubernetes.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use crate::scheme::Resource;

/// Time between two bookmarks.
const INTERVAL: Duration = Duration::from_secs(60);

/// The bookmarks of one watch.
pub(super) struct Bookmarks {
    /// Kind and version of the object, as its first fields.
    head: String,
    /// The least revision: that from which the watch started.
    start: u64,
    next: Instant,
}

impl Bookmarks {
    /// Bookmarks of a watch of `resource` from the revision `start`.
    pub(super) fn new(resource: &Resource, start: u64) -> Self {
        Self {
            head: resource.head().to_owned(),
            start,
            next: Instant::now() + INTERVAL,
        }
    }

    /// When the next bookmark is due.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Lets the next bookmark be due after the interval.
    pub(super) fn postpone(&mut self) {
        self.next = Instant::now() + INTERVAL;
    }

    /// The frame of a bookmark at `revision`.
    pub(super) fn frame(&self, revision: u64) -> Bytes {
        self.annotated(revision, "")
    }

    /// The frame of the bookmark after initial events.
    pub(super) fn initial_events_end(&self) -> Bytes {
        self.annotated(self.start, r#","annotations":{"k8s.io/initial-events-end":"true"}"#)
    }

    fn annotated(&self, revision: u64, annotations: &str) -> Bytes {
        let (head, revision) = (&self.head, revision.max(self.start));
        let metadata = format!(r#"{{"resourceVersion":"{revision}","creationTimestamp":null{annotations}}}"#);
        format!("{{\"type\":\"BOOKMARK\",\"object\":{head},\"metadata\":{metadata}}}}}\n").into()
    }
}
