//! Bigrams of adjacent Chinese, Japanese and Korean characters.
//!
//! Source: Lucene 4.10's `CJKBigramFilter`.

use super::lexeme::{HANGUL, HIRAGANA, IDEOGRAPHIC, KATAKANA, Lexeme};

/// The types of CJK tokens, and the names of their scripts in the settings.
pub(super) const SCRIPTS: [(&str, &str); 4] = [
    ("han", IDEOGRAPHIC),
    ("hiragana", HIRAGANA),
    ("katakana", KATAKANA),
    ("hangul", HANGUL),
];

/// Settings of a filter that forms bigrams of adjacent CJK characters.
#[derive(Clone, Debug, Default)]
pub(super) struct CjkBigram {
    /// Whether single characters are returned too.
    pub(super) unigrams: bool,
    /// Types of tokens that are not changed.
    pub(super) ignored: Vec<&'static str>,
}

/// Replaces runs of CJK characters by their bigrams.
pub(super) fn bigrams(tokens: Vec<Lexeme>, settings: &CjkBigram) -> Vec<Lexeme> {
    let is_cjk = |kind: &str| {
        let found = SCRIPTS.iter().find(|(_, own)| *own == kind);
        found.is_some_and(|(_, own)| !settings.ignored.contains(own))
    };
    let mut made: Vec<Lexeme> = Vec::new();
    let mut run: Vec<Lexeme> = Vec::new();
    // Additional positions, beyond those of the tokens.
    let mut shift: i64 = 0;
    let flush = |run: &mut Vec<Lexeme>, made: &mut Vec<Lexeme>, shift: &mut i64, tokens: i64| {
        let Some(first) = run.first() else { return };
        let base = first.position;
        let single = |at: usize, own: &Lexeme| Lexeme {
            position: base + u32::try_from(at).unwrap_or(0),
            kind: "<SINGLE>",
            ..own.clone()
        };
        let before = made.len();
        if run.len() == 1 || settings.unigrams {
            made.extend(run.iter().enumerate().map(|(at, own)| single(at, own)));
        }
        for (at, pair) in run.windows(2).enumerate() {
            if let [left, right] = pair {
                made.push(Lexeme {
                    text: format!("{}{}", left.text, right.text),
                    end: right.end,
                    kind: "<DOUBLE>",
                    ..single(at, left)
                });
            }
        }
        if let Some(own) = made.get_mut(before..) {
            own.sort_by_key(|own| own.position);
        }
        let taken = made.last().map_or(base, |last| last.position) + 1 - base;
        *shift += i64::from(taken) - tokens;
        run.clear();
    };
    let moved = |position: u32, shift: i64| u32::try_from(i64::from(position) + shift).unwrap_or(0);
    // Number of tokens in the run.
    let mut length = 0;
    for token in tokens {
        let follows = run.last().is_some_and(|last| last.end == token.start);
        let joins = is_cjk(token.kind);
        if !joins || !follows {
            flush(&mut run, &mut made, &mut shift, length);
            length = 0;
        }
        if !joins {
            made.push(Lexeme {
                position: moved(token.position, shift),
                ..token
            });
            continue;
        }
        length += 1;
        let base = run
            .first()
            .map_or_else(|| moved(token.position, shift), |first| first.position);
        let has_offsets = token.end - token.start == token.text.len();
        for (at, c) in token.text.char_indices() {
            run.push(Lexeme {
                text: c.to_string(),
                position: base,
                start: if has_offsets { token.start + at } else { token.start },
                end: if has_offsets {
                    token.start + at + c.len_utf8()
                } else {
                    token.end
                },
                kind: token.kind,
                keyword: false,
            });
        }
    }
    flush(&mut run, &mut made, &mut shift, length);
    made
}
