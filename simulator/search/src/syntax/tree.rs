//! The tree of a query string: clauses, terms, phrases, ranges, groups.

/// The word between two clauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conjunction {
    None,
    And,
    Or,
}

/// The sign or word before a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Modifier {
    None,
    Required,
    Prohibited,
}

/// A clause with what stands before it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Clause {
    pub(crate) conjunction: Conjunction,
    pub(crate) modifier: Modifier,
    pub(crate) node: Node,
}

/// How a bare term is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TermKind {
    Plain,
    Prefix,
    Wildcard,
    Regexp,
}

/// A bare term.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    pub(crate) kind: TermKind,
    /// Unescaped for plain and prefix terms; as written for wildcards and regular expressions.
    pub(crate) text: String,
    /// What follows a tilde.
    pub(crate) fuzzy: Option<String>,
}

/// A part of a query, with the field it names and its boost.
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
        slop: Option<u32>,
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

/// Why a text is no query string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    /// Lucene's exception: `ParseException` or `TokenMgrError`.
    pub(crate) kind: &'static str,
    /// Its message.
    pub(crate) message: String,
}

impl SyntaxError {
    pub(super) fn parse(message: impl Into<String>) -> SyntaxError {
        SyntaxError {
            kind: "ParseException",
            message: message.into(),
        }
    }
}
