//! `function_score` of the DSL.
//!
//! Source: Elasticsearch 1.5's `FunctionScoreQueryParser` and decay function parsers.

use serde_json::{Map, Value};

use crate::dates::{Fill, parse_math};
use crate::durations::millis;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::text_of;
use crate::json::{self, PART, Token, Tokens, boolean_token, not_numeric, token_of};
use crate::mapping::{DataUse, Kind, own_lucene_text};
use crate::query::dsl_parts::parsing_error;
use crate::query::function::Decay;
use crate::query::reader::{Form, Setting, float_of};
use crate::query::{
    Context, Function, FunctionSettings, GeoPoint, Modifier, MultiValueMode, Origin, Query, QueryField, QueryKind,
    ScoreFunction, metres,
};
use crate::script::Script;
use crate::ties::java_hash;

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
pub(super) fn function_score(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form::of_any(
        "[function_score] query",
        &[
            (&["score_mode", "scoreMode"], Setting::Scalar),
            (&["boost_mode", "boostMode"], Setting::Scalar),
            (&["max_boost", "maxBoost"], Setting::Float),
            (&["min_score", "minScore"], Setting::Float),
            (&["boost"], Setting::Float),
            (&["_name"], Setting::Scalar),
        ],
    );
    let (mut query, mut filter) = (None, None);
    let mut functions = Vec::new();
    // How the request names what it has: one function, or several.
    let (mut single, mut has_several) = (None, false);
    let read = form.read_with(context, tokens, |tokens, key, _| {
        match key.ok_or_else(SearchError::null_pointer)? {
            "query" => query = Some(context.query_at(tokens)?),
            "filter" => filter = Some(context.filter_at(tokens)?),
            "functions" => {
                if let Some(single) = single {
                    return Err(both_kinds(&format!("\"{single}\""), SEVERAL));
                }
                has_several = true;
                functions.extend(several(context, tokens)?);
            }
            _ if form.has_value(key) => return Ok(false),
            name => {
                let function = one(context, name, tokens)?;
                if has_several {
                    return Err(both_kinds(SEVERAL, &format!("\"{name}\"")));
                }
                if let Some(single) = single {
                    return Err(SearchError::parse(format!(
                        "Found function {single} already, now encountering \"{name}\". Use functions[{{...}},...] if you \
                         want to define several functions.",
                    )));
                }
                functions.push(function);
                single = Some(name);
            }
        }
        Ok(true)
    })?;
    let mut settings = FunctionSettings {
        max_boost: read.float("max_boost").unwrap_or(f32::MAX),
        min_score: read.float("min_score"),
        ..FunctionSettings::default()
    };
    if let Some(own) = read.get("score_mode") {
        let modes = ["avg", "max", "min", "sum", "multiply", "first"];
        settings.score_mode = mode(context, "score_mode", own, &modes)?;
    }
    if let Some(own) = read.get("boost_mode") {
        let modes = ["avg", "max", "min", "sum", "multiply", "replace"];
        settings.boost_mode = mode(context, "boost_mode", own, &modes)?;
    }
    // The filter of an only function is none if it accepts everything.
    if let [only] = functions.as_mut_slice() {
        only.filter.take_if(|filter| filter.kind == QueryKind::All);
    }
    let query = query.map(|query| query.unwrap_or_else(|| QueryKind::Nothing.into()));
    let query = match (query, filter.flatten()) {
        (Some(query), Some(filter)) => query.filtered(filter),
        (Some(query), None) => query,
        (None, Some(filter)) => filter.constant(),
        (None, None) => QueryKind::All.into(),
    };
    let query = Query::from(QueryKind::Functions {
        query: Box::new(query),
        functions,
        settings,
    })
    .boosted(read.boost());
    Ok(read.named(context, query))
}

/// How errors show that a request has several functions.
const SEVERAL: &str = "\"functions\": [...]";

/// Returns the error for a request with one function and several.
fn both_kinds(found: &str, other: &str) -> SearchError {
    SearchError::parse(format!(
        "You can either define \"functions\":[...] or a single function, not both. Found {found} already, now \
         encountering {other}."
    ))
}

/// Parses the only function of a query.
fn one(context: &Context<'_>, name: &str, tokens: &mut Tokens<'_>) -> Result<ScoreFunction> {
    match name {
        "weight" => Ok(ScoreFunction::factor(float_of(tokens)?)),
        _ => Ok(ScoreFunction::of(function_at(context, name, tokens)?)),
    }
}

/// Parses the function `name`, which begins with the current token.
fn function_at(context: &Context<'_>, name: &str, tokens: &mut Tokens<'_>) -> Result<Function> {
    match name {
        "boost_factor" | "boostFactor" => Ok(Function::Boost(float_of(tokens)?)),
        _ => function(context, name, tokens.whole().unwrap_or(&Value::Null)),
    }
}

/// Parses the elements of `functions`.
fn several(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Vec<ScoreFunction>> {
    let mut functions = Vec::new();
    while let Some(token) = tokens.within_array() {
        if !matches!(token, Token::Object) {
            let reason = "function_score: malformed query, expected a START_OBJECT while parsing functions but got a";
            return Err(parsing_error(context, &format!("{reason} {}", tokens.kind())));
        }
        functions.push(element(context, tokens)?);
        context.check_clauses(functions.len())?;
    }
    Ok(functions)
}

/// Parses an element of `functions`.
fn element(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<ScoreFunction> {
    let mut parsed = ScoreFunction::of(Function::One);
    let (mut is_found, mut key) = (false, "");
    while let Some(token) = tokens.within_object() {
        match (token, key) {
            (Token::Name(own), _) => key = own,
            (_, "filter") => parsed.filter = context.filter_at(tokens)?,
            (_, "weight") => {
                parsed.weight = Some(float_of(tokens)?);
                is_found = true;
            }
            (_, name) => {
                parsed.function = function_at(context, name, tokens)?;
                is_found = true;
            }
        }
    }
    if matches!(parsed.function, Function::Boost(_)) && parsed.weight.is_some() {
        let reason = "'boost_factor' and 'weight' cannot be used together. Use 'weight'.";
        return Err(SearchError::illegal(reason));
    }
    if is_found {
        Ok(parsed)
    } else {
        Err(SearchError::parse(
            "function_score: One entry in functions list is missing a function.",
        ))
    }
}

fn function(context: &Context<'_>, name: &str, value: &Value) -> Result<Function> {
    match name {
        "random_score" | "randomScore" => {
            let mut keys = value.as_object().into_iter().flat_map(Map::keys);
            if let Some(key) = keys.find(|key| *key != "seed") {
                return Err(parsing_error(
                    context,
                    &format!("random_score query does not support [{key}]"),
                ));
            }
            let seed = match value.get("seed") {
                Some(Value::String(text)) => java_hash(text),
                Some(Value::Number(number)) if number.is_f64() => {
                    let reason = "random_score seed must be an int, long or string, not 'VALUE_NUMBER'";
                    return Err(parsing_error(context, reason));
                }
                Some(Value::Bool(_)) => {
                    let reason = "random_score seed must be an int/long or string, not 'VALUE_BOOLEAN'";
                    return Err(parsing_error(context, reason));
                }
                Some(seed) => seed_of(seed.as_i64().filter(|seed| *seed != NO_SEED).unwrap_or(context.now)),
                None => seed_of(context.now),
            };
            // The shard number is mixed in later, when the query is weighed.
            Ok(Function::Random {
                seed,
                salt: java_hash(context.index) << 10,
            })
        }
        "field_value_factor" | "fieldValueFactor" => {
            if value
                .get("factor")
                .is_some_and(|factor| factor.is_array() || factor.is_object())
            {
                let reason = "[field_value_factor] field 'factor' does not support lists or objects";
                return Err(parsing_error(context, reason));
            }
            let known = ["field", "factor", "modifier"];
            let mut keys = value.as_object().into_iter().flat_map(Map::keys);
            if let Some(key) = keys.find(|key| !known.contains(&key.as_str())) {
                let reason = format!("field_value_factor query does not support [{key}]");
                return Err(parsing_error(context, &reason));
            }
            // The last item of a list counts.
            let only = |key: &str| match value.get(key) {
                Some(Value::Array(items)) => items.last(),
                only => only,
            };
            let name = only("field")
                .map(text_of)
                .ok_or_else(|| parsing_error(context, "[field_value_factor] required field 'field' missing"))?;
            let modifier = only("modifier")
                .filter(|modifier| !modifier.is_null())
                .map_or_else(|| "none".to_owned(), text_of);
            let modifier = Modifier::parse(&modifier).ok_or_else(|| unknown_modifier(&modifier))?;
            if let Some(data) = context.mapping.field_data(&name) {
                data.cast(&name, DataUse::Numbers)?;
            }
            let field = context.analyzed(&name).ok_or_else(|| {
                let reason = format!("Unable to find a field mapper for field [{name}]");
                SearchError::new(500, Exception::Elasticsearch, reason)
            })?;
            Ok(Function::FieldValue {
                field: QueryField {
                    name: name.as_str().into(),
                    ..QueryField::of(field)
                },
                floating: field.field_type.kind.is_floating(),
                factor: value
                    .get("factor")
                    .map_or(Ok(1.0), |factor| number_at(context, factor))? as f32,
                modifier,
            })
        }
        "script_score" | "scriptScore" => {
            if let Some(key) = Script::unknown(value, &[]) {
                return Err(parsing_error(
                    context,
                    &format!("script_score query does not support [{key}]"),
                ));
            }
            let not_loaded = |cause: SearchError| match cause.kind {
                Exception::ScriptParameterParse => cause,
                _ => parsing_error(context, "script_score the script could not be loaded").caused_by(cause),
            };
            let missing = || parsing_error(context, "script_score requires 'script' field");
            let script = Script::parse(value).map_err(not_loaded)?.ok_or_else(missing)?;
            Ok(Function::Script(script.mapped(context.mapping).map_err(not_loaded)?))
        }
        "gauss" | "exp" | "linear" => decay(context, name, value),
        other => {
            let reason = format!("No function with the name [{other}] is registered.");
            Err(parsing_error(context, &reason))
        }
    }
}

/// The seed that stands for none.
const NO_SEED: i64 = -1;

/// Converts an integer to a seed: itself, or Java's `Long.hashCode` if it does not fit.
fn seed_of(number: i64) -> u32 {
    match i32::try_from(number) {
        Ok(small) => small as u32,
        Err(_) => (number ^ (number as u64 >> 32) as i64) as u32,
    }
}

/// Reads a number, or the text of one.
///
/// # Errors
/// Anything else.
fn number_at(context: &Context<'_>, value: &Value) -> Result<f64> {
    match value {
        Value::Number(_) | Value::String(_) => json::number(value),
        Value::Bool(flag) => Err(context.unparsed(not_numeric(boolean_token(*flag), PART))),
        other => Err(context.unparsed(not_numeric(token_of(other), PART))),
    }
}

const DECAY_SETTINGS: [&str; 4] = ["scale", "origin", "decay", "offset"];

fn decay(context: &Context<'_>, shape: &str, value: &Value) -> Result<Function> {
    let malformed = || SearchError::parse("Malformed score function score parameters.");
    // Elasticsearch copies all objects and parses the first of them, with the name of the last one.
    let (mut field, mut settings, mut mode) = (None, None, MultiValueMode::Min);
    for (key, value) in value.as_object().into_iter().flatten() {
        match value {
            Value::Object(own) => {
                field = Some(key);
                settings.get_or_insert(own);
            }
            value if key == "multi_value_mode" => mode = MultiValueMode::parse(&mode_name(value))?,
            _ => return Err(malformed()),
        }
    }
    let (name, settings) = field.zip(settings).ok_or_else(malformed)?;
    let not_numeric = |lucene_text: &str| {
        let reason = format!("Field {name} is of type {lucene_text}, but only numeric types are supported.");
        parsing_error(context, &reason)
    };
    let field = context.mapped(name).ok_or_else(|| match own_lucene_text(name) {
        Some(text) => not_numeric(text),
        None => parsing_error(context, &format!("Unknown field [{name}]")),
    })?;
    if let Some(key) = settings.keys().find(|key| !DECAY_SETTINGS.contains(&key.as_str())) {
        return Err(SearchError::parse(format!("Parameter {key} not supported!")));
    }
    let kind = field.field_type.kind;
    let (dates, is_point) = (kind == Kind::Date, kind == Kind::GeoPoint);
    if !kind.is_numeric() && !is_point {
        return Err(not_numeric(&field.field_type.lucene_text()));
    }
    let length = |key: &str| -> Result<Option<f64>> {
        settings
            .get(key)
            .map(|value| match value {
                value if is_point => metres(value, None).ok_or_else(|| SearchError::number(&text_of(value))),
                Value::String(text) if dates => millis(text).map(|length| length as f64),
                other => number_at(context, other),
            })
            .transpose()
    };
    let origin = match settings.get("origin") {
        origin if is_point => Origin::Point(origin.map_or(Ok(GeoPoint::default()), GeoPoint::read)?),
        Some(Value::String(text)) if dates => {
            Origin::Number(parse_math(text, &field.field_type.format, context.now, Fill::Floor, 0)? as f64)
        }
        None if dates => Origin::Number(context.now as f64),
        Some(value) => Origin::Number(number_at(context, value)?),
        None => {
            return Err(SearchError::parse(
                "Both scale and origin must be set for numeric fields.",
            ));
        }
    };
    let scale = length("scale")?.ok_or_else(|| {
        SearchError::parse(if is_point {
            "origin and scale must be set for geo fields."
        } else if dates {
            "scale must be set for date fields."
        } else {
            "Both scale and origin must be set for numeric fields."
        })
    })?;
    let share = settings
        .get("decay")
        .map_or(Ok(0.5), |share| number_at(context, share))?;
    let offset = length("offset")?.unwrap_or(0.0);
    if scale <= 0.0 {
        return Err(SearchError::illegal("function_score : scale must be > 0.0."));
    }
    if share <= 0.0 || share >= 1.0 {
        return Err(SearchError::illegal(
            "function_score : decay must be in the range [0..1].",
        ));
    }
    if offset < 0.0 {
        return Err(SearchError::illegal("function_score : offset must be > 0.0"));
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
        offset,
        mode,
        scale,
    })
}

/// Returns the name of a mode as its parser reads it.
fn mode_name(value: &Value) -> String {
    let text = match value {
        Value::Array(_) => "[".to_owned(),
        value => text_of(value),
    };
    text.to_uppercase()
}
