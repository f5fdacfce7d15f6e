//! The forms of values that are made up anew each time.

use crate::interaction::{is_placeholder, placeholders};
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

static UUID: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("(?i)^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$").ok());
static STAMP: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9]{2}:[0-9]{2})$").ok());
/// The letters and digits that generated names are made of: no vowels, so that no words come of them.
static GENERATED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("^[bcdfghjklmnpqrstvwxz2456789]{5,}$").ok());
static RANDOM: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("^[0-9a-z]*[0-9][0-9a-z]*$").ok());

/// What may be a placeholder as base64.
static BASE64: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("cmVkYWN0ZWQt[0-9A-Za-z+/]+=*").ok());

/// The shortest random value: a shorter one could be a counter.
const SHORTEST: usize = 4;

/// The volatile values in which two texts differ, recorded and live; none where they differ in more.
pub(super) fn pairs(recorded: &str, live: &str) -> Option<Vec<(String, String)>> {
    let pair = |one: &str, two: &str| vec![(one.to_owned(), two.to_owned())];
    if is_placeholder(recorded) {
        return Some(pair(recorded, &decoded(live)));
    }
    if both(&UUID, recorded, live) {
        return Some(pair(recorded, live));
    }
    if both(&STAMP, recorded, live) {
        return Some(Vec::new());
    }
    let secrets = secrets(recorded);
    if !secrets.is_empty() {
        return captured(recorded, live, &secrets);
    }
    by_words(recorded, live)
}

fn both(form: &LazyLock<Option<Regex>>, one: &str, two: &str) -> bool {
    form.as_ref()
        .is_some_and(|form| form.is_match(one) && form.is_match(two))
}

/// Where placeholders stand in a text, plain or, as in the data of a Secret in YAML, as base64.
fn secrets(text: &str) -> Vec<Range<usize>> {
    let base64 = BASE64.as_ref().into_iter().flat_map(|form| form.find_iter(text));
    let mut found: Vec<Range<usize>> = base64
        .filter(|found| is_placeholder(found.as_str()))
        .map(|found| found.range())
        .collect();
    found.extend(placeholders(text));
    found.sort_by_key(|range| range.start);
    found
}

/// What stands in a live text where placeholders stand in the recorded one.
fn captured(recorded: &str, live: &str, ranges: &[Range<usize>]) -> Option<Vec<(String, String)>> {
    let mut form = String::from("(?s)^");
    let mut end = 0;
    for range in ranges {
        form.push_str(&regex::escape(recorded.get(end..range.start)?));
        form.push_str("(.+?)");
        end = range.end;
    }
    form.push_str(&regex::escape(recorded.get(end..)?));
    form.push('$');
    let found = Regex::new(&form).ok()?.captures(live)?;
    let pair = |(n, range): (usize, &Range<usize>)| {
        Some((
            recorded.get(range.clone())?.to_owned(),
            decoded(found.get(n + 1)?.as_str()),
        ))
    };
    ranges.iter().enumerate().map(pair).collect()
}

/// A secret stands in a URL or a form with percent escapes, and elsewhere without: it is the same.
fn decoded(secret: &str) -> String {
    match secret.contains('%') {
        true => url::form_urlencoded::parse(format!("v={secret}").as_bytes())
            .next()
            .map_or_else(|| secret.to_owned(), |(_, decoded)| decoded.into_owned()),
        false => secret.to_owned(),
    }
}

/// Compares word by word, where a word is what stands between marks.
fn by_words(recorded: &str, live: &str) -> Option<Vec<(String, String)>> {
    let (there, here) = (words(recorded), words(live));
    if there.len() != here.len() {
        return None;
    }
    let mut found = Vec::new();
    let mut before = "";
    for (one, two) in there.iter().zip(&here) {
        if one != two {
            if !same_form(one, two, before) {
                return None;
            }
            found.push((one.to_string(), two.to_string()));
        }
        before = one;
    }
    Some(found)
}

fn same_form(recorded: &str, live: &str, before: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    // A port of one's own, which the system chose.
    if before == ":" && digits(recorded) && digits(live) && recorded.len().min(live.len()) >= SHORTEST {
        return true;
    }
    recorded.len() == live.len()
        && recorded.len() >= SHORTEST
        && (both(&GENERATED, recorded, live) || both(&RANDOM, recorded, live))
}

/// A text in words and the marks between them.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    for (at, character) in text
        .char_indices()
        .filter(|(_, character)| !character.is_alphanumeric())
    {
        if at > start {
            words.extend(text.get(start..at));
        }
        let end = at + character.len_utf8();
        words.extend(text.get(at..end));
        start = end;
    }
    if start < text.len() {
        words.extend(text.get(start..));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("suite-x8f2a-pod", "suite-91bbc-pod", Some(vec![("x8f2a", "91bbc")]))]
    #[case("web-bcdfg", "web-xz245", Some(vec![("bcdfg", "xz245")]))]
    #[case("web-front", "web-other", None)]
    #[case("run-17", "run-18", None)]
    #[case("127.0.0.1:34567", "127.0.0.1:4567", Some(vec![("34567", "4567")]))]
    #[case("2026-11-21T11:45:16Z", "2015-06-26T12:00:00Z", Some(vec![]))]
    #[case("user:redacted-1@host", "user:p:w@x@host", Some(vec![("redacted-1", "p:w@x")]))]
    #[case("a", "b", None)]
    fn values_of_one_form_match(#[case] there: &str, #[case] here: &str, #[case] expected: Option<Vec<(&str, &str)>>) {
        let found = pairs(there, here);
        let found = found
            .as_ref()
            .map(|pairs| pairs.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect::<Vec<_>>());
        assert_eq!(found, expected);
    }
}
