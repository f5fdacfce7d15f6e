//! Expressions over characters, and what is left of them after a character.
//!
//! Promises: equal expressions are one, so that there are finitely many.
//! Source: Brzozowski's derivatives.

use std::collections::HashMap;

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
pub(super) const MOST: usize = 10_000;

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
        let mut engine = Engine {
            expressions: vec![],
            ids: HashMap::new(),
            nullable: vec![],
            derivatives: HashMap::new(),
            overflown: false,
        };
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

    pub(super) fn is_nullable(&self, id: Id) -> bool {
        self.nullable.get(id as usize).copied().unwrap_or(false)
    }

    pub(super) fn class(&mut self, mut ranges: Vec<(char, char)>) -> Id {
        ranges.retain(|(from, to)| from <= to);
        ranges.sort_unstable();
        if ranges.is_empty() {
            NEVER
        } else {
            self.intern(Expression::Class(ranges))
        }
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
    pub(super) fn derivative(&mut self, id: Id, c: char) -> Id {
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

/// What every match of an expression starts with.
pub(super) fn literal_prefix(engine: &Engine, mut id: Id) -> String {
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
