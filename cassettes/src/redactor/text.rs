//! Redaction of plain text: by names before values, by form, by the user's patterns, and of known secrets.

use super::blocks::Block;
use super::context::RedactionContext;
use super::forms;
use super::named;
use super::redaction::Redaction;
use super::structure::Secret;
use super::words::automaton;
use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use std::ops::Range;
use std::sync::LazyLock;

/// A shorter text without marks is a word, which is too short for any form of a secret.
const MIN_SECRET_LENGTH: usize = 12;

/// Minimum length of base64 that is decoded.
const MIN_BASE64_LENGTH: usize = 16;

/// No default rule matches a text without any of these.
const MARKS: [&str; 5] = ["=", ":", "--", "{", "</"];

/// Words of names and commands whose value may follow a space.
const NAMES: [&str; 7] = ["pass", "token", "secret", "auth", "login", "mysql", "redis-cli"];

static MARKED: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| automaton(&[&MARKS[..], &forms::MARKS].concat()));

static NAMED: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| automaton(&NAMES));

/// Whether a text is a short word, which no default rule matches.
pub(super) fn is_word(text: &[u8]) -> bool {
    text.len() < MIN_SECRET_LENGTH
        && !text
            .iter()
            .any(|byte| matches!(byte, b'=' | b':' | b'{' | b' ' | b'\n'))
}

/// Whether a text must be searched by rules.
pub(super) fn is_marked(text: &[u8], rules: &Redaction) -> bool {
    !rules.patterns.is_empty()
        || (rules.defaults
            && !is_word(text)
            && (MARKED.as_ref().is_none_or(|marks| marks.is_match(text)) || is_base64(text) || is_pair(text)))
        || (!rules.paths.is_empty() && text.first().is_some_and(|first| b"{[ \n".contains(first)))
}

/// Whether a whole text may be base64 of a text.
pub(super) fn is_base64(text: &[u8]) -> bool {
    let begins = || {
        let mut head = [0; 8];
        let standard = |byte: &u8| match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => *other,
        };
        text.iter()
            .map(standard)
            .zip(&mut head)
            .for_each(|(byte, place)| *place = byte);
        let mut bytes = [0; 6];
        STANDARD_NO_PAD.decode_slice(head, &mut bytes).is_ok() && is_text(&bytes)
    };
    text.len() >= MIN_BASE64_LENGTH
        && text
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+/=-_\r\n".contains(byte))
        && begins()
}

/// Whether bytes may be a text or gzip.
fn is_text(bytes: &[u8]) -> bool {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(bytes.get(..error.valid_up_to()).unwrap_or_default()).unwrap_or_default()
        }
        Err(_) => return bytes.starts_with(&[0x1f, 0x8b]),
    };
    !text.chars().any(|c| c.is_control() && !c.is_whitespace())
}

/// Whether a text may have a name and value separated by only whitespace, a comma, quotes or the end of a tag.
fn is_pair(text: &[u8]) -> bool {
    memchr::memchr3(b' ', b',', b'<', text).is_some() && NAMED.as_ref().is_none_or(|names| names.is_match(text))
}

/// Redacts plain text. Returns none if it has no secret. `block` is that of the text before.
pub(super) fn redact(text: &str, context: &mut RedactionContext<'_>, block: &mut Block) -> Option<String> {
    let named = match context.rules.defaults {
        true => named(text, context, block),
        false => None,
    };
    let formed = forms::redact(named.as_deref().unwrap_or(text), context);
    formed.or(named)
}

/// Redacts values with secret names.
fn named(text: &str, context: &mut RedactionContext<'_>, block: &mut Block) -> Option<String> {
    let mut ranges: Vec<Range<usize>> = named::values(text);
    ranges.extend(block.values(text));
    if ranges.is_empty() {
        return None;
    }
    ranges.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for range in ranges {
        if range.start >= end {
            let value = text.get(range.clone()).unwrap_or_default();
            out.push_str(text.get(end..range.start).unwrap_or_default());
            out.push_str(&context.placeholder(value, Secret::Value));
            end = range.end;
        }
    }
    out.push_str(text.get(end..).unwrap_or_default());
    Some(out)
}

/// Length of the suffix that must be held back because it may be the beginning of a secret.
pub(super) fn unfinished(bytes: &[u8], context: &RedactionContext<'_>, block: Block) -> usize {
    let start = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
    let line = bytes.get(start..).unwrap_or_default();
    let begun = context.secrets.partial_match(line);
    if !context.rules.defaults && context.rules.patterns.is_empty() {
        return begun;
    }
    if let Some(at) = forms::unfinished(bytes) {
        return (bytes.len() - at).max(line.len());
    }
    let tag = || memchr::memchr(b'<', line).is_some();
    if block != Block::None || !context.rules.patterns.is_empty() || is_marked(line, context.rules) || tag() {
        return line.len();
    }
    let word = line.iter().rev().take_while(|byte| !byte.is_ascii_whitespace()).count();
    // The indentation of a line determines its block.
    if line.len() == word
        || line
            .get(..line.len() - word)
            .is_some_and(|space| space.trim_ascii().is_empty())
    {
        return line.len();
    }
    begun.max(word)
}
