//! Conversion of values to the numbers of numeric fields.
//!
//! Source: Elasticsearch 1.5's parser on Jackson 2.5, and its number field mappers.

use serde_json::{Number, Value};

use crate::dates::Fill;
use crate::error::{Result, SearchError};
use crate::json::{BODY, boolean_token, is_oversized_integer, java_number, not_numeric, unreadable, whole};
use crate::mapping::{FieldType, Kind, out_of_range};

/// Name of the Java class of a number, for error messages.
fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Long => "Long",
        Kind::Integer => "Integer",
        Kind::Short | Kind::Byte => "Short",
        Kind::Float => "Float",
        _ => "Double",
    }
}

/// Encodes a value of a numeric field; the order of encoded values is that of the numbers. `text` is the value as text.
///
/// # Errors
/// A value that is not a number of the field's kind.
pub(crate) fn encoded_number(field: &FieldType, value: &Value, text: &str) -> Result<i64> {
    let coerces = field.coerces;
    match value {
        Value::Bool(own) => Err(not_numeric(boolean_token(*own), BODY)),
        Value::String(_) if !coerces => {
            let reason = format!("{} value passed as String", class(field.kind));
            Err(SearchError::argument(reason))
        }
        Value::Number(number) if !field.kind.is_floating() => integer(field.kind, number, coerces),
        // A byte is a truncated short.
        _ if field.kind == Kind::Byte => match text.parse::<i16>() {
            Ok(short) => Ok(i64::from(short as i8)),
            Err(_) => Err(out_of_range(text)),
        },
        _ => field.encode_text(text),
    }
}

/// Converts a value of a date field to milliseconds since 1970. `text` is the value as text.
///
/// # Errors
/// Neither a number nor a date of the field's format.
pub(crate) fn encoded_date(field: &FieldType, value: &Value, text: &str) -> Result<i64> {
    let millis = match value {
        Value::Number(number) => whole(number).map(|number| field.millis_of(number)),
        Value::String(text) => {
            let number = || text.parse().ok().map(|number| field.millis_of(number));
            field.format.parse(text, Fill::Floor).or_else(number)
        }
        _ => None,
    };
    millis.ok_or_else(|| {
        let reason = format!(
            "failed to parse date field [{text}], tried both date format [{}], and timestamp number with locale []",
            field.format.as_str()
        );
        SearchError::mapping(reason).caused_by(field.format.invalid(text))
    })
}

/// Fails for a value that is no number or no date of a field.
pub(super) fn check_value(field: &FieldType, value: &Value, text: &str) -> Result<()> {
    if let Value::Number(number) = value {
        check_range(field.kind, number, text)?;
    }
    match field.kind {
        Kind::Date => encoded_date(field, value, text).map(drop),
        Kind::Ip => field.encode_text(text).map(drop),
        Kind::Long | Kind::Integer | Kind::Short | Kind::Byte | Kind::Double | Kind::Float => {
            encoded_number(field, value, text).map(drop)
        }
        _ => Ok(()),
    }
}

/// Fails for a number outside of the range that the parser reads for a kind of field. `literal` is its text.
pub(super) fn check_range(kind: Kind, number: &Number, literal: &str) -> Result<()> {
    let float = number.as_f64().unwrap_or(f64::INFINITY);
    let exceeded = match (kind, number.as_i64()) {
        (Kind::Long | Kind::Date, Some(_)) => None,
        (Kind::Long | Kind::Date, None) => {
            let fits = (i64::MIN as f64..=i64::MAX as f64).contains(&float) && !is_oversized_integer(literal);
            (!fits).then(|| format!("long ({} - {})", i64::MIN, i64::MAX))
        }
        (Kind::Integer | Kind::Boolean | Kind::Short | Kind::Byte, whole) => {
            let own = whole.unwrap_or(float as i64);
            let is_short = matches!(kind, Kind::Short | Kind::Byte) && i16::try_from(own).is_err();
            match (i32::try_from(own), whole) {
                (Ok(_), _) => is_short.then(|| "Java short".to_owned()),
                (Err(_), Some(_)) => Some("int".to_owned()),
                (Err(_), None) => Some(format!("int ({} - {})", i32::MIN, i32::MAX)),
            }
        }
        _ => None,
    };
    match exceeded {
        None => Ok(()),
        Some(range) => {
            let reason = format!("Numeric value ({literal}) out of range of {range}");
            Err(unreadable(&reason, BODY))
        }
    }
}

/// Converts a number to an integer: truncates its fraction.
fn integer(kind: Kind, number: &Number, coerces: bool) -> Result<i64> {
    let float = number.as_f64().unwrap_or(f64::INFINITY);
    let own = number.as_i64().unwrap_or(float as i64);
    if !coerces && own as f64 != float {
        return Err(SearchError::argument(format!(
            "{} cannot be converted to {} without data loss",
            java_number(float),
            class(kind)
        )));
    }
    Ok(if kind == Kind::Byte { i64::from(own as i8) } else { own })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    use crate::json::text_of;

    fn encoded(kind: &str, coerces: bool, value: &Value) -> Result<i64> {
        let definition = json!({"type": kind, "coerce": coerces});
        let field = FieldType::parse("n", definition.as_object().unwrap()).unwrap();
        let text = text_of(value);
        if let Value::Number(number) = value {
            check_range(field.kind, number, &text)?;
        }
        encoded_number(&field, value, &text)
    }

    #[rstest]
    #[case("long", json!(5.7), 5)]
    #[case("integer", json!("-7"), -7)]
    #[case("short", json!(-32_768), -32_768)]
    #[case("byte", json!(128), -128)]
    #[case("byte", json!("300"), 44)]
    fn a_value_is_coerced_to_its_field(#[case] kind: &str, #[case] value: Value, #[case] expected: i64) {
        assert_eq!(encoded(kind, true, &value).unwrap(), expected);
    }

    #[rstest]
    #[case(
        "long",
        true,
        json!(1e30),
        "JsonParseException[Numeric value (1e+30) out of range of long (-9223372036854775808 - 9223372036854775807)"
    )]
    #[case(
        "integer",
        true,
        json!(3_000_000_000u32),
        "JsonParseException[Numeric value (3000000000) out of range of int\n"
    )]
    #[case("short", true, json!(3e9), "JsonParseException[Numeric value (3000000000.0) out of range of int (-2147")]
    #[case("byte", true, json!(40_000), "JsonParseException[Numeric value (40000) out of range of Java short")]
    #[case(
        "double",
        true,
        json!(false),
        "JsonParseException[Current token (VALUE_FALSE) not numeric, can not use numeric value accessors"
    )]
    #[case("short", true, json!("40000"), "NumberFormatException[Value out of range. Value:\"40000\" Radix:10]")]
    #[case("byte", true, json!("12x"), "NumberFormatException[For input string: \"12x\"]")]
    #[case("integer", true, json!("3000000000"), "NumberFormatException[For input string: \"3000000000\"]")]
    #[case("integer", false, json!("5"), "IllegalArgumentException[Integer value passed as String]")]
    #[case("long", false, json!(5.5), "IllegalArgumentException[5.5 cannot be converted to Long without data loss]")]
    fn invalid_numbers_are_rejected(
        #[case] kind: &str,
        #[case] coerces: bool,
        #[case] value: Value,
        #[case] expected: &str,
    ) {
        let error = encoded(kind, coerces, &value).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
