//! Parser of query strings. The syntax tree is independent of any index.
//!
//! - Guarantees: no text causes a panic; the time is linear, except that the end of a regular expression may be
//!   searched twice.
//! - Limits: 100 levels of nested groups; a bounded length.
//!
//! Source: the classic query syntax of Lucene 4.10 with its quirks: operators are modifiers of the adjacent clauses,
//! without precedence.

mod lexer;
mod parser;
mod tree;

pub(crate) use parser::parse;
pub(crate) use tree::{Clause, Conjunction, Modifier, Node, SyntaxError, Term, TermKind};
