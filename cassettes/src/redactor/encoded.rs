//! Bodies in other encodings: undeclared gzip, UTF-16, multipart forms.
//!
//! An encoded body with a secret is replaced with its length and hash.

use super::context::RedactionContext;
use super::names::{self, NameClass};
use crate::interaction::placeholder;
use flate2::read::MultiGzDecoder;
use std::io::Read;

/// Maximum decompressed length that is searched.
const MAX_DECOMPRESSED_BYTES: u64 = 64 << 20;

/// Whether bytes begin with the magic number of gzip.
pub(super) fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b, 8])
}

/// Whether bytes begin with the byte order mark of UTF-16.
pub(super) fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff])
}

/// Decompresses gzip, up to the first error. Returns none if nothing can be decompressed, or it is too long.
pub(super) fn gunzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    // The part before an error is searched.
    let read = MultiGzDecoder::new(bytes)
        .take(MAX_DECOMPRESSED_BYTES)
        .read_to_end(&mut out);
    let whole = (out.len() as u64) < MAX_DECOMPRESSED_BYTES && (read.is_ok() || !out.is_empty());
    whole.then_some(out)
}

/// Decodes UTF-16 with its byte order mark.
pub(super) fn utf16(bytes: &[u8]) -> String {
    let little = bytes.first() == Some(&0xff);
    let unit = |pair: &[u8]| match pair {
        [one, two] if little => u16::from_le_bytes([*one, *two]),
        [one, two] => u16::from_be_bytes([*one, *two]),
        _ => 0,
    };
    let units: Vec<u16> = bytes.get(2..).unwrap_or_default().chunks(2).map(unit).collect();
    String::from_utf16_lossy(&units)
}

/// Redacts `multipart/form-data`: fields with secret names as a whole, others with `other`.
pub(super) fn multipart(
    body: &[u8],
    boundary: &str,
    context: &mut RedactionContext<'_>,
    mut other: impl FnMut(&[u8], &str, &mut RedactionContext<'_>) -> Vec<u8>,
) -> Vec<u8> {
    let delimiter = format!("--{boundary}");
    let mut out = Vec::with_capacity(body.len());
    let mut at = 0;
    let places: Vec<usize> = memchr::memmem::find_iter(body, delimiter.as_bytes()).collect();
    for (n, place) in places.iter().enumerate() {
        let end = places.get(n + 1).copied().unwrap_or(body.len());
        let part = body.get(*place..end).unwrap_or_default();
        let head = memchr::memmem::find(part, b"\r\n\r\n").map(|head| head + 4);
        let Some(head) = head else { continue };
        let fields = String::from_utf8_lossy(part.get(..head).unwrap_or_default()).into_owned();
        let content = part.get(head..).unwrap_or_default();
        let content = content.strip_suffix(b"\r\n").unwrap_or(content);
        out.extend_from_slice(body.get(at..place + head).unwrap_or_default());
        at = place + head + content.len();
        let name = fields.split([';', '\r', '\n']).find_map(|field| {
            let (key, name) = field.trim().split_once('=')?;
            key.trim()
                .eq_ignore_ascii_case("name")
                .then(|| name.trim().trim_matches('"'))
        });
        if name.is_some_and(|name| names::class(name) != NameClass::Plain) && !content.is_empty() {
            let number = context.secrets.number(content, true);
            out.extend_from_slice(placeholder(number, content.len()).as_bytes());
        } else {
            let typed = |line: &str| Some(line.split_once(':')?.1.trim().to_ascii_lowercase());
            let media_type = fields
                .lines()
                .find(|line| line.to_ascii_lowercase().starts_with("content-type:"))
                .and_then(typed);
            out.extend(other(content, media_type.as_deref().unwrap_or("text/plain"), context));
        }
    }
    out.extend_from_slice(body.get(at..).unwrap_or_default());
    out
}
