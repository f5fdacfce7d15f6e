//! The settings of rescorers.
//!
//! Source: Elasticsearch 1.5's `RescoreParseElement` and `QueryRescorer`.

use serde_json::Value;

use crate::error::{Result, SearchError};
use crate::json::{Token, Tokens, java_text};

/// Checks the settings of a rescorer, or of each of a list.
///
/// # Errors
/// Settings that a rescorer does not have, values that they cannot have, or no type.
pub(super) fn check(settings: &Value) -> Result<()> {
    if let Value::Array(items) = settings {
        return items.iter().try_for_each(check);
    }
    let (mut tokens, mut setting, mut has_type) = (Tokens::new(settings), "", false);
    while let Some(token) = tokens.within_object() {
        match token {
            Token::Name("query") => {
                if !matches!(tokens.advance(), Token::Object) {
                    return Err(SearchError::parse(
                        "rescore type malformed, must start with start_object",
                    ));
                }
                check_rescore_query(&mut tokens)?;
                has_type = true;
            }
            Token::Name(name) => setting = name,
            Token::Value(size) if setting == "window_size" => check_number(size, |text| text.parse::<i32>().is_ok())?,
            Token::Value(_) => return Err(no_rescore_setting(setting)),
            _ => {}
        }
    }
    match has_type {
        true => Ok(()),
        false => Err(SearchError::illegal("missing rescore type")),
    }
}

fn check_rescore_query(tokens: &mut Tokens<'_>) -> Result<()> {
    let mut setting = "";
    while let Some(token) = tokens.within_object() {
        match token {
            Token::Name("rescore_query") => {
                tokens.advance();
                tokens.whole();
            }
            Token::Name(name) => setting = name,
            Token::Value(value) => match setting {
                "query_weight" | "rescore_query_weight" => check_number(value, |text| text.parse::<f32>().is_ok())?,
                "score_mode" => match java_text(value).as_str() {
                    "avg" | "max" | "min" | "total" | "multiply" => {}
                    mode => return Err(SearchError::illegal(format!("[rescore] illegal score_mode [{mode}]"))),
                },
                other => return Err(no_rescore_setting(other)),
            },
            _ => {}
        }
    }
    Ok(())
}

/// Checks what a query leaves of its object: it is read as settings of the rescorer.
///
/// # Errors
/// A value that is no setting.
pub(super) fn check_rest(mut tokens: Tokens<'_>) -> Result<()> {
    let mut setting = "rescore_query";
    loop {
        match tokens.advance() {
            Token::Name(name) => setting = name,
            Token::Value(_) if !matches!(setting, "query_weight" | "rescore_query_weight" | "score_mode") => {
                return Err(no_rescore_setting(setting));
            }
            Token::End => return Ok(()),
            _ => {}
        }
    }
}

fn no_rescore_setting(name: &str) -> SearchError {
    SearchError::illegal(format!("rescore doesn't support [{name}]"))
}

/// Fails for a text that is no number.
fn check_number(value: &Value, is_number: impl Fn(&str) -> bool) -> Result<()> {
    match value.as_str().filter(|text| !is_number(text)) {
        Some(text) => Err(SearchError::number(text)),
        None => Ok(()),
    }
}
