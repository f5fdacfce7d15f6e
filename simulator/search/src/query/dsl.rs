//! The query DSL of request bodies: the queries and filters that are made of others.
//!
//! Promises: one answer or one refusal for every body; queries and filters share their names and their meaning, but for scores.
//! Limits: so many levels, so many clauses.
//! Source: Elasticsearch 1.5's query DSL.

use serde_json::{Map, Value};

use super::dsl_leaf::leaf;
use super::text::too_many_clauses;
use crate::error::{Result, SearchError};
use crate::query::{Context, Occur, Query, QueryKind};

/// The query that `body` says.
///
/// # Errors
/// A body that is no query, nests too deep, or asks a field for what it cannot hold.
pub(crate) fn parse_body(context: &Context<'_>, body: &Value, depth: usize) -> Result<Query> {
    if depth == 0 {
        return Err(SearchError::query(format!(
            "[{}] queries are nested too deeply",
            context.index
        )));
    }
    let object = match body {
        Value::Object(object) => object,
        Value::Array(items) => return all_of(context, items, depth).map(Query::every),
        _ => {
            return Err(refuse(context, "[_na] query malformed, must start with start_object"));
        }
    };
    // Settings beside the query's name belong to the request, not to the query.
    let mut named = object
        .iter()
        .filter(|(key, _)| !matches!(key.as_str(), "_cache" | "_cache_key" | "_name"));
    let Some((name, inner)) = named.next() else {
        return Ok(QueryKind::All.into());
    };
    if named.next().is_some() {
        return Err(refuse(
            context,
            &format!("[{name}] query malformed, no end object after the query"),
        ));
    }
    compound(context, name, inner, depth - 1)?.map_or_else(|| leaf(context, name, inner), Ok)
}

pub(super) fn refuse(context: &Context<'_>, reason: &str) -> SearchError {
    SearchError::query(format!("[{}] {reason}", context.index))
}

fn all_of(context: &Context<'_>, items: &[Value], depth: usize) -> Result<Vec<Query>> {
    if items.len() > context.most_clauses {
        return Err(too_many_clauses(context.most_clauses));
    }
    items.iter().map(|item| parse_body(context, item, depth)).collect()
}

/// One query or several, in an object, an array, or an object with an array under `key`.
fn several(context: &Context<'_>, value: &Value, key: &str, depth: usize) -> Result<Vec<Query>> {
    match value {
        Value::Array(items) => all_of(context, items, depth),
        Value::Object(object) => match object.get(key) {
            Some(Value::Array(items)) => all_of(context, items, depth),
            Some(other) => several(context, other, key, depth),
            None => Ok(vec![parse_body(context, value, depth)?]),
        },
        _ => Err(refuse(context, &format!("[{key}] query malformed"))),
    }
}

fn boost_of(object: &Map<String, Value>) -> f32 {
    object
        .get("boost")
        .and_then(Value::as_f64)
        .map_or(1.0, |boost| boost as f32)
}

/// The query if `name` is of one that is made of others.
fn compound(context: &Context<'_>, name: &str, inner: &Value, depth: usize) -> Result<Option<Query>> {
    let empty = Map::new();
    let object = inner.as_object().unwrap_or(&empty);
    let part = |keys: &[&str]| {
        keys.iter()
            .find_map(|key| object.get(*key))
            .filter(|part| !part.is_null())
            .map(|part| parse_body(context, part, depth))
            .transpose()
    };
    let query = match name {
        "match_all" => Query::from(QueryKind::All).boosted(boost_of(object)),
        "bool" => boolean(context, object, depth)?,
        "filtered" => {
            let query = part(&["query"])?.unwrap_or_else(|| QueryKind::All.into());
            let query = match part(&["filter"])? {
                Some(filter) => query.filtered(filter),
                None => query,
            };
            let boost = boost_of(object);
            if boost == 1.0 { query } else { query.boosted(boost) }
        }
        "constant_score" => part(&["filter", "query"])?
            .ok_or_else(|| refuse(context, "[constant_score] requires either 'filter' or 'query' element"))?
            .constant()
            .boosted(boost_of(object)),
        "and" => Query::every(several(context, inner, "filters", depth)?).constant(),
        "or" => Query::any(several(context, inner, "filters", depth)?).constant(),
        "not" => {
            let inner = object.get("filter").or_else(|| object.get("query")).unwrap_or(inner);
            Query::not(parse_body(context, inner, depth)?).constant()
        }
        "query" => parse_body(context, inner, depth)?.constant(),
        "fquery" => part(&["query"])?
            .ok_or_else(|| refuse(context, "[fquery] requires 'query'"))?
            .constant(),
        "dis_max" => {
            let queries = several(
                context,
                object
                    .get("queries")
                    .ok_or_else(|| refuse(context, "[dis_max] requires 'queries' field"))?,
                "queries",
                depth,
            )?;
            let tie = object.get("tie_breaker").and_then(Value::as_f64).unwrap_or(0.0) as f32;
            Query::from(QueryKind::Best { queries, tie }).boosted(boost_of(object))
        }
        "nested" | "has_child" | "has_parent" => {
            return Err(refuse(
                context,
                &format!("[{name}] queries are not part of this backend"),
            ));
        }
        "indices" => {
            let names = ["indices", "index"]
                .iter()
                .find_map(|key| object.get(*key))
                .map(crate::find::names)
                .unwrap_or_default();
            if names.iter().any(|name| crate::pattern::matches(name, context.index)) {
                part(&["query", "filter"])?.ok_or_else(|| refuse(context, "[indices] requires 'query' element"))?
            } else {
                match object.get("no_match_query").or_else(|| object.get("no_match_filter")) {
                    None => QueryKind::All.into(),
                    Some(Value::String(text)) if text == "none" => QueryKind::Nothing.into(),
                    Some(Value::String(_)) => QueryKind::All.into(),
                    Some(other) => parse_body(context, other, depth)?,
                }
            }
        }
        "limit" => QueryKind::All.into(),
        _ => return Ok(None),
    };
    Ok(Some(query))
}

fn boolean(context: &Context<'_>, object: &Map<String, Value>, depth: usize) -> Result<Query> {
    let mut clauses = Vec::new();
    let mut at_least = None;
    let mut coord = true;
    for (key, value) in object {
        let occur = match key.as_str() {
            "must" => Occur::Must,
            "should" => Occur::Should,
            "must_not" | "mustNot" => Occur::MustNot,
            "minimum_should_match" | "minimum_number_should_match" => {
                at_least = Some(value.clone());
                continue;
            }
            "disable_coord" => {
                coord = !crate::mapping::truth(value);
                continue;
            }
            "boost" | "_name" | "_cache" | "_cache_key" | "adjust_pure_negative" => continue,
            other => {
                return Err(refuse(context, &format!("[bool] query does not support [{other}]")));
            }
        };
        clauses.extend(
            several(context, value, key, depth)?
                .into_iter()
                .map(|query| (occur, query)),
        );
    }
    if clauses.len() > context.most_clauses {
        return Err(too_many_clauses(context.most_clauses));
    }
    if clauses.is_empty() {
        return Ok(QueryKind::All.into());
    }
    let optional = clauses.iter().filter(|(occur, _)| *occur == Occur::Should).count();
    let at_least = at_least.map_or(0, |wanted| minimum(&wanted, optional));
    let boost = boost_of(object);
    Ok(Query::from(QueryKind::Bool {
        clauses,
        at_least,
        coord,
    })
    .fix_negative()
    .boosted(boost))
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
