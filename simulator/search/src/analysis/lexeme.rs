//! Tokens on their way through the filters.

/// A token on its way through the filters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lexeme {
    pub(super) text: String,
    pub(super) position: u32,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Option<&'static str>,
}
