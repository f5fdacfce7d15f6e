//! Scalars with their own text form: times, quantities, bytes, numbers or strings.
//!
//! Source of the semantics: Go's `time`, `encoding/base64` and `encoding/json`; Kubernetes v1.2's `resource.Quantity`
//! and `intstr.IntOrString`.

use base64::{
    Engine, alphabet,
    engine::{GeneralPurpose, GeneralPurposeConfig},
};
use serde_json::Value;

use crate::api::quantity::Quantity;

/// Name of a JSON value's type in Go's errors.
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
    serde_json::from_slice(raw)
        .map_err(|_| format!("json: cannot unmarshal {} into Go value of type string", json_name(raw)))
}

/// Returns base64 in canonical form. The error names the byte at which Go's decoder stops, line breaks included.
pub(crate) fn base64(text: &str) -> Result<String, String> {
    let is_break = |c: u8| matches!(c, b'\r' | b'\n');
    let packed: Vec<u8> = text.bytes().filter(|c| !is_break(*c)).collect();
    let bad = |at: usize| format!("illegal base64 data at input byte {at}");
    match find_fault(&packed) {
        None => {}
        Some(Fault::Truncated(over)) => return Err(bad(text.len() - over)),
        Some(Fault::At(at)) => {
            let mut digits = text.bytes().enumerate().filter(|(_, c)| !is_break(*c));
            return Err(bad(digits.nth(at).map_or(text.len(), |(at, _)| at)));
        }
    }
    // The unused bits of the last digit are ignored.
    let lenient = GeneralPurpose::new(
        &alphabet::STANDARD,
        GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
    );
    lenient
        .decode(&packed)
        .map(|bytes| lenient.encode(bytes))
        .map_err(|_| bad(text.len()))
}

/// Fault in base64.
enum Fault {
    /// The text ends within a group of four digits, after this many of them.
    Truncated(usize),
    /// The byte at this index is invalid. An index after the last byte means missing padding.
    At(usize),
}

/// Returns the first fault of base64 without line breaks: groups of four digits, of which only the last may be
/// padded.
fn find_fault(bytes: &[u8]) -> Option<Fault> {
    let is_digit = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/');
    let digits = bytes.iter().take_while(|c| is_digit(**c)).count();
    match (digits % 4, bytes.get(digits)) {
        (0, None) => None,
        (over, None) => Some(Fault::Truncated(over)),
        (2, Some(b'=')) => match bytes.get(digits + 1) {
            None => Some(Fault::At(bytes.len())),
            Some(b'=') if bytes.len() == digits + 2 => None,
            Some(b'=') => Some(Fault::At(digits + 2)),
            Some(_) => Some(Fault::At(digits + 1)),
        },
        (3, Some(b'=')) if bytes.len() == digits + 1 => None,
        (3, Some(b'=')) => Some(Fault::At(digits + 1)),
        (_, Some(_)) => Some(Fault::At(digits)),
    }
}

/// Decodes a time from JSON. A value that is not a string is decoded as an empty one, which is not a time either.
pub(crate) fn time_json(raw: &[u8]) -> Result<String, String> {
    super::time::parse(&text(raw).unwrap_or_default())
}

/// Decodes a quantity from JSON, with or without quotes.
pub(crate) fn quantity_json(raw: &[u8]) -> Result<String, String> {
    let raw = String::from_utf8_lossy(raw);
    quantity(raw.trim_matches('"'))
}

/// Returns a quantity in canonical form.
pub(crate) fn quantity(text: &str) -> Result<String, String> {
    text.parse::<Quantity>()
        .map(|amount| amount.to_string())
        .map_err(|e| e.to_string())
}

/// Decodes a number or a string from JSON.
pub(crate) fn int_or_string_json(raw: &[u8]) -> Result<Value, String> {
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
        Err(_) => Err(format!(
            "json: cannot unmarshal number {written} into Go value of type int32"
        )),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("", "")]
    #[case("aGk=", "aGk=")]
    #[case("aGl=", "aGk=")]
    #[case("aG\nk=", "aGk=")]
    #[case("aGk/", "aGk/")]
    fn base64_is_canonicalized(#[case] given: &str, #[case] kept: &str) {
        assert_eq!(base64(given), Ok(kept.to_owned()));
    }

    #[rstest]
    #[case("not base64!", 3)]
    #[case("w", 0)]
    #[case("a\n", 1)]
    #[case("aG\n!", 3)]
    #[case("aGkab", 4)]
    #[case("a===", 1)]
    #[case("aG=", 3)]
    #[case("aG=x", 3)]
    #[case("aGk=aGk=", 4)]
    #[case("aG==aG==", 4)]
    fn invalid_base64_names_the_first_fault(#[case] given: &str, #[case] at: usize) {
        assert_eq!(base64(given), Err(format!("illegal base64 data at input byte {at}")));
    }

    #[rstest]
    #[case("80", Ok(json!(80)))]
    #[case("\"http\"", Ok(json!("http")))]
    #[case("1.5", Err("json: cannot unmarshal number 1.5 into Go value of type int32"))]
    #[case(
        "2147483648",
        Err("json: cannot unmarshal number 2147483648 into Go value of type int32")
    )]
    #[case("true", Err("json: cannot unmarshal bool into Go value of type int32"))]
    #[case("[]", Err("json: cannot unmarshal array into Go value of type int32"))]
    fn a_number_or_a_text(#[case] raw: &str, #[case] outcome: Result<Value, &str>) {
        assert_eq!(int_or_string_json(raw.as_bytes()), outcome.map_err(str::to_owned));
    }

    #[rstest]
    #[case("\"0.5\"", "500m")]
    #[case("1024", "1024")]
    #[case("\"1024Mi\"", "1Gi")]
    fn quantities_may_be_quoted(#[case] raw: &str, #[case] kept: &str) {
        assert_eq!(quantity_json(raw.as_bytes()).as_deref(), Ok(kept));
    }

    #[test]
    fn invalid_quantities_have_their_own_errors() {
        assert_eq!(
            quantity_json(b"true"),
            Err("true".parse::<Quantity>().unwrap_err().to_string())
        );
    }

    #[rstest]
    #[case("\"2015-06-26T12:00:00+01:00\"", Ok("2015-06-26T11:00:00Z"))]
    #[case("\"0001-01-01T00:00:00Z\"", Ok(crate::compat::time::ZERO))]
    #[case(
        "5",
        Err("parsing time \"\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"2006\"")
    )]
    fn a_time_from_json(#[case] raw: &str, #[case] outcome: Result<&str, &str>) {
        assert_eq!(
            time_json(raw.as_bytes()),
            outcome.map(str::to_owned).map_err(str::to_owned)
        );
    }
}
