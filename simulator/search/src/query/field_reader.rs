//! Queries for one field: the name of the field, then its settings or only a value.
//!
//! Source: the query parsers of Elasticsearch 1.5.

use serde_json::Value;

use crate::error::Result;
use crate::json::{Token, Tokens};
use crate::query::Context;
use crate::query::dsl_parts::parsing_error;
use crate::query::reader::{Form, Settings, value_of};

/// Reads the field of a query. `query` is its name in errors, such as `[term] query`.
pub(super) fn field_of<'a>(context: &Context<'_>, tokens: &mut Tokens<'a>, query: &str) -> Result<&'a str> {
    match tokens.advance() {
        Token::Name(field) => Ok(field),
        _ => Err(parsing_error(context, &format!("{query} malformed, no field"))),
    }
}

/// Reads the field of a query for one field, and its settings: those of an object, or a value, as `plain` reads it.
/// Reads on to the end of the field. Elasticsearch's parser leaves other fields to the surrounding query.
pub(super) fn field_settings<'a>(
    context: &Context<'_>,
    tokens: &mut Tokens<'a>,
    form: &Form<'_>,
    plain: impl FnOnce(&Tokens<'a>) -> Option<Value>,
) -> Result<(&'a str, Settings)> {
    let field = field_of(context, tokens, form.name)?;
    Ok((field, settings_after(context, tokens, form, plain)?))
}

/// Reads the settings after the name of a field, as [`field_settings`].
pub(super) fn settings_after<'a>(
    context: &Context<'_>,
    tokens: &mut Tokens<'a>,
    form: &Form<'_>,
    plain: impl FnOnce(&Tokens<'a>) -> Option<Value>,
) -> Result<Settings> {
    let settings = match tokens.advance() {
        Token::Object => form.read(context, tokens)?,
        _ => Settings::of_value("value", plain(tokens)),
    };
    tokens.advance();
    Ok(settings)
}

/// Reads the field of a full-text query, and its settings: those of an object, which `options` reads, or only a text.
/// `query` is its name in errors, such as `[match] query`.
pub(super) fn text_settings<'a>(
    context: &Context<'_>,
    tokens: &mut Tokens<'a>,
    query: &str,
    options: impl FnOnce(&mut Tokens<'a>) -> Result<Settings>,
) -> Result<(&'a str, Settings)> {
    let field = field_of(context, tokens, query)?;
    if matches!(tokens.advance(), Token::Object) {
        let settings = options(tokens)?;
        tokens.advance();
        return Ok((field, settings));
    }
    let settings = Settings::of_value("query", value_of(tokens));
    if !matches!(tokens.advance(), Token::EndObject) {
        let reason = format!(
            "{query} parsed in simplified form, with direct field name, but included more options than just the field \
             name, possibly use its 'options' form, with 'query' element?"
        );
        return Err(parsing_error(context, &reason));
    }
    Ok((field, settings))
}
