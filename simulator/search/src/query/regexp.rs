//! Automata of regular expressions and wildcards, built lazily from derivatives.
//!
//! - Guarantees: matching is linear in the length of the term.
//! - Limits: 10,000 states; an expression that needs more is rejected.
//!
//! Source: the complete syntax of Lucene 4.10's `RegExp`. The construction is Brzozowski's.

use std::cell::RefCell;

use tantivy_fst::Automaton;

use super::expression::{EMPTY, Engine, Id, NEVER, literal_prefix, too_complex};
use super::regexp_parser::Operators;
use crate::error::Result;

/// Automaton of an expression over the UTF-8 bytes of terms.
pub(crate) struct Regexp {
    engine: RefCell<Engine>,
    start: Id,
    /// Literal prefix of every match.
    pub(super) literal: String,
}

/// State: the remaining expression, and a partially decoded character.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    remaining: Id,
    /// Bits of the character so far.
    code: u32,
    /// Number of missing bytes of the character.
    missing: u8,
}

impl Regexp {
    fn new(engine: Engine, start: Id) -> Result<Regexp> {
        if engine.overflowed {
            return Err(too_complex());
        }
        let literal = literal_prefix(&engine, start);
        Ok(Regexp {
            engine: RefCell::new(engine),
            start,
            literal,
        })
    }

    /// Parses a regular expression.
    pub(super) fn parse(text: &str, operators: Operators) -> Result<Regexp> {
        let mut engine = Engine::new();
        let start = super::regexp_parser::parse(&mut engine, text, operators)?;
        Regexp::new(engine, start)
    }

    /// Parses a pattern with `*` and `?`. A backslash escapes the next character.
    pub(super) fn wildcard(pattern: &str) -> Result<Regexp> {
        let mut engine = Engine::new();
        let mut parts = Vec::new();
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            parts.push(match c {
                '*' => engine.any_string(),
                '?' => engine.any_char(),
                '\\' => {
                    let c = chars.next().unwrap_or('\\');
                    engine.class(vec![(c, c)])
                }
                c => engine.class(vec![(c, c)]),
            });
        }
        let start = parts
            .into_iter()
            .rev()
            .fold(EMPTY, |rest, part| engine.concat(part, rest));
        Regexp::new(engine, start)
    }

    /// Whether the maximum number of states was exceeded. Matches may then be missing.
    pub(super) fn overflowed(&self) -> bool {
        self.engine.borrow().overflowed
    }
}

impl Automaton for Regexp {
    type State = State;

    fn start(&self) -> State {
        State {
            remaining: self.start,
            code: 0,
            missing: 0,
        }
    }

    fn is_match(&self, state: &State) -> bool {
        state.missing == 0 && self.engine.borrow().is_nullable(state.remaining)
    }

    fn can_match(&self, state: &State) -> bool {
        state.remaining != NEVER
    }

    fn accept(&self, state: &State, byte: u8) -> State {
        let (code, missing) = match (state.missing, byte) {
            (0, 0x00..=0x7F) => (u32::from(byte), 0),
            (0, 0xC0..=0xDF) => (u32::from(byte & 0x1F), 1),
            (0, 0xE0..=0xEF) => (u32::from(byte & 0x0F), 2),
            (0, _) => (u32::from(byte & 0x07), 3),
            (missing, _) => (state.code << 6 | u32::from(byte & 0x3F), missing - 1),
        };
        if missing > 0 {
            return State {
                remaining: state.remaining,
                code,
                missing,
            };
        }
        let remaining = char::from_u32(code).map_or(NEVER, |c| self.engine.borrow_mut().derivative(state.remaining, c));
        State {
            remaining,
            code: 0,
            missing: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::regexp_parser::{ALL, operators};
    use rstest::rstest;

    fn is_match(regexp: &Regexp, text: &str) -> bool {
        let end = text
            .bytes()
            .fold(regexp.start(), |state, byte| regexp.accept(&state, byte));
        regexp.is_match(&end)
    }

    #[rstest]
    #[case("gr[a-z]+", "größe", false)]
    #[case("gr[a-zöß]+", "größe", true)]
    #[case("[0-9]{3}", "404", true)]
    #[case("[0-9]{3}", "4040", false)]
    #[case("re.{2,4}", "retry", true)]
    #[case("re.{2,4}", "restart", false)]
    #[case("(item|naïve)", "naïve", true)]
    #[case("a~b", "ac", true)]
    #[case("a~b", "ab", false)]
    #[case("~(foo.*)", "foot", false)]
    #[case("~(foo.*)", "bar", true)]
    #[case("aaa.+&.+bbb", "aaabbb", true)]
    #[case("aaa.+&.+bbb", "aaabb", false)]
    #[case("foo<1-100>", "foo80", true)]
    #[case("foo<1-100>", "foo101", false)]
    #[case("foo<01-10>", "foo07", true)]
    #[case("foo<01-10>", "foo7", false)]
    #[case("@&~(foo.+)", "foo", true)]
    #[case("a#", "a", false)]
    #[case("\"a.b\"c", "a.bc", true)]
    #[case("\"a.b\"c", "axbc", false)]
    #[case("a\\.b", "a.b", true)]
    #[case("[^0-9]+", "abc", true)]
    #[case("[^0-9]+", "ab1", false)]
    #[case("a{2,}", "aaaa", true)]
    #[case("()", "", true)]
    #[case("日志[a-z]*", "日志x", true)]
    #[case("*a&|b", "*a", false)]
    #[case("*a|{b", "{b", true)]
    #[case("a{2,1}|b", "", false)]
    #[case("[-]?[a^]", "-^", true)]
    fn expressions_match_whole_terms(#[case] pattern: &str, #[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_match(&Regexp::parse(pattern, ALL).unwrap(), text), expected);
    }

    #[rstest]
    #[case("[unclosed")]
    #[case("(a")]
    #[case("a)")]
    #[case("a{")]
    #[case("[z-a]")]
    #[case("[a-]")]
    #[case("a|")]
    #[case("<name>")]
    #[case("\"open")]
    #[case("a{1,100000}")]
    #[case("((((((a{50}){50}){50}){50}){50}){50})")]
    fn invalid_and_large_expressions_are_rejected(#[case] pattern: &str) {
        assert!(Regexp::parse(pattern, ALL).is_err());
    }

    #[rstest]
    #[case("a<1-2>&b", "NONE", "a<1-2>&b", true)]
    #[case("a<1-2>&a.", "INTERVAL|intersection", "a2", true)]
    #[case("\"#\"#\\#", "COMPLEMENT", "###", true)]
    #[case("@~#", "", "a", true)]
    fn operators_are_characters_without_their_flag(
        #[case] text: &str,
        #[case] flags: &str,
        #[case] term: &str,
        #[case] expected: bool,
    ) {
        let operators = |flags: &str| operators(Some(&flags.into()), None);
        let regexp = Regexp::parse(text, operators(flags).unwrap()).unwrap();
        assert_eq!(is_match(&regexp, term), expected);
        assert!(operators("AUTOMATON").is_err());
    }

    #[rstest]
    #[case("p?try", "pitry", true)]
    #[case("p?try", "ptry", false)]
    #[case("*ush", "flush", true)]
    #[case("na*e", "naïve", true)]
    #[case("a\\*b", "a*b", true)]
    #[case("a\\*b", "axb", false)]
    fn wildcards_match_whole_terms(#[case] pattern: &str, #[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_match(&Regexp::wildcard(pattern).unwrap(), text), expected);
    }

    #[test]
    fn a_literal_prefix_is_extracted() {
        assert_eq!(Regexp::parse("ord.*", ALL).unwrap().literal, "ord");
        assert_eq!(Regexp::wildcard("ab?c*").unwrap().literal, "ab");
        assert_eq!(Regexp::parse("(a|b)c", ALL).unwrap().literal, "");
        assert_eq!(Regexp::parse("ab", ALL).unwrap().literal, "ab");
    }
}
