//! The secrets that were seen, their numbers, and where else they stand.

use crate::interaction::{is_placeholder, number, placeholder, placeholders};
use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use std::collections::HashMap;
use std::ops::Range;

/// How many secrets are told apart.
const MOST: usize = 100_000;

/// A shorter secret is not looked for where no rule names it.
const SHORTEST: usize = 8;

/// A shorter one is, if a rule said that it is a credential.
const SHORTEST_CREDENTIAL: usize = 6;

/// A longer secret is looked for by its beginning alone where it may be cut.
const LONGEST_TAIL: usize = 512;

/// How many needles may wait before the machine that finds all of them at once is built anew.
const WAITING: usize = 8;

/// The secrets that were seen.
#[derive(Debug, Default)]
pub(super) struct Known {
    numbers: HashMap<Vec<u8>, u64>,
    last: u64,
    needles: Vec<Needle>,
    built: usize,
    machine: Option<AhoCorasick>,
}

/// A spelling of a secret.
#[derive(Debug)]
struct Needle {
    bytes: Vec<u8>,
    number: u64,
    base64: bool,
}

impl Known {
    /// Numbers that a text uses already are not given again.
    pub(super) fn avoid(&mut self, text: &str) {
        let used = placeholders(text)
            .into_iter()
            .filter_map(|range| number(text.get(range)?));
        self.last = self.last.max(used.max().unwrap_or_default());
    }

    /// Whether there is nothing to look for.
    pub(super) fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// The number of a secret. A credential is looked for elsewhere; another only if it cannot be any word.
    pub(super) fn number(&mut self, secret: &[u8], credential: bool) -> u64 {
        if let Some(number) = self.numbers.get(secret) {
            return *number;
        }
        if self.numbers.len() >= MOST {
            return 0;
        }
        self.last += 1;
        self.numbers.insert(secret.to_vec(), self.last);
        if telling(secret, credential) {
            self.look_for(secret, self.last);
        }
        self.last
    }

    /// What stands for a secret text.
    pub(super) fn placeholder(&mut self, secret: &str, credential: bool) -> String {
        if is_placeholder(secret) {
            return secret.to_owned();
        }
        placeholder(self.number(secret.as_bytes(), credential))
    }

    /// What stands for a secret that is written as base64.
    pub(super) fn placeholder_of_base64(&mut self, secret: &str) -> String {
        if is_placeholder(secret) {
            return secret.to_owned();
        }
        let compact: String = secret.split_whitespace().collect();
        match STANDARD.decode(&compact) {
            Ok(bytes) => STANDARD.encode(placeholder(self.number(&bytes, false))),
            Err(_) => self.placeholder(secret, false),
        }
    }

    /// A text without the secrets that are known; none where there are none in it.
    pub(super) fn text(&mut self, text: &str) -> Option<String> {
        self.bytes(text.as_bytes())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Bytes without the secrets that are known; none where there are none in them.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut found = self.find(bytes);
        if found.is_empty() {
            return None;
        }
        found.sort_by_key(|(range, needle)| (range.start, std::cmp::Reverse(range.end), *needle));
        let mut out = Vec::with_capacity(bytes.len());
        let mut end = 0;
        for (range, needle) in found {
            let Some(needle) = self.needles.get(needle).filter(|_| range.start >= end) else {
                continue;
            };
            out.extend_from_slice(bytes.get(end..range.start)?);
            let text = placeholder(needle.number);
            let text = if needle.base64 {
                STANDARD_NO_PAD.encode(text)
            } else {
                text
            };
            out.extend_from_slice(text.as_bytes());
            end = range.end;
        }
        out.extend_from_slice(bytes.get(end..)?);
        Some(out)
    }

    /// How many of the last bytes could be the beginning of a secret that goes on.
    pub(super) fn begun(&self, bytes: &[u8]) -> usize {
        let begins = |needle: &Needle| {
            let most = needle.bytes.len().saturating_sub(1).min(LONGEST_TAIL).min(bytes.len());
            (1..=most).rev().find(|length| {
                bytes
                    .get(bytes.len() - length..)
                    .is_some_and(|tail| needle.bytes.starts_with(tail))
            })
        };
        self.needles.iter().filter_map(begins).max().unwrap_or_default()
    }

    fn find(&mut self, bytes: &[u8]) -> Vec<(Range<usize>, usize)> {
        if self.needles.len() > self.built + WAITING + self.built / 4 {
            let patterns = self.needles.iter().map(|needle| &needle.bytes);
            self.machine = AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(patterns)
                .ok();
            self.built = if self.machine.is_some() { self.needles.len() } else { 0 };
        }
        let mut found: Vec<(Range<usize>, usize)> = Vec::new();
        if let Some(machine) = &self.machine {
            found.extend(
                machine
                    .find_iter(bytes)
                    .map(|hit| (hit.start()..hit.end(), hit.pattern().as_usize())),
            );
        }
        for (n, needle) in self.needles.iter().enumerate().skip(self.built) {
            let mut from = 0;
            while let Some(at) = bytes.get(from..).and_then(|rest| position(rest, &needle.bytes)) {
                found.push((from + at..from + at + needle.bytes.len(), n));
                from += at + needle.bytes.len();
            }
        }
        found
    }

    /// The spellings of a secret: as it is, escaped, percent-encoded, and as base64 wherever it begins.
    fn look_for(&mut self, secret: &[u8], number: u64) {
        let mut plain = vec![secret.to_vec()];
        if let Ok(text) = std::str::from_utf8(secret) {
            plain.extend(
                serde_json::to_string(text)
                    .ok()
                    .and_then(|json| Some(json.get(1..json.len() - 1)?.into())),
            );
            plain.push(url::form_urlencoded::byte_serialize(secret).collect::<String>().into());
            plain.push(text.bytes().map(percent).collect::<String>().into());
        }
        plain.sort();
        plain.dedup();
        self.needles.extend(plain.into_iter().map(|bytes| Needle {
            bytes,
            number,
            base64: false,
        }));
        for before in 0..3 {
            for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
                let code = engine.encode([&vec![0; before][..], secret].concat());
                // What its neighbours have a part in is not its own.
                let first = [0, 2, 3].get(before).copied().unwrap_or_default();
                let whole = (before + secret.len()).is_multiple_of(3);
                let last = if whole { code.len() } else { code.len() - 1 };
                let Some(code) = code.get(first..last).filter(|code| code.len() >= SHORTEST) else {
                    continue;
                };
                if !self
                    .needles
                    .iter()
                    .rev()
                    .take(12)
                    .any(|needle| needle.bytes == code.as_bytes())
                {
                    self.needles.push(Needle {
                        bytes: code.into(),
                        number,
                        base64: true,
                    });
                }
            }
        }
    }
}

/// All but unreserved characters as percent escapes, as browsers and `encodeURIComponent` do.
fn percent(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    }
}

fn position(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    aho_corasick::AhoCorasick::new([needle])
        .ok()?
        .find(bytes)
        .map(|hit| hit.start())
}

/// Whether a secret can be told from any word.
fn telling(secret: &[u8], credential: bool) -> bool {
    if credential {
        return secret.len() >= SHORTEST_CREDENTIAL;
    }
    let kinds = [
        secret.iter().any(u8::is_ascii_lowercase),
        secret.iter().any(u8::is_ascii_uppercase),
        secret.iter().any(u8::is_ascii_digit),
        secret
            .iter()
            .any(|byte| !byte.is_ascii_alphanumeric() && !b"-_. /".contains(byte)),
    ];
    secret.len() >= SHORTEST && kinds.into_iter().filter(|kind| *kind).count() >= 2
}
