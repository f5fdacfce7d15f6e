//! Test of single terms against a matcher, without an index.

use tantivy_fst::Automaton;

use super::Matcher;
use super::levenshtein::Levenshtein;
use super::regexp::Regexp;
use crate::error::Result;

/// Predicate on terms.
pub(crate) enum TermTest {
    Prefix(String),
    Regexp(Box<Regexp>),
    Fuzzy(usize, String, Levenshtein),
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
                let at = term.char_indices().nth(*prefix).map_or(term.len(), |(at, _)| at);
                let (head, tail) = term.split_at(at);
                TermTest::Fuzzy(
                    head.len(),
                    head.to_owned(),
                    Levenshtein::new(tail, *edits, *transpositions),
                )
            }
        })
    }

    pub(crate) fn accepts(&self, term: &str) -> bool {
        fn run<A: Automaton>(automaton: &A, text: &str) -> bool {
            let end = text
                .bytes()
                .fold(automaton.start(), |state, byte| automaton.accept(&state, byte));
            automaton.is_match(&end)
        }
        match self {
            TermTest::Prefix(prefix) => term.starts_with(prefix.as_str()),
            TermTest::Regexp(regexp) => run(&**regexp, term),
            TermTest::Fuzzy(at, head, automaton) => {
                term.starts_with(head.as_str()) && run(automaton, term.get(*at..).unwrap_or(""))
            }
            TermTest::Range { lower, upper } => {
                lower
                    .as_ref()
                    .is_none_or(|(bound, included)| term > bound.as_str() || *included && term == bound)
                    && upper
                        .as_ref()
                        .is_none_or(|(bound, included)| term < bound.as_str() || *included && term == bound)
            }
        }
    }
}
