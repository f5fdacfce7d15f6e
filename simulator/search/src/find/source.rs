//! Source filtering, and extraction of values from a source.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::index::Stored;
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
    /// Parses `_source` of a body.
    pub(crate) fn parse(value: &Value) -> SourceFilter {
        match value {
            Value::Bool(enabled) => SourceFilter {
                enabled: *enabled,
                ..SourceFilter::default()
            },
            Value::Object(parts) => {
                let section = |keys: [&str; 2]| {
                    keys.iter()
                        .find_map(|key| parts.get(*key))
                        .map(names)
                        .unwrap_or_default()
                };
                SourceFilter {
                    enabled: true,
                    include: section(["include", "includes"]),
                    exclude: section(["exclude", "excludes"]),
                }
            }
            Value::String(text) if text == "false" => SourceFilter {
                enabled: false,
                ..SourceFilter::default()
            },
            Value::String(text) if text == "true" => SourceFilter::default(),
            other => SourceFilter {
                enabled: true,
                include: names(other),
                exclude: vec![],
            },
        }
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }

    /// Returns the filtered source.
    pub(crate) fn apply(&self, source: &Value) -> Value {
        match source {
            Value::Object(object) if !self.is_plain() => {
                Value::Object(self.object("", object, self.include.is_empty()))
            }
            other => other.clone(),
        }
    }

    fn object(&self, prefix: &str, object: &Map<String, Value>, included: bool) -> Map<String, Value> {
        let mut kept = Map::new();
        for (key, value) in object {
            let path = if prefix.is_empty() {
                key.clone()
            } else {
                format!("{prefix}.{key}")
            };
            let named = |patterns: &[String]| {
                patterns.iter().any(|wanted| {
                    pattern::matches(wanted, &path) || pattern::matches(wanted.trim_end_matches(".*"), &path)
                })
            };
            if named(&self.exclude) {
                continue;
            }
            let included = included || named(&self.include);
            if let Some(value) = self.value(&path, value, included) {
                kept.insert(key.clone(), value);
            }
        }
        kept
    }

    fn value(&self, path: &str, value: &Value, included: bool) -> Option<Value> {
        match value {
            Value::Object(inner) => {
                let inner = self.object(path, inner, included);
                (included || !inner.is_empty()).then_some(Value::Object(inner))
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                let items: Vec<Value> = items
                    .iter()
                    .filter_map(|item| self.value(path, item, included))
                    .collect();
                (included || !items.is_empty()).then_some(Value::Array(items))
            }
            value => included.then(|| value.clone()),
        }
    }
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
    use serde_json::json;

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
