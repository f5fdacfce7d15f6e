//! A search for any of some words, in any case.

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// Finds words in one pass, in any case. Of states, which is the fastest for few words.
pub(super) fn automaton(words: &[&str]) -> Option<AhoCorasick> {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(words)
        .ok()
}
