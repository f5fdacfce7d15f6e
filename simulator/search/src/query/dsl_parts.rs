//! What the parsers of the DSL share: errors, settings, numbers.
//!
//! Source: Elasticsearch 1.5's query parsers and `Queries.calculateMinShouldMatch`.

use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::query::text::too_many_clauses;
use crate::query::{Context, Query};

pub(super) fn refuse(context: &Context<'_>, reason: &str) -> SearchError {
    SearchError::query(format!("[{}] {reason}", context.index))
}

pub(super) fn unsupported(context: &Context<'_>, name: &str, key: &str) -> SearchError {
    refuse(context, &format!("[{name}] query does not support [{key}]"))
}

/// Fails for the first key of an object that a query does not have.
pub(super) fn only(context: &Context<'_>, name: &str, object: &Map<String, Value>, keys: &[&str]) -> Result<()> {
    match object.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(unsupported(context, name, key)),
        None => Ok(()),
    }
}

/// One query, or the queries of a list.
pub(super) fn several(
    context: &Context<'_>,
    value: &Value,
    parse: fn(&Context<'_>, &Value) -> Result<Query>,
) -> Result<Vec<Query>> {
    match value {
        Value::Array(items) if items.len() > context.most_clauses => Err(too_many_clauses(context.most_clauses)),
        Value::Array(items) => items.iter().map(|item| parse(context, item)).collect(),
        other => Ok(vec![parse(context, other)?]),
    }
}

pub(super) fn number(value: Option<&Value>) -> Option<f32> {
    let value = value?;
    value
        .as_f64()
        .or_else(|| value.as_str()?.parse().ok())
        .map(|number| number as f32)
}

pub(super) fn boost_of(object: &Map<String, Value>) -> f32 {
    number(object.get("boost")).unwrap_or(1.0)
}

pub(super) fn with_boost(query: Query, boost: f32) -> Query {
    if boost == 1.0 { query } else { query.boosted(boost) }
}

/// How many of `optional` clauses have to match: `2`, `-1`, `75%`, `-25%`, `2<75%`.
pub(super) fn minimum(wanted: &Value, optional: usize) -> usize {
    let text = wanted.as_str().map_or_else(|| wanted.to_string(), str::to_owned);
    let count = i64::try_from(optional).unwrap_or(i64::MAX);
    let simple = |text: &str| -> i64 {
        match text.trim().strip_suffix('%') {
            Some(share) => {
                let share = share.parse().unwrap_or(0i64).clamp(-100, 100);
                let part = count * share.abs() / 100;
                if share < 0 { count - part } else { part }
            }
            None => {
                let number: i64 = text.trim().parse().unwrap_or(0);
                if number < 0 {
                    count.saturating_add(number)
                } else {
                    number
                }
            }
        }
    };
    let mut result = count;
    if text.contains('<') {
        for condition in text.split_whitespace() {
            let Some((bound, then)) = condition.split_once('<') else {
                continue;
            };
            if count <= bound.parse().unwrap_or(0) {
                break;
            }
            result = simple(then);
        }
    } else {
        result = simple(&text);
    }
    usize::try_from(result.clamp(0, count)).unwrap_or(0)
}

/// A value as text.
pub(super) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// How many edits `AUTO` or a number allows a term.
pub(super) fn auto_edits(fuzziness: &str, text: &str) -> u8 {
    let length = text.chars().count();
    if fuzziness.eq_ignore_ascii_case("auto") {
        match length {
            0..=2 => 0,
            3..=5 => 1,
            _ => 2,
        }
    } else {
        crate::query::levenshtein::edits(fuzziness.parse().unwrap_or(2.0), length)
    }
}

/// The error of a query about nested objects or related documents that are not mapped.
pub(super) fn join_error(context: &Context<'_>, name: &str, object: &Map<String, Value>) -> SearchError {
    let text = |keys: [&str; 3]| {
        keys.iter()
            .find_map(|key| object.get(*key))
            .map(text_of)
            .unwrap_or_default()
    };
    let kind = text(["type", "child_type", "childType"]);
    refuse(
        context,
        &match name {
            "nested" => {
                let path = text(["path", "path", "path"]);
                if context.mapping.field_names(&format!("{path}.*")).is_empty() {
                    format!("[nested] failed to find nested object under path [{path}]")
                } else {
                    format!("[nested] nested object under path [{path}] is not of nested type")
                }
            }
            "has_parent" | "hasParent" => format!(
                "[has_parent] query configured 'parent_type' [{}] is not a valid type",
                text(["type", "parent_type", "parentType"])
            ),
            "top_children" | "topChildren" | "has_child filter" => format!("No mapping for for type [{kind}]"),
            _ => format!("[has_child] No mapping for for type [{kind}]"),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case(json!(2), 4, 2)]
    #[case(json!(-1), 4, 3)]
    #[case(json!("75%"), 4, 3)]
    #[case(json!("-25%"), 4, 3)]
    #[case(json!("3<90%"), 3, 3)]
    #[case(json!("3<50%"), 4, 2)]
    #[case(json!(9), 4, 4)]
    fn a_minimum_is_a_number_or_a_share(#[case] wanted: Value, #[case] optional: usize, #[case] expected: usize) {
        assert_eq!(minimum(&wanted, optional), expected);
    }
}
