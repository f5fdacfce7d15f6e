//! Buffer of a shard: documents that no segment has yet.
//!
//! Limits: a buffer is flushed at 16 MB of encoded documents, or at 1 MB while all buffers have more than 256 MB.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;

/// Size at which a buffer is flushed, in bytes of encoded documents.
const MAX_BUFFER_BYTES: usize = 16_000_000;
/// Size at which a buffer is flushed while the buffers of all shards are above [`MAX_BUFFERED_BYTES`].
const SMALL_BUFFER_BYTES: usize = 1_000_000;
/// Size of the buffers of all shards above which they are flushed earlier, in bytes.
const MAX_BUFFERED_BYTES: usize = 256_000_000;
/// Size of the buffers of all shards of the process, in bytes.
static BUFFERED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Buffer of a shard. Its documents are in the version map.
#[derive(Default)]
pub(super) struct IndexBuffer {
    /// Whether the documents are being written to a segment.
    pub(super) is_flushing: AtomicBool,
    pub(super) content: Mutex<BufferContent>,
}

#[derive(Default)]
pub(super) struct BufferContent {
    /// Number of the segment, once it has documents.
    pub(super) segment: Option<u32>,
    /// Size of the encoded documents.
    bytes: usize,
}

impl BufferContent {
    pub(super) fn add(&mut self, bytes: usize) {
        self.bytes += bytes;
        BUFFERED_BYTES.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns whether it must be flushed before the next document.
    pub(super) fn is_full(&self) -> bool {
        let is_short = BUFFERED_BYTES.load(Ordering::Relaxed) > MAX_BUFFERED_BYTES;
        self.bytes > if is_short { SMALL_BUFFER_BYTES } else { MAX_BUFFER_BYTES }
    }
}

impl Drop for BufferContent {
    fn drop(&mut self) {
        BUFFERED_BYTES.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_flushed_earlier_while_all_have_many_bytes() {
        let with = |bytes: usize| {
            let mut content = BufferContent::default();
            content.add(bytes);
            content
        };
        let (small, medium) = (with(SMALL_BUFFER_BYTES), with(SMALL_BUFFER_BYTES + 1));
        assert!(!medium.is_full());
        assert!(with(MAX_BUFFER_BYTES + 1).is_full());
        let others = with(MAX_BUFFERED_BYTES);
        assert!(medium.is_full() && !small.is_full());
        drop(others);
        assert!(!medium.is_full());
    }
}
