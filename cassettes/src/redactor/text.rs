//! Secrets in running text: by the name before them, by their form, by the user's own patterns, and because they were
//! seen before.

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

/// A shorter text without marks is a word, in which no form of a secret has room.
const SHORT: usize = 12;

/// A shorter base64 is not decoded.
const SHORTEST_BASE64: usize = 16;

/// Without any of these no default rule finds anything in a text.
const MARKS: [&str; 5] = ["=", ":", "--", "{", "</"];

/// Words of names, and of commands, whose value may follow after a space.
const NAMES: [&str; 7] = ["pass", "token", "secret", "auth", "login", "mysql", "redis-cli"];

static MARKED: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| automaton(&[&MARKS[..], &forms::MARKS].concat()));

static NAMED: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| automaton(&NAMES));

/// Whether a text is a short word, in which no default rule finds anything.
pub(super) fn is_word(text: &[u8]) -> bool {
    text.len() < SHORT
        && !text
            .iter()
            .any(|byte| matches!(byte, b'=' | b':' | b'{' | b' ' | b'\n'))
}

/// Whether a text needs to be searched, beyond known secrets.
pub(super) fn is_marked(text: &[u8], rules: &Redaction) -> bool {
    !rules.patterns.is_empty()
        || (rules.defaults
            && !is_word(text)
            && (MARKED.as_ref().is_none_or(|marks| marks.is_match(text)) || is_base64(text) || is_pair(text)))
        || (!rules.paths.is_empty() && text.first().is_some_and(|first| b"{[ \n".contains(first)))
}

/// Whether all of a text may be base64 of something else.
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
    text.len() >= SHORTEST_BASE64
        && text
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+/=-_\r\n".contains(byte))
        && begins()
}

/// Whether bytes are those of a text, or of one that is compressed.
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

/// Whether a text has a name and a value with nothing but space, a comma, quotes or the end of a tag between them.
fn is_pair(text: &[u8]) -> bool {
    memchr::memchr3(b' ', b',', b'<', text).is_some() && NAMED.as_ref().is_none_or(|names| names.is_match(text))
}

/// Running text without its secrets; none if there are none in it. `block` is that of the text before it.
pub(super) fn redact(text: &str, context: &mut RedactionContext<'_>, block: &mut Block) -> Option<String> {
    let named = match context.rules.defaults {
        true => named(text, context, block),
        false => None,
    };
    let formed = forms::redact(named.as_deref().unwrap_or(text), context);
    formed.or(named)
}

/// Takes out values whose names are secret.
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

/// How much of the end of a text must wait for what follows it: a line that could have the beginning of a secret.
pub(super) fn unfinished(bytes: &[u8], context: &RedactionContext<'_>, block: Block) -> usize {
    let start = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
    let line = bytes.get(start..).unwrap_or_default();
    let begun = context.secrets.begun(line);
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
    // How far a line is indented says which block it is in.
    if line.len() == word
        || line
            .get(..line.len() - word)
            .is_some_and(|space| space.trim_ascii().is_empty())
    {
        return line.len();
    }
    begun.max(word)
}
