//! Values of fields as `fields` returns them: those of the source, or those that the index stores.
//!
//! Source: `valueForSearch` of the field mappers of Elasticsearch 1.5.

use std::net::Ipv4Addr;

use base64::Engine;
use serde_json::{Map, Value, json};

use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::find::source::extract;
use crate::index::{boosted_value, encoded_date, encoded_number};
use crate::json::{self, BASE64, BASE64_UNIT, java_number, java_text, literal, whole};
use crate::mapping::{Field, FieldType, Kind, Mapping, out_of_range, truth, unsortable};
use crate::query::GeoPoint;
use crate::score::score_json;

/// Converts a value of a source, for a field that is not stored.
///
/// # Errors
/// A text that is no number of the field's kind, or is not base64.
pub(crate) fn value_of_source(field: &FieldType, value: &Value) -> Result<Value> {
    let text = value.as_str();
    let failed = |error: SearchError| SearchError { status: 500, ..error };
    let whole = || value.as_number().and_then(whole);
    Ok(match field.kind {
        Kind::Boolean => json!(truth(value)),
        Kind::Byte => match (text, whole()) {
            (Some(text), _) => json!(text.parse::<i8>().map_err(|_| failed(out_of_range(text)))?),
            (None, Some(number)) => json!(number as i8),
            (None, None) => value.clone(),
        },
        Kind::Long | Kind::Integer | Kind::Short => match (text, whole()) {
            (Some(text), _) => json!(field.encode_text(text).map_err(failed)?),
            (None, Some(number)) => json!(number),
            (None, None) => value.clone(),
        },
        Kind::Double | Kind::Float => match (text, value.as_f64()) {
            (Some(text), _) => floating(field, unsortable(field.encode_text(text).map_err(failed)?)),
            (None, Some(number)) => floating(field, number),
            (None, None) => value.clone(),
        },
        Kind::Date => match (text, whole()) {
            (None, Some(millis)) => json!(field.format.print(millis)),
            _ => value.clone(),
        },
        Kind::Binary => json!(recoded(&java_text(value))?),
        _ => value.clone(),
    })
}

/// Returns the values that the index stores of a field: its own, and those that are copied to it, in the order of the
/// members of the document. `document` is a source, parsed and as bytes. Values that are no numbers or dates of the
/// field are not stored.
pub(crate) fn stored_values(
    mapping: &Mapping,
    type_name: &str,
    field: &Field,
    document: (&Value, &[u8]),
) -> Vec<Value> {
    let (parsed, source) = document;
    let own = mapping.source_path(type_name, &field.name);
    let copied = mapping.copied_to(&field.name).iter().map(String::as_str);
    let mut paths: Vec<&str> = [own].into_iter().chain(copied).collect();
    if field.field_type.kind == Kind::GeoPoint {
        let points = paths.iter().flat_map(|path| points(parsed, path));
        return points
            .map(|point| json!(format!("{},{}", java_number(point.lat), java_number(point.lon))))
            .collect();
    }
    if paths.len() > 1 {
        let place = |path: &&str| {
            let mut members = parsed.as_object().into_iter().flat_map(Map::keys);
            members.position(|member| path.split('.').next() == Some(member))
        };
        paths.sort_by_key(place);
    }
    let values = paths.into_iter().flat_map(|path| extract(parsed, path));
    values.filter_map(|value| stored_value(field, value, source)).collect()
}

/// Returns the points at a path.
fn points(value: &Value, path: &str) -> Vec<GeoPoint> {
    match (value, path) {
        (Value::Array(items), _) if !items.first().is_some_and(Value::is_number) => {
            items.iter().flat_map(|item| points(item, path)).collect()
        }
        (Value::Object(members), path) if !path.is_empty() => {
            let (first, below) = path.split_once('.').unwrap_or((path, ""));
            members
                .get(first)
                .map(|member| points(member, below))
                .unwrap_or_default()
        }
        (value, _) => GeoPoint::parse(value).into_iter().collect(),
    }
}

fn stored_value(field: &Field, value: &Value, source: &[u8]) -> Option<Value> {
    let kind = &field.field_type;
    let value = match value {
        Value::Object(object) => boosted_value(kind, object).ok()?.0,
        other => other,
    };
    let text = match value {
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
        Value::Number(number) => literal(source, number),
        other => java_text(other),
    };
    match kind.kind {
        Kind::String => Some(json!(text)),
        Kind::Boolean => Some(json!(truth(value))),
        Kind::Date => encoded_date(kind, value, &text)
            .ok()
            .map(|millis| json!(kind.format.print(millis))),
        Kind::Ip => text.parse::<Ipv4Addr>().ok().map(|address| json!(address.to_string())),
        Kind::TokenCount => Some(json!(field.index_analyzer.analyze(&text, &mut |_| {}))),
        Kind::Double | Kind::Float => {
            let number = encoded_number(kind, value, &text).ok()?;
            Some(floating(kind, unsortable(number)))
        }
        Kind::Long | Kind::Integer | Kind::Short | Kind::Byte => {
            encoded_number(kind, value, &text).ok().map(|number| json!(number))
        }
        _ => Some(value.clone()),
    }
}

/// Formats a number of a `float` or `double` field. A number that JSON does not have is a text.
fn floating(field: &FieldType, number: f64) -> Value {
    let single = number as f32;
    // The parser of JSON reads a number that is too large as the largest.
    let is_large = number.abs() >= f64::MAX || field.kind == Kind::Float && single.is_infinite();
    match number {
        _ if is_large => json::floating(f64::INFINITY.copysign(number)),
        _ if field.kind == Kind::Float && !number.is_nan() => score_json(single),
        _ => json::floating(number),
    }
}

/// Decodes and encodes base64 as Elasticsearch's decoder does, which ignores white space and an incomplete last unit.
fn recoded(text: &str) -> Result<String> {
    let bytes: Vec<u8> = text
        .chars()
        .map(|c| u8::try_from(c).ok().filter(u8::is_ascii).unwrap_or(b'?'))
        .collect();
    if bytes.len() < BASE64_UNIT {
        let length = bytes.len();
        let reason =
            format!("Base64-encoded string must have at least four characters, but length specified was {length}");
        return Err(SearchError {
            status: 500,
            ..SearchError::argument(reason)
        });
    }
    let mut kept = String::with_capacity(bytes.len());
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'\t' | b'\n' | b'\r' | b' ' => {}
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => kept.push(char::from(*byte)),
            b'=' => {
                kept.push('=');
                if kept.len().is_multiple_of(BASE64_UNIT) {
                    break;
                }
            }
            _ => {
                let reason = format!("Bad Base64 input character decimal {byte} in array position {at}");
                let cause = SearchError::new(500, Exception::Io, reason);
                return Err(SearchError::parse("failed to convert bytes").caused_by(cause));
            }
        }
    }
    kept.truncate(kept.len() / BASE64_UNIT * BASE64_UNIT);
    Ok(BASE64.decode(&kept).map_or(kept, |bytes| BASE64.encode(bytes)))
}
