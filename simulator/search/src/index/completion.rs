//! Terms of completion fields: the contexts, the analyzed input, then weight, text and payload.
//!
//! Source: the fields of Elasticsearch 1.5's completion mapper; the layout is our own.

use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::json::java_text;
use crate::mapping::{Contexts, Field, truth};

/// Between the words of an input.
const WORD: &str = "\u{1e}";
/// Between the parts of a term.
const PART: char = '\u{1f}';
/// Most characters of an input, unless the mapping says otherwise.
const LONGEST_INPUT: usize = 50;

/// What a document offers.
pub(crate) struct Completion {
    pub(crate) text: String,
    pub(crate) weight: i64,
    pub(crate) payload: Option<Value>,
}

/// The words of a text, as they begin the terms of a field.
pub(crate) fn completion_key(field: &Field, text: &str, searched: bool) -> String {
    let analyzer = if searched {
        &field.search_analyzer
    } else {
        &field.index_analyzer
    };
    let words: Vec<String> = analyzer.terms(text).into_iter().map(|(_, word)| word).collect();
    let apart = field.field_type.setting("preserve_separators").is_none_or(truth);
    words.join(if apart { WORD } else { "" })
}

/// The contexts of a field.
///
/// # Errors
/// Contexts that no mapping takes.
pub(crate) fn contexts_of(field: &Field) -> Result<Contexts> {
    Contexts::parse(field.field_type.setting("context"))
}

/// The weight that a number or a text says.
fn weight_of(weight: &Value) -> Result<i64> {
    let refuse =
        |reason: String| SearchError::illegal(format!("Weight must be {reason}, but was [{}]", java_text(weight)));
    let number = match weight.as_str() {
        Some(text) => {
            let number = text.parse::<i64>();
            number.map_err(|_| refuse("a string representing a numeric value".to_owned()))?
        }
        None => weight.as_i64().ok_or_else(|| refuse("an integer".to_owned()))?,
    };
    match number {
        0..=0x7fff_ffff => Ok(number),
        _ => Err(refuse(format!("in the interval [0..{}]", i32::MAX))),
    }
}

/// The terms of a value of a completion field. `at` gives the values of another field of the document.
///
/// # Errors
/// A value that offers nothing, or in no context.
pub(crate) fn completion_terms(field: &Field, value: &Value, at: &dyn Fn(&str) -> Vec<Value>) -> Result<Vec<String>> {
    let refuse = |reason: &str| Err(SearchError::illegal(reason));
    let empty = Map::new();
    let (inputs, own) = match value {
        Value::String(_) | Value::Array(_) => (Some(value), &empty),
        Value::Object(own) => (own.get("input"), own),
        _ => return refuse("expected a text, a list of texts or an object"),
    };
    let inputs: Vec<&str> = match inputs {
        Some(Value::String(input)) => vec![input],
        Some(Value::Array(inputs)) => inputs.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    for name in own.keys() {
        if !matches!(name.as_str(), "input" | "output" | "weight" | "payload" | "context") {
            let reason = format!("Unknown field name[{name}], must be one of [input, output, payload, weight]");
            return Err(SearchError::illegal(reason));
        }
    }
    let weight = match own.get("weight") {
        None | Some(Value::Null) => 1,
        Some(weight) => weight_of(weight)?,
    };
    let payloads = field.field_type.setting("payloads").is_some_and(truth);
    if own.contains_key("payload") && !payloads {
        return refuse("Payloads disabled in mapping");
    }
    let payload = own.get("payload").map(Value::to_string).unwrap_or_default();
    let output = own.get("output").and_then(Value::as_str);
    let longest = field.field_type.setting("max_input_length").and_then(Value::as_u64);
    let longest = longest.map_or(LONGEST_INPUT, |most| usize::try_from(most).unwrap_or(LONGEST_INPUT));
    let contexts = contexts_of(field)?;
    let prefixes = contexts.of_document(own.get("context"), at)?;
    let inputs = inputs.into_iter().filter(|input| !input.is_empty());
    let terms = inputs.flat_map(|input| {
        let cut: String = input.chars().take(longest).collect();
        let key = completion_key(field, &cut, false);
        let offer = format!("{key}{PART}{weight}{PART}{}{PART}{payload}", output.unwrap_or(input));
        prefixes.iter().map(move |prefix| format!("{prefix}{offer}"))
    });
    Ok(terms.collect())
}

/// The parts of a term: its input and what it offers.
pub(crate) fn completion_of(term: &str) -> Option<(&str, Completion)> {
    let mut parts = term.splitn(4, PART);
    let input = parts.next()?;
    let weight = parts.next()?.parse().ok()?;
    let text = parts.next()?.to_owned();
    let payload = serde_json::from_str(parts.next()?).ok();
    Some((input, Completion { text, weight, payload }))
}
