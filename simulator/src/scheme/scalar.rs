//! Values that read and write themselves: times, amounts, bytes, numbers that may be text.
//!
//! Source of semantics: Go 1.5's `time`, `encoding/base64` and `encoding/json`; Kubernetes v1.2's `resource.Quantity` and `intstr.IntOrString`.

use base64::Engine;
use serde_json::Value;

use crate::api::quantity::Quantity;

/// What JSON calls the value that begins so, as Go's errors name it.
fn json_name(raw: &[u8]) -> &'static str {
    match raw.first() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "bool",
        _ => "number",
    }
}

fn text(raw: &[u8]) -> Result<String, String> {
    serde_json::from_slice(raw).map_err(|_| format!("json: cannot unmarshal {} into Go value of type string", json_name(raw)))
}

/// Bytes in base64, written anew; the problem, where it is none.
pub(super) fn base64(text: &str) -> Result<String, String> {
    let standard = base64::engine::general_purpose::STANDARD;
    let packed: Vec<u8> = text.bytes().filter(|c| !matches!(c, b'\r' | b'\n')).collect();
    match standard.decode(&packed) {
        Ok(bytes) => Ok(standard.encode(bytes)),
        Err(_) => Err(format!("illegal base64 data at input byte {}", bad_base64(text.as_bytes()))),
    }
}

/// Where bytes stop being base64: the place of the first byte that cannot stand there.
fn bad_base64(bytes: &[u8]) -> usize {
    let mut quantum = 0usize;
    let mut at = 0;
    while let Some(&c) = bytes.get(at) {
        match c {
            b'\r' | b'\n' => {}
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => quantum = (quantum + 1) % 4,
            _ => return at,
        }
        at += 1;
    }
    bytes.len().saturating_sub(quantum)
}

/// A point in time from JSON.
pub(super) fn time_json(raw: &[u8]) -> Result<Value, String> {
    let text = text(raw)?;
    super::time::parse(&text).map(Value::from)
}

/// An amount from JSON, where it may stand with quotes or without.
pub(super) fn quantity_json(raw: &[u8]) -> Result<String, String> {
    let raw = String::from_utf8_lossy(raw);
    quantity(raw.trim_matches('"'))
}

/// An amount in its canonical form.
pub(super) fn quantity(text: &str) -> Result<String, String> {
    text.parse::<Quantity>().map(|amount| amount.to_string()).map_err(|e| e.to_string())
}

/// A number or a text from JSON.
pub(super) fn int_or_string_json(raw: &[u8]) -> Result<Value, String> {
    if raw.first() == Some(&b'"') {
        return text(raw).map(Value::from);
    }
    let name = json_name(raw);
    if name != "number" {
        return Err(format!("json: cannot unmarshal {name} into Go value of type int32"));
    }
    let written = String::from_utf8_lossy(raw);
    match written.parse::<i32>() {
        Ok(number) => Ok(number.into()),
        Err(_) => Err(format!("json: cannot unmarshal number {written} into Go value of type int32")),
    }
}
