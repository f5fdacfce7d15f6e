//! Settings of the metadata fields of a type: validation, and the form in which they are returned.
//!
//! Source: `parse` and `toXContent` of Elasticsearch 1.5's metadata field mappers.

use serde_json::{Map, Value, json};

use super::field::truth;
use crate::error::{Result, SearchError};
use crate::json::not_a_map;

/// The default of a setting, which is not returned.
enum Default {
    Flag(bool),
    /// A flag that is returned if it is given.
    Given,
    Text(&'static str),
    /// No value.
    None,
}

/// The settings of the metadata fields, with their defaults.
const SETTINGS: [(&str, &[(&str, Default)]); 9] = [
    (
        "_all",
        &[
            ("enabled", Default::Given),
            ("store", Default::Flag(false)),
            ("store_term_vectors", Default::Flag(false)),
            ("store_term_vector_offsets", Default::Flag(false)),
            ("store_term_vector_positions", Default::Flag(false)),
            ("store_term_vector_payloads", Default::Flag(false)),
            ("omit_norms", Default::Flag(false)),
            ("analyzer", Default::None),
            ("index_analyzer", Default::None),
            ("search_analyzer", Default::None),
            ("similarity", Default::None),
            ("fielddata", Default::None),
        ],
    ),
    (
        "_source",
        &[
            ("enabled", Default::Flag(true)),
            ("compress", Default::None),
            ("compress_threshold", Default::None),
            ("includes", Default::None),
            ("excludes", Default::None),
        ],
    ),
    (
        "_id",
        &[
            ("store", Default::Flag(false)),
            ("index", Default::Text("no")),
            ("path", Default::None),
        ],
    ),
    (
        "_type",
        &[
            ("store", Default::Flag(false)),
            ("index", Default::Text("not_analyzed")),
        ],
    ),
    (
        "_routing",
        &[
            ("index", Default::Text("not_analyzed")),
            ("store", Default::Flag(true)),
            ("required", Default::Flag(false)),
            ("path", Default::None),
        ],
    ),
    (
        "_index",
        &[("enabled", Default::Given), ("store", Default::Flag(false))],
    ),
    ("_size", &[("enabled", Default::Given), ("store", Default::Flag(false))]),
    ("_field_names", &[("enabled", Default::Flag(true))]),
    (
        "_boost",
        &[("name", Default::Text("_boost")), ("null_value", Default::None)],
    ),
];

/// Checks the settings of a metadata field.
///
/// # Errors
/// Settings that are no object, `_parent` without a type, or settings of `_uid`.
pub(super) fn check(name: &str, given: &Value) -> Result<()> {
    let has_settings = SETTINGS.iter().any(|(own, _)| *own == name) || matches!(name, "_parent" | "_meta");
    let settings = match given {
        Value::Object(settings) => settings,
        other if has_settings => return Err(not_a_map(other)),
        _ => return Ok(()),
    };
    match name {
        "_parent" if !settings.contains_key("type") => {
            Err(SearchError::mapping("Parent mapping must contain the parent type"))
        }
        "_uid" if !settings.is_empty() => {
            let reason = "this FieldType is already frozen and cannot be changed";
            Err(SearchError::new(500, "IllegalStateException", reason))
        }
        _ => Ok(()),
    }
}

/// Returns the settings of a metadata field that differ from their defaults. `None`: all have their default.
pub(super) fn described(name: &str, given: &Value) -> Option<Value> {
    if matches!(name, "_version" | "_uid") {
        return None;
    }
    let (Some((_, settings)), Some(given)) = (SETTINGS.iter().find(|(own, _)| *own == name), given.as_object()) else {
        return Some(given.clone());
    };
    let kept = settings.iter().filter_map(|(key, default)| {
        let value = given.get(*key)?;
        let value = match default {
            Default::Flag(default) => Value::from(Some(truth(value)).filter(|own| own != default)?),
            Default::Given => truth(value).into(),
            Default::Text(default) => Some(value).filter(|own| *own != default)?.clone(),
            Default::None => Some(value).filter(|own| !own.is_null())?.clone(),
        };
        Some(((*key).to_owned(), value))
    });
    let mut kept: Map<String, Value> = kept.collect();
    let has_norms = given
        .get("norms")
        .and_then(|norms| norms.get("enabled"))
        .is_none_or(truth);
    if name == "_all" && !has_norms {
        kept.insert("omit_norms".to_owned(), true.into());
    }
    if name == "_field_names" && given.get("index").is_some_and(|index| *index == "no") {
        let disabled = json!({"enabled": false, "type": "_field_names", "index": "no"});
        return Some(disabled);
    }
    (!kept.is_empty()).then(|| kept.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("_all", json!({"store": "no", "frob": 1}), None)]
    #[case("_all", json!({"enabled": "yes"}), Some(json!({"enabled": true})))]
    #[case("_all", json!({"enabled": "no"}), Some(json!({"enabled": false})))]
    #[case("_id", json!({"index": "no", "path": "a"}), Some(json!({"path": "a"})))]
    #[case("_version", json!({"a": 1}), None)]
    #[case("_meta", json!(["a"]), Some(json!(["a"])))]
    fn only_settings_that_differ_are_returned(
        #[case] name: &str,
        #[case] given: Value,
        #[case] expected: Option<Value>,
    ) {
        assert_eq!(described(name, &given), expected);
    }

    #[rstest]
    #[case("_parent", json!({}), "MapperParsingException[Parent mapping must contain the parent type]")]
    #[case("_source", json!("x"), "ClassCastException[java.lang.String cannot be cast to java.util.Map]")]
    fn invalid_settings_are_errors(#[case] name: &str, #[case] given: Value, #[case] expected: &str) {
        assert_eq!(check(name, &given).unwrap_err().to_string(), expected);
    }
}
