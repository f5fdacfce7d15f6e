//! The secrets that were seen, their numbers, and the search for them.
//!
//! Promises: one pass over a text finds every known secret in every spelling; learning a secret costs no more than the
//! logarithm of how many there are, so that a list of thousands is learned while it passes.

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

/// How many secrets have a number of their own.
const MOST: usize = 100_000;

/// How many bytes of spellings are looked for. Secrets that were seen after that are replaced only where a rule names them.
const MOST_BYTES: usize = 8 << 20;

/// A longer secret is identified by its hash.
const LONGEST_KEY: usize = 64;

/// A shorter secret is not looked for where no rule names it.
const SHORTEST: usize = 8;

/// A shorter one is, if a rule said that it is a credential.
const SHORTEST_CREDENTIAL: usize = 6;

/// A shorter one of small letters, capitals or digits alone may be any word.
const SHORTEST_OF_ONE_KIND: usize = 16;

/// Values that are no credentials are looked for in hexadecimal while they are few.
const HEX: u64 = 1_000;

/// A longer secret is looked for by its beginning alone where it may be cut.
const LONGEST_TAIL: usize = 512;

/// A longer secret is not looked for elsewhere.
const LONGEST: usize = 16 << 10;

/// How many needles are looked for one by one before an automaton is built of them.
const SINGLE: usize = 32;

/// When as many bytes as this times those of all needles were searched without a new secret, all automata are made one:
/// the searches cost more by then than the automaton does.
const SETTLED: usize = 32;

/// A search costs as much as this many bytes, however short the text.
const SEARCH: usize = 64;

/// An automaton of up to so many bytes of needles is one of states, which is the fastest and takes up to a KiB for each.
const FAST: usize = 32 << 10;

/// The secrets that were seen.
#[derive(Debug, Default)]
pub(super) struct SecretIndex {
    /// Numbers by secret, or by the hash of a long one.
    numbers: HashMap<Vec<u8>, u64>,
    last: u64,
    needles: Vec<Needle>,
    /// Automata of consecutive needles, each of many more than the next.
    machines: Vec<Machine>,
    /// Bytes of all needles.
    needle_bytes: usize,
    /// The length of the longest needle.
    longest: usize,
    /// Bytes that were searched since a secret was learned; none when all automata are one.
    searched: Option<usize>,
    /// Texts of bodies in which no rule finds a secret.
    pub(super) clean: CleanTexts,
    /// Items of lists without a secret.
    pub(super) items: Items,
    /// Needles in automata that were built, for a test of their cost.
    #[cfg(test)]
    built_needles: usize,
}

/// A spelling of a secret.
#[derive(Debug)]
struct Needle {
    finder: Finder<'static>,
    number: u64,
    /// The length of the secret.
    length: usize,
    base64: bool,
}

/// Finds a range of needles in one pass.
#[derive(Debug)]
struct Machine {
    needles: Range<usize>,
    /// None if there are too many needles for one.
    sieve: Option<Sieve>,
    automaton: AhoCorasick,
}

impl Machine {
    /// Appends the places of its needles.
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
    /// Numbers that a text uses already are not given again.
    pub(super) fn avoid(&mut self, text: &str) {
        let used = placeholders(text)
            .into_iter()
            .filter_map(|range| number(text.get(range)?));
        self.last = self.last.max(used.max().unwrap_or_default());
    }

    /// How many needles there are; grows with each secret that is looked for.
    pub(super) fn count(&self) -> usize {
        self.needles.len()
    }

    /// The length of the longest needle.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// The number of a secret. A credential is looked for elsewhere; another only if it cannot be any word.
    pub(super) fn number(&mut self, secret: &[u8], credential: bool) -> u64 {
        let key = match secret.len() <= LONGEST_KEY {
            true => secret.to_vec(),
            false => Sha256::digest(secret).to_vec(),
        };
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        if self.numbers.len() >= MOST {
            return 0;
        }
        self.last += 1;
        self.numbers.insert(key, self.last);
        if secret.len() <= LONGEST && telling(secret, credential) {
            self.look_for(secret, self.last, credential);
        }
        self.last
    }

    /// The placeholder of a secret text.
    pub(super) fn placeholder(&mut self, secret: &str, credential: bool) -> String {
        if is_placeholder(secret) {
            return secret.to_owned();
        }
        placeholder(self.number(secret.as_bytes(), credential), secret.len())
    }

    /// The placeholder of a secret that is written as base64.
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

    /// Where secrets that are known are, or parts of them: in order, and apart from each other.
    pub(super) fn places(&mut self, bytes: &[u8]) -> Vec<Range<usize>> {
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

    /// A text without the secrets that are known; none if there are none in it.
    pub(super) fn text(&mut self, text: &str) -> Option<String> {
        self.bytes(text.as_bytes())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Bytes without the secrets that are known; none if there are none in them.
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

    /// How many of the last bytes could be the beginning of a secret that goes on.
    pub(super) fn begun(&self, bytes: &[u8]) -> usize {
        let begins = |needle: &Needle| {
            let secret = needle.finder.needle();
            let most = secret.len().saturating_sub(1).min(LONGEST_TAIL).min(bytes.len());
            let tail = bytes.get(bytes.len() - most..)?;
            let starts = memchr::memchr_iter(*secret.first()?, tail);
            let begun = |at: &usize| tail.get(*at..).is_some_and(|tail| secret.starts_with(tail));
            starts.into_iter().find(begun).map(|at| most - at)
        };
        self.needles.iter().filter_map(begins).max().unwrap_or_default()
    }

    /// The place at or before another where bytes can be cut without cutting a secret.
    pub(super) fn boundary(&mut self, bytes: &[u8], at: usize) -> usize {
        let found = self.find(bytes);
        let crossing = found
            .iter()
            .map(|(range, _)| range)
            .filter(|range| range.start < at && at < range.end);
        crossing.map(|range| range.start).min().unwrap_or(at)
    }

    /// The places of needles.
    fn find(&mut self, bytes: &[u8]) -> Vec<(Range<usize>, usize)> {
        self.settle(bytes.len());
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

    /// Builds automata of the needles that wait: of those of similar size one, and of all one when nothing was learned
    /// for a while. `length` is that of the text to search.
    fn settle(&mut self, length: usize) {
        let mut start = self.built();
        let settled = SETTLED * self.needle_bytes;
        let quiet = self.searched.is_some_and(|searched| searched >= settled);
        self.searched = self.searched.map(|searched| searched.saturating_add(length + SEARCH));
        if self.needles.len() - start < SINGLE && !quiet {
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
        // States cost time to build, which is worth it only when nothing more is learned.
        let patterns = self.needles.iter().skip(start).map(|needle| needle.finder.needle());
        let is_fast = quiet && patterns.clone().map(<[u8]>::len).sum::<usize>() <= FAST;
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

    /// Looks for a secret from now on, unless there are too many.
    fn look_for(&mut self, secret: &[u8], number: u64, credential: bool) {
        let Spellings { plain, base64 } = Spellings::new(secret, credential || number <= HEX);
        let bytes: usize = plain.iter().chain(&base64).map(Vec::len).sum();
        if self.needle_bytes + bytes > MOST_BYTES {
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

/// Whether a secret differs from any word, so that it is looked for where no rule names it.
pub(crate) fn telling(secret: &[u8], credential: bool) -> bool {
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
    let one_long = secret.len() >= SHORTEST_OF_ONE_KIND && secret.iter().all(u8::is_ascii_alphanumeric);
    secret.len() >= SHORTEST && (one_long || kinds.into_iter().filter(|kind| *kind).count() >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn finds(secrets: &mut SecretIndex, bytes: &[u8]) -> bool {
        !secrets.places(bytes).is_empty()
    }

    #[test]
    fn every_secret_is_found_however_many_there_are() {
        let mut secrets = SecretIndex::default();
        let texts: Vec<String> = (0..300).map(|n| format!("S3cret/value+{n}.")).collect();
        for (n, secret) in texts.iter().enumerate() {
            secrets.number(secret.as_bytes(), false);
            // Each is found at once, and so is the first.
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
        // Each needle was built into an automaton once for each time that their number grew by half, and once at the end of it.
        let logarithm = secrets.needles.len().ilog2() as usize;
        assert!(
            secrets.built_needles <= secrets.needles.len() * logarithm,
            "{}",
            secrets.built_needles
        );
    }

    #[test]
    fn automata_of_long_secrets_take_a_bounded_amount_of_memory() {
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
    fn places_are_in_order_and_apart_from_each_other() {
        let mut secrets = SecretIndex::default();
        for secret in ["S3cret/value+1", "value+1/S3cret", "0ther.Secret"] {
            secrets.number(secret.as_bytes(), true);
        }
        let text = b"0ther.Secret S3cret/value+1/S3cret 0ther.Secret";
        assert_eq!(secrets.places(text), [0..12, 13..34, 35..47]);
    }

    #[test]
    fn what_is_looked_for_has_a_bound_in_bytes() {
        let mut secrets = SecretIndex::default();
        let secret = |n: usize| format!("{n:08}{}", "S3cret/value+".repeat(800));
        let numbers: HashSet<u64> = (0..200).map(|n| secrets.number(secret(n).as_bytes(), true)).collect();
        assert_eq!(numbers.len(), 200, "each has a number of its own");
        assert!(
            (MOST_BYTES / 2..=MOST_BYTES).contains(&secrets.needle_bytes),
            "{}",
            secrets.needle_bytes
        );
        assert!(finds(&mut secrets, secret(0).as_bytes()) && !finds(&mut secrets, secret(199).as_bytes()));
        let keys: usize = secrets.numbers.keys().map(Vec::len).sum();
        assert!(keys <= 200 * LONGEST_KEY, "{keys}");
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
