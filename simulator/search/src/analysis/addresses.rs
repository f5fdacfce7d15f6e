//! The tokenizers `uax_url_email` and `classic`, which keep addresses, host names and acronyms whole.
//!
//! Limits: addresses are recognized by their syntax; top-level domains are a list.
//! Source: Lucene 4.10's `UAX29URLEmailTokenizer` and `ClassicTokenizer`.

use std::sync::OnceLock;

use regex::Regex;

use super::lexeme::token_type;
use super::words::{MAX_WORD_LENGTH, each_word, limit};

/// Top-level domains of host names that are URLs without a scheme.
const DOMAINS: &str = "com org net edu gov mil int info biz name pro aero coop museum asia cat jobs mobi tel travel post xxx arpa guru \
    bike clothing ac ad ae af ag ai al am an ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt \
    bv bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi \
    fj fk fm fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq \
    ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml \
    mm mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr \
    ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr st su sv sx sy sz tc td tf tg th tj \
    tk tl tm tn to tp tr tt tv tw tz ua ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw";

/// Returns the pattern of URLs and email addresses.
fn addresses() -> Option<&'static Regex> {
    static ADDRESS: OnceLock<Option<Regex>> = OnceLock::new();
    const PATH: &str = r"(?::[0-9]+)?(?:[/?#][^\s<>\x22]*[^\s<>\x22.,;:!?')\]]|/)?";
    let pattern = || {
        let domains = DOMAINS.replace(' ', "|");
        let schemes = r"(?:https?|ftp|file)://[^\s<>\x22]*[^\s<>\x22.,;:!?')\]]";
        let email = r"[a-z0-9._%+-]+@(?:[a-z0-9-]+\.)+[a-z]{2,}";
        let host = format!(r"\b(?:[a-z0-9-]+\.)+(?:{domains})\b{PATH}");
        let numbers = format!(r"\b(?:[0-9]{{1,3}}\.){{3}}[0-9]{{1,3}}\b{PATH}");
        Regex::new(&format!("(?i){schemes}|{email}|{host}|{numbers}")).ok()
    };
    ADDRESS.get_or_init(pattern).as_ref()
}

/// Returns the type of a token of the `uax_url_email` tokenizer.
pub(super) fn url_email_type(token: &str) -> &'static str {
    let is_address = addresses()
        .and_then(|pattern| pattern.find(token))
        .is_some_and(|found| found.len() == token.len());
    match (is_address, token.contains("://") || !token.contains('@')) {
        (false, _) => token_type(token),
        (true, true) => "<URL>",
        (true, false) => "<EMAIL>",
    }
}

/// Calls `sink` with the byte offsets and the position of each token, with URLs and email addresses whole. A token of
/// more than `max` UTF-16 units ends where the text would end after so many. Returns the position after the last token.
pub(super) fn each_url_email_token(text: &str, max: usize, sink: &mut dyn FnMut(usize, usize, u32)) -> u32 {
    let (mut position, mut from) = (0, 0);
    let words = |start: usize, end: usize, position: &mut u32, sink: &mut dyn FnMut(usize, usize, u32)| {
        let base = *position;
        let part = text.get(start..end).unwrap_or("");
        *position = base
            + each_word(part, max, |word| {
                sink(start + word.start, start + word.end, base + word.position)
            });
    };
    while let Some(found) = addresses().and_then(|pattern| pattern.find_at(text, from)) {
        words(from, found.start(), &mut position, sink);
        from = found.end();
        match limit(text, found.start(), found.end(), max) {
            None => {
                sink(found.start(), found.end(), position);
                position += 1;
            }
            Some(limit) => {
                let window = text.get(found.start()..limit).unwrap_or("");
                let mut end = None;
                each_url_email_token(window, max, &mut |start, len, _| {
                    end.get_or_insert((found.start() + start, found.start() + len));
                });
                if let Some((start, end)) = end {
                    sink(start, end, position);
                    position += 1;
                    from = end;
                }
            }
        }
    }
    words(from, text.len(), &mut position, sink);
    position
}

/// Returns the forms of classic tokens and their types. At equal length, the first is the type of a token.
fn classic_forms() -> &'static [(Regex, &'static str)] {
    static FORMS: OnceLock<Vec<(Regex, &'static str)>> = OnceLock::new();
    const OTHER: &str = r"&&[\x{0}-\x{FFFF}]&&[^\p{Han}\p{Hiragana}\p{Katakana}]";
    FORMS.get_or_init(|| {
        let word = format!(r"[\p{{L}}\p{{Nd}}{OTHER}]");
        let letter = format!(r"[\p{{L}}{OTHER}]");
        let digits = format!(r"{word}*\p{{Nd}}{word}*");
        let number = format!(r"(?:{word}+[_/.,-]{digits}|{digits}[_/.,-]{word}+)(?:[_/.,-]{word}+)*");
        let forms = [
            (format!("{word}+"), "<ALPHANUM>"),
            (format!("{letter}+(?:'{letter}+)+"), "<APOSTROPHE>"),
            (format!(r"{letter}\.(?:{letter}\.)+"), "<ACRONYM>"),
            (format!("{letter}+[&@]{letter}+"), "<COMPANY>"),
            (format!(r"{word}+(?:[._-]{word}+)*@{word}+(?:[.-]{word}+)+"), "<EMAIL>"),
            (format!(r"{word}+(?:\.{word}+)+"), "<HOST>"),
            (number, "<NUM>"),
            (
                r"[\p{Han}\p{Hiragana}\p{Katakana}&&[\x{0}-\x{FFFF}]]".to_owned(),
                "<CJ>",
            ),
        ];
        let compiled = forms.iter().filter_map(|(form, kind)| {
            let pattern = Regex::new(&format!("^(?:{form})")).ok()?;
            Some((pattern, *kind))
        });
        compiled.collect()
    })
}

/// Returns the length of the longest classic token at the start of `text`, and its type.
fn classic_token(text: &str) -> Option<(usize, &'static str)> {
    let found = classic_forms().iter().rev().filter_map(|(form, kind)| {
        let found = form.find(text)?;
        Some((found.end(), *kind))
    });
    found.max_by_key(|(length, _)| *length)
}

/// Returns the type of a token of the `classic` tokenizer.
pub(super) fn classic_type(token: &str) -> &'static str {
    classic_token(token).map_or("<ALPHANUM>", |(_, kind)| kind)
}

/// Calls `sink` with the byte offsets and the position of each token, with acronyms, company names, host names, email
/// addresses and numbers whole. Returns the position after the last token.
pub(super) fn each_classic_token(text: &str, mut sink: impl FnMut(usize, usize, u32)) -> u32 {
    let (mut position, mut at) = (0, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next().map_or(1, char::len_utf8);
        if !rest.starts_with(char::is_alphanumeric) {
            at += first;
            continue;
        }
        match classic_token(rest) {
            Some((length, _)) => {
                if length <= MAX_WORD_LENGTH {
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
        each_url_email_token(text, MAX_WORD_LENGTH, &mut |start, end, _| {
            found.push(&text[start..end])
        });
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
