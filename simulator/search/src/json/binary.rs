//! Binary values of a body.
//!
//! Source: `getBinaryValue` of Jackson 2, the JSON parser of Elasticsearch 1.5.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use super::unreadable;
use crate::error::{Result, SearchError};

/// Base64 that ignores the bits after the last byte.
pub(crate) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// Number of characters of a unit of base64.
pub(crate) const BASE64_UNIT: usize = 4;

/// Decodes a value that is base64, with white space between its units. `source` is what the parser reads, in errors.
///
/// # Errors
/// A value that is no text, or no base64.
pub(crate) fn binary(value: &Value, source: &str) -> Result<Vec<u8>> {
    let token = match value {
        Value::String(text) => {
            return match fault(text) {
                Some(fault) => {
                    let reason = format!("Failed to decode VALUE_STRING as base64 (MIME-NO-LINEFEEDS): {fault}");
                    Err(unreadable(&reason, source))
                }
                None => {
                    let characters: Vec<u8> = text.bytes().filter(|byte| *byte > b' ').collect();
                    // Any unit can be padded.
                    let units = characters.chunks(BASE64_UNIT).map(|unit| BASE64.decode(unit));
                    let bytes = units.collect::<Result<Vec<_>, _>>().map_err(SearchError::engine)?;
                    Ok(bytes.concat())
                }
            };
        }
        Value::Null => "VALUE_NULL",
        Value::Bool(true) => "VALUE_TRUE",
        Value::Bool(false) => "VALUE_FALSE",
        Value::Number(number) if number.is_f64() => "VALUE_NUMBER_FLOAT",
        Value::Number(_) => "VALUE_NUMBER_INT",
        Value::Array(_) => "START_ARRAY",
        Value::Object(_) => "START_OBJECT",
    };
    let reason = format!("Current token ({token}) not VALUE_STRING or VALUE_EMBEDDED_OBJECT, can not access as binary");
    Err(unreadable(&reason, source))
}

/// Describes the first character of a text that base64 cannot have. The closing quote follows the text.
fn fault(text: &str) -> Option<String> {
    let (mut place, mut is_padded) = (0, false);
    for byte in text.bytes() {
        place = match (place, byte) {
            (0, ..=b' ') => 0,
            (3, b'=') => 0,
            (3, _) if is_padded => return Some(illegal(byte, place) + ": expected padding character '='"),
            (2, b'=') => 3,
            (_, b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/') => (place + 1) % 4,
            _ => return Some(illegal(byte, place)),
        };
        is_padded = place == 3 && byte == b'=';
    }
    (place != 0).then(|| illegal(b'"', place))
}

/// Describes a character at a place of a unit of four.
fn illegal(byte: u8, place: usize) -> String {
    let number = place + 1;
    match byte {
        ..=b' ' => format!(
            "Illegal white space character (code 0x{byte:x}) as character #{number} of 4-char base64 unit: can only \
             used between units"
        ),
        b'=' => format!(
            "Unexpected padding character ('=') as character #{number} of 4-char base64 unit: padding only legal as \
             3rd or 4th character"
        ),
        0x7f..=0x9f => format!("Illegal character (code 0x{byte:x}) in base64 content"),
        _ => format!(
            "Illegal character '{}' (code 0x{byte:x}) in base64 content",
            char::from(byte)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case("", "")]
    #[case(" YQ==\nYmI=", "abb")]
    #[case("YR==", "a")]
    fn base64_is_decoded(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(binary(&json!(text), "").unwrap(), expected.as_bytes());
    }

    #[rstest]
    #[case("YQ", "Illegal character '\"' (code 0x22) in base64 content")]
    #[case("Y Q=", "Illegal white space character (code 0x20) as character #2")]
    #[case("=", "Unexpected padding character ('=') as character #1")]
    #[case(
        "YQ=a",
        "Illegal character 'a' (code 0x61) in base64 content: expected padding character '='"
    )]
    fn other_texts_are_errors(#[case] text: &str, #[case] expected: &str) {
        let error = binary(&json!(text), "").unwrap_err();
        assert!(error.reason.contains(expected), "{}", error.reason);
    }
}
