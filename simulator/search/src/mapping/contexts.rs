//! Contexts of completion fields: categories and locations that filter suggestions.
//!
//! Source: Elasticsearch 1.5's `CategoryContextMapping` and `GeolocationContextMapping`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::flags::is_on;
use crate::error::{Result, SearchError};
use crate::json::text_of;
use crate::query::{GeoPoint, MAX_GEOHASH_LENGTH, enclosing_geohash_length, geohash_length, metres, neighbors};

/// Maximum number of context combinations of one value.
const MAX_COMBINATIONS: usize = 10_000;
/// Follows each context in the prefix of a term.
const SEPARATOR: char = '\u{1d}';

/// One context of a field.
#[derive(Clone, Debug, PartialEq)]
struct Context {
    kind: Kind,
    /// The document field with the context, for values without their own.
    path: Option<String>,
    default: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Category,
    Geo {
        /// Lengths of the indexed geohashes.
        precision: BTreeSet<usize>,
        /// Whether the neighbor cells are indexed too.
        neighbors: bool,
    },
}

/// The contexts of a field, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Contexts(BTreeMap<String, Context>);

impl Contexts {
    /// Parses the setting `context` of a field.
    ///
    /// # Errors
    /// A missing or unknown type, or an invalid precision.
    pub(crate) fn parse(setting: Option<&Value>) -> Result<Contexts> {
        let definitions = setting.and_then(Value::as_object).into_iter().flatten();
        let contexts = definitions.map(|(name, own)| Ok((name.clone(), Context::parse(own)?)));
        contexts.collect::<Result<_>>().map(Contexts)
    }

    /// Returns whether the field has no contexts.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the prefixes of the indexed terms of a value.
    ///
    /// `given` is the member `context` of the value; `at` returns the values of another field of the document.
    ///
    /// # Errors
    /// An undefined context, a value of the wrong type, or a missing value.
    pub(crate) fn of_document(&self, given: Option<&Value>, at: &dyn Fn(&str) -> Vec<Value>) -> Result<Vec<String>> {
        let empty = Map::new();
        let given = match given {
            None | Some(Value::Null) => &empty,
            Some(Value::Object(given)) => given,
            Some(_) => return Err(SearchError::parse("context must be an object")),
        };
        if let Some(unknown) = given.keys().find(|name| !self.0.contains_key(*name)) {
            return Err(SearchError::parse(format!("context [{unknown}] is not defined")));
        }
        let values = self.0.iter().map(|(name, context)| {
            let mut found = given
                .get(name)
                .map(|value| context.texts(value))
                .transpose()?
                .unwrap_or_default();
            if let Some(path) = context.path.as_ref().filter(|_| found.is_empty()) {
                found = context.texts(&Value::Array(at(path)))?;
            }
            if let Some(default) = context.default.as_ref().filter(|_| found.is_empty()) {
                found = context.texts(default)?;
            }
            if found.is_empty() {
                return Err(SearchError::illegal("one or more prefixes needed"));
            }
            Ok(context.index_texts(&found))
        });
        combined(values)
    }

    /// Returns the prefixes of the terms that a search matches. `given` is the member `context` of the search.
    ///
    /// # Errors
    /// An undefined or a missing context.
    pub(crate) fn of_search(&self, given: Option<&Value>) -> Result<Vec<String>> {
        let given = match given {
            None if self.is_empty() => return Ok(vec![String::new()]),
            None => {
                return Err(SearchError::illegal(
                    "suggester [completion] requires context to be setup",
                ));
            }
            Some(_) if self.is_empty() => {
                return Err(SearchError::illegal(
                    "suggester [completion] doesn't expect any context",
                ));
            }
            Some(given) => given.as_object(),
        };
        let given = given.ok_or_else(|| SearchError::parse("a context query must be an object"))?;
        if let Some(unknown) = given.keys().find(|name| !self.0.contains_key(*name)) {
            return Err(SearchError::parse(format!("no mapping defined for [{unknown}]")));
        }
        combined(self.0.iter().map(|(name, context)| {
            let value = given
                .get(name)
                .ok_or_else(|| SearchError::illegal(format!("context [{name}] is missing")))?;
            context.query_texts(value)
        }))
    }
}

/// Returns all combinations of one text per context.
fn combined(contexts: impl Iterator<Item = Result<BTreeSet<String>>>) -> Result<Vec<String>> {
    let mut prefixes = vec![String::new()];
    for texts in contexts {
        let texts = texts?;
        if prefixes.len().saturating_mul(texts.len()) > MAX_COMBINATIONS {
            return Err(SearchError::illegal(format!(
                "contexts have more than {MAX_COMBINATIONS} combinations"
            )));
        }
        prefixes = prefixes
            .iter()
            .flat_map(|prefix| texts.iter().map(move |text| format!("{prefix}{text}{SEPARATOR}")))
            .collect();
    }
    Ok(prefixes)
}

impl Context {
    fn parse(definition: &Value) -> Result<Context> {
        let kind = match definition.get("type") {
            None => return Err(SearchError::parse("missing [type] in context mapping")),
            Some(Value::String(kind)) if kind == "category" => Kind::Category,
            Some(Value::String(kind)) if kind == "geo" => {
                let precision = precisions(definition.get("precision"), enclosing_geohash_length)?;
                Kind::Geo {
                    precision: if precision.is_empty() {
                        [MAX_GEOHASH_LENGTH].into()
                    } else {
                        precision
                    },
                    neighbors: definition.get("neighbors").is_none_or(is_on),
                }
            }
            Some(other) => {
                let name = text_of(other);
                return Err(SearchError::parse(format!("unknown context type[{name}]")));
            }
        };
        Ok(Context {
            kind,
            path: definition.get("path").and_then(Value::as_str).map(str::to_owned),
            default: definition.get("default").filter(|default| !default.is_null()).cloned(),
        })
    }

    /// Returns the categories or geohashes of a value.
    fn texts(&self, value: &Value) -> Result<Vec<String>> {
        match (&self.kind, value) {
            (_, Value::Null) => Ok(vec![]),
            (Kind::Geo { .. }, Value::Array(parts)) if !parts.first().is_some_and(Value::is_number) => {
                let texts: Result<Vec<Vec<String>>> = parts.iter().map(|part| self.texts(part)).collect();
                Ok(texts?.concat())
            }
            (Kind::Geo { .. }, place) => GeoPoint::parse(place)
                .map(|point| vec![point.geohash(MAX_GEOHASH_LENGTH)])
                .ok_or_else(|| SearchError::parse("geo point expected")),
            (Kind::Category, Value::String(text)) => Ok(vec![text.clone()]),
            (Kind::Category, Value::Number(number)) => Ok(vec![number.to_string()]),
            (Kind::Category, Value::Array(parts)) => {
                let texts: Result<Vec<Vec<String>>> = parts.iter().map(|part| self.texts(part)).collect();
                Ok(texts?.concat())
            }
            (Kind::Category, _) => Err(SearchError::parse("Category must be string, number, or array")),
        }
    }

    /// Returns the texts to index for the texts of a value.
    fn index_texts(&self, texts: &[String]) -> BTreeSet<String> {
        let Kind::Geo {
            precision,
            neighbors: around,
        } = &self.kind
        else {
            return texts.iter().cloned().collect();
        };
        let mut cells = BTreeSet::new();
        for (hash, length) in texts
            .iter()
            .flat_map(|hash| precision.iter().map(move |length| (hash, *length)))
        {
            let cell = geohash_prefix(hash, length);
            if *around {
                cells.extend(neighbors(&cell));
            }
            cells.insert(cell);
        }
        cells
    }

    /// Returns the texts that match a value of a search.
    fn query_texts(&self, value: &Value) -> Result<BTreeSet<String>> {
        let Kind::Geo { precision, .. } = &self.kind else {
            let value = if value.is_null() {
                self.default.as_ref().unwrap_or(value)
            } else {
                value
            };
            return self.texts(value).map(BTreeSet::from_iter);
        };
        let own = precisions(value.get("precision"), geohash_length)?;
        let precision = if own.is_empty() { precision } else { &own };
        let mut place = value.get("value").unwrap_or(value).clone();
        // The precision is beside the latitude and the longitude, or beside the value.
        place.as_object_mut().and_then(|place| place.remove("precision"));
        let texts = self.texts(&place)?;
        let cells = texts
            .iter()
            .flat_map(|hash| precision.iter().map(move |length| geohash_prefix(hash, *length)));
        Ok(cells.collect())
    }
}

/// Returns the prefix of a geohash with `length` characters, at least 1.
fn geohash_prefix(hash: &str, length: usize) -> String {
    hash.chars().take(length.max(1)).collect()
}

/// Parses geohash lengths: numbers, or distances, for which `length_of` returns the lengths.
fn precisions(setting: Option<&Value>, length_of: fn(f64) -> usize) -> Result<BTreeSet<usize>> {
    let one = |value: &Value| {
        let length = value.as_u64().and_then(|length| usize::try_from(length).ok());
        let length = length.or_else(|| metres(value, None).map(length_of));
        length
            .map(|length| length.clamp(1, MAX_GEOHASH_LENGTH))
            .ok_or_else(|| SearchError::parse(format!("invalid precision [{value}]")))
    };
    match setting {
        None | Some(Value::Null) => Ok(BTreeSet::new()),
        Some(Value::Array(values)) => values.iter().map(one).collect(),
        Some(value) => one(value).map(|length| [length].into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn none(_: &str) -> Vec<Value> {
        vec![]
    }

    #[test]
    fn every_combination_of_contexts_is_a_prefix() {
        let setting = json!({
            "b": {"type": "category", "default": "none"},
            "a": {"type": "geo", "precision": [1, "5km"], "neighbors": false},
        });
        let contexts = Contexts::parse(Some(&setting)).unwrap();
        let given = json!({"a": [13.4, 52.5], "b": ["x", 7]});
        let found = contexts.of_document(Some(&given), &none).unwrap();
        let expected = [
            "u\u{1d}7\u{1d}",
            "u\u{1d}x\u{1d}",
            "u33d8\u{1d}7\u{1d}",
            "u33d8\u{1d}x\u{1d}",
        ];
        assert_eq!(found, expected);
        let wanted = json!({"a": {"value": "u33d8b", "precision": "5km"}, "b": null});
        assert_eq!(contexts.of_search(Some(&wanted)).unwrap(), ["u33d8b\u{1d}none\u{1d}"]);
    }

    #[test]
    fn a_document_has_its_contexts_from_a_field_or_by_default() {
        let setting = json!({"a": {"type": "category", "path": "kind", "default": ["x", "y"]}});
        let contexts = Contexts::parse(Some(&setting)).unwrap();
        let at = |path: &str| vec![json!(format!("of {path}"))];
        assert_eq!(contexts.of_document(None, &at).unwrap(), ["of kind\u{1d}"]);
        assert_eq!(contexts.of_document(None, &none).unwrap(), ["x\u{1d}", "y\u{1d}"]);
    }

    #[rstest]
    #[case(json!({"a": {}}), "missing [type] in context mapping")]
    #[case(json!({"a": {"type": "colour"}}), "unknown context type[colour]")]
    #[case(json!({"a": {"type": "geo", "precision": "far"}}), "invalid precision [\"far\"]")]
    fn invalid_contexts_are_errors(#[case] setting: Value, #[case] reason: &str) {
        assert_eq!(Contexts::parse(Some(&setting)).unwrap_err().reason, reason);
    }

    #[test]
    fn combinations_are_bounded() {
        let setting = json!({"a": {"type": "category"}, "b": {"type": "category"}});
        let contexts = Contexts::parse(Some(&setting)).unwrap();
        let many: Value = (0..200).collect::<Vec<_>>().into();
        let error = contexts
            .of_document(Some(&json!({"a": many, "b": many})), &none)
            .unwrap_err();
        assert_eq!(error.reason, "contexts have more than 10000 combinations");
    }
}
