//! Leaf queries of the DSL: queries for the values of a field.

use serde_json::{Map, Value};

use crate::dates::{DateFormat, Fill, TimeZone, parse_math};
use crate::error::Result;
use crate::json::token_of;
use crate::mapping::Kind;
use crate::query::dsl_match::{match_query, multi_match};
use crate::query::dsl_parts::{
    auto_edits, boost_of, check_fuzziness, check_keys, flattened, minimum, number, parsing_error, rewrite_of, text_for,
    text_of, unsupported, with_boost, with_flags,
};
use crate::query::dsl_string::{query_string, simple_query_string};
use crate::query::text::{fuzzy_number, range};
use crate::query::value::{date_range, id_pattern_query, ids_of_types, matching, prefix, term};
use crate::query::{Context, FrequencyQuery, Matcher, Query, QueryField, QueryKind};

/// Returns the field of a query object and its settings. Skips settings of the query beside the field.
pub(super) fn one_field<'a>(context: &Context<'_>, name: &str, inner: &'a Value) -> Result<(&'a str, &'a Value)> {
    let malformed = || parsing_error(context, &format!("[{name}] query malformed, no field"));
    let object = inner.as_object().ok_or_else(malformed)?;
    let is_setting = |key: &str| {
        matches!(
            key,
            "_cache" | "_cache_key" | "_name" | "execution" | "boost" | "minimum_should_match" | "disable_coord"
        )
    };
    let field = object.iter().find(|(key, _)| !is_setting(key));
    // A field can have the name of a setting.
    field
        .or_else(|| object.iter().find(|(key, _)| !key.starts_with('_')))
        .map(|(key, value)| (key.as_str(), value))
        .ok_or_else(malformed)
}

/// Returns the value and the boost: a plain value, or an object with the value under one of `keys`.
pub(super) fn value_and_boost(
    context: &Context<'_>,
    name: &str,
    settings: &Value,
    keys: &[&str],
) -> Result<(Value, f32)> {
    const OTHERS: [&str; 14] = [
        "boost",
        "_name",
        "rewrite",
        "flags",
        "flags_value",
        "max_determinized_states",
        "fuzziness",
        "min_similarity",
        "prefix_length",
        "prefixLength",
        "max_expansions",
        "maxExpansions",
        "transpositions",
        "_cache",
    ];
    match settings {
        Value::Object(object) => {
            if let Some(key) = object
                .keys()
                .find(|key| !keys.contains(&key.as_str()) && !OTHERS.contains(&key.as_str()))
            {
                return Err(unsupported(context, name, key));
            }
            let object = &flattened(context, name, object)?;
            let value = keys
                .iter()
                .find_map(|key| object.get(*key))
                .cloned()
                .ok_or_else(|| parsing_error(context, &format!("No value specified for {name} query")))?;
            Ok((value, number(object.get("boost")).unwrap_or(1.0)))
        }
        other => Ok((other.clone(), 1.0)),
    }
}

/// Parses `ids`.
pub(super) fn ids_query(context: &Context<'_>, object: &Map<String, Value>) -> Result<Query> {
    let given = ["values", "ids"].iter().find_map(|key| object.get(*key)?.as_array());
    if let Some(other) = given
        .into_iter()
        .flatten()
        .find(|id| !id.is_string() && !id.is_number())
    {
        let token = token_of(other);
        let reason = format!("Illegal value for id, expecting a string or number, got: {token}");
        return Err(parsing_error(context, &reason));
    }
    let list = |keys: [&str; 2]| {
        keys.iter().find_map(|key| object.get(*key)).map(|value| match value {
            Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>(),
            other => vec![text_of(other)],
        })
    };
    check_keys(
        context,
        "ids",
        object,
        &["type", "types", "values", "ids", "boost", "_name"],
    )?;
    let ids = list(["values", "ids"]).ok_or_else(|| parsing_error(context, "[ids] query, no ids values provided"))?;
    if ids.is_empty() {
        return Ok(QueryKind::Nothing.into());
    }
    Ok(with_boost(
        ids_of_types(context, &list(["type", "types"]).unwrap_or_default(), &ids),
        boost_of(object),
    ))
}

/// Parses a multi-term query. Returns `None` if `name` is not one.
pub(super) fn multi_term(context: &Context<'_>, name: &str, inner: &Value) -> Result<Option<Query>> {
    if !matches!(name, "prefix" | "wildcard" | "regexp" | "fuzzy" | "range") {
        return Ok(None);
    }
    if name == "range" && inner.as_object().is_some_and(Map::is_empty) {
        let reason = "[range] query malformed, no field to indicate field name";
        return Err(parsing_error(context, reason));
    }
    let (field, settings) = one_field(context, name, inner)?;
    if name == "range" {
        return range_query(context, "[range] query", field, settings).map(Some);
    }
    let (value, boost) = value_and_boost(context, name, settings, &["value", name, "term"])?;
    if name == "fuzzy" {
        return fuzzy(context, field, &value, settings, boost).map(Some);
    }
    let text = text_of(&value);
    let matcher = match name {
        "prefix" => Matcher::Prefix(text),
        "wildcard" => Matcher::Wildcard(text),
        _ => Matcher::Regexp {
            pattern: with_flags(&text, settings)?,
            text,
        },
    };
    let query = match (rewrite_of(settings)?, matcher) {
        (None, Matcher::Prefix(text)) => prefix(context, field, text)?,
        (None, matcher) => matching(context, field, matcher),
        (Some(rewrite), matcher) => id_pattern_query(field, &matcher).unwrap_or_else(|| {
            QueryKind::ByFrequency(FrequencyQuery::Rewritten {
                field: context.field(field),
                matcher,
                rewrite,
            })
            .into()
        }),
    };
    Ok(Some(query.boosted(boost)))
}

/// Parses the leaf query `name`.
pub(super) fn leaf(context: &Context<'_>, name: &str, inner: &Value) -> Result<Query> {
    let empty = Map::new();
    let object = inner.as_object().unwrap_or(&empty);
    if let Some(query) = multi_term(context, name, inner)? {
        let (field, _) = one_field(context, name, inner)?;
        return Ok(context.of_named_type(field, query));
    }
    match name {
        "query_string" | "queryString" => query_string(context, object),
        "simple_query_string" | "simpleQueryString" => simple_query_string(context, object),
        "match"
        | "match_phrase"
        | "matchPhrase"
        | "match_phrase_prefix"
        | "matchPhrasePrefix"
        | "match_fuzzy"
        | "fuzzy_match" => match_query(context, name, object),
        "multi_match" | "multiMatch" => multi_match(context, object),
        "term" => {
            let (field, settings) = one_field(context, name, inner)?;
            let (value, boost) = value_and_boost(context, name, settings, &["value", "term"])?;
            if value.is_null() {
                return Err(parsing_error(context, "No value specified for term query"));
            }
            Ok(context.of_named_type(field, with_boost(term(context, field, &value)?, boost)))
        }
        "terms" | "in" => terms(context, name, inner, object),
        "ids" => ids_query(context, object),
        other => Err(parsing_error(context, &format!("No query registered for [{other}]"))),
    }
}

fn terms(context: &Context<'_>, name: &str, inner: &Value, object: &Map<String, Value>) -> Result<Query> {
    let (field, values) = one_field(context, name, inner)?;
    let values = values.as_array().ok_or_else(|| unsupported(context, "terms", field))?;
    if values.iter().any(Value::is_null) {
        return Err(parsing_error(context, "No value specified for terms query"));
    }
    const SETTINGS: [&str; 7] = [
        "disable_coord",
        "disableCoord",
        "boost",
        "minimum_match",
        "minimumMatch",
        "minimum_should_match",
        "_name",
    ];
    if let Some(key) = object.iter().find_map(|(key, value)| {
        let is_unknown = !value.is_array() && !SETTINGS.contains(&key.as_str());
        is_unknown.then_some(key)
    }) {
        return Err(unsupported(context, "terms", key));
    }
    if values.len() > context.max_clauses * 64 {
        return Err(crate::query::text::too_many_clauses(context.max_clauses * 64));
    }
    let queries = values
        .iter()
        .map(|value| term(context, field, value))
        .collect::<Result<Vec<_>>>()?;
    let minimum_should_match = object
        .get("minimum_should_match")
        .or_else(|| object.get("minimum_match"))
        .map_or(0, |wanted| minimum(wanted, queries.len()));
    let coord = !object.get("disable_coord").is_some_and(crate::mapping::truth);
    let clauses = queries
        .into_iter()
        .map(|query| (crate::query::Occur::Should, query))
        .collect();
    let boost = object.get("boost").and_then(Value::as_f64).unwrap_or(1.0) as f32;
    let query = QueryKind::Bool {
        clauses,
        minimum_should_match,
        coord,
    };
    Ok(context.of_named_type(field, with_boost(query.into(), boost)))
}

/// Parses `range`, as a query or as a filter. `kind` is its name in errors.
pub(super) fn range_query(context: &Context<'_>, kind: &str, field: &str, settings: &Value) -> Result<Query> {
    let is_filter = kind.ends_with("filter");
    let malformed = || match is_filter {
        true => parsing_error(context, &format!("{kind} does not support [{field}]")),
        false => parsing_error(context, &format!("{kind} malformed, after field missing start object")),
    };
    let object = settings.as_object().ok_or_else(malformed)?;
    let (mut lower, mut upper) = (None, None);
    let (mut include_lower, mut include_upper) = (true, true);
    let mut zone = None;
    let mut boost = 1.0;
    let mut own_format = None;
    for (key, value) in object {
        let bound = || Some(value).filter(|value| !value.is_null());
        match key.as_str() {
            "gte" | "ge" | "from" => lower = bound(),
            "gt" => (lower, include_lower) = (bound(), false),
            "lte" | "le" | "to" => upper = bound(),
            "lt" => (upper, include_upper) = (bound(), false),
            "include_lower" => include_lower = crate::mapping::truth(value),
            "include_upper" => include_upper = crate::mapping::truth(value),
            "time_zone" | "timeZone" => zone = Some(TimeZone::parse(&text_of(value))?),
            "format" => own_format = value.as_str().map(DateFormat::new).transpose()?,
            "boost" if !is_filter => boost = value.as_f64().unwrap_or(1.0) as f32,
            "_name" if !is_filter => {}
            other => return Err(parsing_error(context, &format!("{kind} does not support [{other}]"))),
        }
    }
    let mapped = context.mapped(field);
    let is_date = mapped.is_some_and(|mapped| mapped.field_type.kind == Kind::Date);
    if zone.is_some() && mapped.is_some() && !is_date {
        let reason = format!("[range] time_zone can not be applied to non date field [{field}]");
        return Err(parsing_error(context, &reason));
    }
    if zone.is_some() && is_date && [lower, upper].iter().flatten().any(|bound| bound.is_number()) {
        let reason = format!(
            "[range] time_zone when using ms since epoch format as it's UTC based can not be applied to [{field}]"
        );
        return Err(parsing_error(context, &reason));
    }
    let offset = zone.map_or(0, |zone| zone.offset_at(context.now));
    let [lower, upper] = [(lower, include_lower), (upper, include_upper)]
        .map(|(value, included)| value.filter(|value| *value != "*").map(|value| (value, included)));
    if let Some(mapped) = mapped.filter(|_| is_date) {
        let format = own_format.as_ref().unwrap_or(&mapped.field_type.format);
        // Only queries round an excluded lower end up.
        let above = if is_filter { Fill::Floor } else { Fill::Ceiling };
        let range = date_range(mapped, lower, upper, above, |text, fill| {
            parse_math(text, format, context.now, fill, offset)
        })?;
        let field = QueryField::of_terms(mapped);
        let query = QueryKind::Range { field, range };
        return Ok(with_boost(query.into(), boost));
    }
    let text = |bound: Option<(&Value, bool)>| bound.map(|(value, included)| (text_for(mapped, value), included));
    let (lower, upper) = (text(lower), text(upper));
    Ok(with_boost(range(context, field, lower, upper, offset)?, boost))
}

fn fuzzy(context: &Context<'_>, name: &str, value: &Value, settings: &Value, boost: f32) -> Result<Query> {
    let text = text_of(value);
    let get = |keys: [&str; 2]| keys.iter().find_map(|key| settings.get(*key));
    let fuzziness = get(["fuzziness", "min_similarity"]).map_or_else(|| "AUTO".to_owned(), text_of);
    rewrite_of(settings)?;
    if let Some(field) = context.mapped(name).filter(|field| field.field_type.kind.is_numeric()) {
        return Ok(with_boost(fuzzy_number(context, field, &text, &fuzziness)?, boost));
    }
    check_fuzziness(&fuzziness)?;
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
        expansions: number("max_expansions", 50).min(context.max_clauses),
        transpositions: settings.get("transpositions").is_some_and(crate::mapping::truth),
    };
    Ok(matching(context, name, matcher).boosted(boost))
}
