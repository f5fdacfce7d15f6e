//! Index of known secrets, their numbers, and the search for them.
//!
//! Guarantees:
//! - One pass over a text finds every known secret in every spelling.
//! - The amortized cost of learning a secret is logarithmic in the number of secrets.

use super::clean_texts::CleanTexts;
use super::items::Items;
use super::sieve::Sieve;
use super::spellings::Spellings;
use crate::interaction::{is_placeholder, number, placeholder, placeholders};
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use memchr::memmem::Finder;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::ops::Range;

/// Maximum number of secrets with their own number.
const MAX_NUMBERED: usize = 100_000;

/// Maximum total length of needles. Secrets learned after that are replaced only where they match a rule.
const MAX_NEEDLE_BYTES: usize = 8 << 20;

/// A longer secret is identified by its hash.
const MAX_KEY_LENGTH: usize = 64;

/// Minimum length of a secret that is searched for.
const MIN_LENGTH: usize = 8;

/// Minimum length of a credential that is searched for.
const MIN_CREDENTIAL_LENGTH: usize = 6;

/// Minimum length of a secret of only small letters, capitals or digits. A shorter one may be a common word.
const MIN_ONE_KIND_LENGTH: usize = 16;

/// Secrets other than credentials are searched for in hexadecimal up to this number.
const MAX_HEX: u64 = 1_000;

/// Maximum length of the beginning of a secret that is searched for at the end of a piece.
const MAX_PARTIAL_LENGTH: usize = 512;

/// Maximum length of a secret that is searched for.
const MAX_LENGTH: usize = 16 << 10;

/// Number of needles that are searched for one by one before an automaton is built.
const MAX_UNBUILT: usize = 32;

/// After searching this many times the length of all needles without a new secret, one automaton is built of all
/// needles. By then the searches have cost more than building it.
const MERGE_FACTOR: usize = 32;

/// Fixed cost of a search, in bytes of text.
const SEARCH_COST: usize = 64;

/// Maximum length of needles for a DFA, which is the fastest automaton and takes up to 1 KiB per byte.
const MAX_DFA_BYTES: usize = 32 << 10;

/// Known secrets.
#[derive(Debug, Default)]
pub(super) struct SecretIndex {
    /// Numbers, by secret or by the hash of a long one.
    numbers: HashMap<Vec<u8>, u64>,
    /// The last assigned number.
    last: u64,
    needles: Vec<Needle>,
    /// Automata of consecutive ranges of needles, each of many more than the next.
    machines: Vec<Machine>,
    /// Total length of needles.
    needle_bytes: usize,
    /// Length of the longest needle.
    longest: usize,
    /// Number of bytes searched since the last secret was learned. None if there is one automaton of all needles.
    searched: Option<usize>,
    /// Cache of texts in which no rule finds a secret.
    pub(super) clean: CleanTexts,
    /// Cache of list items without a secret.
    pub(super) items: Items,
    /// Total number of needles of all automata built, for a test of the cost.
    #[cfg(test)]
    built_needles: usize,
}

/// A spelling of a secret to search for.
#[derive(Debug)]
struct Needle {
    finder: Finder<'static>,
    number: u64,
    /// Length of the secret.
    length: usize,
    base64: bool,
}

/// Automaton of a range of needles.
#[derive(Debug)]
struct Machine {
    needles: Range<usize>,
    /// Filter before the automaton. None if there are too many needles.
    sieve: Option<Sieve>,
    automaton: AhoCorasick,
}

impl Machine {
    /// Appends the ranges and indices of needles in a text.
    fn find(&self, bytes: &[u8], found: &mut Vec<(Range<usize>, usize)>) {
        let all = 0..bytes.len();
        let parts = self.sieve.as_ref().map(|sieve| sieve.parts(bytes));
        for part in parts.unwrap_or_else(|| Vec::from([all])) {
            let hits = self.automaton.find_iter(bytes.get(part.clone()).unwrap_or_default());
            found.extend(hits.map(|hit| {
                let range = part.start + hit.start()..part.start + hit.end();
                (range, self.needles.start + hit.pattern().as_usize())
            }));
        }
    }
}

impl SecretIndex {
    /// Reserves the numbers of the placeholders in a text.
    pub(super) fn reserve_numbers(&mut self, text: &str) {
        let used = placeholders(text)
            .into_iter()
            .filter_map(|range| number(text.get(range)?));
        self.last = self.last.max(used.max().unwrap_or_default());
    }

    /// Number of needles. Grows with each secret that is searched for.
    pub(super) fn count(&self) -> usize {
        self.needles.len()
    }

    /// Length of the longest needle.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Learns a secret and returns its number. Values other than credentials are searched for only if they are distinct
    /// from common words.
    pub(super) fn number(&mut self, secret: &[u8], credential: bool) -> u64 {
        let key = match secret.len() <= MAX_KEY_LENGTH {
            true => secret.to_vec(),
            false => Sha256::digest(secret).to_vec(),
        };
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        if self.numbers.len() >= MAX_NUMBERED {
            return 0;
        }
        self.last += 1;
        self.numbers.insert(key, self.last);
        if secret.len() <= MAX_LENGTH && is_distinct(secret, credential) {
            self.add_needles(secret, self.last, credential);
        }
        self.last
    }

    /// Returns the placeholder of a secret.
    pub(super) fn placeholder(&mut self, secret: &str, credential: bool) -> String {
        if is_placeholder(secret) {
            return secret.to_owned();
        }
        placeholder(self.number(secret.as_bytes(), credential), secret.len())
    }

    /// Returns the placeholder, in base64, of a secret in base64.
    pub(super) fn placeholder_of_base64(&mut self, secret: &str) -> String {
        if is_placeholder(secret) {
            return secret.to_owned();
        }
        let compact: String = secret.split_whitespace().collect();
        match STANDARD.decode(&compact) {
            Ok(bytes) => STANDARD.encode(placeholder(self.number(&bytes, false), bytes.len())),
            Err(_) => self.placeholder(secret, false),
        }
    }

    /// Ranges of known secrets, in order, merged if they overlap or touch.
    pub(super) fn ranges(&mut self, bytes: &[u8]) -> Vec<Range<usize>> {
        if self.needles.is_empty() {
            return Vec::new();
        }
        let mut found: Vec<Range<usize>> = self.find(bytes).into_iter().map(|(range, _)| range).collect();
        found.sort_by_key(|range| range.start);
        found.dedup_by(|next, last| {
            let is_joined = next.start <= last.end;
            if is_joined {
                last.end = last.end.max(next.end);
            }
            is_joined
        });
        found
    }

    /// Redacts known secrets in a text. Returns none if there are none.
    pub(super) fn text(&mut self, text: &str) -> Option<String> {
        self.bytes(text.as_bytes())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Redacts known secrets in bytes. Returns none if there are none.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.needles.is_empty() {
            return None;
        }
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
            let text = placeholder(needle.number, needle.length);
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

    /// Length of the suffix that could be the beginning of a known secret.
    pub(super) fn partial_match(&self, bytes: &[u8]) -> usize {
        let begins = |needle: &Needle| {
            let secret = needle.finder.needle();
            let most = secret.len().saturating_sub(1).min(MAX_PARTIAL_LENGTH).min(bytes.len());
            let tail = bytes.get(bytes.len() - most..)?;
            let starts = memchr::memchr_iter(*secret.first()?, tail);
            let begun = |at: &usize| tail.get(*at..).is_some_and(|tail| secret.starts_with(tail));
            starts.into_iter().find(begun).map(|at| most - at)
        };
        self.needles.iter().filter_map(begins).max().unwrap_or_default()
    }

    /// The last position at or before `at` that is not within a known secret.
    pub(super) fn boundary(&mut self, bytes: &[u8], at: usize) -> usize {
        let found = self.find(bytes);
        let crossing = found
            .iter()
            .map(|(range, _)| range)
            .filter(|range| range.start < at && at < range.end);
        crossing.map(|range| range.start).min().unwrap_or(at)
    }

    /// Finds the ranges and indices of needles.
    fn find(&mut self, bytes: &[u8]) -> Vec<(Range<usize>, usize)> {
        self.build_automata(bytes.len());
        let mut found: Vec<(Range<usize>, usize)> = Vec::new();
        for machine in &self.machines {
            machine.find(bytes, &mut found);
        }
        let built = self.built();
        for (n, needle) in self.needles.iter().enumerate().skip(built) {
            let length = needle.finder.needle().len();
            found.extend(needle.finder.find_iter(bytes).map(|at| (at..at + length, n)));
        }
        found
    }

    fn built(&self) -> usize {
        self.machines.last().map_or(0, |machine| machine.needles.end)
    }

    /// Builds an automaton of new needles if there are enough, merged with automata of similar size. Builds one of all
    /// needles if none was learned for a while. `length` is that of the text to search.
    fn build_automata(&mut self, length: usize) {
        let mut start = self.built();
        let settled = MERGE_FACTOR * self.needle_bytes;
        let quiet = self.searched.is_some_and(|searched| searched >= settled);
        self.searched = self
            .searched
            .map(|searched| searched.saturating_add(length + SEARCH_COST));
        if self.needles.len() - start < MAX_UNBUILT && !quiet {
            return;
        }
        if quiet {
            self.searched = None;
        }
        while let Some(last) = self.machines.last() {
            if !quiet && last.needles.len() > 4 * (self.needles.len() - start) {
                break;
            }
            start = last.needles.start;
            self.machines.pop();
        }
        let needles = start..self.needles.len();
        #[cfg(test)]
        {
            self.built_needles += needles.len();
        }
        // A DFA is slow to build, which pays off only if no secret is learned soon.
        let patterns = self.needles.iter().skip(start).map(|needle| needle.finder.needle());
        let is_fast = quiet && patterns.clone().map(<[u8]>::len).sum::<usize>() <= MAX_DFA_BYTES;
        let kind = is_fast.then_some(AhoCorasickKind::DFA);
        let built = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .kind(kind)
            .build(patterns.clone());
        if let Ok(automaton) = built {
            self.machines.push(Machine {
                needles,
                sieve: Sieve::new(patterns),
                automaton,
            });
        }
    }

    fn learn(&mut self, bytes: &[u8], number: u64, length: usize, base64: bool) {
        self.searched = Some(0);
        self.needle_bytes += bytes.len();
        self.longest = self.longest.max(bytes.len());
        self.needles.push(Needle {
            finder: Finder::new(bytes).into_owned(),
            number,
            length,
            base64,
        });
    }

    /// Adds the needles of a secret, within [`MAX_NEEDLE_BYTES`].
    fn add_needles(&mut self, secret: &[u8], number: u64, credential: bool) {
        let Spellings { plain, base64 } = Spellings::new(secret, credential || number <= MAX_HEX);
        let bytes: usize = plain.iter().chain(&base64).map(Vec::len).sum();
        if self.needle_bytes + bytes > MAX_NEEDLE_BYTES {
            return;
        }
        for bytes in plain {
            self.learn(&bytes, number, secret.len(), false);
        }
        for code in base64 {
            self.learn(&code, number, secret.len(), true);
        }
    }
}

/// Whether a secret is distinct from common words, so that it can be searched for.
pub(crate) fn is_distinct(secret: &[u8], credential: bool) -> bool {
    if credential {
        return secret.len() >= MIN_CREDENTIAL_LENGTH;
    }
    let kinds = [
        secret.iter().any(u8::is_ascii_lowercase),
        secret.iter().any(u8::is_ascii_uppercase),
        secret.iter().any(u8::is_ascii_digit),
        secret
            .iter()
            .any(|byte| !byte.is_ascii_alphanumeric() && !b"-_. /".contains(byte)),
    ];
    let one_long = secret.len() >= MIN_ONE_KIND_LENGTH && secret.iter().all(u8::is_ascii_alphanumeric);
    secret.len() >= MIN_LENGTH && (one_long || kinds.into_iter().filter(|kind| *kind).count() >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn finds(secrets: &mut SecretIndex, bytes: &[u8]) -> bool {
        !secrets.ranges(bytes).is_empty()
    }

    #[test]
    fn every_secret_is_found_however_many_there_are() {
        let mut secrets = SecretIndex::default();
        let texts: Vec<String> = (0..300).map(|n| format!("S3cret/value+{n}.")).collect();
        for (n, secret) in texts.iter().enumerate() {
            secrets.number(secret.as_bytes(), false);
            // Each is found at once, and so are earlier ones.
            for other in [secret, &texts[0], &texts[n / 2]] {
                assert!(
                    finds(&mut secrets, format!("a {other} b").as_bytes()),
                    "{other} after {secret}"
                );
            }
        }
        while secrets.searched.is_some() {
            assert!(!finds(&mut secrets, b"nothing of them ".repeat(1 << 12).as_slice()));
        }
        assert_eq!(secrets.machines.len(), 1, "one automaton once nothing is learned");
        assert!(texts.iter().all(|secret| finds(&mut secrets, secret.as_bytes())));
    }

    #[test]
    fn a_stream_of_new_secrets_costs_no_more_for_each() {
        let mut secrets = SecretIndex::default();
        for n in 0..400 {
            secrets.number(format!("S3cret/value+{n}.").as_bytes(), true);
            for _ in 0..20 {
                assert!(!finds(&mut secrets, b"a header of a request"));
            }
        }
        // Each needle is in one automaton for each growth of their number by half, and in the final one.
        let logarithm = secrets.needles.len().ilog2() as usize;
        assert!(
            secrets.built_needles <= secrets.needles.len() * logarithm,
            "{}",
            secrets.built_needles
        );
    }

    #[test]
    fn the_memory_of_automata_is_bounded() {
        let mut secrets = SecretIndex::default();
        for n in 0..20 {
            secrets.number(format!("{n:08}{}", "S3cret/value+".repeat(500)).as_bytes(), true);
        }
        while secrets.searched.is_some() {
            assert!(!finds(&mut secrets, b"nothing of them ".repeat(1 << 16).as_slice()));
        }
        let memory: usize = secrets
            .machines
            .iter()
            .map(|machine| machine.automaton.memory_usage())
            .sum();
        assert!(
            memory <= 64 * secrets.needle_bytes,
            "{memory} for {}",
            secrets.needle_bytes
        );
    }

    #[test]
    fn ranges_are_ordered_and_disjoint() {
        let mut secrets = SecretIndex::default();
        for secret in ["S3cret/value+1", "value+1/S3cret", "0ther.Secret"] {
            secrets.number(secret.as_bytes(), true);
        }
        let text = b"0ther.Secret S3cret/value+1/S3cret 0ther.Secret";
        assert_eq!(secrets.ranges(text), [0..12, 13..34, 35..47]);
    }

    #[test]
    fn the_length_of_needles_is_bounded() {
        let mut secrets = SecretIndex::default();
        let secret = |n: usize| format!("{n:08}{}", "S3cret/value+".repeat(800));
        let numbers: HashSet<u64> = (0..200).map(|n| secrets.number(secret(n).as_bytes(), true)).collect();
        assert_eq!(numbers.len(), 200, "each has a number of its own");
        assert!(
            (MAX_NEEDLE_BYTES / 2..=MAX_NEEDLE_BYTES).contains(&secrets.needle_bytes),
            "{}",
            secrets.needle_bytes
        );
        assert!(finds(&mut secrets, secret(0).as_bytes()) && !finds(&mut secrets, secret(199).as_bytes()));
        let keys: usize = secrets.numbers.keys().map(Vec::len).sum();
        assert!(keys <= 200 * MAX_KEY_LENGTH, "{keys}");
    }

    #[test]
    fn a_placeholder_is_as_long_as_its_secret() {
        let mut secrets = SecretIndex::default();
        let secret = "S3cret/value+1 that is long";
        secrets.number(secret.as_bytes(), true);
        let text = format!("a {secret} b");
        let out = secrets.text(&text).expect("a secret");
        assert_eq!((out.len(), out.contains("redacted-1~")), (text.len(), true), "{out}");
    }
}
