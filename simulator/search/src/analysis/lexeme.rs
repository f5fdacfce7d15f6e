//! Tokens between stream filters, and types of tokens.

/// A token that owns its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lexeme {
    pub(super) text: String,
    pub(super) position: u32,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: &'static str,
    /// Whether stemmers do not change the token.
    pub(super) keyword: bool,
}

/// The type of tokens of tokenizers without types, and of n-grams.
pub(super) const WORD: &str = "word";

/// Types of words that are written without spaces, by ranges of their first characters.
const SCRIPTS: [(char, char, &str); 15] = [
    ('\u{0E01}', '\u{0E5B}', "<SOUTHEAST_ASIAN>"),
    ('\u{0E81}', '\u{0EDF}', "<SOUTHEAST_ASIAN>"),
    ('\u{1000}', '\u{109F}', "<SOUTHEAST_ASIAN>"),
    ('\u{1100}', '\u{11FF}', HANGUL),
    ('\u{1780}', '\u{17DD}', "<SOUTHEAST_ASIAN>"),
    ('\u{3007}', '\u{3007}', IDEOGRAPHIC),
    ('\u{3040}', '\u{309F}', HIRAGANA),
    ('\u{30A0}', '\u{30FF}', KATAKANA),
    ('\u{3131}', '\u{318E}', HANGUL),
    ('\u{3400}', '\u{4DBF}', IDEOGRAPHIC),
    ('\u{4E00}', '\u{9FFF}', IDEOGRAPHIC),
    ('\u{AC00}', '\u{D7AF}', HANGUL),
    ('\u{F900}', '\u{FAFF}', IDEOGRAPHIC),
    ('\u{FF66}', '\u{FF9F}', KATAKANA),
    ('\u{20000}', '\u{2FA1F}', IDEOGRAPHIC),
];

pub(super) const HANGUL: &str = "<HANGUL>";
pub(super) const HIRAGANA: &str = "<HIRAGANA>";
pub(super) const IDEOGRAPHIC: &str = "<IDEOGRAPHIC>";
pub(super) const KATAKANA: &str = "<KATAKANA>";

/// Returns the type that the standard tokenizer gives a token.
pub(super) fn token_type(text: &str) -> &'static str {
    let script = |c: char| {
        let found = SCRIPTS.iter().find(|(first, last, _)| (*first..=*last).contains(&c));
        found.map(|(_, _, script)| *script)
    };
    let of_one_script = text.chars().next().and_then(script);
    match of_one_script.filter(|_| !text.contains(|c: char| c.is_ascii_alphanumeric())) {
        Some(script) => script,
        None if text.chars().all(|c| !c.is_alphabetic()) => "<NUM>",
        None => "<ALPHANUM>",
    }
}

/// Returns the position after the last token.
pub(super) fn next_position(tokens: &[Lexeme]) -> u32 {
    tokens.iter().map(|token| token.position + 1).max().unwrap_or(0)
}
