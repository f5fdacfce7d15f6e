//! Decoding and encoding of JSON strings.

use memchr::memchr;
use std::borrow::Cow;

/// Decodes the source of a string, without its quotes.
pub(super) fn decoded(raw: &[u8]) -> Cow<'_, str> {
    if memchr(b'\\', raw).is_none() {
        return std::str::from_utf8(raw).map_or_else(|_| String::from_utf8_lossy(raw), Cow::Borrowed);
    }
    let whole = [b"\"", raw, b"\""].concat();
    match serde_json::from_slice::<String>(&whole) {
        Ok(text) => Cow::Owned(text),
        Err(_) => Cow::Owned(String::from_utf8_lossy(raw).into_owned()),
    }
}

/// Encodes a text as a string with quotes, with the same optional escapes as the string that it replaces.
pub(super) fn quoted(text: &str, instead_of: &[u8]) -> String {
    let plain = serde_json::Value::from(text).to_string();
    let has = |escape: &[u8]| memchr::memmem::find(instead_of, escape).is_some();
    let html = has(b"\\u003c") || has(b"\\u003e") || has(b"\\u0026");
    let ascii = has(b"\\u") && instead_of.is_ascii() && !text.is_ascii();
    if !html && !ascii {
        return plain;
    }
    let mut out = String::with_capacity(plain.len());
    for character in plain.chars() {
        match character {
            '<' | '>' | '&' if html => out.push_str(&format!("\\u{:04x}", u32::from(character))),
            c if ascii && !c.is_ascii() => {
                let mut units = [0; 2];
                let escapes = c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"));
                out.extend(escapes);
            }
            c => out.push(c),
        }
    }
    out
}
