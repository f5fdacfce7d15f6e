//! Terms of completion fields: contexts, analyzed input, weight, output and payload.
//!
//! Source: the fields of Elasticsearch 1.5's completion mapper. The layout of the terms is our own.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::index::document::DocumentParser;
use crate::index::encoded::MAX_TERM_BYTES;
use crate::json::java_text;
use crate::mapping::{Contexts, Field, truth};

/// Separator of the words of an input.
const WORD_SEPARATOR: &str = "\u{1e}";
/// Separator of the parts of a term.
const PART_SEPARATOR: char = '\u{1f}';
/// Maximum number of forms of a text.
const MAX_KEYS: usize = 256;
/// Default of `max_input_length`, in characters.
const MAX_INPUT_LENGTH: usize = 50;

/// A suggestion of a document.
pub(crate) struct Completion {
    pub(crate) text: String,
    pub(crate) weight: i64,
    pub(crate) payload: Option<Value>,
}

/// Returns the forms of an analyzed text, each a prefix of terms of the field: several if it has several words at one
/// position, none if it is longer than a term. A position without a word is empty; a separator ends a text that goes on
/// after its last word.
///
/// # Errors
/// An analyzer that cannot be used.
pub(crate) fn completion_keys(field: &Field, text: &str, searched: bool) -> Result<Vec<String>> {
    let analyzer = if searched {
        &field.search_analyzer
    } else {
        &field.index_analyzer
    };
    analyzer.check()?;
    let mut words: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    let mut end = 0;
    analyzer.analyze(text, &mut |token| {
        words.entry(token.position).or_default().push(token.text.to_owned());
        end = end.max(token.end);
    });
    let Some(last) = words.keys().next_back().copied() else {
        return Ok(vec![]);
    };
    let is_set = |name: &str| field.field_type.setting(name).is_none_or(truth);
    let separator = if is_set("preserve_separators") {
        WORD_SEPARATOR
    } else {
        ""
    };
    let positions: Vec<Vec<String>> = match is_set("preserve_position_increments") {
        true => (0..=last)
            .map(|at| words.remove(&at).unwrap_or_else(|| vec![String::new()]))
            .collect(),
        false => words.into_values().collect(),
    };
    let mut keys = vec![String::new()];
    for (at, alternatives) in positions.iter().enumerate() {
        let before = if at > 0 { separator } else { "" };
        let longer = keys
            .iter()
            .flat_map(|key| alternatives.iter().map(move |word| format!("{key}{before}{word}")));
        // Longer ones are not in the index.
        let possible = longer.filter(|key| key.len() <= MAX_TERM_BYTES);
        keys = possible.take(MAX_KEYS).collect();
    }
    if end < text.len() {
        keys.iter_mut().for_each(|key| key.push_str(separator));
    }
    Ok(keys)
}

/// Parses the contexts of a field.
///
/// # Errors
/// Invalid context settings.
pub(crate) fn contexts_of(field: &Field) -> Result<Contexts> {
    Contexts::parse(field.field_type.setting("context"))
}

/// The weight of a completion without one: it weighs as many as there are documents of its segment with its input.
pub(crate) const NO_WEIGHT: i64 = -1;

/// Parses a weight from a number or a string.
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

/// Returns the texts of a value of a completion field.
fn inputs_of(value: &Value) -> Vec<&str> {
    match value.get("input").unwrap_or(value) {
        Value::String(input) => vec![input],
        Value::Array(inputs) => inputs.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    }
}

/// A value of a completion field.
struct Offer<'v> {
    inputs: Vec<&'v str>,
    /// Weight, output and payload. The output is that of all inputs, if there is one.
    weight: i64,
    output: Option<&'v str>,
    payload: String,
    contexts: Contexts,
    /// The texts of its own contexts, in their order.
    own_contexts: Vec<Vec<String>>,
}

impl<'v> Offer<'v> {
    /// Parses a value.
    ///
    /// # Errors
    /// An invalid value.
    fn parse(field: &Field, value: &'v Value) -> Result<Offer<'v>> {
        let mut members = None;
        match value {
            Value::String(_) => {}
            Value::Object(own) => members = Some(own),
            _ => return Err(SearchError::illegal("expected a text, a list of texts or an object")),
        }
        let member = |name: &str| members.and_then(|own| own.get(name));
        for name in members.into_iter().flat_map(Map::keys) {
            if !matches!(name.as_str(), "input" | "output" | "weight" | "payload" | "context") {
                let reason =
                    format!("Unknown field name[{name}], must be one of [output, context, input, weight, payload]");
                return Err(SearchError::illegal(reason));
            }
        }
        let weight = match member("weight") {
            None | Some(Value::Null) => NO_WEIGHT,
            Some(weight) => weight_of(weight)?,
        };
        let payload = member("payload");
        if payload.is_some() && !field.field_type.setting("payloads").is_some_and(truth) {
            return Err(SearchError::new(400, Exception::Mapper, "Payloads disabled in mapping"));
        }
        let contexts = contexts_of(field)?;
        Ok(Offer {
            inputs: inputs_of(value),
            weight,
            output: member("output").and_then(Value::as_str),
            payload: payload.map(Value::to_string).unwrap_or_default(),
            own_contexts: contexts.of_value(member("context"))?,
            contexts,
        })
    }

    /// Returns its terms. `at` returns the values at a path of the document.
    ///
    /// # Errors
    /// A missing context, or an analyzer that cannot be used.
    fn terms(self, field: &Field, at: &dyn Fn(&str) -> Vec<Value>) -> Result<Vec<String>> {
        let longest = field.field_type.setting("max_input_length").and_then(Value::as_u64);
        let longest = longest.and_then(|most| usize::try_from(most).ok());
        let prefixes = self.contexts.prefixes(self.own_contexts, at)?;
        let mut terms = Vec::new();
        for input in self.inputs.into_iter().filter(|input| !input.is_empty()) {
            let cut: String = input.chars().take(longest.unwrap_or(MAX_INPUT_LENGTH)).collect();
            let text = self.output.unwrap_or(input);
            for key in completion_keys(field, &cut, false)? {
                let (weight, payload) = (self.weight, &self.payload);
                let offer = format!("{key}{PART_SEPARATOR}{weight}{PART_SEPARATOR}{text}{PART_SEPARATOR}{payload}");
                terms.extend(prefixes.iter().map(|prefix| format!("{prefix}{offer}")));
            }
        }
        Ok(terms)
    }
}

impl DocumentParser<'_> {
    /// Indexes a suggestion, or those of an array.
    pub(super) fn completions(&mut self, path: &[String], value: &Value, is_item: bool) -> Result<()> {
        let name = path.last().map_or("", String::as_str);
        match value {
            Value::Null => Err(SearchError::mapping(format!(
                "no object mapping found for null value in [{name}]"
            ))),
            Value::Array(items) => items.iter().try_for_each(|item| self.completions(path, item, true)),
            Value::Number(_) | Value::Bool(_) if is_item => Err(SearchError::mapping(format!(
                "object mapping for [{}] with array for [{name}] tried to parse as array, but got EOF, is there a mismatch \
                 in types for the same field?",
                self.object_name(path)
            ))),
            Value::Number(_) | Value::Bool(_) => Err(self.not_an_object(path)),
            _ => self.completion(&path.join("."), value),
        }
    }

    /// Indexes a value of a completion field.
    fn completion(&mut self, name: &str, value: &Value) -> Result<()> {
        let Some(field) = self.mapping.field_of(self.type_name, name) else {
            return Ok(());
        };
        let at = |path: &str| match path {
            "_type" => vec![Value::from(self.type_name)],
            _ => crate::find::extract_members(self.document, path),
        };
        let offer = Offer::parse(field, value);
        let offer = offer.map_err(|error| SearchError::mapping("failed to parse").caused_by(error))?;
        if !offer.inputs.is_empty() {
            self.doc.add_field_name(field);
        }
        // The document fails after it was read to its end.
        let terms = match offer.terms(field, &at) {
            Ok(terms) => terms,
            Err(error) => {
                self.failure.get_or_insert(error);
                return Ok(());
            }
        };
        for term in terms {
            if term.len() <= MAX_TERM_BYTES {
                self.doc.encoded.push_term(field.ordinal, &term, 0);
            }
        }
        Ok(())
    }
}

/// Splits a term into its input and its suggestion.
pub(crate) fn completion_of(term: &str) -> Option<(&str, Completion)> {
    let mut parts = term.splitn(4, PART_SEPARATOR);
    let input = parts.next()?;
    let weight = parts.next()?.parse().ok()?;
    let text = parts.next()?.to_owned();
    let payload = serde_json::from_str(parts.next()?).ok();
    Some((input, Completion { text, weight, payload }))
}
