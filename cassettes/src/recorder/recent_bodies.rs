//! Long bodies that were recorded recently. A body that is equal to one of them is recorded as a reference.
//!
//! A client that polls gets the same list again and again. To compare a body with the last one takes less time than to
//! copy it, and it is neither searched for secrets nor written again.

use super::buffers::Buffer;
use crate::interaction::{Headers, Response};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum length of a body that is kept.
pub(super) const MAX_BODY_BYTES: usize = 8 << 20;

/// Maximum total length of the bodies that are kept.
pub(super) const MAX_BYTES: usize = 16 << 20;

/// The last body of each URL. If there are too many, the ones that were recorded first are dropped.
#[derive(Debug, Default)]
pub(super) struct RecentBodies(Mutex<VecDeque<Recent>>);

#[derive(Debug)]
struct Recent {
    url: String,
    body: Arc<RecentBody>,
}

/// A body that was recorded.
#[derive(Debug)]
pub(super) struct RecentBody {
    /// Number of the interaction that has it.
    id: u64,
    status: u16,
    headers: Headers,
    chunks: Vec<Buffer>,
    length: usize,
}

impl RecentBody {
    /// The empty body of this response to the request with this number.
    pub(super) fn new(id: u64, status: u16, headers: Headers) -> Self {
        Self {
            id,
            status,
            headers,
            chunks: Vec::new(),
            length: 0,
        }
    }

    /// Appends data to the body.
    pub(super) fn push(&mut self, data: Buffer) {
        self.length += data.len();
        self.chunks.push(data);
    }

    /// Number of the interaction that has the body.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Length in bytes.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Whether the body has this data at a position.
    pub(super) fn has_at(&self, position: usize, mut data: &[u8]) -> bool {
        let mut skipped = position;
        for chunk in &self.chunks {
            let Some(rest) = chunk.get(skipped..) else {
                skipped -= chunk.len();
                continue;
            };
            skipped = 0;
            let both = rest.len().min(data.len());
            if rest.get(..both) != data.get(..both) {
                return false;
            }
            data = data.get(both..).unwrap_or_default();
            if data.is_empty() {
                break;
            }
        }
        data.is_empty()
    }

    /// The first bytes of the body, in parts.
    pub(super) fn beginning(&self, length: usize) -> impl Iterator<Item = &[u8]> {
        let mut left = length;
        self.chunks.iter().map_while(move |chunk| {
            let part = chunk.get(..left.min(chunk.len())).unwrap_or_default();
            left -= part.len();
            (!part.is_empty()).then_some(part)
        })
    }

    /// Whether the same bytes with this head are redacted alike.
    fn has_head(&self, of: &Response) -> bool {
        let same = |name: &str| self.headers.get(name) == of.headers.get(name);
        self.status == of.status && same("content-type") && same("content-encoding")
    }
}

impl RecentBodies {
    /// The last body of a URL, if it had the same status, type and coding.
    pub(super) fn find(&self, url: &str, response: &Response) -> Option<Arc<RecentBody>> {
        let all = self.0.lock();
        let found = all.iter().find(|recent| recent.url == url)?;
        found.body.has_head(response).then(|| found.body.clone())
    }

    /// Keeps the body of a URL in place of its last one.
    pub(super) fn keep(&self, url: &str, body: RecentBody) {
        if body.length > MAX_BODY_BYTES {
            return;
        }
        let mut all = self.0.lock();
        all.retain(|recent| recent.url != url);
        let mut length: usize = all.iter().map(|recent| recent.body.length).sum();
        while length + body.length > MAX_BYTES
            && let Some(first) = all.pop_front()
        {
            length -= first.body.length;
        }
        let (url, body) = (url.to_owned(), Arc::new(body));
        all.push_back(Recent { url, body });
    }
}

#[cfg(test)]
mod tests {
    use super::super::buffers::BufferPool;
    use super::*;
    use crate::interaction::Payload;
    use bytes::Bytes;

    fn body(id: u64, chunks: &[&[u8]]) -> RecentBody {
        let pool = Arc::new(BufferPool::default());
        let mut body = RecentBody::new(id, 200, Headers::default());
        chunks.iter().for_each(|chunk| body.push(pool.copy(chunk)));
        body
    }

    fn response(status: u16, content_type: Option<&str>) -> Response {
        let headers = content_type.map(|value| ("Content-Type".to_owned(), value.to_owned()));
        Response {
            status,
            headers: Headers(headers.into_iter().collect()),
            payload: Payload::Body(Bytes::new()),
            trailers: Headers::default(),
            cut: None,
        }
    }

    #[test]
    fn a_body_is_compared_across_its_parts() {
        let body = body(1, &[b"abc", b"de", b"fgh"]);
        let all = b"abcdefgh";
        for from in 0..all.len() {
            for to in from..=all.len() {
                assert!(body.has_at(from, &all[from..to]), "{from} to {to}");
                if to > from {
                    let mut other = all[from..to].to_vec();
                    *other.last_mut().expect("a byte") = b'x';
                    assert!(!body.has_at(from, &other), "{from} to {to}");
                }
            }
            assert_eq!(body.beginning(from).collect::<Vec<_>>().concat(), all[..from]);
        }
        assert!(!body.has_at(7, b"hi"));
        assert!(!body.has_at(8, b"i"));
        assert!(body.has_at(8, b""));
    }

    #[test]
    fn a_body_of_another_url_status_or_type_is_another() {
        let recent = RecentBodies::default();
        recent.keep("/list", body(1, &[b"abc"]));
        let found = |url: &str, response: Response| recent.find(url, &response).map(|body| body.id());
        assert_eq!(found("/list", response(200, None)), Some(1));
        assert_eq!(found("/list?x", response(200, None)), None);
        assert_eq!(found("/list", response(201, None)), None);
        assert_eq!(found("/list", response(200, Some("application/yaml"))), None);
        recent.keep("/list", body(2, &[b"abd"]));
        assert_eq!(found("/list", response(200, None)), Some(2));
    }

    #[test]
    fn the_bodies_are_bounded() {
        let recent = RecentBodies::default();
        let long = vec![b'x'; MAX_BODY_BYTES];
        for id in 0..5 {
            recent.keep(&format!("/{id}"), body(id, &[&long]));
        }
        let found = |id: u64| recent.find(&format!("/{id}"), &response(200, None)).is_some();
        assert_eq!((0..5).filter(|id| found(*id)).collect::<Vec<_>>(), [3, 4]);
        recent.keep("/3", body(6, &[&long, b"y"]));
        assert_eq!(recent.find("/3", &response(200, None)).map(|body| body.id()), Some(3));
    }
}
