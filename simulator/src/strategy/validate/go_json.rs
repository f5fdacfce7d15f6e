//! JSON in annotations and secrets, decoded into Go types, with Go's error texts.
//!
//! Source: `encoding/json` of Go 1.5, which v1.2 uses. Field names are case-insensitive; null is valid for every
//! type; unknown fields are dropped.

use serde_json::{Map, Value};

use crate::api::quantity::Quantity;
use crate::compat::json_scan;

/// Go type to decode into.
pub(crate) enum GoType {
    /// String, with the name of its Go type.
    Text(&'static str),
    /// Integer.
    Int,
    /// Quantity.
    Quantity,
    /// List.
    List(&'static GoType),
    /// Map with string keys.
    Map(&'static GoType),
    /// Struct: the name of its Go type and its fields.
    Struct(&'static str, &'static [(&'static str, &'static GoType)]),
    /// Any value.
    Any,
}

/// Map from strings to any values.
pub(crate) const OBJECT: GoType = GoType::Map(&GoType::Any);

/// Decodes `text` as a value of type `of`. The error has Go's text.
pub(crate) fn decode(of: &GoType, text: &[u8]) -> Result<Value, String> {
    json_scan::check(text)?;
    let value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    of.fit(value)
}

impl GoType {
    fn name(&self) -> String {
        match self {
            Self::Text(name) | Self::Struct(name, _) => (*name).to_owned(),
            Self::Int => "int".to_owned(),
            Self::Quantity => "resource.Quantity".to_owned(),
            Self::List(item) => format!("[]{}", item.name()),
            Self::Map(item) => format!("map[string]{}", item.name()),
            Self::Any => "interface {}".to_owned(),
        }
    }

    /// Returns `value` with canonical field names, or the error of the first part that does not match the type.
    fn fit(&self, value: Value) -> Result<Value, String> {
        match (self, value) {
            (Self::Any, value) => Ok(value),
            (_, Value::Null) => Ok(Value::Null),
            (Self::Text(_), Value::String(text)) => Ok(text.into()),
            (Self::Int, Value::Number(number)) if number.is_i64() => Ok(number.into()),
            (Self::Int, Value::Number(number)) => Err(self.mismatch(&format!("number {number}"))),
            (Self::Quantity, value @ (Value::String(_) | Value::Number(_))) => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                text.parse::<Quantity>()
                    .map(|_| value)
                    .map_err(|error| error.to_string())
            }
            (Self::List(item), Value::Array(items)) => items.into_iter().map(|v| item.fit(v)).collect(),
            (Self::Map(item), Value::Object(entries)) => {
                let fitted: Result<Map<_, _>, _> = entries
                    .into_iter()
                    .map(|(key, v)| Ok::<_, String>((key, item.fit(v)?)))
                    .collect();
                fitted.map(Value::Object)
            }
            (Self::Struct(_, fields), Value::Object(entries)) => {
                let mut fitted = Map::new();
                for (key, value) in entries {
                    if let Some((name, of)) = fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(&key)) {
                        fitted.insert((*name).to_owned(), of.fit(value)?);
                    }
                }
                Ok(Value::Object(fitted))
            }
            (_, value) => Err(self.mismatch(match value {
                Value::Bool(_) => "bool",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                Value::Array(_) => "array",
                Value::Object(_) | Value::Null => "object",
            })),
        }
    }

    fn mismatch(&self, found: &str) -> String {
        format!("json: cannot unmarshal {found} into Go value of type {}", self.name())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    const POINT: GoType = GoType::Struct(
        "api.Point",
        &[
            ("x", &GoType::Int),
            ("names", &GoType::List(&GoType::Text("string"))),
            ("size", &GoType::Quantity),
        ],
    );

    #[rstest]
    #[case(r#"{"X": 1, "names": ["a"], "other": {}}"#, json!({"x": 1, "names": ["a"]}))]
    #[case("null", json!(null))]
    #[case(r#"{"x": null, "size": "1Gi"}"#, json!({"x": null, "size": "1Gi"}))]
    fn matching_json_is_decoded(#[case] text: &str, #[case] want: Value) {
        assert_eq!(decode(&POINT, text.as_bytes()), Ok(want));
    }

    #[rstest]
    #[case("", "unexpected end of JSON input")]
    #[case("x", "invalid character 'x' looking for beginning of value")]
    #[case("[]", "json: cannot unmarshal array into Go value of type api.Point")]
    #[case(r#"{"names": "a"}"#, "json: cannot unmarshal string into Go value of type []string")]
    #[case(r#"{"names": [1]}"#, "json: cannot unmarshal number into Go value of type string")]
    #[case(r#"{"x": 1.5}"#, "json: cannot unmarshal number 1.5 into Go value of type int")]
    #[case(r#"{"x": {}}"#, "json: cannot unmarshal object into Go value of type int")]
    #[case(
        r#"{"size": "1Q"}"#,
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    fn mismatches_have_gos_errors(#[case] text: &str, #[case] want: &str) {
        assert_eq!(decode(&POINT, text.as_bytes()), Err(want.to_owned()));
    }

    #[test]
    fn an_untyped_map_requires_an_object() {
        assert!(decode(&OBJECT, br#"{"a": [1, {}]}"#).is_ok());
        assert_eq!(
            decode(&OBJECT, b"[]"),
            Err("json: cannot unmarshal array into Go value of type map[string]interface {}".to_owned())
        );
    }
}
