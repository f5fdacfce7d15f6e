//! Tokens between stream filters, and types of tokens.

/// A token that owns its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lexeme {
    pub(super) text: String,
    pub(super) position: u32,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: Option<&'static str>,
}

/// Returns the type that the standard tokenizer gives a token.
pub(crate) fn token_type(text: &str) -> &'static str {
    match text.chars().next().unwrap_or(' ') {
        '\u{4E00}'..='\u{9FFF}' => "<IDEOGRAPHIC>",
        '\u{3040}'..='\u{309F}' => "<HIRAGANA>",
        '\u{30A0}'..='\u{30FF}' => "<KATAKANA>",
        '\u{AC00}'..='\u{D7AF}' => "<HANGUL>",
        _ if text.contains("://") => "<URL>",
        _ if text.contains('@') => "<EMAIL>",
        _ if text.chars().all(|c| !c.is_alphabetic()) => "<NUM>",
        _ => "<ALPHANUM>",
    }
}
