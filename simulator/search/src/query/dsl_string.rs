//! Query strings in the DSL.
//!
//! Source: Elasticsearch 1.5's `QueryStringQueryParser` and `SimpleQueryStringParser`.

use serde_json::{Map, Value};

use crate::analysis::Analyzer;
use crate::dates::TimeZone;
use crate::error::Result;
use crate::mapping::truth;
use crate::query::dsl_match::{field_boosts, fields_of};
use crate::query::dsl_parts::{
    boost_of, check_keys, check_minimum, minimum, parsing_error, rewrite_of, text_of, unsupported, with_boost,
};
use crate::query::simple::{self, Flags, SimpleSettings};
use crate::query::{Context, Occur, Query, QueryKind, StringSettings, parse_string};

/// Parses `simple_query_string`.
pub(super) fn simple_query_string(context: &Context<'_>, object: &Map<String, Value>) -> Result<Query> {
    const KNOWN: [&str; 12] = [
        "query",
        "fields",
        "default_operator",
        "analyzer",
        "flags",
        "locale",
        "lowercase_expanded_terms",
        "lenient",
        "analyze_wildcard",
        "minimum_should_match",
        "boost",
        "_name",
    ];
    check_keys(context, "simple_query_string", object, &KNOWN)?;
    let text = object
        .get("query")
        .map(text_of)
        .ok_or_else(|| parsing_error(context, "[simple_query_string] query text missing"))?;
    let fields = object
        .get("fields")
        .map(|fields| field_boosts(context, fields))
        .unwrap_or_default();
    let flags = match object.get("flags") {
        None => Flags::ALL,
        Some(Value::String(text)) => Flags::parse(text)
            .ok_or_else(|| crate::error::SearchError::illegal(format!("Unknown simple_query_string flag [{text}]")))?,
        Some(_) => Flags::ALL,
    };
    let analyzer = object
        .get("analyzer")
        .and_then(Value::as_str)
        .map(|name| {
            Analyzer::configured(name, context.mapping.analysis())
                .map_err(|_| parsing_error(context, &format!("[simple_query_string] analyzer [{name}] not found")))
        })
        .transpose()?;
    let settings = SimpleSettings {
        fields: if fields.is_empty() {
            vec![("_all".to_owned(), 1.0)]
        } else {
            fields
        },
        operator: crate::find::operator(object.get("default_operator").and_then(Value::as_str))?.occur(),
        flags,
        analyzer,
        lowercase: object.get("lowercase_expanded_terms").is_none_or(truth),
        lenient: object.get("lenient").is_some_and(truth),
    };
    let mut query = simple::parse(context, &text, &settings)?.unwrap_or_else(|| QueryKind::Nothing.into());
    if let (
        QueryKind::Bool {
            clauses,
            minimum_should_match,
            ..
        },
        Some(wanted),
    ) = (&mut query.kind, object.get("minimum_should_match"))
    {
        let optional = clauses.iter().filter(|(occur, _)| *occur == Occur::Should).count();
        *minimum_should_match = minimum(wanted, optional);
    }
    Ok(with_boost(query, boost_of(object)))
}

/// Parses `query_string`.
pub(super) fn query_string(context: &Context<'_>, object: &Map<String, Value>) -> Result<Query> {
    let text = object
        .get("query")
        .map(text_of)
        .ok_or_else(|| parsing_error(context, "query_string must be provided with a [query]"))?;
    let mut settings = StringSettings::default();
    let mut boost = 1.0;
    let mut minimum_should_match = None;
    for (key, value) in object {
        let count = || value.as_u64().or_else(|| value.as_str()?.parse().ok()).unwrap_or(0);
        match key.as_str() {
            "default_field" => settings.fields = vec![(text_of(value), 1.0)],
            "fields" => {
                let mut fields = fields_of(context, value);
                if let [(_, boost)] = fields.as_mut_slice() {
                    // An only field is the default field, which has no boost.
                    *boost = 1.0;
                }
                if !fields.is_empty() {
                    settings.fields = fields;
                }
            }
            "default_operator" => settings.operator = crate::find::operator(value.as_str())?,
            "analyzer" => settings.analyzer = value.as_str().map(str::to_owned),
            "quote_analyzer" => settings.quote_analyzer = Some(text_of(value)),
            "quote_field_suffix" => settings.quote_field_suffix = text_of(value),
            "lowercase_expanded_terms" => settings.lowercase_expanded_terms = truth(value),
            "analyze_wildcard" => settings.analyze_wildcard = truth(value),
            "allow_leading_wildcard" => settings.allow_leading_wildcard = truth(value),
            "auto_generate_phrase_queries" => settings.auto_generate_phrase_queries = truth(value),
            "lenient" => settings.lenient = truth(value),
            "phrase_slop" => settings.phrase_slop = u32::try_from(count()).unwrap_or(u32::MAX),
            "fuzzy_prefix_length" => settings.fuzzy_prefix_length = usize::try_from(count()).unwrap_or(0),
            "fuzzy_max_expansions" => {
                settings.fuzzy_max_expansions = usize::try_from(count()).unwrap_or(50).min(context.max_clauses)
            }
            "use_dis_max" => settings.use_dis_max = truth(value),
            "tie_breaker" => settings.tie_breaker = value.as_f64().unwrap_or(0.0) as f32,
            "boost" => boost = value.as_f64().unwrap_or(1.0) as f32,
            "minimum_should_match" => {
                check_minimum(value)?;
                minimum_should_match = Some(value.clone());
            }
            "rewrite" => drop(rewrite_of(&Value::Object(object.clone()))?),
            "time_zone" => {
                settings.time_zone = TimeZone::parse(&text_of(value))?.offset_at(context.now);
            }
            "query"
            | "enable_position_increments"
            | "fuzzy_min_sim"
            | "fuzziness"
            | "fuzzy_rewrite"
            | "locale"
            | "_name"
            | "escape"
            | "flags"
            | "max_determinized_states" => {}
            other => {
                return Err(unsupported(context, "query_string", other));
            }
        }
    }
    let mut query = parse_string(context, &text, &settings)?;
    if let (
        QueryKind::Bool {
            clauses,
            minimum_should_match,
            ..
        },
        Some(wanted),
    ) = (&mut query.kind, minimum_should_match)
    {
        let optional = clauses.iter().filter(|(occur, _)| *occur == Occur::Should).count();
        *minimum_should_match = minimum(&wanted, optional);
    }
    Ok(with_boost(query, boost))
}
