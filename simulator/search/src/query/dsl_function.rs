//! `function_score` of the DSL.
//!
//! Source: Elasticsearch 1.5's `FunctionScoreQueryParser` and decay function parsers.

use serde_json::{Map, Value};

use crate::dates::{Fill, parse_math};
use crate::durations::duration;
use crate::error::{Result, SearchError};
use crate::json::number_of;
use crate::mapping::{DataUse, Kind};
use crate::query::dsl_parts::{boost_of, number, parsing_error, text_of};
use crate::query::function::Decay;
use crate::query::{
    Context, Function, FunctionSettings, GeoPoint, Modifier, Origin, Query, QueryField, QueryKind, ScoreFunction,
    metres,
};
use crate::script::Script;
use crate::ties::java_hash;

const FUNCTIONS: [&str; 9] = [
    "field_value_factor",
    "fieldValueFactor",
    "gauss",
    "exp",
    "linear",
    "random_score",
    "randomScore",
    "script_score",
    "scriptScore",
];

/// Parses `score_mode` or `boost_mode`: one of `modes`.
fn mode(context: &Context<'_>, name: &str, value: &Value, modes: &[&str]) -> Result<String> {
    let text = text_of(value);
    if modes.contains(&text.as_str()) {
        return Ok(text);
    }
    Err(parsing_error(
        context,
        &format!("function_score illegal {name} [{text}]"),
    ))
}

/// Returns the error for an unknown modifier.
fn unknown_modifier(name: &str) -> SearchError {
    let class = "org.elasticsearch.common.lucene.search.function.FieldValueFactorFunction.Modifier";
    SearchError::argument(format!("No enum constant {class}.{}", name.to_uppercase()))
}

/// Parses `function_score`.
pub(super) fn function_score(context: &Context<'_>, object: &Map<String, Value>) -> Result<Query> {
    let mut query = None;
    let mut filter = None;
    let mut settings = FunctionSettings::default();
    let mut functions = Vec::new();
    let mut weight = None;
    for (key, value) in object {
        match key.as_str() {
            "query" => query = Some(context.parse_query(value)?),
            "filter" => filter = Some(context.parse_filter(value)?),
            "score_mode" | "scoreMode" => {
                settings.score_mode = mode(
                    context,
                    "score_mode",
                    value,
                    &["avg", "max", "min", "sum", "multiply", "first"],
                )?;
            }
            "boost_mode" | "boostMode" => {
                let modes = ["avg", "max", "min", "sum", "multiply", "replace"];
                settings.boost_mode = mode(context, "boost_mode", value, &modes)?;
            }
            "max_boost" | "maxBoost" => settings.max_boost = number(Some(value)).unwrap_or(f32::MAX),
            "min_score" | "minScore" => settings.min_score = number(Some(value)),
            "boost" | "_name" => {}
            "weight" => weight = number(Some(value)),
            "boost_factor" | "boostFactor" => {
                functions.push(ScoreFunction::of(boost_factor(value)));
            }
            "functions" => {
                for item in value.as_array().into_iter().flatten() {
                    functions.push(element(context, item)?);
                }
            }
            name if FUNCTIONS.contains(&name) => functions.push(ScoreFunction::of(function(context, name, value)?)),
            other => {
                return Err(parsing_error(
                    context,
                    &format!("No function with the name [{other}] is registered."),
                ));
            }
        }
    }
    if let Some(weight) = weight {
        match functions.first_mut() {
            Some(function) => function.weight = Some(function.weight_factor() * weight),
            None => functions.push(ScoreFunction::factor(weight)),
        }
    }
    let query = match (query, filter) {
        (Some(query), _) => query,
        (None, Some(filter)) => filter.constant(),
        (None, None) => QueryKind::All.into(),
    };
    Ok(Query::from(QueryKind::Functions {
        query: Box::new(query),
        functions,
        settings,
    })
    .boosted(boost_of(object)))
}

/// Parses an element of `functions`.
fn element(context: &Context<'_>, item: &Value) -> Result<ScoreFunction> {
    let mut parsed = ScoreFunction::of(Function::One);
    let mut found = false;
    for (key, value) in item.as_object().into_iter().flatten() {
        match key.as_str() {
            "filter" => parsed.filter = Some(context.parse_filter(value)?),
            "weight" => {
                parsed.weight = number(Some(value));
                found = true;
            }
            "boost_factor" | "boostFactor" => {
                parsed.function = boost_factor(value);
                found = true;
            }
            name if FUNCTIONS.contains(&name) => {
                parsed.function = function(context, name, value)?;
                found = true;
            }
            other => {
                return Err(parsing_error(
                    context,
                    &format!("No function with the name [{other}] is registered."),
                ));
            }
        }
    }
    if matches!(parsed.function, Function::Boost(_)) && item.get("weight").is_some() {
        let reason = "'boost_factor' and 'weight' cannot be used together. Use 'weight'.";
        return Err(SearchError::illegal(reason));
    }
    if found {
        Ok(parsed)
    } else {
        Err(SearchError::parse("an entry in functions list is missing a function."))
    }
}

fn boost_factor(value: &Value) -> Function {
    Function::Boost(number(Some(value)).unwrap_or(1.0))
}

fn function(context: &Context<'_>, name: &str, value: &Value) -> Result<Function> {
    match name {
        "random_score" | "randomScore" => {
            let seed = match value.get("seed") {
                Some(Value::String(text)) => java_hash(text),
                Some(seed) => seed_of(seed.as_i64().unwrap_or_default()),
                None => seed_of(context.now),
            };
            // The shard number is mixed in later, when the query is weighed.
            Ok(Function::Random {
                seed: seed ^ java_hash(context.index) << 10,
            })
        }
        "field_value_factor" | "fieldValueFactor" => {
            let name = value
                .get("field")
                .map(text_of)
                .ok_or_else(|| parsing_error(context, "[field_value_factor] required field 'field' missing"))?;
            let field = context.mapped(&name).ok_or_else(|| {
                SearchError::new(
                    500,
                    "ElasticsearchException",
                    format!("Unable to find a field mapper for field [{name}]"),
                )
            })?;
            let known = ["field", "factor", "modifier"];
            let mut keys = value.as_object().into_iter().flat_map(Map::keys);
            if let Some(key) = keys.find(|key| !known.contains(&key.as_str())) {
                let reason = format!("field_value_factor query does not support [{key}]");
                return Err(parsing_error(context, &reason));
            }
            if let Some(data) = context.mapping.field_data(&name) {
                data.cast(&name, DataUse::Numbers)?;
            }
            let modifier = value.get("modifier").and_then(Value::as_str).unwrap_or("none");
            Ok(Function::FieldValue {
                field: QueryField::of(field),
                floating: field.field_type.kind.is_floating(),
                factor: number(value.get("factor")).unwrap_or(1.0),
                modifier: Modifier::parse(modifier).ok_or_else(|| unknown_modifier(modifier))?,
            })
        }
        "script_score" | "scriptScore" => Ok(Function::Script(Script::parse(value)?.mapped(context.mapping)?)),
        shape => decay(context, shape, value),
    }
}

/// Converts an integer to a seed: itself, or Java's `Long.hashCode` if it does not fit.
fn seed_of(number: i64) -> u32 {
    match i32::try_from(number) {
        Ok(small) => small as u32,
        Err(_) => (number ^ (number as u64 >> 32) as i64) as u32,
    }
}

fn decay(context: &Context<'_>, shape: &str, value: &Value) -> Result<Function> {
    let malformed = || parsing_error(context, &format!("malformed score function score parameters [{shape}]"));
    let (name, settings) = value
        .as_object()
        .and_then(|object| object.iter().find(|(key, _)| *key != "multi_value_mode"))
        .ok_or_else(malformed)?;
    let field = context
        .mapped(name)
        .ok_or_else(|| parsing_error(context, &format!("Unknown field [{name}]")))?;
    let kind = field.field_type.kind;
    let (dates, is_point) = (kind == Kind::Date, kind == Kind::GeoPoint);
    if !kind.is_numeric() && !is_point {
        return Err(parsing_error(
            context,
            &format!(
                "Field {name} is of type {}, but only numeric types are supported.",
                field.field_type.lucene_text()
            ),
        ));
    }
    let length = |key: &str| -> Result<Option<f64>> {
        settings
            .get(key)
            .map(|value| match value {
                value if is_point => metres(value, None).ok_or_else(|| SearchError::number(&text_of(value))),
                Value::String(text) if dates => duration(text)
                    .map(|length| length.as_millis() as f64)
                    .ok_or_else(malformed),
                other => number_of(other).ok_or_else(malformed),
            })
            .transpose()
    };
    let origin = match settings.get("origin") {
        origin if is_point => {
            let default = GeoPoint { lat: 0.0, lon: 0.0 };
            let point = origin.map_or(Some(default), GeoPoint::parse);
            Origin::Point(point.ok_or_else(|| SearchError::parse("geo_point expected"))?)
        }
        Some(Value::String(text)) if dates => {
            Origin::Number(parse_math(text, &field.field_type.format, context.now, Fill::Floor, 0)? as f64)
        }
        None if dates => Origin::Number(context.now as f64),
        Some(value) => Origin::Number(number_of(value).ok_or_else(malformed)?),
        None => {
            return Err(SearchError::parse(
                "Both origin and scale must be set for numeric fields.",
            ));
        }
    };
    let scale = length("scale")?.ok_or_else(|| {
        SearchError::parse(if is_point {
            "origin and scale must be set for geo fields."
        } else {
            "Both origin and scale must be set for numeric fields."
        })
    })?;
    let share = settings.get("decay").and_then(number_of).unwrap_or(0.5);
    if scale <= 0.0 || share <= 0.0 || share >= 1.0 {
        return Err(SearchError::new(
            400,
            "ElasticsearchIllegalStateException",
            "scale must be > 0.0 and decay must be > 0.0 and < 1.0.",
        ));
    }
    let (shape, scale) = match shape {
        "gauss" => (Decay::Gauss, 0.5 * scale * scale / share.ln()),
        "exp" => (Decay::Exp, share.ln() / scale),
        _ => (Decay::Linear, scale / (1.0 - share)),
    };
    Ok(Function::Decay {
        field: QueryField::of(field),
        floating: kind.is_floating(),
        shape,
        origin,
        offset: length("offset")?.unwrap_or(0.0),
        scale,
    })
}
