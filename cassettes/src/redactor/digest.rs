//! What is put in the place of bytes that cannot be searched: their length and hash.

use sha2::{Digest as _, Sha256};

/// The length and the hash of bytes as they come.
#[derive(Clone, Debug, Default)]
pub(super) struct Digest {
    length: u64,
    hash: Sha256,
}

impl Digest {
    /// More bytes.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        self.hash.update(bytes);
    }

    /// How many bytes there were.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// What is put in their place.
    pub(super) fn text(self) -> String {
        let hash: String = self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("[{} bytes, sha256 {hash}]", self.length)
    }
}
