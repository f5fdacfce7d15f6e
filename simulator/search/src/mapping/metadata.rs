//! Settings of the metadata fields of a type: validation, and the form in which they are returned.
//!
//! Source: `parse` and `toXContent` of Elasticsearch 1.5's metadata field mappers.

use serde_json::{Map, Value, json};

use super::describe::fielddata_of;
use super::field::{FieldType, Indexing, size_of};
use super::field_checks::check_doc_values_format;
use super::flags::{is_on, is_stored};
use super::times::{TIMESTAMP, TTL};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::{java_class, java_text, not_a_map, number_of};

/// The default of a setting, which is not returned.
enum Default {
    Flag(bool),
    /// A flag that is returned if it is given.
    Given,
    Text(&'static str),
    /// Indexed, however it is.
    Indexed,
    /// No value. It is returned as a text.
    Word,
    /// No value.
    None,
}

/// The settings of the metadata fields, with their defaults.
const SETTINGS: [(&str, &[(&str, Default)]); 8] = [
    (
        "_source",
        &[
            ("enabled", Default::Flag(true)),
            ("compress", Default::None),
            ("compress_threshold", Default::None),
            ("includes", Default::None),
            ("excludes", Default::None),
            ("format", Default::None),
        ],
    ),
    (
        "_id",
        &[
            ("store", Default::Flag(false)),
            ("index", Default::Text("no")),
            ("path", Default::Word),
        ],
    ),
    ("_type", &[("store", Default::Flag(false)), ("index", Default::Indexed)]),
    (
        "_routing",
        &[
            ("index", Default::Text("not_analyzed")),
            ("store", Default::Flag(true)),
            ("required", Default::Flag(false)),
            ("path", Default::Word),
        ],
    ),
    (
        "_index",
        &[("enabled", Default::Given), ("store", Default::Flag(false))],
    ),
    ("_size", &[("enabled", Default::Given), ("store", Default::Flag(false))]),
    (
        "_field_names",
        &[
            ("enabled", Default::Given),
            ("store", Default::Flag(false)),
            ("index", Default::Indexed),
        ],
    ),
    (
        "_boost",
        &[
            ("name", Default::Text("_boost")),
            ("null_value", Default::None),
            ("index", Default::Text("no")),
            ("store", Default::Flag(false)),
        ],
    ),
];

/// Metadata fields without settings here: those with settings elsewhere, or whose settings have no effect.
const OTHERS: [&str; 8] = [
    "_all",
    "_parent",
    "_meta",
    "_analyzer",
    TIMESTAMP,
    TTL,
    "_uid",
    "_version",
];

/// Settings of `_uid` that change how it is indexed, which is fixed.
const FROZEN: [&str; 6] = ["store", "index", "boost", "omit_norms", "norms", "index_options"];

/// Returns whether a setting of a type is a metadata field.
pub(super) fn is_metadata(name: &str) -> bool {
    SETTINGS.iter().any(|(own, _)| *own == name) || OTHERS.contains(&name)
}

/// Checks the settings of a metadata field.
///
/// # Errors
/// Settings that are no object, or invalid ones.
pub(super) fn check(name: &str, given: &Value) -> Result<()> {
    let settings = match given {
        Value::Object(settings) => settings,
        Value::Null => return Err(SearchError::null_pointer()),
        other => return Err(not_a_map(other)),
    };
    if name == "_parent" && !settings.contains_key("type") {
        return Err(SearchError::mapping("Parent mapping must contain the parent type"));
    }
    for (key, value) in settings {
        match (name, key.as_str()) {
            ("_uid", key) if FROZEN.contains(&key) => {
                let reason = "this FieldType is already frozen and cannot be changed";
                return Err(SearchError::new(500, Exception::IllegalState, reason));
            }
            ("_uid" | "_version", "doc_values_format") => check_doc_values_format(value)?,
            ("_id" | "_type" | "_routing" | "_boost", "index") => drop(indexing(name, value)?),
            ("_source", "compress_threshold") => drop(size_of(value)?),
            ("_source", "includes" | "excludes") if !value.is_array() => {
                let reason = format!("{} cannot be cast to java.util.List", java_class(value));
                return Err(SearchError::new(500, Exception::ClassCast, reason));
            }
            ("_boost", "null_value") | ("_id" | "_routing", "path") if value.is_null() => {
                return Err(SearchError::null_pointer());
            }
            ("_boost", "null_value") if number_of(value).is_none() => {
                let error = SearchError::float(&java_text(value));
                return Err(SearchError { status: 500, ..error });
            }
            ("_parent", "type") | ("_source", "enabled") if value.is_null() => {
                return Err(SearchError::null_pointer());
            }
            ("_all", _) => return all_field(given).map(drop),
            _ => {}
        }
    }
    Ok(())
}

fn indexing(name: &str, value: &Value) -> Result<Indexing> {
    Indexing::parse(value).ok_or_else(|| {
        let reason = format!("Wrong value for index [{}] for field [{name}]", java_text(value));
        SearchError::mapping(reason)
    })
}

/// Returns the settings of `_all` as those of a field.
pub(super) fn all_field(given: &Value) -> Result<FieldType> {
    let mut settings = given.as_object().cloned().unwrap_or_default();
    for own in ["enabled", "auto_boost", "type", "path"] {
        settings.remove(own);
    }
    FieldType::parse("_all", &settings)
}

/// Returns the settings of a metadata field that differ from their defaults. `None`: all have their default.
pub(super) fn described(name: &str, given: &Value) -> Option<Value> {
    match name {
        "_version" => return None,
        "_uid" => {
            let kept: Map<String, Value> = fielddata_of(given.get("fielddata")).into_iter().collect();
            return (!kept.is_empty()).then(|| kept.into());
        }
        "_analyzer" => return given.get("path").map(|path| json!({"path": path})),
        "_all" => return described_all(given),
        _ => {}
    }
    let (Some((_, settings)), Some(given)) = (SETTINGS.iter().find(|(own, _)| *own == name), given.as_object()) else {
        return Some(match (name, given.get("type")) {
            ("_parent", Some(parent)) => {
                let kind = ("type".to_owned(), java_text(parent).into());
                let kept = [kind].into_iter().chain(fielddata_of(given.get("fielddata")));
                Value::Object(kept.collect())
            }
            _ => Some(given).filter(|given| **given != json!({}))?.clone(),
        });
    };
    let kept = settings.iter().filter_map(|(key, default)| {
        let value = given.get(*key)?;
        let value = match default {
            Default::Flag(default) => {
                let flag = if *key == "store" {
                    is_stored(value)
                } else {
                    is_on(value)
                };
                Value::from(Some(flag).filter(|own| own != default)?)
            }
            Default::Given => is_on(value).into(),
            Default::Text(default) => Some(java_text(value)).filter(|own| own != default)?.into(),
            Default::Indexed => Some(value).filter(|own| *own == "no")?.clone(),
            Default::Word => json!(java_text(value)),
            Default::None => Some(value).filter(|own| !own.is_null())?.clone(),
        };
        Some(((*key).to_owned(), value))
    });
    let mut kept: Map<String, Value> = kept.collect();
    if name == "_source" && kept.contains_key("compress_threshold") {
        let size = kept.get("compress_threshold").and_then(|given| size_of(given).ok());
        kept.insert("compress".to_owned(), true.into());
        kept.insert("compress_threshold".to_owned(), json!(size));
    }
    if kept.keys().eq(["format"]) {
        kept.clear();
    }
    if name == "_field_names" && !kept.keys().all(|key| key == "enabled") {
        kept.insert("type".to_owned(), name.into());
        if kept.contains_key("index") {
            kept.entry("enabled").or_insert(false.into());
        }
    }
    (!kept.is_empty()).then(|| kept.into())
}

/// Returns the settings of `_all`: those of a field, some by other names.
fn described_all(given: &Value) -> Option<Value> {
    let own = all_field(given).map(|field| field.describe()).unwrap_or_default();
    let mut kept = Map::new();
    kept.extend(
        given
            .get("enabled")
            .map(|enabled| ("enabled".to_owned(), is_on(enabled).into())),
    );
    if given.get("auto_boost").is_some_and(is_on) {
        kept.insert("auto_boost".to_owned(), true.into());
    }
    let vectors = own.get("term_vector").and_then(Value::as_str);
    if let Some(vectors) = vectors {
        kept.insert("store_term_vectors".to_owned(), true.into());
        for part in ["offsets", "positions", "payloads"]
            .into_iter()
            .filter(|part| vectors.contains(part))
        {
            kept.insert(format!("store_term_vector_{part}"), true.into());
        }
    }
    if own.contains_key("norms") {
        kept.insert("omit_norms".to_owned(), true.into());
    }
    let same = [
        "store",
        "analyzer",
        "index_analyzer",
        "search_analyzer",
        "similarity",
        "fielddata",
    ];
    kept.extend(own.into_iter().filter(|(key, _)| same.contains(&key.as_str())));
    (!kept.is_empty()).then(|| kept.into())
}

/// Returns the settings of a metadata field of a known type after a later definition. Most settings stay as they are.
pub(super) fn merged(name: &str, known: Option<&Value>, given: &Value) -> Option<Value> {
    let replaced: &[&str] = match name {
        "_source" => &["compress", "compress_threshold", "includes", "excludes"],
        "_index" | "_size" | "_field_names" => &["enabled"],
        "_all" => &["search_analyzer", "fielddata", "omit_norms"],
        "_meta" => return described(name, given),
        "_boost" if known.is_none() && given.get("name").is_some_and(|own| *own != "_boost") => {
            return described(name, given);
        }
        _ => &[],
    };
    let fresh = described(name, given);
    let mut merged = known.and_then(Value::as_object).cloned().unwrap_or_default();
    for key in replaced {
        merged.extend(
            fresh
                .as_ref()
                .and_then(|fresh| fresh.get(*key))
                .map(|own| ((*key).to_owned(), own.clone())),
        );
    }
    (!merged.is_empty()).then(|| merged.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("_all", json!({"store": "no", "frob": 1}), None)]
    #[case("_all", json!({"enabled": "yes"}), Some(json!({"enabled": true})))]
    #[case("_all", json!({"enabled": "no"}), Some(json!({"enabled": true})))]
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
