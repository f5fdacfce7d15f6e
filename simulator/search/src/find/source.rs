//! Source filtering, and extraction of values from a source.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::error::{Result, SearchError};
use crate::find::element::texts;
use crate::index::Stored;
use crate::json::{self, Token, Tokens, check_integers, is_scalar, java_text};
use crate::mapping::{Mapping, TIMESTAMP, TTL, truth};
use crate::pattern;

/// Filter of the parts of `_source` that are returned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SourceFilter {
    pub(crate) enabled: bool,
    pub(crate) include: Vec<String>,
    pub(crate) exclude: Vec<String>,
}

impl Default for SourceFilter {
    fn default() -> SourceFilter {
        SourceFilter {
            enabled: true,
            include: vec![],
            exclude: vec![],
        }
    }
}

/// Parses a comma-separated string or an array of strings.
pub(crate) fn names(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => text
            .split(',')
            .map(|part| part.trim().to_owned())
            .filter(|part| !part.is_empty())
            .collect(),
        Value::Array(items) => items
            .iter()
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect(),
        _ => vec![],
    }
}

impl SourceFilter {
    /// Reads `_source` of a body, whose first token is the current one.
    ///
    /// # Errors
    /// A null, a fraction or a number that is too large, unknown members, members that are no names.
    pub(crate) fn read(tokens: &mut Tokens<'_>) -> Result<SourceFilter> {
        let of_type = |token: &str| SearchError::parse(format!("source element value can be of type {token}"));
        let mut filter = SourceFilter::default();
        match tokens.current() {
            Token::Value(value) => {
                match value {
                    Value::Number(number) if number.is_f64() => return Err(of_type("VALUE_NUMBER")),
                    Value::Number(_) => drop(json::int(value, json::PART)?),
                    _ => {}
                }
                return Ok(SourceFilter::parse(value));
            }
            Token::Array => filter.include = tokens.texts(),
            Token::Object => {
                let mut list = &mut filter.include;
                while let Some(token) = tokens.within_object() {
                    match token {
                        Token::Name("include" | "includes") => list = &mut filter.include,
                        Token::Name("exclude" | "excludes") => list = &mut filter.exclude,
                        Token::Name(other) => {
                            return Err(SearchError::parse(format!("Source definition may not contain {other}")));
                        }
                        Token::Array => list.extend(tokens.texts()),
                        Token::Value(_) => list.push(tokens.text()),
                        _ => return Err(SearchError::parse("unexpected token while parsing source settings")),
                    }
                }
            }
            _ => return Err(of_type(tokens.kind())),
        }
        Ok(filter)
    }

    /// Parses `_source` of a mapping, or the text of a parameter.
    pub(crate) fn parse(value: &Value) -> SourceFilter {
        let word = if is_scalar(value) {
            java_text(value)
        } else {
            String::new()
        };
        match value {
            Value::Number(number) if number.as_i64() != Some(0) => SourceFilter::default(),
            _ if matches!(word.as_str(), "true" | "on" | "yes" | "1") => SourceFilter::default(),
            _ if matches!(word.as_str(), "false" | "off" | "no" | "0") => SourceFilter {
                enabled: false,
                ..SourceFilter::default()
            },
            Value::Object(parts) => {
                let section = |keys: [&str; 2]| {
                    keys.iter()
                        .find_map(|key| parts.get(*key))
                        .map(texts)
                        .unwrap_or_default()
                };
                SourceFilter {
                    enabled: true,
                    include: section(["include", "includes"]),
                    exclude: section(["exclude", "excludes"]),
                }
            }
            other => SourceFilter {
                enabled: true,
                include: texts(other).into_iter().filter(|name| !name.is_empty()).collect(),
                exclude: vec![],
            },
        }
    }

    /// Parses the parameters of a URI. `None`: there are none.
    pub(crate) fn of_params(params: &BTreeMap<String, String>) -> Option<SourceFilter> {
        let value = |key: &str| params.get(key).map(|text| Value::from(text.as_str()));
        let list = |keys: [&str; 2]| keys.into_iter().find_map(value).map(|value| names(&value));
        let mut filter = value("_source").map(|value| {
            let filter = SourceFilter::parse(&value);
            match filter.include.is_empty() {
                true => filter,
                false => SourceFilter {
                    include: names(&value),
                    ..filter
                },
            }
        });
        if let Some(include) = list(["_source_include", "_source_includes"]) {
            filter.get_or_insert_default().include = include;
        }
        if let Some(exclude) = list(["_source_exclude", "_source_excludes"]) {
            filter.get_or_insert_default().exclude = exclude;
        }
        filter
    }

    /// Returns the filter as the element of a search source.
    pub(super) fn to_json(&self) -> Value {
        match self.enabled {
            true => json!({"includes": self.include, "excludes": self.exclude}),
            false => Value::Bool(false),
        }
    }

    /// Reads one of the `partial_fields` of a body, which begins with the current token. Unknown members are ignored.
    pub(super) fn partial(tokens: &mut Tokens<'_>) -> SourceFilter {
        let mut filter = SourceFilter::default();
        let mut list = None;
        while let Some(token) = tokens.within_object() {
            match (token, &mut list) {
                (Token::Name("include" | "includes"), _) => list = Some(&mut filter.include),
                (Token::Name("exclude" | "excludes"), _) => list = Some(&mut filter.exclude),
                (Token::Name(_), _) => list = None,
                (Token::Array, Some(list)) => list.extend(tokens.texts()),
                (Token::Value(_), Some(list)) => list.push(tokens.text()),
                _ => {}
            }
        }
        filter
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }

    /// Returns the filtered source.
    pub(crate) fn apply(&self, source: &Value) -> Value {
        match source {
            Value::Object(object) => Value::Object(self.object("", object, self.include.is_empty())),
            other => other.clone(),
        }
    }

    /// Filters an object. `is_included`: whether its path is.
    fn object(&self, prefix: &str, object: &Map<String, Value>, is_included: bool) -> Map<String, Value> {
        if is_included && self.exclude.is_empty() {
            return object.clone();
        }
        let mut kept = Map::new();
        for (key, value) in object {
            let path = if prefix.is_empty() {
                key.clone()
            } else {
                format!("{prefix}.{key}")
            };
            if self.exclude.iter().any(|pattern| pattern::matches(pattern, &path)) {
                continue;
            }
            let inclusion = if is_included {
                Inclusion::Whole
            } else {
                self.inclusion(&path)
            };
            let is_whole = inclusion == Inclusion::Whole;
            let value = match value {
                _ if inclusion == Inclusion::None => continue,
                Value::Object(inner) => {
                    let inner = self.object(&path, inner, is_whole);
                    (is_whole || !inner.is_empty()).then_some(Value::Object(inner))
                }
                Value::Array(items) => Some(Value::Array(self.array(&path, items, is_whole))),
                value => is_whole.then(|| value.clone()),
            };
            kept.extend(value.map(|value| (key.clone(), value)));
        }
        kept
    }

    /// Filters an array, which has the path of its items. Items without a path are kept, empty ones are not.
    fn array(&self, path: &str, items: &[Value], is_included: bool) -> Vec<Value> {
        if is_included && self.exclude.is_empty() {
            return items.to_vec();
        }
        let filtered = items.iter().filter_map(|item| match item {
            Value::Object(inner) => {
                let inner = self.object(path, inner, is_included);
                (!inner.is_empty()).then_some(Value::Object(inner))
            }
            Value::Array(inner) => {
                let inner = self.array(path, inner, is_included);
                (!inner.is_empty()).then_some(Value::Array(inner))
            }
            value => Some(value.clone()),
        });
        filtered.collect()
    }

    /// Returns how far a path is included. A pattern that begins with a star may match below any path.
    fn inclusion(&self, path: &str) -> Inclusion {
        let has_parts = |include: &String| {
            let below = include.strip_prefix(path);
            include.starts_with('*') || below.is_some_and(|below| below.starts_with('.'))
        };
        if self.include.iter().any(|include| pattern::matches(include, path)) {
            Inclusion::Whole
        } else if self.include.iter().any(has_parts) {
            Inclusion::Parts
        } else {
            Inclusion::None
        }
    }
}

/// How far the includes of a filter have a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inclusion {
    Whole,
    /// Perhaps what is below it.
    Parts,
    None,
}

/// Returns the part of a source that the mapping of a type stores. `None` if `_source` is disabled.
pub(crate) fn visible_source<'a>(mapping: &Mapping, type_name: &str, source: &'a Value) -> Option<Cow<'a, Value>> {
    let settings = mapping.type_mapping(type_name).and_then(|own| own.metadata("_source"));
    let Some(settings) = settings else {
        return Some(Cow::Borrowed(source));
    };
    if settings.get("enabled").is_some_and(|enabled| !truth(enabled)) {
        return None;
    }
    let filter = SourceFilter::parse(settings);
    Some(if filter.is_plain() {
        Cow::Borrowed(source)
    } else {
        Cow::Owned(filter.apply(source))
    })
}

/// Returns the stored value of a metadata field. `now` is in milliseconds since 1970.
pub(crate) fn metadata_value(mapping: &Mapping, stored: &Stored, name: &str, now: i64) -> Option<Value> {
    match name {
        "_routing" => stored.routing().map(Value::from),
        "_parent" => stored.parent().map(Value::from),
        TIMESTAMP => {
            let stores = mapping
                .type_mapping(stored.type_name())
                .is_some_and(|own| own.times.stores_timestamp());
            stored.times().timestamp.filter(|_| stores).map(Value::from)
        }
        TTL => stored.times().expiry.map(|expiry| Value::from(expiry - now)),
        _ => None,
    }
}

/// Returns the values at a dotted path of a source, arrays flattened.
pub(crate) fn extract<'a>(source: &'a Value, path: &str) -> Vec<&'a Value> {
    let mut found = Vec::new();
    collect(source, path, &mut found);
    found
}

/// Fails for a source that Elasticsearch cannot load as a map, where a request loads it before all else.
pub(crate) fn check_loadable(source: &[u8], parsed: &Value) -> Result<()> {
    let checked = check_integers(source, parsed);
    checked.map_err(|error| SearchError::parse("failed to parse / load source").caused_by(error))
}

/// As [`extract`], for an object.
pub(crate) fn extract_members(source: &Map<String, Value>, path: &str) -> Vec<Value> {
    let mut found = Vec::new();
    collect_members(source, path, &mut found);
    found.into_iter().cloned().collect()
}

fn collect<'a>(value: &'a Value, path: &str, found: &mut Vec<&'a Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, path, found)),
        Value::Object(object) if !path.is_empty() => collect_members(object, path, found),
        Value::Object(_) if path.is_empty() => found.push(value),
        Value::Null => {}
        // The rest of the path is a field under `fields` of the value's field.
        value => found.push(value),
    }
}

fn collect_members<'a>(object: &'a Map<String, Value>, path: &str, found: &mut Vec<&'a Value>) {
    if let Some(value) = object.get(path) {
        return collect(value, "", found);
    }
    for (at, _) in path.match_indices('.') {
        if let (Some(head), Some(rest)) = (path.get(..at), path.get(at + 1..))
            && let Some(value) = object.get(head)
        {
            collect(value, rest, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(json!("a"), json!({"a": 1}))]
    #[case(json!(["b.c"]), json!({"b": {"c": 2}}))]
    #[case(json!("b.*"), json!({"b": {"c": 2, "d": 3}}))]
    #[case(json!({"exclude": ["b.d", "e"]}), json!({"a": 1, "b": {"c": 2}}))]
    #[case(json!({"include": ["b", "e"], "exclude": "*.d"}), json!({"b": {"c": 2}, "e": [{"f": 4}]}))]
    fn a_filter_keeps_the_included_paths(#[case] filter: Value, #[case] expected: Value) {
        let source = json!({"a": 1, "b": {"c": 2, "d": 3}, "e": [{"f": 4}]});
        assert_eq!(SourceFilter::parse(&filter).apply(&source), expected);
    }
}
