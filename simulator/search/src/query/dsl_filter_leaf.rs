//! Filters of the DSL for the values of a field.
//!
//! Source: the filter parsers of Elasticsearch 1.5.

use serde_json::Value;

use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::find::extract;
use crate::json::text_of;
use crate::json::{Token, Tokens};
use crate::mapping::{Kind, own_lucene_text, own_terms};
use crate::query::dsl_leaf::{Limits, read_ids, types_of, values_of};
use crate::query::dsl_parts::parsing_error;
use crate::query::reader::{CACHING, Form, Refused, Setting, Settings, value_of};
use crate::query::regexp_parser::operators;
use crate::query::value::{ids_of_types, number_term, pattern, prefix, term};
use crate::query::{Caching, Context, FilterClass, Matcher, Query, QueryKind};

/// Parses a filter for the values of a field. Returns `None` if `name` is not one.
pub(super) fn leaf(context: &Context<'_>, name: &str, tokens: &mut Tokens<'_>) -> Result<Option<Query>> {
    Ok(Some(match name {
        "term" => term_filter(context, tokens)?,
        "terms" | "in" => terms(context, tokens)?,
        "range" => range(context, tokens)?,
        "numeric_range" => numeric_range(context, tokens)?,
        "prefix" => prefix_filter(context, tokens)?,
        "regexp" => regexp(context, tokens)?,
        "ids" => ids(context, tokens)?,
        "type" => of_type(context, tokens)?,
        "exists" | "missing" => existence(context, name, tokens)?,
        "limit" => limit(context, tokens)?,
        _ => return Ok(None),
    }))
}

/// Parses `term`. The last of several fields counts.
fn term_filter(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let of_field = Form {
        name: "[term] filter",
        settings: &[CACHING.as_slice(), &[(&["value", "term"], Setting::Nullable)]].concat(),
        refused: &[Refused::Object, Refused::Array, Refused::Value, Refused::Null],
    };
    let form = Form {
        name: "[term] filter",
        settings: &CACHING,
        refused: &[],
    };
    let mut found = None;
    let settings = form.read_with(context, tokens, |tokens, key, settings| {
        match tokens.current() {
            Token::Object => {
                let own = of_field.read(context, tokens)?;
                found = Some((key, own.get("value").cloned()));
                settings.update(own);
            }
            Token::Value(value) if !form.has_value(key) => found = Some((key, Some(value.clone()))),
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let found = found.and_then(|(field, value)| Some((field?, value)));
    let (field, value) = found.ok_or_else(|| parsing_error(context, "No field specified for term filter"))?;
    let value = value.ok_or_else(|| parsing_error(context, "No value specified for term filter"))?;
    let filter = term(context, field, &value)?.filter(FilterClass::Plain, settings.caching(true));
    Ok(settings.named(context, context.filter_of_named_type(field, filter)))
}

/// Reads a filter that has the limits of a field.
fn read_limits<'a>(
    context: &Context<'_>,
    tokens: &mut Tokens<'a>,
    form: &Form<'_>,
) -> Result<(Settings, Option<(&'a str, Limits)>)> {
    let mut found = None;
    let settings = form.read_with(context, tokens, |tokens, key, _| {
        let is_limits = matches!(tokens.current(), Token::Object);
        if is_limits {
            found = Some((key.unwrap_or("null"), Limits::read(context, tokens, form.name)?));
        }
        Ok(is_limits)
    })?;
    Ok((settings, found))
}

fn range(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form {
        name: "[range] filter",
        settings: &[CACHING.as_slice(), &[(&["execution"], Setting::Scalar)]].concat(),
        refused: &[Refused::Value],
    };
    let (settings, found) = read_limits(context, tokens, &form)?;
    let found = found.ok_or_else(|| parsing_error(context, "[range] filter no field specified for range filter"));
    let (field, limits) = found?;
    let query = limits.query(context, field)?;
    let kind = context.mapped(field).map(|field| field.field_type.kind);
    let execution = settings.text("execution");
    let reason = match execution.as_deref() {
        Some("fielddata") if is_text(context, field) => {
            Some(format!("[range] filter field [{field}] is not a numeric type"))
        }
        None | Some("index" | "fielddata") => None,
        Some(other) => Some(format!("[range] filter doesn't support [{other}] execution")),
    };
    if let Some(reason) = reason {
        return Err(parsing_error(context, &reason));
    }
    // Date ranges with unrounded `now` are not cached.
    let caching = match settings.caching(execution.as_deref() != Some("fielddata")) {
        Caching::Uncached if kind == Some(Kind::Date) && settings.has("_cache") => Caching::Never,
        _ if kind == Some(Kind::Date) && limits.has(is_now_unrounded) => Caching::Never,
        caching => caching,
    };
    let filter = context.filter_of_named_type(field, query.filter(FilterClass::Plain, caching));
    Ok(settings.named(context, filter))
}

/// Returns whether a field is mapped, but is none of numbers.
fn is_text(context: &Context<'_>, field: &str) -> bool {
    match context.mapped(field) {
        Some(mapped) => !mapped.field_type.kind.is_numeric(),
        None => own_lucene_text(field).is_some(),
    }
}

/// Returns whether a date has `now` without rounding.
fn is_now_unrounded(date: &str) -> bool {
    let math = date.split_once("now").map(|(_, math)| math);
    math.is_some_and(|math| !math.split(' ').next().is_some_and(|math| math.contains('/')))
}

fn numeric_range(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form {
        name: "[numeric_range] filter",
        settings: &CACHING,
        refused: &[Refused::Value],
    };
    let (settings, found) = read_limits(context, tokens, &form)?;
    let (field, limits) = found.ok_or_else(SearchError::null_pointer)?;
    let unusable = match context.mapped(field) {
        _ if is_text(context, field) => Some(format!("Field [{field}] is not a numeric type")),
        None => Some(format!("failed to find mapping for field [{field}]")),
        Some(_) => None,
    };
    if let Some(reason) = unusable {
        return Err(parsing_error(context, &reason));
    }
    let filter = limits
        .with_texts()
        .query(context, field)?
        .filter(FilterClass::Plain, settings.caching(false));
    Ok(settings.named(context, context.filter_of_named_type(field, filter)))
}

fn prefix_filter(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form {
        name: "[prefix] filter",
        settings: &CACHING,
        refused: &[],
    };
    let mut found = None;
    let settings = form.read_with(context, tokens, |tokens, key, _| match tokens.current() {
        Token::Value(value) if !form.has_value(key) => {
            found = Some((key.unwrap_or("null"), value));
            Ok(true)
        }
        _ => Ok(false),
    })?;
    let (field, value) = found.ok_or_else(|| parsing_error(context, "No value specified for prefix filter"))?;
    let query = prefix(context, field, value, None)?;
    let filter = pattern_filter(query, FilterClass::Prefix, settings.caching(true));
    Ok(settings.named(context, context.filter_of_named_type(field, filter)))
}

/// Converts the query for a pattern to a filter of a class. Ids have a pattern for each of several types.
fn pattern_filter(query: Query, class: FilterClass, caching: Caching) -> Query {
    match query.kind {
        QueryKind::Bool { clauses, .. } => {
            let patterns = clauses.into_iter().map(|(_, own)| own.filter(class, Caching::Uncached));
            let patterns: Vec<Query> = patterns.collect();
            let count = patterns.len();
            Query::any(patterns).filter(FilterClass::Boolean(count), caching)
        }
        _ => query.filter(class, caching),
    }
}

fn regexp(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let of_field = Form {
        name: "[regexp] filter",
        settings: &[
            (&["value"], Setting::Nullable),
            (&["flags"], Setting::Nullable),
            (&["max_determinized_states"], Setting::Int),
            (&["flags_value"], Setting::Int),
        ],
        refused: &[Refused::Value],
    };
    let form = Form {
        name: "[regexp] filter",
        settings: &CACHING,
        refused: &[],
    };
    // A plain value only counts without an object.
    let (mut found, mut plain) = (None, None);
    let settings = form.read_with(context, tokens, |tokens, key, _| {
        let name = key.unwrap_or("null");
        match tokens.current() {
            Token::Object => found = Some((name, of_field.read(context, tokens)?)),
            _ if form.has_value(key) => return Ok(false),
            _ => plain = Some((name, Settings::of_value("value", value_of(tokens)))),
        }
        Ok(true)
    })?;
    let found = found.or(plain);
    let missing = || parsing_error(context, "No value specified for regexp filter");
    let (field, own) = found.ok_or_else(missing)?;
    let value = own.get("value").ok_or_else(missing)?;
    let query = pattern(context, field, value, None, |text| {
        Matcher::regexp(text, operators(own.get("flags"), own.int("flags_value"))?)
    })?;
    let filter = pattern_filter(query, FilterClass::Regexp, settings.caching(true));
    Ok(settings.named(context, context.filter_of_named_type(field, filter)))
}

fn ids(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form {
        name: "[ids] filter",
        settings: &[
            (&["type", "_type"], Setting::Names),
            (&["types"], Setting::List),
            (&["_name"], Setting::Scalar),
        ],
        refused: &[Refused::Array, Refused::Value],
    };
    // Its parser takes any token.
    let id = |tokens: &Tokens<'_>| match tokens.current() {
        Token::Value(id) => Ok(text_of(id)),
        Token::Null => Err(parsing_error(context, "No value specified for term filter")),
        Token::Name(name) => Ok(name.to_owned()),
        _ => Ok(tokens.kind().to_owned()),
    };
    let (settings, ids) = read_ids(context, tokens, &form, id)?;
    let reason = "[ids] filter requires providing a values element";
    let ids = ids.ok_or_else(|| parsing_error(context, reason))?;
    let filter = match ids.is_empty() {
        true => QueryKind::Nothing.into(),
        false => {
            let ids = ids_of_types(context, &types_of(&settings), &ids);
            ids.filter(FilterClass::Plain, Caching::Uncached)
        }
    };
    Ok(settings.named(context, filter))
}

fn of_type(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let reason = "[type] filter should have a value field, and the type name";
    match (tokens.advance(), tokens.advance()) {
        (Token::Name("value"), Token::Value(Value::String(name))) => {
            tokens.advance();
            Ok(context.of_type(name))
        }
        _ => Err(parsing_error(context, reason)),
    }
}

/// Parses `exists` and `missing`.
fn existence(context: &Context<'_>, name: &str, tokens: &mut Tokens<'_>) -> Result<Query> {
    let of_missing = [
        (["field"].as_slice(), Setting::Scalar),
        (&["_name"], Setting::Scalar),
        (&["null_value"], Setting::Flag),
        (&["existence"], Setting::Flag),
    ];
    let form = Form {
        name: &format!("[{name}] filter"),
        settings: if name == "exists" {
            &of_missing[..2]
        } else {
            &of_missing
        },
        refused: &[Refused::Value],
    };
    let settings = form.read(context, tokens)?;
    let field = settings
        .text("field")
        .ok_or_else(|| parsing_error(context, &format!("{name} must be provided with a [field]")))?;
    let filter = match name {
        "exists" => context.exists(&field),
        _ => missing(context, &field, &settings)?,
    };
    Ok(settings.named(context, filter))
}

fn limit(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form {
        name: "[limit] filter",
        settings: &[(&["value"], Setting::Int)],
        refused: &[Refused::Value],
    };
    let settings = form.read(context, tokens)?;
    let limit = settings.int("value").filter(|limit| *limit != -1);
    let limit = limit.ok_or_else(|| parsing_error(context, "No value specified for limit filter"))?;
    let limit = QueryKind::Limit(u32::try_from(limit).unwrap_or(u32::MAX));
    Ok(Query::from(limit).filter(FilterClass::Plain, Caching::Uncached))
}

/// Parses `missing`: matches documents without a value (`existence`), with a null that `null_value` replaces, or both.
fn missing(context: &Context<'_>, field: &str, settings: &Settings) -> Result<Query> {
    let existence = settings.flag("existence").unwrap_or(true);
    let null_value = settings.flag("null_value").unwrap_or(false);
    if !existence && !null_value {
        let reason = "missing must have either existence, or null_value, or both set to true";
        return Err(parsing_error(context, reason));
    }
    let null = context
        .mapped(field)
        .and_then(|mapped| mapped.field_type.null_value.as_ref());
    let null = null
        .filter(|_| null_value)
        .map(|value| term(context, field, value))
        .transpose()?
        .map(|null| null.filter(FilterClass::Plain, Caching::Cached));
    Ok(match (existence.then(|| context.missing(field)), null) {
        (Some(missing), Some(null)) => Query::any(vec![missing, null]).filter(FilterClass::Boolean(2), Caching::Cached),
        (Some(filter), None) | (None, Some(filter)) => filter,
        (None, None) => QueryKind::All.into(),
    })
}

/// Parses `terms`: matches any of several values, from a list or from a field of a document (terms lookup).
fn terms(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Query> {
    let form = Form {
        name: "[terms] filter",
        settings: &[CACHING.as_slice(), &[(&["execution"], Setting::Scalar)]].concat(),
        refused: &[Refused::Value],
    };
    let mut found = None;
    let settings = form.read_with(context, tokens, |tokens, key, _| {
        let values = match tokens.current() {
            Token::Array if found.is_some() => {
                let reason = "[terms] filter does not support multiple fields";
                return Err(parsing_error(context, reason));
            }
            Token::Array => values_of(context, tokens, "filter")?,
            Token::Object => lookup_terms(context, tokens)?,
            _ => return Ok(false),
        };
        found = Some((key.unwrap_or("null"), values));
        Ok(true)
    })?;
    let reason = "terms filter requires a field name, followed by array of terms";
    let (field, values) = found.ok_or_else(|| parsing_error(context, reason))?;
    let execution = settings.text("execution").unwrap_or_else(|| "plain".to_owned());
    if values.is_empty() {
        return Ok(QueryKind::Nothing.into());
    }
    let (class, is_whole) = match execution.as_str() {
        "plain" => (FilterClass::Terms, true),
        "fielddata" if context.mapped(field).is_none() && own_terms(field).is_none() => {
            return Ok(QueryKind::Nothing.into());
        }
        "fielddata" => (FilterClass::Terms, false),
        "bool" => (FilterClass::Boolean(values.len()), false),
        "bool_nocache" => (FilterClass::Boolean(values.len()), true),
        "and" => (FilterClass::And, false),
        "and_nocache" => (FilterClass::And, true),
        "or" => (FilterClass::Or, false),
        "or_nocache" => (FilterClass::Or, true),
        _ => {
            return Err(parsing_error(
                context,
                &format!("terms filter execution value [{execution}] not supported"),
            ));
        }
    };
    // Either the whole filter is cached, or each of its terms.
    let term_caching = if is_whole { Caching::Uncached } else { Caching::Cached };
    let dates = context
        .mapped(field)
        .filter(|mapped| mapped.field_type.kind == Kind::Date);
    let clause = |value: &Value| {
        // The terms of a date are those of its format, without math, and its field data are numbers.
        if let (Some(dates), false) = (dates, value.is_number()) {
            let text = text_of(value);
            match execution.as_str() {
                "plain" => drop(number_term(context, Some(dates), value)?),
                "fielddata" if text.parse::<i64>().is_err() => return Err(SearchError::number(&text)),
                _ => {}
            }
        }
        let term = term(context, field, value)?;
        Ok(match class {
            FilterClass::Terms => term,
            _ => term.filter(FilterClass::Plain, term_caching),
        })
    };
    let clauses = values.iter().map(clause).collect::<Result<Vec<_>>>()?;
    let query = match class {
        FilterClass::And => Query::every(clauses),
        _ => Query::any(clauses),
    };
    let filter = query.filter(class, settings.caching(is_whole));
    Ok(settings.named(context, context.filter_of_named_type(field, filter)))
}

/// Returns the values of a terms lookup.
fn lookup_terms(context: &Context<'_>, tokens: &mut Tokens<'_>) -> Result<Vec<Value>> {
    let form = Form {
        name: "[terms] filter",
        settings: &[
            (&["index"], Setting::Scalar),
            (&["type"], Setting::Scalar),
            (&["id"], Setting::Scalar),
            (&["path"], Setting::Scalar),
            (&["routing"], Setting::Nullable),
            (&["cache"], Setting::Flag),
        ],
        refused: &[],
    };
    let settings = form.read_with(context, tokens, |tokens, key, _| match tokens.current() {
        Token::Value(_) if !form.has_value(key) => {
            let reason = format!("{} within lookup element", form.unsupported(key));
            Err(parsing_error(context, &reason))
        }
        _ => Ok(false),
    })?;
    let text = |key: &str| settings.text(key);
    let needed = |key: &str| {
        let reason = || {
            parsing_error(
                context,
                &format!("[terms] filter lookup element requires specifying the {key}"),
            )
        };
        text(key).ok_or_else(reason)
    };
    let (type_name, id, path) = (needed("type")?, needed("id")?, needed("path")?);
    let index = text("index").unwrap_or_else(|| context.index.to_owned());
    let document = context
        .documents
        .map(|documents| documents.find(&index, &type_name, &id, text("routing").as_deref()));
    let document = document.transpose().map_err(|error| {
        let outer = SearchError::new(500, Exception::UncheckedExecution, error.qualified());
        outer.caused_by(error)
    })?;
    Ok(document
        .flatten()
        .map(|document| extract(&document.source, &path).into_iter().cloned().collect())
        .unwrap_or_default())
}
