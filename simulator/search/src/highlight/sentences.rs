//! Sentences of a text.
//!
//! - A question mark, an exclamation mark and their full-width forms end a sentence, with the punctuation and the white
//!   space that follow.
//! - A full stop ends one only if white space and a letter follow that is not in lower case, or punctuation and a
//!   letter.
//! - A line end is white space; a paragraph separator ends a sentence.
//!
//! Limits: marks and format characters count as letters; only common brackets are known.
//!
//! Source: the rules of `java.text.BreakIterator` for sentences.

/// The paragraph separator.
pub(super) const SEPARATOR: char = '\u{2029}';

fn is_end(c: char) -> bool {
    matches!(c, '!' | '?' | '\u{3002}' | '\u{ff01}' | '\u{ff1f}')
}

fn is_stop(c: char) -> bool {
    matches!(c, '.' | '\u{ff0e}')
}

fn is_space(c: char) -> bool {
    c.is_whitespace() && c != SEPARATOR
}

fn opens(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | '(' | '[' | '{' | '«' | '‹' | '“' | '‘' | '„' | '‚' | '〈' | '《' | '「' | '『' | '【'
    )
}

fn closes(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | ')' | ']' | '}' | '»' | '›' | '”' | '’' | '〉' | '》' | '」' | '』' | '】'
    )
}

/// Returns whether a sentence may begin with a character that is no letter.
fn starts(c: char) -> bool {
    opens(c) || !(c.is_alphanumeric() || is_space(c) || is_end(c) || is_stop(c) || closes(c) || c == SEPARATOR)
}

/// Splits a text into its sentences, with the white space that follows them.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (sentence, behind) = rest.split_at(first_length(rest));
        sentences.push(sentence);
        rest = behind;
    }
    sentences
}

/// Length of the first sentence of a text, in bytes.
fn first_length(text: &str) -> usize {
    for (at, c) in text.char_indices() {
        let behind = &text[at + c.len_utf8()..];
        let length = |rest: &str| text.len() - rest.len();
        if c == SEPARATOR {
            return length(behind);
        }
        if is_end(c) {
            let rest = behind.trim_start_matches(|c| is_end(c) || is_stop(c) || closes(c));
            let rest = rest.trim_start_matches(is_space);
            return length(rest.strip_prefix(SEPARATOR).unwrap_or(rest));
        }
        if is_stop(c) {
            let rest = behind.trim_start_matches(|c| is_stop(c) || closes(c));
            if let Some(rest) = rest.strip_prefix(SEPARATOR) {
                return length(rest);
            }
            let next = rest.trim_start_matches(is_space);
            let has_space = next.len() < rest.len();
            let word = next.trim_start_matches(starts);
            let begins_word = word.starts_with(char::is_alphabetic);
            let begins_sentence = match word.len() < next.len() {
                true => begins_word,
                false => has_space && begins_word && !word.starts_with(char::is_lowercase),
            };
            if begins_sentence {
                return length(next);
            }
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("One. Two.Three. four", &["One. ", "Two.Three. four"])]
    #[case("Why?! so \n(He said.) \"Then\" e.g. 5. End", &["Why?! ", "so \n(He said.) ", "\"Then\" e.g. 5. ", "End"])]
    #[case("a\nb\u{2029}c", &["a\nb\u{2029}", "c"])]
    fn a_text_has_sentences(#[case] text: &str, #[case] expected: &[&str]) {
        assert_eq!(sentences(text), expected);
    }
}
