//! Secrets that the bounds of chunks cut in two.

use super::Redactor;
use crate::interaction::Headers;
use bytes::Bytes;
use regex::bytes::Regex;
use std::sync::LazyLock;

/// The most that is held back of a stream.
const HELD: usize = 16 << 10;

/// The beginning of something that a pattern would find, were it there to its end.
static BEGUN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let forms = [
        r"eyJ[A-Za-z0-9_.-]*",
        r"(?i:bearer|basic)[ +]+[A-Za-z0-9._~+/=-]*",
        r#"(?i:token|password|passwd|passphrase|secret|api_?key)"?\s*[:=]\s*"?[^"\s,&;}]*"#,
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*-*",
    ];
    Regex::new(&format!("(?:{})$", forms.join("|"))).ok()
});

/// What of a stream is held back because a secret may have begun in it.
#[derive(Debug, Default)]
pub struct Tail(Vec<u8>);

impl Redactor {
    /// A chunk of a stream without its secrets, after what was held back before it and without what must be held back
    /// now; may be empty. A line that has come to its end is never held back.
    pub fn chunk(&self, tail: &mut Tail, data: &Bytes, headers: &Headers, path: &str) -> Bytes {
        if self.is_off() {
            return data.clone();
        }
        if tail.0.is_empty() && data.ends_with(b"\n") {
            return self.body(data, headers, path);
        }
        if tail.0.is_empty() {
            let kept = data.len() - self.begun(data);
            tail.0.extend_from_slice(data.get(kept..).unwrap_or_default());
            return self.body(&data.slice(..kept), headers, path);
        }
        let mut all = std::mem::take(&mut tail.0);
        all.extend_from_slice(data);
        let begun = self.begun(&all);
        tail.0 = all.split_off(all.len() - begun);
        self.body(&all.into(), headers, path)
    }

    /// What was held back to the end of a stream.
    pub fn rest(&self, tail: &mut Tail, headers: &Headers, path: &str) -> Bytes {
        self.body(&std::mem::take(&mut tail.0).into(), headers, path)
    }

    fn begun(&self, bytes: &[u8]) -> usize {
        let from = bytes.len().saturating_sub(HELD);
        let window = bytes.get(from..).unwrap_or_default();
        let known = self.known.lock().begun(window).max(cut_character(window));
        if !self.rules.hinted(window) {
            return known;
        }
        let pattern = BEGUN
            .as_ref()
            .and_then(|begun| begun.find(window))
            .map_or(0, |found| found.len());
        known.max(pattern)
    }
}

/// How many of the last bytes are the beginning of a character.
fn cut_character(bytes: &[u8]) -> usize {
    let begins = |length: &usize| {
        let lead = bytes
            .len()
            .checked_sub(*length)
            .and_then(|at| bytes.get(at))
            .copied()
            .unwrap_or_default();
        match lead {
            0xc0..=0xdf => *length < 2,
            0xe0..=0xef => *length < 3,
            0xf0..=0xf7 => *length < 4,
            _ => false,
        }
    };
    (1..=3).find(begins).unwrap_or_default()
}
