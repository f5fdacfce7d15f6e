//! Test of single terms against a matcher, without an index.

use tantivy_fst::Automaton;

use super::Matcher;
use super::levenshtein::{Levenshtein, similarity};
use super::regexp::Regexp;
use crate::error::Result;

/// Predicate on terms.
pub(crate) enum TermTest {
    Prefix(String),
    Regexp(Box<Regexp>),
    /// The beginning that must be equal, the automaton of the rest, and the length of both in characters.
    Fuzzy(String, Levenshtein, usize),
    Range {
        lower: Option<(String, bool)>,
        upper: Option<(String, bool)>,
    },
}

impl TermTest {
    pub(crate) fn new(matcher: &Matcher) -> Result<TermTest> {
        Ok(match matcher {
            Matcher::Prefix(text) => TermTest::Prefix(text.clone()),
            Matcher::Wildcard(pattern) => TermTest::Regexp(Box::new(Regexp::wildcard(pattern)?)),
            Matcher::Regexp { text, operators } => TermTest::Regexp(Box::new(Regexp::parse(text, *operators)?)),
            Matcher::Range { lower, upper } => TermTest::Range {
                lower: lower.clone(),
                upper: upper.clone(),
            },
            Matcher::Fuzzy {
                term,
                edits,
                prefix,
                transpositions,
                ..
            } => {
                let at = term.char_indices().nth(*prefix).map(|(at, _)| at);
                // A term of which all characters must be equal has no similar ones.
                let edits = if at.is_some() { *edits } else { 0 };
                let (head, tail) = term.split_at(at.unwrap_or(term.len()));
                TermTest::Fuzzy(
                    head.to_owned(),
                    Levenshtein::new(tail, edits, *transpositions),
                    term.chars().count(),
                )
            }
        })
    }

    pub(crate) fn accepts(&self, term: &str) -> bool {
        self.similarity(term).is_some()
    }

    /// Returns the boost of a term that passes the test: less than 1 if it is only similar.
    pub(crate) fn similarity(&self, term: &str) -> Option<f32> {
        fn run<A: Automaton>(automaton: &A, text: &str) -> A::State {
            text.bytes()
                .fold(automaton.start(), |state, byte| automaton.accept(&state, byte))
        }
        let is_accepted = match self {
            TermTest::Prefix(prefix) => term.starts_with(prefix.as_str()),
            TermTest::Regexp(regexp) => regexp.is_match(&run(&**regexp, term)),
            TermTest::Fuzzy(head, automaton, length) => {
                let edits = automaton.distance(run(automaton, term.strip_prefix(head.as_str())?))?;
                return similarity(edits, term.chars().count().min(*length));
            }
            TermTest::Range { lower, upper } => {
                lower
                    .as_ref()
                    .is_none_or(|(bound, included)| term > bound.as_str() || *included && term == bound)
                    && upper
                        .as_ref()
                        .is_none_or(|(bound, included)| term < bound.as_str() || *included && term == bound)
            }
        };
        is_accepted.then_some(1.0)
    }
}
