//! Syntax tree of a query string: clauses, terms, phrases, ranges, groups.

use crate::exception::Exception;

/// Operator before a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conjunction {
    None,
    And,
    Or,
}

/// Modifier of a clause: `+`, `-`, `NOT` or `!`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Modifier {
    None,
    Required,
    Prohibited,
}

/// A clause with its conjunction and modifier.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Clause {
    pub(crate) conjunction: Conjunction,
    pub(crate) modifier: Modifier,
    pub(crate) node: Node,
}

/// Kind of an unquoted term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TermKind {
    Plain,
    Prefix,
    Wildcard,
    Regexp,
}

/// An unquoted term.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    pub(crate) kind: TermKind,
    /// Unescaped for plain and prefix terms, verbatim for wildcards and regular expressions.
    pub(crate) text: String,
    /// Text after the tilde.
    pub(crate) fuzzy: Option<String>,
}

/// A node with its explicit field and boost.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Term {
        field: Option<String>,
        term: Term,
        boost: Option<f32>,
    },
    Phrase {
        field: Option<String>,
        text: String,
        slop: Option<i32>,
        boost: Option<f32>,
    },
    Range {
        field: Option<String>,
        lower: Option<String>,
        upper: Option<String>,
        include_lower: bool,
        include_upper: bool,
        boost: Option<f32>,
    },
    Group {
        clauses: Vec<Clause>,
        boost: Option<f32>,
    },
}

/// Syntax error in a query string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// Lucene's exception: `ParseException` or `TokenMgrError`.
    pub(crate) kind: Exception,
    pub(crate) message: String,
}

impl SyntaxError {
    pub(super) fn parse(message: impl Into<String>) -> SyntaxError {
        SyntaxError {
            kind: Exception::LuceneParse,
            message: message.into(),
        }
    }
}
