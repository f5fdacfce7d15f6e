//! The syntax of query strings: from text to a tree that is independent of any index.
//!
//! Promises: whatever the text, an answer in linear time (but for regular expressions, whose end may be looked for twice); no panic.
//! Limits: groups nest 100 deep; a bounded length.
//! Source: the classic query syntax of Lucene 4.10 with its quirks: operators are modifiers of the neighbouring clauses, not a grammar of precedence.

mod lexer;
mod parser;
mod tree;

pub(crate) use parser::parse;
pub(crate) use tree::{Clause, Conjunction, Modifier, Node, SyntaxError, Term, TermKind};
