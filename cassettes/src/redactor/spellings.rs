//! Other spellings of a secret.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Minimum length of base64 that is searched for.
const MIN_BASE64_LENGTH: usize = 8;

/// The spellings of a secret.
pub(super) struct Spellings {
    /// Unchanged, escaped, percent-encoded and in hexadecimal.
    pub(super) plain: Vec<Vec<u8>>,
    /// In base64, at each of the three alignments.
    pub(super) base64: Vec<Vec<u8>>,
}

impl Spellings {
    /// The spellings of a secret, in hexadecimal only if `in_hex`.
    pub(super) fn new(secret: &[u8], in_hex: bool) -> Self {
        let hex = |upper: bool| -> Vec<u8> {
            let digits = |byte: &u8| {
                if upper {
                    format!("{byte:02X}")
                } else {
                    format!("{byte:02x}")
                }
            };
            secret.iter().map(digits).collect::<String>().into()
        };
        let mut plain = vec![secret.to_vec()];
        if in_hex {
            plain.extend([hex(false), hex(true)]);
        }
        if let Ok(text) = std::str::from_utf8(secret) {
            plain.extend(
                serde_json::to_string(text)
                    .ok()
                    .and_then(|json| Some(json.get(1..json.len() - 1)?.into())),
            );
            plain.push(url::form_urlencoded::byte_serialize(secret).collect::<String>().into());
            let encoded = text.bytes().map(percent).collect::<String>();
            plain.push(small_escapes(&encoded).into());
            plain.push(encoded.into());
        }
        plain.sort();
        plain.dedup();
        let mut base64: Vec<Vec<u8>> = Vec::new();
        for before in 0..3 {
            for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
                let code = engine.encode([&vec![0; before][..], secret].concat());
                // Characters that depend on neighbouring bytes are left out.
                let first = [0, 2, 3].get(before).copied().unwrap_or_default();
                let whole = (before + secret.len()).is_multiple_of(3);
                let last = if whole { code.len() } else { code.len() - 1 };
                base64.extend(
                    code.get(first..last)
                        .filter(|code| code.len() >= MIN_BASE64_LENGTH)
                        .map(Vec::from),
                );
            }
        }
        base64.sort();
        base64.dedup();
        Self { plain, base64 }
    }
}

/// Percent-encodes all but unreserved characters, as browsers and `encodeURIComponent` do.
fn percent(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    }
}

/// Converts percent escapes to lowercase.
fn small_escapes(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (code, rest) = part.split_at(part.len().min(2));
        out.push('%');
        out.push_str(&code.to_ascii_lowercase());
        out.push_str(rest);
    }
    out
}
