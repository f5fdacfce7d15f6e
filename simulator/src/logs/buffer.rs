//! Lines to be sent, in order, bounded in bytes.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Bulk entries to be sent.
#[derive(Debug)]
pub(super) struct Buffer {
    entries: VecDeque<Bytes>,
    bytes: usize,
    limit: usize,
}

impl Buffer {
    /// Creates an empty buffer with this limit in bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            bytes: 0,
            limit,
        }
    }

    /// Whether the limit is reached.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= self.limit
    }

    /// Whether it has no entries.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds an entry. The last one may exceed the limit.
    pub(super) fn push(&mut self, entry: Bytes) {
        self.bytes += entry.len();
        self.entries.push_back(entry);
    }

    /// Returns the body of the next bulk request and its number of entries. The body exceeds `bytes` only if its
    /// first entry does.
    pub(super) fn batch(&self, bytes: usize) -> (Bytes, usize) {
        let mut body = BytesMut::new();
        let mut count = 0;
        for entry in &self.entries {
            if count > 0 && body.len() + entry.len() > bytes {
                break;
            }
            body.extend_from_slice(entry);
            count += 1;
        }
        (body.freeze(), count)
    }

    /// Removes the first `count` entries, which the backend has accepted.
    pub(super) fn remove(&mut self, count: usize) {
        for entry in self.entries.drain(..count.min(self.entries.len())) {
            self.bytes -= entry.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_full_at_its_limit_and_returns_batches_in_order() {
        let mut buffer = Buffer::new(8);
        for entry in ["aaaa", "bb", "cccccc"] {
            assert!(!buffer.is_full());
            buffer.push(entry.into());
        }
        assert!(buffer.is_full());
        assert_eq!(buffer.batch(6), (Bytes::from_static(b"aaaabb"), 2));
        assert_eq!(buffer.batch(1), (Bytes::from_static(b"aaaa"), 1));
        buffer.remove(2);
        assert!(!buffer.is_full());
        assert_eq!(buffer.batch(6), (Bytes::from_static(b"cccccc"), 1));
        buffer.remove(1);
        assert!(buffer.is_empty());
    }
}
