//! Buffers for response bodies that wait to be recorded.
//!
//! Bodies are copied. A reference to their bytes would keep hyper's read buffer from being reused, and new memory for
//! each read costs several times as much as the copy.

use bytes::Bytes;
use parking_lot::Mutex;
use std::ops::Deref;
use std::sync::Arc;

/// Shorter data gets a buffer of its own length, which is not reused.
const MIN_REUSED_BYTES: usize = 16 << 10;

/// Capacities of reused buffers are multiples of this.
const CAPACITY_STEP: usize = 64 << 10;

/// Maximum total capacity of unused buffers.
const MAX_UNUSED_BYTES: usize = 8 << 20;

/// Data is copied in blocks of this length. For longer ones glibc uses `rep movsb`, which takes up to fifteen times as
/// long on some processors if the destination begins a little further into its page than the source.
const COPY_BLOCK: usize = 4 << 10;

/// Unused buffers.
#[derive(Debug, Default)]
pub(super) struct BufferPool(Mutex<Unused>);

#[derive(Debug, Default)]
struct Unused {
    buffers: Vec<Vec<u8>>,
    /// Their total capacity.
    capacity: usize,
}

/// A copy of a part of a response body. Dropping it returns its memory to the pool.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    pool: Arc<BufferPool>,
}

impl BufferPool {
    /// Copies data into an unused buffer.
    pub(super) fn copy(self: &Arc<Self>, data: &[u8]) -> Buffer {
        let mut bytes = match data.len() {
            short if short < MIN_REUSED_BYTES => Vec::with_capacity(short),
            length => self.take(length),
        };
        data.chunks(COPY_BLOCK).for_each(|block| bytes.extend_from_slice(block));
        let pool = self.clone();
        Buffer { bytes, pool }
    }

    /// An empty buffer of at least this capacity. The one that was used last is likely to be in the processor's cache.
    fn take(&self, length: usize) -> Vec<u8> {
        let mut unused = self.0.lock();
        let fits = |buffer: &Vec<u8>| buffer.capacity() >= length;
        let Some(at) = unused.buffers.iter().rposition(fits) else {
            return Vec::with_capacity(length.next_multiple_of(CAPACITY_STEP));
        };
        let buffer = unused.buffers.remove(at);
        unused.capacity -= buffer.capacity();
        buffer
    }

    fn put_back(&self, mut buffer: Vec<u8>) {
        let mut unused = self.0.lock();
        if unused.capacity + buffer.capacity() <= MAX_UNUSED_BYTES {
            buffer.clear();
            unused.capacity += buffer.capacity();
            unused.buffers.push(buffer);
        }
    }
}

impl Buffer {
    /// Converts the buffer without a copy. Its memory is not reused.
    pub(super) fn into_bytes(mut self) -> Bytes {
        std::mem::take(&mut self.bytes).into()
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.bytes.capacity() >= MIN_REUSED_BYTES {
            self.pool.put_back(std::mem::take(&mut self.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_reused_within_a_bound() {
        let pool = Arc::new(BufferPool::default());
        let long = vec![b'x'; 100_000];
        let first = pool.copy(&long);
        let memory = first.as_ptr();
        assert_eq!(*first, *long);
        drop(first);
        let again = pool.copy(b"y".repeat(50_000).as_slice());
        assert_eq!((again.as_ptr(), again.len()), (memory, 50_000));
        let all: Vec<Buffer> = (0..200).map(|_| pool.copy(&long)).collect();
        drop((again, all));
        let unused = pool.0.lock();
        let capacity: usize = unused.buffers.iter().map(Vec::capacity).sum();
        assert_eq!(capacity, unused.capacity);
        assert!(
            (MAX_UNUSED_BYTES / 2..=MAX_UNUSED_BYTES).contains(&capacity),
            "{capacity}"
        );
    }

    #[test]
    fn a_short_buffer_is_not_kept() {
        let pool = Arc::new(BufferPool::default());
        drop(pool.copy(b"short"));
        let bytes = pool.copy(&[b'x'; MIN_REUSED_BYTES]).into_bytes();
        assert_eq!(bytes.len(), MIN_REUSED_BYTES);
        assert!(pool.0.lock().buffers.is_empty());
    }
}
