//! Aliases of values that clients generate anew: each recorded value is bound to one live value.
//!
//! Guarantee: the time to replace values depends on the length of the text, not on the number of values.

use crate::interaction::{is_placeholder, number};
use crate::redactor::is_distinct;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;

/// Pairs of recorded and live values, one to one.
#[derive(Debug, Default)]
pub(super) struct Aliases {
    to_live: Replacements,
    to_recorded: Replacements,
}

/// Replacements, indexed by the first word of the replaced text.
#[derive(Debug, Default)]
struct Replacements {
    all: HashMap<String, String>,
    /// Replacements by first word, or first other character. Longest texts first.
    by_beginning: HashMap<String, Vec<String>>,
}

impl Aliases {
    /// Whether pairs contradict neither known pairs nor one another.
    pub(super) fn admit(&self, pairs: &[(String, String)]) -> bool {
        let fits = |(n, (there, here)): (usize, &(String, String))| {
            self.can_match(there, here)
                && pairs
                    .iter()
                    .take(n)
                    .all(|(other, live)| (other == there) == (live == here))
        };
        pairs.iter().enumerate().all(fits)
    }

    /// Whether a live value is or can be bound to a recorded one. Placeholder 0 is shared by all secrets without their
    /// own number.
    pub(super) fn can_match(&self, recorded: &str, live: &str) -> bool {
        match (self.to_live.all.get(recorded), self.to_recorded.all.get(live)) {
            (Some(known), _) => known == live,
            (None, Some(_)) => number(recorded) == Some(0),
            (None, None) => true,
        }
    }

    /// Adds admitted pairs. A secret that could be a common word was redacted only where a rule matched, so it is not
    /// replaced in other texts.
    pub(super) fn learn(&mut self, pairs: Vec<(String, String)>) {
        for (recorded, live) in pairs {
            if !self.to_recorded.all.contains_key(&live) {
                if is_placeholder(&recorded) && !is_distinct(live.as_bytes(), false) {
                    self.to_recorded.all.insert(live.clone(), recorded.clone());
                } else {
                    self.to_recorded.insert(json_text(&live).into_owned(), recorded.clone());
                    self.to_recorded.insert(live.clone(), recorded.clone());
                }
            }
            self.to_live.insert(recorded, live);
        }
    }

    /// Converts a live text to the recorded one.
    pub(super) fn recorded<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.to_recorded.replace(text, |recorded| recorded.into())
    }

    /// Converts a recorded text to the live one.
    pub(super) fn live<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.to_live.replace(text, |live| live.into())
    }

    /// Converts recorded JSON to live JSON.
    pub(super) fn live_json<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.to_live.replace(text, json_text)
    }

    /// Whether there is nothing to replace.
    pub(super) fn is_empty(&self) -> bool {
        self.to_live.all.is_empty()
    }
}

impl Replacements {
    fn insert(&mut self, from: String, to: String) {
        if from.is_empty() {
            return;
        }
        if self.all.insert(from.clone(), to).is_none() {
            let texts = self.by_beginning.entry(beginning(&from).to_owned()).or_default();
            let at = texts.partition_point(|known| known.len() >= from.len());
            texts.insert(at, from);
        }
    }

    /// Replaces whole words, the longest first.
    fn replace<'t>(&self, text: &'t str, written: impl Fn(&str) -> Cow<'_, str>) -> Cow<'t, str> {
        if self.all.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::new();
        let (mut at, mut copied) = (0, 0);
        while let Some(word) = text.get(at..).map(beginning).filter(|word| !word.is_empty()) {
            let found = self.by_beginning.get(word).and_then(|texts| {
                let is_here = |from: &&String| {
                    text.get(at..)
                        .is_some_and(|rest| rest.starts_with(from.as_str()) && ends(rest, from.len()))
                };
                texts.iter().find(is_here)
            });
            let Some((from, to)) = found.and_then(|from| Some((from, self.all.get(from)?))) else {
                at += word.len();
                continue;
            };
            out.push_str(text.get(copied..at).unwrap_or_default());
            out.push_str(&written(to));
            at += from.len();
            copied = at;
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(text.get(copied..).unwrap_or_default());
        Cow::Owned(out)
    }
}

/// A text as it is written in a string of JSON.
fn json_text(text: &str) -> Cow<'_, str> {
    let quoted = Value::from(text).to_string();
    match quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(written) if written != text => Cow::Owned(written.to_owned()),
        _ => Cow::Borrowed(text),
    }
}

/// The letters and digits at the beginning of a text, or else its first character.
fn beginning(text: &str) -> &str {
    let end = text
        .char_indices()
        .find(|(_, character)| !character.is_alphanumeric())
        .map_or(
            text.len(),
            |(at, character)| if at == 0 { character.len_utf8() } else { at },
        );
    text.get(..end).unwrap_or_default()
}

/// Whether a word ends at a position.
fn ends(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at(at);
    let is_part = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    !(is_part(before.chars().next_back()) && is_part(after.chars().next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(recorded: &str, live: &str) -> (String, String) {
        (recorded.into(), live.into())
    }

    #[test]
    fn an_alias_is_one_to_one() {
        let mut aliases = Aliases::default();
        assert!(aliases.admit(&[pair("x8f2a", "91bbc"), pair("x8f2a", "91bbc")]));
        assert!(!aliases.admit(&[pair("x8f2a", "91bbc"), pair("y8f2a", "91bbc")]));
        aliases.learn(vec![pair("x8f2a", "91bbc")]);
        assert!(!aliases.admit(&[pair("x8f2a", "77777")]));
        assert!(!aliases.admit(&[pair("77777", "91bbc")]));
    }

    #[test]
    fn whole_words_are_replaced() {
        let mut aliases = Aliases::default();
        aliases.learn(vec![pair("redacted-1", "S3cret+1"), pair("x8f2a", "91bbc")]);
        assert_eq!(
            aliases.live("redacted-1 redacted-12 suite-x8f2a ax8f2a"),
            "S3cret+1 redacted-12 suite-91bbc ax8f2a"
        );
        assert_eq!(aliases.recorded("suite-91bbc S3cret+1"), "suite-x8f2a redacted-1");
    }

    #[test]
    fn a_secret_that_could_be_any_word_stays_in_texts() {
        let mut aliases = Aliases::default();
        aliases.learn(vec![pair("redacted-1", "yes")]);
        assert_eq!(aliases.recorded("yes"), "yes");
        assert_eq!(aliases.live("redacted-1"), "yes");
        assert!(!aliases.admit(&[pair("redacted-2", "yes")]));
    }

    #[test]
    fn a_secret_is_written_in_json_as_a_string_requires() {
        let mut aliases = Aliases::default();
        aliases.learn(vec![pair("redacted-1~~~~~~~~", "user: \"a\"\npass: b")]);
        let recorded = r#"{"data":{"key":"redacted-1~~~~~~~~"}}"#;
        let live = aliases.live_json(recorded);
        assert_eq!(live, r#"{"data":{"key":"user: \"a\"\npass: b"}}"#);
        assert_eq!(aliases.recorded(&live), recorded);
        assert_eq!(aliases.live("redacted-1~~~~~~~~"), "user: \"a\"\npass: b");
    }

    #[test]
    fn the_longest_value_is_replaced() {
        let mut aliases = Aliases::default();
        aliases.learn(vec![
            pair("a", "1"),
            pair("a-b", "2"),
            pair("-b-", "3"),
            pair("a-b/c", "4"),
        ]);
        assert_eq!(aliases.live("a a-b a-b/c a-b/cd x-b-x ab"), "1 2 4 2/cd x3x ab");
    }
}
