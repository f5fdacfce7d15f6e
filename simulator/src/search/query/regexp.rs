//! Regular expressions and wildcards over terms: an automaton made by derivatives, as far as terms lead into it.
//!
//! Promises: linear in the term; a bounded number of states, and of parts of the expression.
//! Limits: 10,000 states; beyond, the expression is refused.
//! Source: the syntax of Lucene 4.10's RegExp, all of it; the construction is Brzozowski's.

use std::cell::RefCell;
use std::collections::HashMap;

use tantivy_fst::Automaton;

use crate::search::error::{Result, SearchError};

/// The number of an expression among those that an engine knows.
pub(super) type Id = u32;

/// An expression over characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Expression {
    /// Matches nothing.
    Never,
    /// Matches the empty string.
    Empty,
    /// One character of these ranges (sorted, disjoint).
    Class(Vec<(char, char)>),
    Then(Id, Id),
    /// Any of these (sorted, each once).
    Any(Vec<Id>),
    Both(Id, Id),
    Not(Id),
    Star(Id),
}

/// The expression that matches nothing.
pub(super) const NEVER: Id = 0;
/// The expression that matches the empty string.
pub(super) const EMPTY: Id = 1;
/// Most expressions that an engine makes.
const MOST: usize = 10_000;

/// Makes expressions, each once.
#[derive(Debug)]
pub(super) struct Engine {
    expressions: Vec<Expression>,
    ids: HashMap<Expression, Id>,
    nullable: Vec<bool>,
    derivatives: HashMap<(Id, char), Id>,
    pub(super) overflown: bool,
}

impl Engine {
    pub(super) fn new() -> Engine {
        let mut engine = Engine { expressions: vec![], ids: HashMap::new(), nullable: vec![], derivatives: HashMap::new(), overflown: false };
        engine.intern(Expression::Never);
        engine.intern(Expression::Empty);
        engine
    }

    fn intern(&mut self, expression: Expression) -> Id {
        if let Some(id) = self.ids.get(&expression) {
            return *id;
        }
        if self.expressions.len() >= MOST {
            self.overflown = true;
            return NEVER;
        }
        let is = |id: &Id| self.is_nullable(*id);
        let nullable = match &expression {
            Expression::Never | Expression::Class(_) => false,
            Expression::Empty | Expression::Star(_) => true,
            Expression::Then(a, b) | Expression::Both(a, b) => is(a) && is(b),
            Expression::Any(all) => all.iter().any(is),
            Expression::Not(a) => !is(a),
        };
        let id = u32::try_from(self.expressions.len()).unwrap_or(NEVER);
        self.ids.insert(expression.clone(), id);
        self.expressions.push(expression);
        self.nullable.push(nullable);
        id
    }

    fn is_nullable(&self, id: Id) -> bool {
        self.nullable.get(id as usize).copied().unwrap_or(false)
    }

    pub(super) fn class(&mut self, mut ranges: Vec<(char, char)>) -> Id {
        ranges.retain(|(from, to)| from <= to);
        ranges.sort_unstable();
        if ranges.is_empty() { NEVER } else { self.intern(Expression::Class(ranges)) }
    }

    pub(super) fn any_char(&mut self) -> Id {
        self.class(vec![('\0', char::MAX)])
    }

    pub(super) fn literal(&mut self, text: &str) -> Id {
        let mut id = EMPTY;
        for c in text.chars().rev() {
            let class = self.class(vec![(c, c)]);
            id = self.then(class, id);
        }
        id
    }

    pub(super) fn then(&mut self, a: Id, b: Id) -> Id {
        match (a, b) {
            (NEVER, _) | (_, NEVER) => NEVER,
            (EMPTY, other) | (other, EMPTY) => other,
            _ => {
                // Leaning to the right, so that equal sequences are equal expressions.
                if let Some(Expression::Then(first, rest)) = self.expressions.get(a as usize) {
                    let (first, rest) = (*first, *rest);
                    let tail = self.then(rest, b);
                    return self.then(first, tail);
                }
                self.intern(Expression::Then(a, b))
            }
        }
    }

    pub(super) fn any(&mut self, alternatives: Vec<Id>) -> Id {
        let mut flat = Vec::new();
        for id in alternatives {
            match self.expressions.get(id as usize) {
                Some(Expression::Any(inner)) => flat.extend_from_slice(inner),
                _ => flat.push(id),
            }
        }
        flat.retain(|id| *id != NEVER);
        flat.sort_unstable();
        flat.dedup();
        let everything = self.everything();
        if flat.contains(&everything) {
            return everything;
        }
        match flat.as_slice() {
            [] => NEVER,
            [only] => *only,
            _ => self.intern(Expression::Any(flat)),
        }
    }

    pub(super) fn both(&mut self, a: Id, b: Id) -> Id {
        let everything = self.everything();
        match (a.min(b), a.max(b)) {
            (NEVER, _) => NEVER,
            (a, b) if a == b => a,
            (a, b) if a == everything => b,
            (a, b) if b == everything => a,
            (a, b) => self.intern(Expression::Both(a, b)),
        }
    }

    pub(super) fn not(&mut self, a: Id) -> Id {
        let everything = self.everything();
        match self.expressions.get(a as usize) {
            Some(Expression::Not(inner)) => *inner,
            Some(Expression::Never) => everything,
            _ if a == everything => NEVER,
            _ => self.intern(Expression::Not(a)),
        }
    }

    pub(super) fn star(&mut self, a: Id) -> Id {
        match self.expressions.get(a as usize) {
            Some(Expression::Never | Expression::Empty) => EMPTY,
            Some(Expression::Star(_)) => a,
            _ => self.intern(Expression::Star(a)),
        }
    }

    /// What matches every string.
    pub(super) fn everything(&mut self) -> Id {
        let any = self.intern(Expression::Class(vec![('\0', char::MAX)]));
        self.intern(Expression::Star(any))
    }

    /// Between `least` and `most` times `a`; without `most`, no end.
    pub(super) fn repeat(&mut self, a: Id, least: u32, most: Option<u32>) -> Id {
        let mut tail = match most {
            None => self.star(a),
            Some(most) => {
                let mut tail = EMPTY;
                for _ in least..most {
                    let once_more = self.then(a, tail);
                    tail = self.any(vec![EMPTY, once_more]);
                    if self.overflown {
                        return NEVER;
                    }
                }
                tail
            }
        };
        for _ in 0..least {
            tail = self.then(a, tail);
            if self.overflown {
                return NEVER;
            }
        }
        tail
    }

    /// What is left to match after `c`.
    fn derivative(&mut self, id: Id, c: char) -> Id {
        if let Some(known) = self.derivatives.get(&(id, c)) {
            return *known;
        }
        let Some(expression) = self.expressions.get(id as usize).cloned() else {
            return NEVER;
        };
        let left = match expression {
            Expression::Never | Expression::Empty => NEVER,
            Expression::Class(ranges) => {
                if ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) {
                    EMPTY
                } else {
                    NEVER
                }
            }
            Expression::Then(a, b) => {
                let first = self.derivative(a, c);
                let first = self.then(first, b);
                if self.is_nullable(a) {
                    let second = self.derivative(b, c);
                    self.any(vec![first, second])
                } else {
                    first
                }
            }
            Expression::Any(all) => {
                let all = all.into_iter().map(|id| self.derivative(id, c)).collect();
                self.any(all)
            }
            Expression::Both(a, b) => {
                let (a, b) = (self.derivative(a, c), self.derivative(b, c));
                self.both(a, b)
            }
            Expression::Not(a) => {
                let a = self.derivative(a, c);
                self.not(a)
            }
            Expression::Star(a) => {
                let first = self.derivative(a, c);
                self.then(first, id)
            }
        };
        if self.derivatives.len() < MOST * 16 {
            self.derivatives.insert((id, c), left);
        }
        left
    }
}

/// An expression as an automaton over the bytes of terms.
pub(crate) struct Regexp {
    engine: RefCell<Engine>,
    start: Id,
    /// What every match starts with.
    pub(super) literal: String,
}

/// Where in a term the automaton is: the expression that is left, and the bytes of a character that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    left: Id,
    code: u32,
    missing: u8,
}

impl Regexp {
    fn new(engine: Engine, start: Id) -> Result<Regexp> {
        if engine.overflown {
            return Err(SearchError::query(format!("TooComplexToDeterminizeException[Determinizing automaton would result in more than {MOST} states.]")));
        }
        let literal = literal_prefix(&engine, start);
        Ok(Regexp { engine: RefCell::new(engine), start, literal })
    }

    /// The automaton of a regular expression.
    pub(super) fn parse(pattern: &str) -> Result<Regexp> {
        let mut engine = Engine::new();
        let start = super::regexp_parser::parse(&mut engine, pattern).map_err(|reason| SearchError::query(format!("IllegalArgumentException[{reason}]")))?;
        Regexp::new(engine, start)
    }

    /// The automaton of a pattern with `*` and `?`; a backslash takes the next character as it is.
    pub(super) fn wildcard(pattern: &str) -> Result<Regexp> {
        let mut engine = Engine::new();
        let mut parts = Vec::new();
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            parts.push(match c {
                '*' => engine.everything(),
                '?' => engine.any_char(),
                '\\' => {
                    let c = chars.next().unwrap_or('\\');
                    engine.class(vec![(c, c)])
                }
                c => engine.class(vec![(c, c)]),
            });
        }
        let start = parts.into_iter().rev().fold(EMPTY, |rest, part| engine.then(part, rest));
        Regexp::new(engine, start)
    }

    /// True if more states were needed than there may be: matches may be missing.
    pub(super) fn overflown(&self) -> bool {
        self.engine.borrow().overflown
    }
}

fn literal_prefix(engine: &Engine, mut id: Id) -> String {
    let mut literal = String::new();
    let single = |id: Id| match engine.expressions.get(id as usize) {
        Some(Expression::Class(ranges)) => match ranges.as_slice() {
            [(from, to)] if from == to => Some(*from),
            _ => None,
        },
        _ => None,
    };
    while let Some(Expression::Then(first, rest)) = engine.expressions.get(id as usize) {
        match single(*first) {
            Some(c) => literal.push(c),
            None => return literal,
        }
        id = *rest;
    }
    literal.extend(single(id));
    literal
}

impl Automaton for Regexp {
    type State = State;

    fn start(&self) -> State {
        State { left: self.start, code: 0, missing: 0 }
    }

    fn is_match(&self, state: &State) -> bool {
        state.missing == 0 && self.engine.borrow().is_nullable(state.left)
    }

    fn can_match(&self, state: &State) -> bool {
        state.left != NEVER
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
            return State { left: state.left, code, missing };
        }
        let left = char::from_u32(code).map_or(NEVER, |c| self.engine.borrow_mut().derivative(state.left, c));
        State { left, code: 0, missing: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn fits(regexp: &Regexp, text: &str) -> bool {
        let end = text.bytes().fold(regexp.start(), |state, byte| regexp.accept(&state, byte));
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
    fn expressions_match_whole_terms(#[case] pattern: &str, #[case] text: &str, #[case] expected: bool) {
        assert_eq!(fits(&Regexp::parse(pattern).unwrap(), text), expected);
    }

    #[rstest]
    #[case("[unclosed")]
    #[case("(a")]
    #[case("a)")]
    #[case("a{")]
    #[case("*a")]
    #[case("<name>")]
    #[case("\"open")]
    #[case("a{1,100000}")]
    #[case("((((((a{50}){50}){50}){50}){50}){50})")]
    fn what_is_no_expression_or_too_large_is_refused(#[case] pattern: &str) {
        assert!(Regexp::parse(pattern).is_err());
    }

    #[rstest]
    #[case("p?try", "pitry", true)]
    #[case("p?try", "ptry", false)]
    #[case("*ush", "flush", true)]
    #[case("na*e", "naïve", true)]
    #[case("a\\*b", "a*b", true)]
    #[case("a\\*b", "axb", false)]
    fn wildcards_match_whole_terms(#[case] pattern: &str, #[case] text: &str, #[case] expected: bool) {
        assert_eq!(fits(&Regexp::wildcard(pattern).unwrap(), text), expected);
    }

    #[test]
    fn the_literal_start_is_found() {
        assert_eq!(Regexp::parse("ord.*").unwrap().literal, "ord");
        assert_eq!(Regexp::wildcard("ab?c*").unwrap().literal, "ab");
        assert_eq!(Regexp::parse("(a|b)c").unwrap().literal, "");
        assert_eq!(Regexp::parse("ab").unwrap().literal, "ab");
    }
}
