//! Redaction of texts that may be documents: JSON, YAML, base64 of them, and JSON within plain text.
//!
//! Limit: at most [`MAX_OBJECTS`] JSON objects are parsed in one text.

use super::blocks::Block;
use super::context::{MAX_NESTING, RedactionContext};
use super::encoded;
use super::json::Json;
use super::text;
use super::yaml;
use base64::Engine;
use base64::alphabet;
use base64::engine::general_purpose::{NO_PAD, PAD};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::de::IgnoredAny;

/// Maximum number of JSON objects parsed in one text.
const MAX_OBJECTS: usize = 64;

/// Minimum length of a word that is decoded as base64.
const MIN_BASE64_LENGTH: usize = 20;

const CONFIG: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, CONFIG);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, CONFIG);

/// Redacts a text. Returns none if it has no secret. `depth` is the number of enclosing texts.
pub(super) fn redact(text: &str, context: &mut RedactionContext<'_>, depth: usize) -> Option<String> {
    if !text::is_marked(text.as_bytes(), context.rules) {
        return context.secrets.text(text);
    }
    match document(text, context, depth) {
        Some(document) => (document != text).then_some(document),
        None => marked(text, context, depth, &mut Block::default()),
    }
}

/// Redacts lines of a text that follows another. Returns none if they have no secret.
fn lines(text: &str, context: &mut RedactionContext<'_>, depth: usize, block: &mut Block) -> Option<String> {
    if *block == Block::None && !text::is_marked(text.as_bytes(), context.rules) {
        return context.secrets.text(text);
    }
    marked(text, context, depth, block)
}

/// As [`lines`], for a text that may have a secret.
fn marked(text: &str, context: &mut RedactionContext<'_>, depth: usize, block: &mut Block) -> Option<String> {
    if *block == Block::None
        && let Some(found) = base64(text, context, depth)
    {
        return Some(found);
    }
    let runs = runs(text, context, depth);
    let text = runs.as_deref().unwrap_or(text);
    let objects = objects(text, context, depth).or_else(|| runs.clone());
    let found = text::redact(objects.as_deref().unwrap_or(text), context, block);
    found.or(objects)
}

/// As [`redact`], for bytes of any encoding that follow others.
pub(super) fn bytes(bytes: &[u8], context: &mut RedactionContext<'_>, block: &mut Block) -> Option<Vec<u8>> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return lines(text, context, 0, block).map(String::into_bytes);
    }
    let known = context.secrets.bytes(bytes);
    let text: String = known
        .as_deref()
        .unwrap_or(bytes)
        .iter()
        .map(|byte| char::from(*byte))
        .collect();
    match lines(&text, context, MAX_NESTING, block) {
        // Placeholders are ASCII, and every other character was decoded from one byte.
        Some(text) => Some(
            text.chars()
                .map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?'))
                .collect(),
        ),
        None => known,
    }
}

/// Redacts a text that is a document. Returns none if it is not one.
fn document(text: &str, context: &mut RedactionContext<'_>, depth: usize) -> Option<String> {
    if depth >= MAX_NESTING {
        return None;
    }
    if text.trim_start().starts_with(['{', '[']) {
        return Json::whole(text, context, depth + 1);
    }
    let mapped = || text.lines().any(|line| line.ends_with(':') || line.contains(": "));
    match text.trim_end().contains('\n') && mapped() {
        true => yaml::redact(text, false, context, depth + 1),
        false => None,
    }
}

/// Redacts base64 of a text with secrets. Base64 of compressed secrets is replaced as a whole.
fn base64(text: &str, context: &mut RedactionContext<'_>, depth: usize) -> Option<String> {
    if depth >= MAX_NESTING || !text::is_base64(text.as_bytes()) {
        return None;
    }
    let engine = if text.contains(['-', '_']) { URL_SAFE } else { STANDARD };
    let compact: String = text.split(['\r', '\n']).collect();
    let bytes = engine.decode(&compact).ok()?;
    if encoded::is_gzip(&bytes) {
        let inner = encoded::gunzip(&bytes)?;
        let found = match std::str::from_utf8(&inner) {
            Ok(inner) => redact(inner, context, depth + 1).map(String::into_bytes),
            Err(_) => self::bytes(&inner, context, &mut Block::default()),
        };
        return found.map(|_| context.secrets.placeholder(text, true));
    }
    let inner = std::str::from_utf8(&bytes).ok()?;
    if inner
        .chars()
        .any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
    {
        return None;
    }
    let found = redact(inner, context, depth + 1)?;
    let padding = if compact.ends_with('=') || compact.len().is_multiple_of(4) {
        PAD
    } else {
        NO_PAD
    };
    let alphabet = if text.contains(['-', '_']) {
        &alphabet::URL_SAFE
    } else {
        &alphabet::STANDARD
    };
    let code = GeneralPurpose::new(alphabet, padding).encode(found);
    Some(code + text.get(text.trim_end().len()..).unwrap_or_default())
}

/// Redacts words that are base64 of texts with secrets. Returns none if there are none.
fn runs(text: &str, context: &mut RedactionContext<'_>, depth: usize) -> Option<String> {
    if depth >= MAX_NESTING || !context.rules.defaults {
        return None;
    }
    let is_code = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut done, mut at) = (0, 0);
    while at < bytes.len() {
        let length = bytes.iter().skip(at).take_while(|byte| is_code(byte)).count();
        let padding = bytes
            .iter()
            .skip(at + length)
            .take(2)
            .take_while(|byte| **byte == b'=')
            .count();
        let end = at + length + padding;
        // A JSON web token is redacted as a whole.
        let part = bytes.get(end) == Some(&b'.') || (at > 0 && bytes.get(at - 1) == Some(&b'.'));
        if length >= MIN_BASE64_LENGTH
            && !part
            && let Some(run) = text.get(at..end)
            && let Some(found) = base64(run, context, depth + 1)
        {
            out.push_str(text.get(done..at)?);
            out.push_str(&found);
            done = end;
        }
        at = end.max(at + 1);
    }
    if done == 0 {
        return None;
    }
    out.push_str(text.get(done..)?);
    Some(out)
}

/// Redacts JSON objects within a text. Returns none if they have no secret.
fn objects(text: &str, context: &mut RedactionContext<'_>, depth: usize) -> Option<String> {
    if depth >= MAX_NESTING || !context.rules.defaults {
        return None;
    }
    let mut out = String::new();
    let (mut done, mut at) = (0, 0);
    for _ in 0..MAX_OBJECTS {
        let Some(start) = text
            .get(at..)?
            .match_indices('{')
            .map(|(found, _)| at + found)
            .find(|start| {
                let within = text.get(start + 1..).unwrap_or_default();
                within.trim_start().starts_with('"')
            })
        else {
            break;
        };
        let rest = text.get(start..)?;
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        let sound = matches!(values.next(), Some(Ok(_)));
        let end = start + if sound { values.byte_offset() } else { 1 };
        let object = text.get(start..end)?;
        if let Some(found) = sound.then(|| Json::whole(object, context, depth + 1)).flatten()
            && found != object
        {
            out.push_str(text.get(done..start)?);
            out.push_str(&found);
            done = end;
        }
        at = end;
    }
    if done == 0 {
        return None;
    }
    out.push_str(text.get(done..)?);
    Some(out)
}
