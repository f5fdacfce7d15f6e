//! Redaction of the API's protobuf.
//!
//! Values are replaced in place with placeholders of the same length, so that length prefixes stay valid.
//! Source: the API's envelope (`k8s` and a zero byte, then `runtime.Unknown`) and the field numbers of Secret.

use super::blocks::Block;
use super::context::RedactionContext;
use super::document;
use super::names::{self, NameClass};
use crate::interaction::placeholder;
use std::ops::Range;

const MAGIC: &[u8] = b"k8s\0";

/// Maximum depth of nested messages.
const MAX_DEPTH: usize = 32;

/// A length-delimited field: its number and the range of its content.
struct Field {
    number: u64,
    content: Range<usize>,
}

/// Redacts a body. Returns false if it cannot be parsed.
pub(super) fn redact(body: &mut [u8], context: &mut RedactionContext<'_>) -> bool {
    // A watch is a sequence of envelopes, each after its length.
    let starts: Vec<usize> = memchr::memmem::find_iter(body, MAGIC).collect();
    if starts.is_empty() {
        return body.is_empty();
    }
    let mut sound = true;
    for (n, start) in starts.iter().enumerate() {
        let end = starts.get(n + 1).copied().unwrap_or(body.len());
        sound &= envelope(body, start + MAGIC.len()..end, context).is_some();
    }
    sound
}

/// Redacts an envelope: an object with its kind.
fn envelope(body: &mut [u8], of: Range<usize>, context: &mut RedactionContext<'_>) -> Option<()> {
    // The last field of a frame is followed by the length of the next frame.
    let fields = fields(body, of, true)?;
    let kind_of = fields.iter().find(|field| field.number == 1)?.content.clone();
    let kind = self::fields(body, kind_of, false)?
        .into_iter()
        .find(|field| field.number == 2)?;
    let kind = body.get(kind.content)?.to_vec();
    let raw = fields.iter().find(|field| field.number == 2)?.content.clone();
    match kind.as_slice() {
        b"Secret" => secret(body, raw, context),
        b"SecretList" => self::fields(body, raw, false)?
            .into_iter()
            .filter(|field| field.number == 2)
            .try_for_each(|item| secret(body, item.content, context)),
        _ => {
            strings(body, raw, context, 0);
            Some(())
        }
    }
}

/// Redacts a Secret: field 2 is `data`, field 4 `stringData`. Both are lists of entries of key and value.
fn secret(body: &mut [u8], of: Range<usize>, context: &mut RedactionContext<'_>) -> Option<()> {
    for field in fields(body, of, false)? {
        match field.number {
            2 | 4 => {
                let value = fields(body, field.content, false)?
                    .into_iter()
                    .find(|field| field.number == 2);
                if let Some(value) = value {
                    replace(body, value.content, context);
                }
            }
            _ => strings(body, field.content, context, 0),
        }
    }
    Some(())
}

/// Redacts the strings of a message of any kind. Field 1 of a variable or map entry is its name, field 2 its value.
/// Arguments of a command are repeated fields.
fn strings(body: &mut [u8], of: Range<usize>, context: &mut RedactionContext<'_>, depth: usize) {
    let is_text = |text: &str| !text.chars().any(|c| c.is_control() && !c.is_whitespace());
    let text = |body: &[u8], of: &Range<usize>| {
        let text = std::str::from_utf8(body.get(of.clone())?).ok()?;
        is_text(text).then(|| text.to_owned())
    };
    if let Some(found) = text(body, &of).and_then(|text| document::redact(&text, context, 0))
        && let Some(place) = body.get_mut(of.clone())
    {
        return fill(place, found.as_bytes());
    }
    let inner = (depth < MAX_DEPTH).then(|| fields(body, of.clone(), false)).flatten();
    let Some(inner) = inner.filter(|inner| !inner.is_empty()) else {
        let found = body
            .get(of.clone())
            .and_then(|bytes| document::bytes(bytes, context, &mut Block::default()));
        if let (Some(found), Some(place)) = (found, body.get_mut(of)) {
            fill(place, &found);
        }
        return;
    };
    for (n, field) in inner.iter().enumerate() {
        let before = n.checked_sub(1).and_then(|n| inner.get(n));
        let name = before.and_then(|before| text(body, &before.content));
        let is_secret = name.is_some_and(|name| match before.map(|before| before.number) {
            Some(1) if field.number == 2 => names::class(&name) != NameClass::Plain,
            Some(number) if number == field.number => {
                name.starts_with('-') && names::is_secret_in_text(name.trim_start_matches('-'))
            }
            _ => false,
        });
        let value = text(body, &field.content).filter(|value| !names::is_trivial(false, value));
        if context.rules.defaults && is_secret && value.is_some_and(|value| !value.starts_with('-')) {
            replace(body, field.content.clone(), context);
        } else {
            strings(body, field.content.clone(), context, depth + 1);
        }
    }
}

fn replace(body: &mut [u8], of: Range<usize>, context: &mut RedactionContext<'_>) {
    if let Some(place) = body.get_mut(of) {
        let number = context.secrets.number(place, false);
        let text = placeholder(number, place.len());
        fill(place, text.as_bytes());
    }
}

/// Overwrites a text with another, truncated or padded to its length.
fn fill(place: &mut [u8], text: &[u8]) {
    let rest = std::iter::repeat(&b'~');
    place
        .iter_mut()
        .zip(text.iter().chain(rest))
        .for_each(|(byte, put)| *byte = *put);
}

/// The length-delimited fields of a message. None if it is not a message. `open` is whether more data may follow.
fn fields(body: &[u8], of: Range<usize>, open: bool) -> Option<Vec<Field>> {
    let mut found = Vec::new();
    let mut at = of.start;
    while at < of.end {
        let Some((field, next)) = field(body, at, of.end) else {
            return (open && !found.is_empty()).then_some(found);
        };
        found.extend(field);
        at = next;
    }
    Some(found)
}

fn field(body: &[u8], at: usize, end: usize) -> Option<(Option<Field>, usize)> {
    let (tag, mut at) = varint(body, at, end)?;
    let number = tag >> 3;
    if number == 0 {
        return None;
    }
    match tag & 7 {
        0 => at = varint(body, at, end)?.1,
        1 => at += 8,
        5 => at += 4,
        2 => {
            let (length, start) = varint(body, at, end)?;
            let content = start..start.checked_add(usize::try_from(length).ok()?)?;
            at = content.end;
            if at <= end {
                return Some((Some(Field { number, content }), at));
            }
        }
        _ => return None,
    }
    (at <= end).then_some((None, at))
}

fn varint(body: &[u8], at: usize, end: usize) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (n, byte) in body.get(at..end)?.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * n);
        if byte & 0x80 == 0 {
            return Some((value, at + n + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redactor::redaction::Redaction;
    use crate::redactor::secret_index::SecretIndex;
    use std::sync::Arc;

    fn message(fields: &[(u8, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        for (number, content) in fields {
            out.extend([number << 3 | 2, content.len() as u8]);
            out.extend_from_slice(content);
        }
        out
    }

    #[test]
    fn the_data_of_a_secret_is_replaced_in_place() {
        let entry = message(&[(1, b"key"), (2, b"s3cret-Value")]);
        let object = message(&[(1, &message(&[(1, b"name")])), (2, &entry), (3, b"Opaque")]);
        let kind = message(&[(1, b"v1"), (2, b"Secret")]);
        let mut body = [MAGIC, &message(&[(1, &kind), (2, &object)])].concat();
        let before = body.clone();
        let (rules, mut secrets) = (Arc::new(Redaction::default()), SecretIndex::default());
        assert!(redact(
            &mut body,
            &mut RedactionContext {
                rules: &rules,
                secrets: &mut secrets,
                search: document::redact,
            }
        ));
        let text = String::from_utf8_lossy(&body);
        assert!(text.contains("redacted-1~~") && !text.contains("s3cret"), "{text}");
        let changed = before.iter().zip(&body).filter(|(one, two)| one != two).count();
        assert!(before.len() == body.len() && changed <= 12, "{changed} bytes changed");
    }
}
