//! Evaluation of scripts.
//!
//! Source: the types of numbers in Lucene 4.10's JavaScript expressions.

use std::sync::Arc;

use crate::index::Values;
use crate::mapping::unsortable;

/// Node of the syntax tree. Conditions are the 32-bit integers of their numbers, operands of bits the 64-bit ones.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Number(f64),
    Integer(i64),
    /// A variable, by its index in the script.
    Variable(usize),
    Negation(Box<Node>),
    Complement(Box<Node>),
    Not(Box<Node>),
    Or(Box<[Node; 2]>),
    And(Box<[Node; 2]>),
    Whole(fn(i64, i64) -> i64, Box<[Node; 2]>),
    Shift(fn(i64, u32) -> i64, Box<[Node; 2]>),
    Comparison(fn(f64, f64) -> bool, Box<[Node; 2]>),
    Arithmetic(fn(f64, f64) -> f64, Box<[Node; 2]>),
    Call(fn(&[f64]) -> f64, Vec<Node>),
    /// `condition ? then : else`.
    Conditional(Box<[Node; 3]>),
}

/// What a variable is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Binding<F> {
    Score,
    /// `_value`: the value that an aggregation changes. Elsewhere, it is 0.
    Value,
    Number(f64),
    /// The first number of a field, and whether the numbers are floating-point.
    Field(F, bool),
}

/// A script with the columns of a segment.
pub(crate) struct SegmentScript {
    pub(super) root: Arc<Node>,
    pub(super) bindings: Vec<Binding<Arc<Values>>>,
}

/// What a script is evaluated for.
struct Input {
    doc: u32,
    score: f32,
    value: f64,
}

impl SegmentScript {
    /// Evaluates the script for a document.
    pub(crate) fn value(&self, doc: u32) -> f64 {
        self.scored(doc, 0.0)
    }

    /// Evaluates the script for a document with a score.
    pub(crate) fn scored(&self, doc: u32, score: f32) -> f64 {
        self.double(&self.root, &Input { doc, score, value: 0.0 })
    }

    /// Evaluates the script for a value of a document.
    pub(crate) fn changed(&self, doc: u32, value: f64) -> f64 {
        self.double(&self.root, &Input { doc, score: 0.0, value })
    }

    fn variable(&self, at: usize, input: &Input) -> f64 {
        match self.bindings.get(at) {
            Some(Binding::Score) => f64::from(input.score),
            Some(Binding::Value) => input.value,
            Some(Binding::Number(number)) => *number,
            Some(Binding::Field(values, floating)) => match values.of(input.doc).first() {
                Some(value) if *floating => unsortable(*value),
                Some(value) => *value as f64,
                None => 0.0,
            },
            None => 0.0,
        }
    }

    fn double(&self, node: &Node, input: &Input) -> f64 {
        let both = |[a, b]: &[Node; 2]| (self.double(a, input), self.double(b, input));
        match node {
            Node::Number(number) => *number,
            Node::Variable(at) => self.variable(*at, input),
            Node::Negation(part) => -self.double(part, input),
            Node::Arithmetic(operation, parts) => {
                let (a, b) = both(parts);
                operation(a, b)
            }
            Node::Call(operation, parts) => {
                let numbers: Vec<f64> = parts.iter().map(|part| self.double(part, input)).collect();
                operation(&numbers)
            }
            Node::Conditional(parts) => self.double(self.chosen(parts, input), input),
            _ => self.long(node, input) as f64,
        }
    }

    fn long(&self, node: &Node, input: &Input) -> i64 {
        match node {
            Node::Integer(number) => *number,
            Node::Complement(part) => !self.long(part, input),
            Node::Whole(operation, parts) => {
                let [a, b] = &**parts;
                operation(self.long(a, input), self.long(b, input))
            }
            Node::Shift(operation, parts) => {
                let [a, b] = &**parts;
                operation(self.long(a, input), self.int(b, input).cast_unsigned())
            }
            Node::Not(part) => i64::from(!self.holds(part, input)),
            Node::And(parts) => i64::from(parts.iter().all(|part| self.holds(part, input))),
            Node::Or(parts) => i64::from(parts.iter().any(|part| self.holds(part, input))),
            Node::Comparison(operation, parts) => {
                let [a, b] = &**parts;
                i64::from(operation(self.double(a, input), self.double(b, input)))
            }
            Node::Conditional(parts) => self.long(self.chosen(parts, input), input),
            Node::Number(_) | Node::Variable(_) | Node::Negation(_) | Node::Arithmetic(..) | Node::Call(..) => {
                self.double(node, input) as i64
            }
        }
    }

    fn int(&self, node: &Node, input: &Input) -> i32 {
        match node {
            Node::Conditional(parts) => self.int(self.chosen(parts, input), input),
            Node::Number(_) | Node::Variable(_) | Node::Negation(_) | Node::Arithmetic(..) | Node::Call(..) => {
                self.double(node, input) as i32
            }
            // The low bits.
            _ => self.long(node, input) as i32,
        }
    }

    fn holds(&self, node: &Node, input: &Input) -> bool {
        self.int(node, input) != 0
    }

    fn chosen<'a>(&self, [condition, yes, no]: &'a [Node; 3], input: &Input) -> &'a Node {
        if self.holds(condition, input) { yes } else { no }
    }
}
