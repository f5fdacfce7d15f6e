//! Regular expressions and their derivatives.
//!
//! Guarantees: equal expressions are interned to one id, so the number of derivatives is finite.
//!
//! Source: Brzozowski derivatives.

use std::collections::HashMap;

use crate::error::SearchError;
use crate::exception::Exception;

/// Id of an interned expression.
pub(super) type Id = u32;

/// A regular expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Expression {
    /// Matches nothing.
    Never,
    /// Matches the empty string.
    Empty,
    /// One character of these ranges (sorted, disjoint).
    Class(Vec<(char, char)>),
    Concat(Id, Id),
    /// Sorted and distinct.
    Union(Vec<Id>),
    Intersection(Id, Id),
    Complement(Id),
    Star(Id),
}

/// The expression that matches nothing.
pub(super) const NEVER: Id = 0;
/// The expression that matches the empty string.
pub(super) const EMPTY: Id = 1;
/// Maximum number of expressions of an engine.
pub(super) const MAX_EXPRESSIONS: usize = 10_000;

/// The error for an expression with too many states.
pub(super) fn too_complex() -> SearchError {
    let reason = format!("Determinizing automaton would result in more than {MAX_EXPRESSIONS} states.");
    SearchError::new(400, Exception::TooComplexToDeterminize, reason)
}

/// Interner of expressions, with their derivatives.
#[derive(Debug)]
pub(super) struct Engine {
    expressions: Vec<Expression>,
    ids: HashMap<Expression, Id>,
    nullable: Vec<bool>,
    derivatives: HashMap<(Id, char), Id>,
    /// Whether [`MAX_EXPRESSIONS`] was reached. Further expressions are replaced by [`NEVER`].
    pub(super) overflowed: bool,
}

impl Engine {
    pub(super) fn new() -> Engine {
        let mut engine = Engine {
            expressions: vec![],
            ids: HashMap::new(),
            nullable: vec![],
            derivatives: HashMap::new(),
            overflowed: false,
        };
        engine.intern(Expression::Never);
        engine.intern(Expression::Empty);
        engine
    }

    fn intern(&mut self, expression: Expression) -> Id {
        if let Some(id) = self.ids.get(&expression) {
            return *id;
        }
        if self.expressions.len() >= MAX_EXPRESSIONS {
            self.overflowed = true;
            return NEVER;
        }
        let is = |id: &Id| self.is_nullable(*id);
        let nullable = match &expression {
            Expression::Never | Expression::Class(_) => false,
            Expression::Empty | Expression::Star(_) => true,
            Expression::Concat(a, b) | Expression::Intersection(a, b) => is(a) && is(b),
            Expression::Union(all) => all.iter().any(is),
            Expression::Complement(a) => !is(a),
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
            id = self.concat(class, id);
        }
        id
    }

    pub(super) fn concat(&mut self, a: Id, b: Id) -> Id {
        match (a, b) {
            (NEVER, _) | (_, NEVER) => NEVER,
            (EMPTY, other) | (other, EMPTY) => other,
            _ => {
                // Right-associative, so that equal sequences are equal expressions.
                if let Some(Expression::Concat(first, rest)) = self.expressions.get(a as usize) {
                    let (first, rest) = (*first, *rest);
                    let tail = self.concat(rest, b);
                    return self.concat(first, tail);
                }
                self.intern(Expression::Concat(a, b))
            }
        }
    }

    pub(super) fn union(&mut self, alternatives: Vec<Id>) -> Id {
        let mut flat = Vec::new();
        for id in alternatives {
            match self.expressions.get(id as usize) {
                Some(Expression::Union(inner)) => flat.extend_from_slice(inner),
                _ => flat.push(id),
            }
        }
        flat.retain(|id| *id != NEVER);
        flat.sort_unstable();
        flat.dedup();
        let any_string = self.any_string();
        if flat.contains(&any_string) {
            return any_string;
        }
        match flat.as_slice() {
            [] => NEVER,
            [only] => *only,
            _ => self.intern(Expression::Union(flat)),
        }
    }

    pub(super) fn intersection(&mut self, a: Id, b: Id) -> Id {
        let any_string = self.any_string();
        match (a.min(b), a.max(b)) {
            (NEVER, _) => NEVER,
            (a, b) if a == b => a,
            (a, b) if a == any_string => b,
            (a, b) if b == any_string => a,
            (a, b) => self.intern(Expression::Intersection(a, b)),
        }
    }

    pub(super) fn complement(&mut self, a: Id) -> Id {
        let any_string = self.any_string();
        match self.expressions.get(a as usize) {
            Some(Expression::Complement(inner)) => *inner,
            Some(Expression::Never) => any_string,
            _ if a == any_string => NEVER,
            _ => self.intern(Expression::Complement(a)),
        }
    }

    pub(super) fn star(&mut self, a: Id) -> Id {
        match self.expressions.get(a as usize) {
            Some(Expression::Never | Expression::Empty) => EMPTY,
            Some(Expression::Star(_)) => a,
            _ => self.intern(Expression::Star(a)),
        }
    }

    /// The expression that matches every string.
    pub(super) fn any_string(&mut self) -> Id {
        let any = self.intern(Expression::Class(vec![('\0', char::MAX)]));
        self.intern(Expression::Star(any))
    }

    /// Repeats `a` between `min` and `max` times. `None`: no maximum.
    pub(super) fn repeat(&mut self, a: Id, min: u32, max: Option<u32>) -> Id {
        let mut tail = match max {
            None => self.star(a),
            Some(max) => {
                let mut tail = EMPTY;
                for _ in min..max {
                    let once_more = self.concat(a, tail);
                    tail = self.union(vec![EMPTY, once_more]);
                    if self.overflowed {
                        return NEVER;
                    }
                }
                tail
            }
        };
        for _ in 0..min {
            tail = self.concat(a, tail);
            if self.overflowed {
                return NEVER;
            }
        }
        tail
    }

    /// The derivative with respect to `c`: what remains to match after `c`.
    pub(super) fn derivative(&mut self, id: Id, c: char) -> Id {
        if let Some(known) = self.derivatives.get(&(id, c)) {
            return *known;
        }
        let Some(expression) = self.expressions.get(id as usize).cloned() else {
            return NEVER;
        };
        let derivative = match expression {
            Expression::Never | Expression::Empty => NEVER,
            Expression::Class(ranges) => {
                if ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) {
                    EMPTY
                } else {
                    NEVER
                }
            }
            Expression::Concat(a, b) => {
                let first = self.derivative(a, c);
                let first = self.concat(first, b);
                if self.is_nullable(a) {
                    let second = self.derivative(b, c);
                    self.union(vec![first, second])
                } else {
                    first
                }
            }
            Expression::Union(all) => {
                let all = all.into_iter().map(|id| self.derivative(id, c)).collect();
                self.union(all)
            }
            Expression::Intersection(a, b) => {
                let (a, b) = (self.derivative(a, c), self.derivative(b, c));
                self.intersection(a, b)
            }
            Expression::Complement(a) => {
                let a = self.derivative(a, c);
                self.complement(a)
            }
            Expression::Star(a) => {
                let first = self.derivative(a, c);
                self.concat(first, id)
            }
        };
        if self.derivatives.len() < MAX_EXPRESSIONS * 16 {
            self.derivatives.insert((id, c), derivative);
        }
        derivative
    }
}

/// Returns the literal with which every match starts.
pub(super) fn literal_prefix(engine: &Engine, mut id: Id) -> String {
    let mut literal = String::new();
    let single = |id: Id| match engine.expressions.get(id as usize) {
        Some(Expression::Class(ranges)) => match ranges.as_slice() {
            [(from, to)] if from == to => Some(*from),
            _ => None,
        },
        _ => None,
    };
    while let Some(Expression::Concat(first, rest)) = engine.expressions.get(id as usize) {
        match single(*first) {
            Some(c) => literal.push(c),
            None => return literal,
        }
        id = *rest;
    }
    literal.extend(single(id));
    literal
}
