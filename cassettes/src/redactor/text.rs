//! Secrets in running text: string values of documents, plain bodies, lines of logs.
//!
//! A text that is a JSON or YAML document itself is read as one. In other text secrets are found by the name before
//! them (`PASSWORD=x`, `token: x`, `--password x`), by their form (JWT, PEM, keys of well-known services, user info in
//! URLs, `Bearer x`), by the user's own patterns, and because they were seen before.

use super::json::Json;
use super::known::Known;
use super::names;
use super::redaction::Redaction;
use super::structure::Secret;
use super::yaml;
use crate::interaction::is_placeholder;
use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use regex::{Captures, Regex};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

/// How deep documents within texts are followed: an annotation holds the object that was applied.
const NESTED: usize = 3;

/// Forms of which the first group, or else the whole, is secret.
const FORMS: [&str; 9] = [
    r"eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*",
    r"(?i)\b(?:bearer|basic)[ +]+([A-Za-z0-9._~+/-]{8,}=*)",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,})",
    r"\bxox[a-z]-[A-Za-z0-9-]{8,}",
    r#"://[^/\s:@"']*:([^@\s/"']+)@"#,
    r"base64url\.bearer\.authorization\.k8s\.io\.([A-Za-z0-9_-]+)",
    r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{20,}=*",
];

/// Without any of these no default rule finds anything in a text.
const MARKS: [&str; 12] = [
    "=", ":", "--", "eyJ", "AKIA", "ASIA", "gh", "xox", "LS0tLS1", "bearer", "basic", "{",
];

/// Without any of these no form is in a text.
const FORM_MARKS: [&str; 13] = [
    "eyj",
    "bearer",
    "basic",
    "-----begin",
    "akia",
    "asia",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "xox",
];

static FORMED: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let marks = FORM_MARKS.iter().chain(&["://", "ls0tls1"]);
    AhoCorasick::builder().ascii_case_insensitive(true).build(marks).ok()
});

static COMPILED: LazyLock<Vec<Regex>> =
    LazyLock::new(|| FORMS.iter().filter_map(|form| Regex::new(form).ok()).collect());

static MARKED: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(MARKS).ok());

/// The rules, and the secrets that were seen.
pub(super) struct Knowledge<'a> {
    pub(super) rules: &'a Arc<Redaction>,
    pub(super) known: &'a mut Known,
}

impl Knowledge<'_> {
    /// The placeholder of a secret value.
    pub(super) fn placeholder(&mut self, text: &str, secret: Secret) -> String {
        match secret {
            Secret::Credential | Secret::Value if !text.starts_with("LS0tLS1CRUdJTi") => {
                self.known.placeholder(text, secret == Secret::Credential)
            }
            _ => self.known.placeholder_of_base64(text),
        }
    }
}

/// Whether a text needs to be searched, beyond known secrets.
pub(super) fn is_marked(text: &[u8], rules: &Redaction) -> bool {
    // Most texts are short words, in which no form of a secret has room.
    let word = text.len() < 16 && !text.iter().any(|byte| b"=:{ \n".contains(byte));
    !rules.patterns.is_empty()
        || (rules.defaults && !word && MARKED.as_ref().is_none_or(|marks| marks.is_match(text)))
        || (!rules.paths.is_empty() && text.first().is_some_and(|first| b"{[ \n".contains(first)))
}

/// A text without its secrets; none if there are none in it. `depth` is how many texts it is within.
pub(super) fn redact(text: &str, knowledge: &mut Knowledge<'_>, depth: usize) -> Option<String> {
    let mut out = Cow::Borrowed(text);
    if is_marked(text.as_bytes(), knowledge.rules) {
        match document(text, knowledge, depth) {
            Some(document) => return (document != text).then_some(document),
            None if knowledge.rules.defaults => named(&mut out, knowledge),
            None => {}
        }
        if let Some(text) = redact_forms(&out, knowledge) {
            out = Cow::Owned(text);
        }
    } else if let Some(text) = knowledge.known.text(&out) {
        out = Cow::Owned(text);
    }
    match out {
        Cow::Borrowed(_) => None,
        Cow::Owned(out) => Some(out),
    }
}

/// A text without secrets of a form and known ones; none if there are none in it.
pub(super) fn redact_forms(text: &str, knowledge: &mut Knowledge<'_>) -> Option<String> {
    let mut out = Cow::Borrowed(text);
    if knowledge.rules.defaults && FORMED.as_ref().is_none_or(|marks| marks.is_match(text)) {
        formed(&mut out, &COMPILED, knowledge);
    }
    let patterns = &knowledge.rules.clone().patterns;
    formed(&mut out, patterns, knowledge);
    if let Some(text) = knowledge.known.text(&out) {
        out = Cow::Owned(text);
    }
    match out {
        Cow::Borrowed(_) => None,
        Cow::Owned(out) => Some(out),
    }
}

/// As [`redact`], for bytes that may be of any encoding.
pub(super) fn redact_bytes(bytes: &[u8], knowledge: &mut Knowledge<'_>) -> Option<Vec<u8>> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return redact(text, knowledge, 0).map(String::into_bytes);
    }
    let known = knowledge.known.bytes(bytes);
    let text: String = known
        .as_deref()
        .unwrap_or(bytes)
        .iter()
        .map(|byte| char::from(*byte))
        .collect();
    match redact(&text, knowledge, NESTED) {
        // A placeholder is ASCII, and every other character was one byte.
        Some(text) => Some(
            text.chars()
                .map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?'))
                .collect(),
        ),
        None => known,
    }
}

/// A document in a text, without its secrets; none if the text is no document.
fn document(text: &str, knowledge: &mut Knowledge<'_>, depth: usize) -> Option<String> {
    if depth >= NESTED {
        return None;
    }
    if text.trim_start().starts_with(['{', '[']) {
        return Json::whole(text, knowledge, depth + 1);
    }
    let mapped = || text.lines().any(|line| line.ends_with(':') || line.contains(": "));
    match text.trim_end().contains('\n') && mapped() {
        true => yaml::redact(text, false, knowledge, depth + 1),
        false => None,
    }
}

fn formed(text: &mut Cow<'_, str>, forms: &[Regex], knowledge: &mut Knowledge<'_>) {
    for form in forms {
        let replaced = form.replace_all(text, |found: &Captures<'_>| replaced(found, knowledge));
        if let Cow::Owned(replaced) = replaced {
            *text = Cow::Owned(replaced);
        }
    }
}

fn replaced(found: &Captures<'_>, knowledge: &mut Knowledge<'_>) -> String {
    let Some(whole) = found.get(0) else {
        return String::new();
    };
    let secret = found.get(1).unwrap_or(whole);
    let (before, after) = (secret.start() - whole.start(), secret.end() - whole.start());
    let text = whole.as_str();
    let certificate = secret.as_str().starts_with("LS0tLS1CRUdJTi") && !is_private_key(secret.as_str());
    let placeholder = match is_placeholder(secret.as_str()) || certificate {
        true => secret.as_str().to_owned(),
        false if secret.as_str().starts_with("LS0tLS1CRUdJTi") => knowledge.placeholder(secret.as_str(), Secret::Data),
        false => knowledge.known.placeholder(secret.as_str(), true),
    };
    format!(
        "{}{placeholder}{}",
        text.get(..before).unwrap_or_default(),
        text.get(after..).unwrap_or_default()
    )
}

/// Whether base64 is that of a private key in PEM, or its beginning.
fn is_private_key(base64: &str) -> bool {
    let head = base64.get(..base64.len().min(80) / 4 * 4).unwrap_or_default();
    STANDARD
        .decode(head)
        .map_or(true, |text| memchr::memmem::find(&text, b"PRIVATE KEY").is_some())
}

/// Takes out values whose names are secret.
fn named(text: &mut Cow<'_, str>, knowledge: &mut Knowledge<'_>) {
    let ranges = values(text);
    if ranges.is_empty() {
        return;
    }
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for range in ranges {
        let value = text.get(range.clone()).unwrap_or_default();
        out.push_str(text.get(end..range.start).unwrap_or_default());
        out.push_str(&knowledge.placeholder(value, Secret::Value));
        end = range.end;
    }
    out.push_str(text.get(end..).unwrap_or_default());
    *text = Cow::Owned(out);
}

/// The values that names in a text say are secret, in order.
fn values(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let bytes = text.as_bytes();
    for at in memchr::memchr3_iter(b'=', b':', b' ', bytes) {
        if found.last().is_some_and(|last| at < last.end) {
            continue;
        }
        let value = match bytes.get(at) {
            Some(b' ') => after_flag(text, at),
            _ => after_name(text, at),
        };
        found.extend(value.filter(|range| {
            let value = text.get(range.clone()).unwrap_or_default();
            let reference = value.starts_with("${") || value.starts_with("$(");
            !(names::is_trivial(false, value) || is_placeholder(value) || reference)
        }));
    }
    found
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)
}

/// The start of the name that ends at a place.
fn name_start(bytes: &[u8], end: usize) -> usize {
    let head = bytes.get(..end).unwrap_or_default();
    head.iter().rposition(|byte| !is_name(*byte)).map_or(0, |at| at + 1)
}

/// The value of a flag whose name ends at a space: `--token x`.
fn after_flag(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let start = name_start(bytes, at);
    let name = text.get(start..at)?;
    let plain = name.strip_prefix("--").or_else(|| name.strip_prefix('-'))?;
    if !names::is_secret_in_text(plain) || bytes.get(at + 1) == Some(&b'-') {
        return None;
    }
    value_at(text, at + 1, &|byte| byte.is_ascii_whitespace())
}

/// The value after `name=` or `name:`, where that is at `at`.
fn after_name(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let colon = bytes.get(at) == Some(&b':');
    let mut end = at;
    while end > 0 && matches!(bytes.get(end - 1), Some(b' ' | b'\t')) {
        end -= 1;
    }
    while end > 0 && matches!(bytes.get(end - 1), Some(b'"' | b'\'' | b'\\')) {
        end -= 1;
    }
    let start = name_start(bytes, end);
    let whole = text.get(start..end)?;
    let name = match colon {
        true => whole.rsplit('.').next()?,
        false => whole,
    };
    let before = start.checked_sub(1).and_then(|at| bytes.get(at));
    let beside = bytes.get(at + 1).copied().unwrap_or(b'\n');
    let path = colon && (matches!(beside, b':' | b'/') || before == Some(&b'/'));
    if path || !names::is_secret_in_text(name) {
        return None;
    }
    let line = text.get(..start)?.rsplit('\n').next()?;
    let leads = line.trim().is_empty() || matches!(line.trim(), "export" | "-" | "\"" | "'");
    let spaced = colon || end < at || beside == b' ';
    let mut value = at + 1;
    while matches!(bytes.get(value), Some(b' ' | b'\t')) {
        value += 1;
    }
    // The scheme of `Authorization: Bearer x` stays.
    for scheme in ["bearer ", "basic "] {
        let is_scheme = |text: &str| text.eq_ignore_ascii_case(scheme);
        if text.get(value..value + scheme.len()).is_some_and(is_scheme) {
            value += scheme.len();
        }
    }
    let port = colon && beside != b' ' && beside.is_ascii_digit();
    let range = match (leads, spaced, whole.starts_with('-')) {
        (true, true, _) => value_at(text, value, &|byte| byte == b'\n' || byte == b'\r'),
        (true, false, _) | (_, _, true) => value_at(text, value, &|byte| byte.is_ascii_whitespace()),
        (false, _, false) => value_at(text, value, &|byte| {
            byte.is_ascii_whitespace() || b",;&}\"'".contains(&byte)
        }),
    }?;
    let is_port = port && range.len() <= 5 && text.get(range.clone())?.bytes().all(|byte| byte.is_ascii_digit());
    (!is_port).then_some(range)
}

/// The value at a place: within its quotes, or up to where it ends.
fn value_at(text: &str, at: usize, ends: &dyn Fn(u8) -> bool) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    for quote in ["\\\"", "\"", "'"] {
        if let Some(within) = rest.strip_prefix(quote) {
            let start = at + quote.len();
            let end = within
                .find(quote)
                .unwrap_or_else(|| within.find('\n').unwrap_or(within.len()));
            return (end > 0).then_some(start..start + end);
        }
    }
    let length = rest.bytes().position(ends).unwrap_or(rest.len());
    let length = rest.get(..length)?.trim_end().len();
    (length > 0).then_some(at..at + length)
}

/// How much of the end of a text must wait for what follows it: a line that could have the beginning of a secret.
pub(super) fn unfinished(bytes: &[u8], knowledge: &Knowledge<'_>) -> usize {
    let start = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
    let line = bytes.get(start..).unwrap_or_default();
    let begun = knowledge.known.begun(line);
    if !knowledge.rules.defaults && knowledge.rules.patterns.is_empty() {
        return begun;
    }
    let is_open = |at: &usize| {
        let rest = bytes.get(*at..).unwrap_or_default();
        let end = memchr::memmem::find(rest, b"-----END ").and_then(|end| rest.get(end..));
        end.is_none_or(|end| !end.contains(&b'\n'))
    };
    if let Some(at) = memchr::memmem::rfind(bytes, b"-----BEGIN ").filter(is_open) {
        return bytes.len() - at;
    }
    if !knowledge.rules.patterns.is_empty() || is_marked(line, knowledge.rules) {
        return line.len();
    }
    let word = line.iter().rev().take_while(|byte| !byte.is_ascii_whitespace()).count();
    begun.max(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("PASSWORD=hunter2 next", &["hunter2"])]
    #[case("export DB_PASS='a b;c'", &["a b;c"])]
    #[case("db.password = my long one \nother", &["my long one"])]
    #[case("run --token abc --password=d;e -v", &["abc", "d;e"])]
    #[case("run --token --v", &[])]
    #[case("{\\\"token\\\": \\\"abc\\\"}", &["abc"])]
    #[case("level=info secret_key=abc,x=y", &["abc"])]
    #[case("curl -H 'Authorization: Bearer abc' x", &["abc"])]
    #[case("spec.volumes[0].secret.secretName: Required value", &[])]
    #[case("dial tcp secrets.example.com:443: refused", &[])]
    #[case("quay.io/token-service:v1", &[])]
    #[case("rpc error: code = Unknown", &[])]
    #[case("PASSWORD=${OTHER}", &[])]
    #[case("password: true", &[])]
    fn values_are_found_by_their_names(#[case] text: &str, #[case] expected: &[&str]) {
        let found: Vec<&str> = values(text).into_iter().filter_map(|range| text.get(range)).collect();
        assert_eq!(found, expected);
    }
}
