//! The leaves of the query DSL: queries for the values of a field.

use serde_json::{Map, Value};

use super::dsl::refuse;
use super::dsl_match::{matching, multi_match, query_string};
use super::levenshtein;
use super::text::{exact, range};
use crate::dates::{Fill, parse_math};
use crate::error::{Result, SearchError};
use crate::mapping::{Field, Kind, sortable, unsortable};
use crate::query::{Context, Matcher, Query, QueryField, QueryKind};

/// A value as text.
pub(super) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The one field of an object, and what is said of it; settings of the filter beside it do not count.
pub(super) fn one_field<'a>(context: &Context<'_>, name: &str, inner: &'a Value) -> Result<(&'a str, &'a Value)> {
    let object = inner
        .as_object()
        .ok_or_else(|| refuse(context, &format!("[{name}] query malformed, no field")))?;
    object
        .iter()
        .find(|(key, _)| {
            !matches!(
                key.as_str(),
                "_cache" | "_cache_key" | "_name" | "execution" | "boost" | "minimum_should_match" | "disable_coord"
            )
        })
        .map(|(key, value)| (key.as_str(), value))
        .ok_or_else(|| refuse(context, &format!("[{name}] query malformed, no field")))
}

/// The value and the boost of a field: bare, or in an object under one of `keys`.
fn value_and_boost(settings: &Value, keys: &[&str]) -> (Value, f32) {
    match settings {
        Value::Object(object) => {
            let value = keys
                .iter()
                .find_map(|key| object.get(*key))
                .cloned()
                .unwrap_or(Value::Null);
            (value, object.get("boost").and_then(Value::as_f64).unwrap_or(1.0) as f32)
        }
        other => (other.clone(), 1.0),
    }
}

/// The query for one exact value.
pub(super) fn term(context: &Context<'_>, name: &str, value: &Value) -> Result<Query> {
    let text = text_of(value);
    match name {
        "_type" => return Ok(context.of_type(&text)),
        "_id" | "_uid" => {
            return Ok(ids(
                context,
                &[],
                &[text.rsplit_once('#').map_or(text.as_str(), |(_, id)| id).to_owned()],
            ));
        }
        _ => {}
    }
    match context.mapped(name) {
        Some(field) => exact(context, field, &text),
        None => Ok(QueryKind::Term {
            field: QueryField::unmapped(name),
            text,
        }
        .into()),
    }
}

fn ids(context: &Context<'_>, types: &[String], ids: &[String]) -> Query {
    let types = if types.is_empty() {
        context.mapping.type_names().map(str::to_owned).collect()
    } else {
        types.to_vec()
    };
    Query::from(QueryKind::Ids {
        types,
        ids: ids.to_vec(),
    })
    .constant()
}

/// The query of that name.
pub(super) fn leaf(context: &Context<'_>, name: &str, inner: &Value) -> Result<Query> {
    let empty = Map::new();
    let object = inner.as_object().unwrap_or(&empty);
    let list = |keys: [&str; 2]| {
        keys.iter()
            .find_map(|key| object.get(*key))
            .map(|value| {
                if let Value::Array(items) = value {
                    items.iter().map(text_of).collect()
                } else {
                    vec![text_of(value)]
                }
            })
            .unwrap_or_default()
    };
    match name {
        "query_string" | "simple_query_string" => query_string(context, object),
        "match" | "match_phrase" | "match_phrase_prefix" | "text" | "text_phrase" => {
            let (field, settings) = one_field(context, name, inner)?;
            matching(context, name, field, settings)
        }
        "multi_match" => multi_match(context, object),
        "term" => {
            let (field, settings) = one_field(context, name, inner)?;
            let (value, boost) = value_and_boost(settings, &["value", "term"]);
            Ok(boosted(term(context, field, &value)?, boost))
        }
        "terms" | "in" => terms(context, name, inner, object),
        "range" | "numeric_range" => {
            let (field, settings) = one_field(context, name, inner)?;
            ranged(context, field, settings)
        }
        "prefix" => {
            let (field, settings) = one_field(context, name, inner)?;
            let (value, boost) = value_and_boost(settings, &["value", "prefix"]);
            Ok(multi(context, field, Matcher::Prefix(text_of(&value))).boosted(boost))
        }
        "wildcard" => {
            let (field, settings) = one_field(context, name, inner)?;
            let (value, boost) = value_and_boost(settings, &["value", "wildcard"]);
            Ok(multi(context, field, Matcher::Wildcard(text_of(&value))).boosted(boost))
        }
        "regexp" => {
            let (field, settings) = one_field(context, name, inner)?;
            let (value, boost) = value_and_boost(settings, &["value", "regexp"]);
            Ok(multi(context, field, Matcher::Regexp(text_of(&value))).boosted(boost))
        }
        "fuzzy" => {
            let (field, settings) = one_field(context, name, inner)?;
            fuzzy(context, field, settings)
        }
        "ids" => Ok(ids(context, &list(["type", "types"]), &list(["values", "ids"]))),
        "type" => Ok(context.of_type(object.get("value").and_then(Value::as_str).unwrap_or(""))),
        "exists" => Ok(context.exists(
            object
                .get("field")
                .and_then(Value::as_str)
                .ok_or_else(|| refuse(context, "exists must be provided with a [field]"))?,
        )),
        "missing" => Ok(context.missing(
            object
                .get("field")
                .and_then(Value::as_str)
                .ok_or_else(|| refuse(context, "missing must be provided with a [field]"))?,
        )),
        other => Err(refuse(context, &format!("No query registered for [{other}]"))),
    }
}

fn boosted(query: Query, boost: f32) -> Query {
    if boost == 1.0 { query } else { query.boosted(boost) }
}

fn multi(context: &Context<'_>, field: &str, matcher: Matcher) -> Query {
    QueryKind::Multi {
        field: context.field(field),
        matcher,
    }
    .into()
}

fn terms(context: &Context<'_>, name: &str, inner: &Value, object: &Map<String, Value>) -> Result<Query> {
    let (field, values) = one_field(context, name, inner)?;
    let values = values
        .as_array()
        .ok_or_else(|| refuse(context, "[terms] query requires an array of terms"))?;
    if values.len() > context.most_clauses * 64 {
        return Err(super::text::too_many_clauses(context.most_clauses * 64));
    }
    let queries = values
        .iter()
        .map(|value| term(context, field, value))
        .collect::<Result<Vec<_>>>()?;
    let at_least = object
        .get("minimum_should_match")
        .map_or(0, |wanted| super::dsl::minimum(wanted, queries.len()));
    let coord = !object.get("disable_coord").is_some_and(crate::mapping::truth);
    let clauses = queries.into_iter().map(|query| (super::Occur::Should, query)).collect();
    let boost = object.get("boost").and_then(Value::as_f64).unwrap_or(1.0) as f32;
    Ok(boosted(
        QueryKind::Bool {
            clauses,
            at_least,
            coord,
        }
        .into(),
        boost,
    ))
}

fn ranged(context: &Context<'_>, field: &str, settings: &Value) -> Result<Query> {
    let object = settings.as_object().ok_or_else(|| {
        refuse(
            context,
            "[range] query malformed, no start_object after the field's name",
        )
    })?;
    let (mut lower, mut upper) = (None, None);
    let (mut include_lower, mut include_upper) = (true, true);
    let mut offset = 0;
    let mut boost = 1.0;
    let mut own_format = None;
    for (key, value) in object {
        let bound = || (!value.is_null()).then(|| text_of(value));
        match key.as_str() {
            "gte" | "ge" | "from" => lower = bound(),
            "gt" => (lower, include_lower) = (bound(), false),
            "lte" | "le" | "to" => upper = bound(),
            "lt" => (upper, include_upper) = (bound(), false),
            "include_lower" => include_lower = crate::mapping::truth(value),
            "include_upper" => include_upper = crate::mapping::truth(value),
            "time_zone" => {
                offset = zone(&text_of(value))
                    .ok_or_else(|| refuse(context, &format!("time zone [{value}] is not understood")))?
            }
            "format" => own_format = value.as_str().map(crate::dates::DateFormat::new),
            "boost" => boost = value.as_f64().unwrap_or(1.0) as f32,
            "_name" | "_cache" | "execution" => {}
            other => {
                return Err(refuse(context, &format!("[range] query does not support [{other}]")));
            }
        }
    }
    let mut bounds = [(lower, include_lower), (upper, include_upper)]
        .map(|(text, included)| text.filter(|text| text != "*").map(|text| (text, included)));
    if let (Some(format), Some(mapped)) = (own_format, context.mapped(field))
        && mapped.field_type.kind == Kind::Date
    {
        // Another format than the field's own: the bounds are read here, and go on as milliseconds.
        for (at, bound) in bounds.iter_mut().enumerate() {
            if let Some((text, included)) = bound {
                let fill = if at == 1 && *included {
                    Fill::Ceiling
                } else {
                    Fill::Floor
                };
                *text = parse_math(text, &format, context.now, fill, offset)?.to_string();
            }
        }
        let read = |bound: &Option<(String, bool)>, open: i64, step: i64| {
            bound.as_ref().map_or(Some(open), |(text, included)| {
                text.parse::<i64>()
                    .ok()
                    .map(|millis| if *included { millis } else { millis.saturating_add(step) })
            })
        };
        let [low, high] = &bounds;
        if let (Some(lower), Some(upper)) = (read(low, i64::MIN, 1), read(high, i64::MAX, -1)) {
            return Ok(boosted(
                QueryKind::Range {
                    field: QueryField::of(mapped),
                    lower,
                    upper,
                }
                .into(),
                boost,
            ));
        }
    }
    let [lower, upper] = bounds;
    Ok(boosted(range(context, field, lower, upper, offset)?, boost))
}

/// An offset from UTC (`+02:00`, `-5`, `UTC`) in milliseconds.
pub(crate) fn zone(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "UTC" | "GMT" | "") {
        return Some(0);
    }
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest.starts_with(|c: char| c.is_ascii_digit()) {
        let (hours, minutes) = rest.split_once(':').unwrap_or((rest, "0"));
        return Some(
            sign * (hours.parse::<i64>().ok().filter(|hours| (0..24).contains(hours))? * 60
                + minutes
                    .parse::<i64>()
                    .ok()
                    .filter(|minutes| (0..60).contains(minutes))?)
                * 60_000,
        );
    }
    None
}

fn fuzzy(context: &Context<'_>, name: &str, settings: &Value) -> Result<Query> {
    let (value, boost) = value_and_boost(settings, &["value", "term"]);
    let text = text_of(&value);
    let get = |keys: [&str; 2]| keys.iter().find_map(|key| settings.get(*key));
    let fuzziness = get(["fuzziness", "min_similarity"]).map_or_else(|| "AUTO".to_owned(), text_of);
    if let Some(field) = context.mapped(name).filter(|field| field.field_type.kind.is_numeric()) {
        return Ok(boosted(fuzzy_number(context, field, &text, &fuzziness)?, boost));
    }
    let number = |key: &str, default: usize| {
        settings
            .get(key)
            .and_then(Value::as_u64)
            .map_or(default, |number| usize::try_from(number).unwrap_or(default))
    };
    let matcher = Matcher::Fuzzy {
        edits: auto_edits(&fuzziness, &text),
        term: text,
        prefix: number("prefix_length", 0),
        expansions: number("max_expansions", 50).min(context.most_clauses),
        transpositions: settings.get("transpositions").is_some_and(crate::mapping::truth),
    };
    Ok(multi(context, name, matcher).boosted(boost))
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
        levenshtein::edits(fuzziness.parse().unwrap_or(2.0), length)
    }
}

/// The query for numbers (or dates) near a value.
pub(super) fn fuzzy_number(context: &Context<'_>, field: &Field, text: &str, fuzziness: &str) -> Result<Query> {
    let kind = field.field_type.kind;
    let (lower, upper) = if kind == Kind::Date {
        let delta =
            crate::cluster::duration(fuzziness).map_or(0, |delta| i64::try_from(delta.as_millis()).unwrap_or(0));
        let at = parse_math(text, &field.field_type.format, context.now, Fill::Floor, 0)?;
        (at.saturating_sub(delta), at.saturating_add(delta))
    } else {
        let delta: f64 = if fuzziness.eq_ignore_ascii_case("auto") {
            1.0
        } else {
            fuzziness.parse().map_err(|_| SearchError::number(fuzziness))?
        };
        let at = field.field_type.encode_text(text)?;
        if kind.is_floating() {
            let at = unsortable(at);
            (sortable(at - delta), sortable(at + delta))
        } else {
            (at.saturating_sub(delta as i64), at.saturating_add(delta as i64))
        }
    };
    Ok(QueryKind::Range {
        field: QueryField::of(field),
        lower,
        upper,
    }
    .into())
}
