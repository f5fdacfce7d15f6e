//! Secrets, and the spellings in which they are looked for.

use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::{Read, Write};

/// A secret that no rule knows by its form.
pub(crate) fn secret(number: usize) -> String {
    let mut state = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let letters = b"abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    let mut out = String::from("s");
    for n in 0..18 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        out.push(char::from(letters[(state >> 33) as usize % letters.len()]));
        if n == 8 && number % 3 == 1 {
            out.push_str("/+");
        }
    }
    out
}

pub(crate) fn code(text: &str) -> String {
    STANDARD.encode(text)
}

pub(crate) fn percent(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

pub(crate) fn jwt(text: &str) -> String {
    format!(
        "{}.{}.c2ln",
        URL_SAFE_NO_PAD.encode("{\"alg\":\"x\"}"),
        URL_SAFE_NO_PAD.encode(format!("{{\"a\":\"{text}\"}}"))
    )
}

/// A private key of this text.
pub(crate) fn hex_key(text: &str) -> String {
    format!("-----BEGIN RSA PRIVATE KEY-----\n{text}\n{text}\n-----END RSA PRIVATE KEY-----\n")
}

pub(crate) fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("encoded");
    encoder.finish().expect("encoded")
}

pub(crate) fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("encoded");
    encoder.finish().expect("encoded")
}

/// Looks for secrets in every spelling.
pub(crate) struct Search {
    automaton: AhoCorasick,
    of: Vec<usize>,
}

impl Search {
    pub(crate) fn new(secrets: &[String]) -> Self {
        let (mut all, mut of) = (Vec::new(), Vec::new());
        for (n, secret) in secrets.iter().enumerate() {
            for spelling in spellings(secret) {
                all.push(spelling);
                of.push(n);
            }
        }
        Self {
            automaton: AhoCorasick::new(all).expect("an automaton"),
            of,
        }
    }

    /// The numbers of the secrets that are in bytes, or in what these encode.
    pub(crate) fn found(&self, bytes: &[u8]) -> Vec<usize> {
        let mut found: Vec<usize> = self
            .automaton
            .find_overlapping_iter(bytes)
            .map(|hit| self.of[hit.pattern()])
            .collect();
        // Base64 may be in lines.
        let compact: Vec<u8> = bytes
            .iter()
            .copied()
            .filter(|byte| !byte.is_ascii_whitespace())
            .collect();
        let is_code = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte);
        for text in [bytes, &compact[..]] {
            for run in text.split(|byte| !is_code(byte)).filter(|run| run.len() >= 16) {
                let standard: Vec<u8> = run
                    .iter()
                    .map(|byte| match byte {
                        b'-' => b'+',
                        b'_' => b'/',
                        other => *other,
                    })
                    .collect();
                for cut in 0..4.min(run.len()) {
                    let length = (standard.len() - cut) / 4 * 4;
                    if let Ok(decoded) = STANDARD_NO_PAD.decode(&standard[cut..cut + length]) {
                        found.extend(
                            self.automaton
                                .find_overlapping_iter(&decoded)
                                .map(|hit| self.of[hit.pattern()]),
                        );
                        found.extend(self.unpacked(&decoded));
                    }
                }
            }
        }
        found.extend(self.unpacked(bytes));
        found.sort_unstable();
        found.dedup();
        found
    }

    fn unpacked(&self, bytes: &[u8]) -> Vec<usize> {
        let mut out = Vec::new();
        if bytes.starts_with(&[0x1f, 0x8b]) {
            let _ = MultiGzDecoder::new(bytes).read_to_end(&mut out);
        } else if bytes.starts_with(&[0x78]) {
            let _ = ZlibDecoder::new(bytes).read_to_end(&mut out);
        }
        let narrow: Vec<u8> = match bytes.contains(&0) {
            true => bytes.iter().copied().filter(|byte| *byte != 0).collect(),
            false => Vec::new(),
        };
        let mut found: Vec<usize> = self
            .automaton
            .find_overlapping_iter(&out)
            .map(|hit| self.of[hit.pattern()])
            .collect();
        found.extend(
            self.automaton
                .find_overlapping_iter(&narrow)
                .map(|hit| self.of[hit.pattern()]),
        );
        found
    }
}

/// A secret plain, percent-encoded, in hexadecimal, and as base64 at each alignment.
fn spellings(secret: &str) -> Vec<Vec<u8>> {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let encoded = percent(secret);
    let mut all = vec![
        secret.to_owned(),
        encoded.to_lowercase(),
        encoded,
        hex.to_uppercase(),
        hex,
    ];
    for before in 0..3 {
        let whole = [&vec![b'x'; before][..], secret.as_bytes()].concat();
        for code in [STANDARD_NO_PAD.encode(&whole), URL_SAFE_NO_PAD.encode(&whole)] {
            // What its neighbours have a part in is not its own.
            let (start, end) = ([0, 2, 3][before], code.len() - usize::from(whole.len() % 3 != 0));
            all.push(code[start..end].to_owned());
        }
    }
    all.into_iter().map(String::into_bytes).collect()
}

/// A Kubernetes object in protobuf, with its kind.
pub(crate) fn envelope(kind: &[u8], object: &[u8]) -> Vec<u8> {
    let kind = message(&[(1, b"v1"), (2, kind)]);
    [b"k8s\0", &message(&[(1, &kind), (2, object)])[..]].concat()
}

/// A protobuf message of fields with a length.
pub(crate) fn message(fields: &[(u8, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, content) in fields {
        out.push(number << 3 | 2);
        let mut length = content.len();
        while length >= 0x80 {
            out.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        out.push(length as u8);
        out.extend_from_slice(content);
    }
    out
}
