//! Tokenizers that keep addresses, hosts and acronyms whole.
//!
//! Limits: addresses are recognized by their form; top-level domains are not looked up.
//! Source: Lucene 4.10's `UAX29URLEmailTokenizer` and `ClassicTokenizer`.

use std::sync::OnceLock;

use regex::Regex;

use super::words::each_word;

/// Longest token, in bytes.
const LONGEST: usize = 255;

fn compiled(cell: &'static OnceLock<Option<Regex>>, pattern: &str) -> Option<&'static Regex> {
    cell.get_or_init(|| Regex::new(pattern).ok()).as_ref()
}

/// Gives the words of `text` to `sink`, with addresses of mail and of pages whole; returns the position after the last one.
pub(super) fn each_address(text: &str, mut sink: impl FnMut(usize, usize, u32)) -> u32 {
    static ADDRESS: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern = r"(?i)(?:https?|ftp|file)://[^\s<>\x22]*[^\s<>\x22.,;:!?')\]]|[a-z0-9._%+-]+@(?:[a-z0-9-]+\.)+[a-z]{2,}|\b(?:[a-z0-9-]+\.)+(?:com|org|net|edu|gov|io|de|uk|fr|info)\b(?:/[^\s<>\x22]*[^\s<>\x22.,;:!?')\]])?";
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
            if found.len() <= LONGEST {
                sink(found.start(), found.end(), position);
            }
            position += 1;
            from = found.end();
        }
    }
    words(from, text.len(), &mut position, &mut sink);
    position
}

/// Gives the words of `text` to `sink`, with acronyms, companies, hosts, addresses of mail and numbers whole; returns the position after the last one.
pub(super) fn each_classic(text: &str, mut sink: impl FnMut(usize, usize, u32)) -> u32 {
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
                if length <= LONGEST {
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
    #[case("mail bob@example.com or http://example.com/a?b=1.", &["mail", "bob@example.com", "or", "http://example.com/a?b=1"])]
    #[case("no address", &["no", "address"])]
    fn addresses_stay_whole(#[case] text: &str, #[case] expected: &[&str]) {
        let mut found = Vec::new();
        each_address(text, |start, end, _| found.push(&text[start..end]));
        assert_eq!(found, expected);
    }

    #[rstest]
    #[case("U.S.A. O'Reilly AT&T", &["U.S.A.", "O'Reilly", "AT&T"])]
    #[case("www.example.com bob@mail.example.com 10.0.0.1 a-b", &["www.example.com", "bob@mail.example.com", "10.0.0.1", "a", "b"])]
    #[case("v1.2-rc3 wi-fi 4", &["v1.2-rc3", "wi", "fi", "4"])]
    fn classic_tokens_have_forms(#[case] text: &str, #[case] expected: &[&str]) {
        let mut found = Vec::new();
        each_classic(text, |start, end, _| found.push(&text[start..end]));
        assert_eq!(found, expected);
    }
}
