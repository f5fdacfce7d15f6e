//! Length and hash, written in place of bytes that cannot be searched for secrets.

use sha2::{Digest as _, Sha256};

/// Incremental length and SHA-256 of bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Digest {
    length: u64,
    hash: Sha256,
}

impl Digest {
    /// Adds bytes.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        self.hash.update(bytes);
    }

    /// Number of bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The text that replaces the bytes.
    pub(crate) fn text(self) -> String {
        let hash: String = self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        format!("[{} bytes, sha256 {hash}]", self.length)
    }
}

/// Splits a text that ends with a digest into the text before it, the number of bytes and the hash.
fn split_digest(text: &str) -> Option<(&str, usize, &str)> {
    let (before, digest) = text.strip_suffix(']')?.rsplit_once('[')?;
    let (length, hash) = digest.split_once(" bytes, sha256 ")?;
    Some((before, length.parse().ok()?, hash))
}

/// Whether a text ends with a digest.
pub(crate) fn ends_with_digest(text: &str) -> bool {
    split_digest(text).is_some()
}

/// The parts of a recorded text before its digest, and of a live text before the bytes of that digest. Returns none if
/// the live text does not end with these bytes.
pub(crate) fn before_digest<'r, 'l>(recorded: &'r str, live: &'l [u8]) -> Option<(&'r str, &'l [u8])> {
    let (before, length, _) = split_digest(recorded)?;
    let (head, tail) = live.split_at(live.len().checked_sub(length)?);
    let mut digest = Digest::default();
    digest.update(tail);
    recorded.ends_with(&digest.text()).then_some((before, head))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_matches_only_its_bytes() {
        let mut digest = Digest::default();
        digest.update(b"a: [b");
        let recorded = format!("x{}", digest.text());
        assert_eq!(before_digest(&recorded, b"xa: [b"), Some(("x", &b"x"[..])));
        assert_eq!(before_digest(&recorded, b"xa: [c"), None);
        assert_eq!(before_digest(&recorded, b"b"), None);
        assert_eq!(before_digest("x", b"x"), None);
    }
}
