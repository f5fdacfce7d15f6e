//! Volatile values: those that a client or a server makes anew each time.

use crate::interaction::{is_of_length, is_placeholder, number, placeholders};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

static UUID: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new("(?i)^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$").ok());
static STAMP: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9]{2}:[0-9]{2})$").ok());
/// The suffix of a name that the API generated: five letters and digits, no vowels, so that no words come of them.
static GENERATED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("^[bcdfghjklmnpqrstvwxz2456789]{5}$").ok());
/// A random value of a client's: a letter after a digit. Digits at the end alone are those of a counter or a version.
static RANDOM: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("^[0-9a-z]*[0-9][a-z][0-9a-z]*$").ok());

/// What may be a placeholder as base64.
static BASE64: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("cmVkYWN0ZWQt[0-9A-Za-z+/]+=*").ok());

/// The shortest random value.
const SHORTEST: usize = 5;

/// The hosts whose ports the system chose.
const LOCAL: [&str; 3] = ["127.0.0.1", "localhost", "::1]"];

/// Where a text is in a request, which says what may differ in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Location<'a> {
    /// In the path: nothing but what was redacted.
    Path,
    /// A value in the query or in the body, in which these pairs were made up.
    Value(&'a [(String, String)]),
    /// The name of an object that is created, which a client may make up.
    NewName,
}

/// The volatile values in which two texts differ, recorded and live; none if they differ in more.
pub(super) fn pairs(recorded: &str, live: &str, location: Location<'_>) -> Option<Vec<(String, String)>> {
    let pair = |one: &str, two: &str| vec![(one.to_owned(), two.to_owned())];
    if is_placeholder(recorded) {
        return redacted(recorded, live);
    }
    if location != Location::Path && both(&UUID, recorded, live) {
        return Some(pair(recorded, live));
    }
    if location != Location::Path && is_time(recorded) && is_time(live) {
        return Some(Vec::new());
    }
    let secrets = secrets(recorded);
    if !secrets.is_empty() {
        return captured(recorded, live, &secrets);
    }
    if let Some((there, here)) = decoded_base64(recorded).zip(decoded_base64(live)) {
        let secrets = self::secrets(&there);
        if !secrets.is_empty() {
            return captured(&there, &here, &secrets);
        }
    }
    match location {
        Location::Path => None,
        location => by_words(recorded, live, location),
    }
}

/// Whether a text is a time.
pub(super) fn is_time(text: &str) -> bool {
    STAMP.as_ref().is_some_and(|form| form.is_match(text))
}

/// Whether another text can match this recorded one.
pub(super) fn may_vary(recorded: &str) -> bool {
    may_vary_in_path(recorded)
        || UUID.as_ref().is_some_and(|form| form.is_match(recorded))
        || LOCAL.iter().any(|host| recorded.contains(host))
}

/// Whether another path can match this recorded one: something in it was redacted.
pub(super) fn may_vary_in_path(recorded: &str) -> bool {
    let within = |text: &str| !secrets(text).is_empty();
    within(recorded) || decoded_base64(recorded).is_some_and(|text| within(&text))
}

fn both(form: &LazyLock<Option<Regex>>, one: &str, two: &str) -> bool {
    form.as_ref()
        .is_some_and(|form| form.is_match(one) && form.is_match(two))
}

/// The places of placeholders in a text, plain or, as in the data of a Secret in YAML, as base64.
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

/// The text that another is base64 of.
fn decoded_base64(text: &str) -> Option<String> {
    let compact: String = text.split_whitespace().collect();
    let standard = compact.trim_end_matches('=').replace('-', "+").replace('_', "/");
    String::from_utf8(STANDARD_NO_PAD.decode(standard).ok()?).ok()
}

/// The parts of a live text at the places of the placeholders in the recorded one.
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
    let mut pairs = Vec::new();
    for (n, range) in ranges.iter().enumerate() {
        pairs.extend(redacted(recorded.get(range.clone())?, found.get(n + 1)?.as_str())?);
    }
    Some(pairs)
}

/// A placeholder and the secret in its place, in each form in which a request or a response may have them; none if the
/// placeholder is not one of this secret's length.
pub(super) fn redacted(placeholder: &str, live: &str) -> Option<Vec<(String, String)>> {
    let pair = |there: &str, here: &str| (there.to_owned(), here.to_owned());
    if number(placeholder).is_none()
        && let Some(plain) = decoded_base64(placeholder)
    {
        let secret = decoded_base64(live);
        let is_long = |text: &str| is_of_length(&plain, text.len());
        return match secret {
            Some(secret) => is_long(&secret).then(|| vec![pair(placeholder, live), pair(&plain, &secret)]),
            // Bytes that are no text, or a text that was folded.
            None => Some(vec![pair(placeholder, live)]),
        };
    }
    let secret = decoded(live);
    // In other texts, indentation and escapes are not of the secret.
    let is_plain = !secret.contains(|letter: char| letter.is_whitespace() || letter == '\\');
    let bytes = decoded_base64(live).map(|bytes| bytes.len());
    let hexadecimal = live
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then_some(live.len() / 2);
    let lengths = [
        Some(live.len()),
        Some(live.chars().count()),
        Some(secret.len()),
        bytes,
        hexadecimal,
    ];
    let fits = lengths
        .into_iter()
        .flatten()
        .any(|length| is_of_length(placeholder, length));
    (fits || !is_plain).then(|| vec![pair(placeholder, &secret)])
}

/// The secret without percent escapes, which it has in a URL or a form.
fn decoded(secret: &str) -> String {
    match secret.contains('%') {
        true => url::form_urlencoded::parse(format!("v={secret}").as_bytes())
            .next()
            .map_or_else(|| secret.to_owned(), |(_, decoded)| decoded.into_owned()),
        false => secret.to_owned(),
    }
}

/// Compares word by word, where a word is what is between marks.
fn by_words(recorded: &str, live: &str, location: Location<'_>) -> Option<Vec<(String, String)>> {
    let (there, here) = (words(recorded), words(live));
    if there.len() != here.len() {
        return None;
    }
    let mut found = Vec::new();
    let mut at = 0;
    for (one, two) in there.iter().zip(&here) {
        let before = recorded.get(..at)?;
        at += one.len();
        if one == two {
            continue;
        }
        let fits = match location {
            _ if is_port(one, two, before) => true,
            Location::NewName => are_made_up(one, two, before),
            Location::Value(introduced) => introduced.iter().any(|(there, here)| there == one && here == two),
            Location::Path => false,
        };
        if !fits {
            return None;
        }
        found.push((one.to_string(), two.to_string()));
    }
    Some(found)
}

/// Whether two words are ports of the client's own, which the system chose.
fn is_port(recorded: &str, live: &str, before: &str) -> bool {
    let port = |text: &str| text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    let local = before
        .strip_suffix(':')
        .is_some_and(|host| LOCAL.iter().any(|local| host.ends_with(local)));
    local && port(recorded) && port(live)
}

/// Whether two words of a new object's name are random values.
fn are_made_up(recorded: &str, live: &str, before: &str) -> bool {
    let generated = before.ends_with('-') && both(&GENERATED, recorded, live);
    let random = recorded.len() >= SHORTEST && recorded.len() == live.len() && both(&RANDOM, recorded, live);
    generated || random
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
    #[case::random("suite-x8f2a-pod", "suite-91bbc-pod", Some(vec![("x8f2a", "91bbc")]))]
    #[case::generated("web-bcdfg", "web-xz245", Some(vec![("bcdfg", "xz245")]))]
    #[case::words("web-front", "web-other", None)]
    #[case::counter("run-17", "run-18", None)]
    #[case::node("node1", "node2", None)]
    #[case::counters("job12", "run34", None)]
    #[case::encoded("YT1yZWRhY3RlZC0xCg==", "YT1wdwo=", Some(vec![("redacted-1", "pw")]))]
    #[case::placeholder("user:redacted-1@host", "user:p:w@x@host", Some(vec![("redacted-1", "p:w@x")]))]
    #[case::longer("user:redacted-1~@host", "user:p:w@x-p:w@x-@host", None)]
    #[case::as_long("user:redacted-1~@host", "user:p:w@x-p:w@x@host", Some(vec![("redacted-1~", "p:w@x-p:w@x")]))]
    #[case::shorter("redacted-1~", "p:w@x", None)]
    #[case::longer_than_a_short_one("redacted-1", "p:w@x-p:w@x", None)]
    #[case::percent("redacted-1~", "p%3Aw%40x-p%3Aw%40x", Some(vec![("redacted-1~", "p:w@x-p:w@x")]))]
    #[case::hexadecimal("redacted-1~", "703a77407840703a774078", Some(vec![("redacted-1~", "703a77407840703a774078")]))]
    #[case::base64("cmVkYWN0ZWQtMX4=", "cDp3QHgtcDp3QHg=", Some(vec![("cmVkYWN0ZWQtMX4=", "cDp3QHgtcDp3QHg="), ("redacted-1~", "p:w@x-p:w@x")]))]
    #[case::shorter_base64("cmVkYWN0ZWQtMX4=", "cDp3QHg=", None)]
    fn a_client_makes_up_random_names(
        #[case] there: &str,
        #[case] here: &str,
        #[case] expected: Option<Vec<(&str, &str)>>,
    ) {
        assert_eq!(found(there, here, Location::NewName), expected.map(owned));
    }

    #[rstest]
    #[case::version("v1beta1", "v1beta2", None)]
    #[case::random("suite-x8f2a", "suite-91bbc", None)]
    #[case::introduced("a.n7x2b.c", "a.q9z4d.c", Some(vec![("n7x2b", "q9z4d")]))]
    #[case::port("http://127.0.0.1:34567/", "http://127.0.0.1:4567/", Some(vec![("34567", "4567")]))]
    #[case::other_port("10.0.0.1:8080", "10.0.0.1:8081", None)]
    #[case::time("2026-11-21T11:45:16Z", "2015-06-26T12:00:00Z", Some(vec![]))]
    fn other_values_differ_by_what_was_introduced(
        #[case] there: &str,
        #[case] here: &str,
        #[case] expected: Option<Vec<(&str, &str)>>,
    ) {
        let introduced = [("n7x2b".to_owned(), "q9z4d".to_owned())];
        assert_eq!(found(there, here, Location::Value(&introduced)), expected.map(owned));
        assert_eq!(found(there, here, Location::Path), None, "a path never differs");
    }

    fn found(there: &str, here: &str, location: Location<'_>) -> Option<Vec<(String, String)>> {
        pairs(there, here, location)
    }

    fn owned(pairs: Vec<(&str, &str)>) -> Vec<(String, String)> {
        pairs
            .into_iter()
            .map(|(one, two)| (one.to_owned(), two.to_owned()))
            .collect()
    }
}
