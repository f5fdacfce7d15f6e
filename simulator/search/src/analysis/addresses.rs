//! The tokenizers `uax_url_email` and `classic`, which keep addresses, host names and acronyms whole.
//!
//! Limits: addresses are recognized by their syntax; top-level domains are a short list.
//! Source: Lucene 4.10's `UAX29URLEmailTokenizer` and `ClassicTokenizer`.

use std::sync::OnceLock;

use regex::Regex;

use super::words::each_word;

/// Maximum length of a token, in bytes.
const MAX_TOKEN_BYTES: usize = 255;

/// Returns a regular expression that is compiled once.
fn compiled(cell: &'static OnceLock<Option<Regex>>, pattern: &str) -> Option<&'static Regex> {
    cell.get_or_init(|| Regex::new(pattern).ok()).as_ref()
}

/// Calls `sink` with the byte offsets and the position of each token, with URLs and email addresses whole. Returns
/// the position after the last token.
pub(super) fn each_url_email_token(text: &str, mut sink: impl FnMut(usize, usize, u32)) -> u32 {
    static ADDRESS: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern = concat!(
        r"(?i)(?:https?|ftp|file)://[^\s<>\x22]*[^\s<>\x22.,;:!?')\]]",
        r"|[a-z0-9._%+-]+@(?:[a-z0-9-]+\.)+[a-z]{2,}",
        r"|\b(?:[a-z0-9-]+\.)+(?:com|org|net|edu|gov|io|de|uk|fr|info)\b(?:/[^\s<>\x22]*[^\s<>\x22.,;:!?')\]])?",
    );
    let mut position = 0;
    let mut from = 0;
    let words = |start: usize, end: usize, position: &mut u32, sink: &mut dyn FnMut(usize, usize, u32)| {
        let base = *position;
        let part = text.get(start..end).unwrap_or("");
        *position = base
            + each_word(part, |word| {
                sink(start + word.start, start + word.end, base + word.position)
            });
    };
    if let Some(pattern) = compiled(&ADDRESS, pattern) {
        for found in pattern.find_iter(text) {
            words(from, found.start(), &mut position, &mut sink);
            if found.len() <= MAX_TOKEN_BYTES {
                sink(found.start(), found.end(), position);
            }
            position += 1;
            from = found.end();
        }
    }
    words(from, text.len(), &mut position, &mut sink);
    position
}

/// Calls `sink` with the byte offsets and the position of each token, with acronyms, company names, host names, email
/// addresses and numbers whole. Returns the position after the last token.
pub(super) fn each_classic_token(text: &str, mut sink: impl FnMut(usize, usize, u32)) -> u32 {
    static FORMS: OnceLock<Vec<Regex>> = OnceLock::new();
    const WORD: &str = r"[\p{L}\p{Nd}&&[^\p{Han}\p{Hiragana}\p{Katakana}]]";
    const LETTER: &str = r"[\p{L}&&[^\p{Han}\p{Hiragana}\p{Katakana}]]";
    let forms = FORMS.get_or_init(|| {
        let digits = format!(r"{WORD}*\p{{Nd}}{WORD}*");
        let punctuated = format!(r"(?:{WORD}+[_/.,-]{digits}|{digits}[_/.,-]{WORD}+)(?:[_/.,-]{WORD}+)*");
        let patterns = [
            format!("{WORD}+"),
            format!("{LETTER}+(?:'{LETTER}+)+"),
            format!(r"{LETTER}\.(?:{LETTER}\.)+"),
            format!("{LETTER}+[&@]{LETTER}+"),
            format!(r"{WORD}+(?:[._-]{WORD}+)*@{WORD}+(?:[.-]{WORD}+)+"),
            format!(r"{WORD}+(?:\.{WORD}+)+"),
            punctuated,
            r"[\p{Han}\p{Hiragana}\p{Katakana}]".to_owned(),
        ];
        patterns
            .iter()
            .filter_map(|pattern| Regex::new(&format!("^(?:{pattern})")).ok())
            .collect()
    });
    let (mut position, mut at) = (0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next().map_or(1, char::len_utf8);
        if !rest.starts_with(char::is_alphanumeric) {
            at += first;
            continue;
        }
        let longest = forms
            .iter()
            .filter_map(|form| form.find(rest))
            .map(|found| found.end())
            .max();
        match longest {
            Some(length) => {
                if length <= MAX_TOKEN_BYTES {
                    sink(at, at + length, position);
                }
                position += 1;
                at += length;
            }
            None => at += first,
        }
    }
    position
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(
        "mail bob@example.com or http://example.com/a?b=1.",
        &["mail", "bob@example.com", "or", "http://example.com/a?b=1"]
    )]
    #[case("no address", &["no", "address"])]
    fn urls_and_email_addresses_are_whole(#[case] text: &str, #[case] expected: &[&str]) {
        let mut found = Vec::new();
        each_url_email_token(text, |start, end, _| found.push(&text[start..end]));
        assert_eq!(found, expected);
    }

    #[rstest]
    #[case("U.S.A. O'Reilly AT&T", &["U.S.A.", "O'Reilly", "AT&T"])]
    #[case(
        "www.example.com bob@mail.example.com 10.0.0.1 a-b",
        &["www.example.com", "bob@mail.example.com", "10.0.0.1", "a", "b"]
    )]
    #[case("v1.2-rc3 wi-fi 4", &["v1.2-rc3", "wi", "fi", "4"])]
    fn classic_tokens_are_whole(#[case] text: &str, #[case] expected: &[&str]) {
        let mut found = Vec::new();
        each_classic_token(text, |start, end, _| found.push(&text[start..end]));
        assert_eq!(found, expected);
    }
}
