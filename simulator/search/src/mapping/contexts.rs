//! Contexts of completion fields: categories and locations that filter suggestions.
//!
//! Source: Elasticsearch 1.5's `CategoryContextMapping` and `GeolocationContextMapping`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::flags::is_on;
use crate::error::{Result, SearchError};
use crate::json::{Token, Tokens, java_text, not_a_map, number};
use crate::query::{
    GeoPoint, MAX_GEOHASH_LENGTH, enclosing_geohash_length, geohash_length, is_geohash_char, metres, neighbors,
};

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
    /// Categories or geohashes of values without a context.
    defaults: Vec<String>,
}

/// Path of categories without one: the type of the document.
const DEFAULT_PATH: &str = "_type";

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
    /// A setting that is no object, a missing or unknown type, or an invalid precision.
    pub(crate) fn parse(setting: Option<&Value>) -> Result<Contexts> {
        let setting = setting.filter(|setting| !setting.is_null());
        if setting.is_some_and(|setting| !setting.is_object()) {
            return Err(SearchError::parse("no valid context configuration"));
        }
        let definitions = setting.and_then(Value::as_object).into_iter().flatten();
        let contexts = definitions.map(|(name, own)| Ok((name.clone(), Context::parse(own)?)));
        contexts.collect::<Result<_>>().map(Contexts)
    }

    /// Returns the setting with its defaults.
    pub(super) fn describe(&self) -> Value {
        let contexts = self.0.iter();
        contexts
            .map(|(name, context)| (name.clone(), context.describe()))
            .collect()
    }

    /// Returns whether the field has no contexts.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the texts of each context of a value. `given` is its member `context`.
    ///
    /// # Errors
    /// An undefined context, or a value of the wrong type.
    pub(crate) fn of_value(&self, given: Option<&Value>) -> Result<Vec<Vec<String>>> {
        let empty = Map::new();
        let given = match given {
            None | Some(Value::Null) => &empty,
            Some(Value::Object(given)) => given,
            Some(_) => return Err(SearchError::parse("context must be an object")),
        };
        if let Some(unknown) = given.keys().find(|name| !self.0.contains_key(*name)) {
            return Err(SearchError::parse(format!("context [{unknown}] is not defined")));
        }
        let texts = |(name, context): (&String, &Context)| given.get(name).map(|value| context.texts(value));
        let all = self.0.iter();
        all.map(|own| texts(own).unwrap_or_else(|| Ok(vec![]))).collect()
    }

    /// Returns the prefixes of the indexed terms of a value with these texts. `at` returns the values of another field
    /// of the document.
    ///
    /// # Errors
    /// A missing or an invalid value.
    pub(crate) fn prefixes(&self, own: Vec<Vec<String>>, at: &dyn Fn(&str) -> Vec<Value>) -> Result<Vec<String>> {
        let values = self.0.values().zip(own).map(|(context, mut found)| {
            // Defaults count before the type of the document, but after any other field.
            let has_default = |path: &str| path == DEFAULT_PATH && !context.defaults.is_empty();
            let path = context.path.as_ref().filter(|path| !has_default(path));
            if let Some(path) = path.filter(|_| found.is_empty()) {
                found = context.texts(&Value::Array(at(path)))?;
            }
            if found.is_empty() {
                found.clone_from(&context.defaults);
            }
            if found.is_empty() {
                return Err(SearchError::illegal("one or more prefixes needed"));
            }
            context.index_texts(&found)
        });
        combined(values)
    }

    /// Returns the prefixes of the terms that a search matches. `given` is the member `context` of the search.
    ///
    /// # Errors
    /// An undefined or a missing context, or an invalid place.
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
            Some(given) => given,
        };
        let mut wanted = BTreeMap::new();
        let mut tokens = Tokens::new(given);
        while tokens.within_object().is_some() {
            let name = tokens.text();
            let known = self.0.get_key_value(&name);
            let known = known.ok_or_else(|| SearchError::parse(format!("no mapping defined for [{name}]")))?;
            tokens.advance();
            wanted.insert(known.0, known.1.query_texts(&mut tokens)?);
        }
        combined(
            self.0
                .keys()
                .map(|name| wanted.remove(name).ok_or_else(SearchError::null_pointer)),
        )
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
        let definition = definition.as_object().ok_or_else(|| not_a_map(definition))?;
        let path = definition.get("path").map(java_text);
        let default = definition.get("default").unwrap_or(&Value::Null);
        match definition.get("type") {
            None => Err(SearchError::parse("missing [type] in context mapping")),
            Some(Value::String(kind)) if kind == "category" => Ok(Context {
                kind: Kind::Category,
                path: Some(path.unwrap_or_else(|| DEFAULT_PATH.to_owned())),
                defaults: match default {
                    Value::Null => vec![],
                    Value::Array(defaults) if defaults.contains(&Value::Null) => {
                        return Err(SearchError::null_pointer());
                    }
                    other => items(other).iter().map(java_text).collect(),
                },
            }),
            Some(Value::String(kind)) if kind == "geo" => {
                let given = definition.get("precision");
                let given = given.ok_or_else(|| SearchError::parse("field [precision] is missing"))?;
                let precision = defined_precisions(given)?;
                Ok(Context {
                    kind: Kind::Geo {
                        precision: if precision.is_empty() {
                            [MAX_GEOHASH_LENGTH].into()
                        } else {
                            precision
                        },
                        neighbors: definition.get("neighbors").is_none_or(is_on),
                    },
                    path,
                    defaults: default_places(default)?,
                })
            }
            Some(other) => {
                let name = java_text(other);
                Err(SearchError::parse(format!("unknown context type[{name}]")))
            }
        }
    }

    fn describe(&self) -> Value {
        let mut described = match &self.kind {
            Kind::Category => json!({"type": "category", "default": self.defaults}),
            Kind::Geo { precision, neighbors } => {
                json!({"type": "geo", "precision": precision, "neighbors": neighbors, "default": self.defaults})
            }
        };
        if let Some(path) = &self.path {
            described["path"] = path.as_str().into();
        }
        described
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
    ///
    /// # Errors
    /// A default that is no geohash.
    fn index_texts(&self, texts: &[String]) -> Result<BTreeSet<String>> {
        let Kind::Geo {
            precision,
            neighbors: around,
        } = &self.kind
        else {
            return Ok(texts.iter().cloned().collect());
        };
        let mut cells = BTreeSet::new();
        for cell in cells_of(texts, precision) {
            if *around {
                if let Some(other) = cell.chars().rfind(|c| !is_geohash_char(*c)) {
                    let reason = format!("the character '{other}' is not a valid geohash character");
                    return Err(SearchError::illegal(reason));
                }
                cells.extend(neighbors(&cell));
            }
            cells.insert(cell);
        }
        Ok(cells)
    }

    /// Reads the value of a search from the current token on. Returns the texts that match it.
    ///
    /// # Errors
    /// A place that is none.
    fn query_texts(&self, tokens: &mut Tokens<'_>) -> Result<BTreeSet<String>> {
        let Kind::Geo { precision, .. } = &self.kind else {
            return Ok(match tokens.current() {
                Token::Null => self.defaults.iter().cloned().collect(),
                Token::Array => tokens.texts().into_iter().collect(),
                _ => [tokens.text()].into(),
            });
        };
        let (point, own) = match tokens.current() {
            Token::Object => place_of(tokens)?,
            _ => (point_at(tokens)?, BTreeSet::new()),
        };
        let precision = if own.is_empty() { precision } else { &own };
        Ok(cells_of(&[point.geohash(MAX_GEOHASH_LENGTH)], precision))
    }
}

/// Reads the point that starts at the current token.
fn point_at(tokens: &mut Tokens<'_>) -> Result<GeoPoint> {
    GeoPoint::read(tokens.whole().unwrap_or(&Value::Null))
}

/// Reads the place of a search with its precision: a latitude and a longitude, or a point as `value`.
fn place_of(tokens: &mut Tokens<'_>) -> Result<(GeoPoint, BTreeSet<usize>)> {
    let (mut lat, mut lon, mut point, mut precision) = (None, None, None, BTreeSet::new());
    let exclusive = || SearchError::parse("only lat/lon or [value] is allowed");
    while tokens.within_object().is_some() {
        let name = tokens.text();
        tokens.advance();
        match name.as_str() {
            "lat" | "lon" if point.is_some() => return Err(exclusive()),
            "lat" => lat = Some(degrees(tokens, "latitude")?),
            "lon" => lon = Some(degrees(tokens, "longitude")?),
            "precision" => precision = precisions(tokens.whole())?,
            "value" if lat.is_some() || lon.is_some() => return Err(exclusive()),
            "value" => point = Some(point_at(tokens)?),
            _ => return Err(SearchError::parse(format!("unexpected fieldname [{name}]"))),
        }
    }
    let given = lat.zip(lon).map(|(lat, lon)| GeoPoint { lat, lon });
    let point = point
        .or(given)
        .ok_or_else(|| SearchError::parse("location is missing"))?;
    Ok((point, precision))
}

/// Reads the current token as a latitude or a longitude.
fn degrees(tokens: &Tokens<'_>, name: &str) -> Result<f64> {
    match tokens.current() {
        Token::Value(value) if !value.is_boolean() => number(value),
        _ => Err(SearchError::parse(format!("{name} must be a number"))),
    }
}

/// Returns the prefixes of geohashes with these lengths, which are at least 1.
fn cells_of(hashes: &[String], lengths: &BTreeSet<usize>) -> BTreeSet<String> {
    let lengths: BTreeSet<usize> = lengths
        .iter()
        .map(|length| (*length).clamp(1, MAX_GEOHASH_LENGTH))
        .collect();
    let prefix = |hash: &String, length: &usize| hash.chars().take(*length).collect();
    hashes
        .iter()
        .flat_map(|hash| lengths.iter().map(move |length| prefix(hash, length)))
        .collect()
}

/// Parses the default of a context of places. Returns geohashes, unless it has other texts.
fn default_places(default: &Value) -> Result<Vec<String>> {
    let invalid = |part: &str| SearchError::parse(format!("field [default] {part}"));
    match default {
        Value::Null => Ok(vec![]),
        Value::String(hash) => Ok(vec![hash.clone()]),
        Value::Array(hashes) => Ok(hashes.iter().map(java_text).collect()),
        Value::Object(place) => {
            // Integers are none of the numbers that Elasticsearch accepts here.
            let degrees = |name: &str| place.get(name).filter(|own| own.is_f64())?.as_f64();
            let lat = degrees("lat").ok_or_else(|| invalid("map must have field lat and a valid latitude"))?;
            let lon = degrees("lon").ok_or_else(|| invalid("map must have field lon and a valid longitude"))?;
            Ok(vec![GeoPoint { lat, lon }.geohash(MAX_GEOHASH_LENGTH)])
        }
        _ => Err(invalid("must be of type string or list")),
    }
}

/// Parses geohash lengths of a mapping: integers, or distances.
fn defined_precisions(setting: &Value) -> Result<BTreeSet<usize>> {
    let one = |value: &Value| match value.as_i64() {
        Some(length) => Ok(usize::try_from(length).unwrap_or(0)),
        None => {
            let distance = metres(&java_text(value).into(), None);
            let distance = distance.ok_or_else(|| SearchError::number(&java_text(value)))?;
            Ok(enclosing_geohash_length(distance))
        }
    };
    match setting {
        Value::Null => Ok(BTreeSet::new()),
        other => items(other).iter().map(one).collect(),
    }
}

/// The items of an array, or another value alone.
fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

/// Parses geohash lengths of a search: numbers, or distances.
fn precisions(setting: Option<&Value>) -> Result<BTreeSet<usize>> {
    let one = |value: &Value| {
        let length = value.as_u64().and_then(|length| usize::try_from(length).ok());
        let length = length.or_else(|| metres(value, None).map(geohash_length));
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

    fn none(_: &str) -> Vec<Value> {
        vec![]
    }

    fn prefixes(contexts: &Contexts, given: Option<&Value>, at: &dyn Fn(&str) -> Vec<Value>) -> Result<Vec<String>> {
        contexts.prefixes(contexts.of_value(given)?, at)
    }

    #[test]
    fn every_combination_of_contexts_is_a_prefix() {
        let setting = json!({
            "b": {"type": "category", "default": "none"},
            "a": {"type": "geo", "precision": [1, "5km"], "neighbors": false},
        });
        let contexts = Contexts::parse(Some(&setting)).unwrap();
        let given = json!({"a": [13.4, 52.5], "b": ["x", 7]});
        let found = prefixes(&contexts, Some(&given), &none).unwrap();
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
        assert_eq!(prefixes(&contexts, None, &at).unwrap(), ["of kind\u{1d}"]);
        assert_eq!(prefixes(&contexts, None, &none).unwrap(), ["x\u{1d}", "y\u{1d}"]);
    }

    #[rstest]
    #[case(json!({"c": {"a": 1}, "g": "u33"}), "no mapping defined for [a]")]
    #[case(json!({"c": [["x"]], "g": "u33"}), "no mapping defined for []]")]
    #[case(json!({"c": "x", "g": null}), "geo_point expected")]
    #[case(json!({"c": "x", "g": ["u33"]}), "Numeric value expected")]
    #[case(json!({"c": "x", "g": {"lat": 1}}), "location is missing")]
    #[case(json!({"c": "x", "g": {"lat": true}}), "latitude must be a number")]
    #[case(json!({"c": "x", "g": {"value": "u33", "lon": 1}}), "only lat/lon or [value] is allowed")]
    #[case(json!({"c": "x", "g": {"geohash": "u33"}}), "unexpected fieldname [geohash]")]
    fn invalid_contexts_of_searches_are_errors(#[case] given: Value, #[case] reason: &str) {
        let setting = json!({"c": {"type": "category"}, "g": {"type": "geo", "precision": 3}});
        let contexts = Contexts::parse(Some(&setting)).unwrap();
        assert_eq!(contexts.of_search(Some(&given)).unwrap_err().reason, reason);
    }

    #[test]
    fn precisions_have_the_lengths_of_geohashes() {
        let setting = json!({"a": {"type": "geo", "precision": [0, 13, 1_000_000], "neighbors": false}});
        let contexts = Contexts::parse(Some(&setting)).unwrap();
        let found = prefixes(&contexts, Some(&json!({"a": "u33d8b1234567"})), &none).unwrap();
        assert_eq!(found, ["u\u{1d}", "u33d8b123456\u{1d}"]);
    }

    #[rstest]
    #[case(json!({"a": {}}), "missing [type] in context mapping")]
    #[case(json!({"a": {"type": "colour"}}), "unknown context type[colour]")]
    #[case(json!({"a": {"type": "geo"}}), "field [precision] is missing")]
    #[case(json!({"a": {"type": "geo", "precision": "far"}}), "For input string: \"far\"")]
    #[case(json!({"a": {"type": "geo", "precision": 3, "default": {"lat": 1, "lon": 2}}}),
        "field [default] map must have field lat and a valid latitude")]
    fn invalid_contexts_are_errors(#[case] setting: Value, #[case] reason: &str) {
        assert_eq!(Contexts::parse(Some(&setting)).unwrap_err().reason, reason);
    }

    #[test]
    fn combinations_are_bounded() {
        let setting = json!({"a": {"type": "category"}, "b": {"type": "category"}});
        let contexts = Contexts::parse(Some(&setting)).unwrap();
        let many: Value = (0..200).collect::<Vec<_>>().into();
        let given = json!({"a": many, "b": many});
        let error = prefixes(&contexts, Some(&given), &none).unwrap_err();
        assert_eq!(error.reason, "contexts have more than 10000 combinations");
    }
}
