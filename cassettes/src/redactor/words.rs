//! Case-insensitive search for any of a set of words.

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// Builds a case-insensitive automaton: a DFA, which is the fastest for few words.
pub(super) fn automaton(words: &[&str]) -> Option<AhoCorasick> {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(words)
        .ok()
}
