//! Suggesters: terms, phrases and completions for a text.
//!
//! Source: Elasticsearch 1.5's suggesters.

mod collate;
mod completion;
mod language_model;
mod phrase;
mod term;

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::budget::Budget;
use crate::cluster::{Cluster, Index};
use crate::error::{Result, SearchError};
use crate::mapping::Mapping;

/// A suggestion of a request: name, text, and suggester.
struct Suggestion<'a> {
    name: &'a String,
    text: &'a str,
    kind: Suggester<'a>,
}

/// A suggester with its settings.
enum Suggester<'a> {
    Term(term::Settings),
    Phrase(Box<phrase::Phrase>),
    Completion(completion::Settings<'a>),
}

impl Suggester<'_> {
    /// Checks the mapping of the field, as Elasticsearch does when it parses the suggester.
    fn check(&self, mapping: &Mapping) -> Result<()> {
        match self {
            Suggester::Term(_) => Ok(()),
            Suggester::Phrase(phrase) => phrase.mapped(mapping).map(drop),
            Suggester::Completion(settings) => settings.check(mapping),
        }
    }

    /// Checks the mapping of the field, as Elasticsearch does when it executes the suggester.
    fn check_execution(&self, mapping: &Mapping) -> Result<()> {
        let analyzed = match self {
            Suggester::Term(settings) => settings.analyzed_field(),
            Suggester::Phrase(phrase) => phrase.analyzed_field(),
            Suggester::Completion(settings) => return settings.mapped(mapping).map(drop),
        };
        let field = analyzed.and_then(|name| mapping.field(name));
        match field.filter(|field| field.field_type.kind.is_numeric()) {
            Some(_) => {
                let reason = "NumericTokenStream does not support CharTermAttribute.";
                Err(SearchError {
                    status: 500,
                    ..SearchError::argument(reason)
                })
            }
            None => Ok(()),
        }
    }
}

/// Parses the `suggest` element of a request.
fn parse(wanted: &Value) -> Result<Vec<Suggestion<'_>>> {
    let wanted = wanted
        .as_object()
        .ok_or_else(|| SearchError::illegal("suggest must be an object"))?;
    let shared_text = wanted.get("text").and_then(Value::as_str);
    let named = wanted.iter().filter(|(name, _)| *name != "text");
    named
        .map(|(name, definition)| suggestion(name, definition, shared_text))
        .collect()
}

fn suggestion<'a>(name: &'a String, definition: &'a Value, shared_text: Option<&'a str>) -> Result<Suggestion<'a>> {
    let definition = definition
        .as_object()
        .ok_or_else(|| SearchError::illegal(format!("suggestion [{name}] must be an object")))?;
    let text = definition.get("text").and_then(Value::as_str).or(shared_text);
    let kind = definition
        .iter()
        .find(|(key, _)| !matches!(key.as_str(), "text" | "prefix" | "regex"));
    let (kind, own) = kind.ok_or_else(|| SearchError::illegal("Suggester[null] not supported"))?;
    let known = matches!(kind.as_str(), "term" | "phrase" | "completion");
    let Some(settings) = own.as_object().filter(|_| known) else {
        return Err(SearchError::illegal(format!("Suggester[{kind}] not supported")));
    };
    let text = text.ok_or_else(|| SearchError::illegal("The required text option is missing"))?;
    let kind = match kind.as_str() {
        "term" => Suggester::Term(term::Settings::parse(settings, text)?),
        "phrase" => Suggester::Phrase(Box::new(phrase::Phrase::parse(settings)?)),
        _ => Suggester::Completion(completion::Settings::parse(settings)?),
    };
    Ok(Suggestion { name, text, kind })
}

/// Checks the `suggest` element of a request for an index.
///
/// # Errors
/// A suggester that does not exist, invalid settings, or a field that is not mapped as the suggester needs it.
pub(crate) fn check(wanted: &Value, mapping: &Mapping) -> Result<()> {
    let suggestions = parse(wanted)?;
    suggestions
        .iter()
        .try_for_each(|suggestion| suggestion.kind.check(mapping))
}

/// Checks what Elasticsearch notices when it executes the suggesters on an index.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_execution(wanted: &Value, mapping: &Mapping) -> Result<()> {
    let suggestions = parse(wanted)?;
    suggestions
        .iter()
        .try_for_each(|suggestion| suggestion.kind.check_execution(mapping))
}

/// Computes the suggestions of a request over indices, by name. There are none if there is no document.
///
/// # Errors
/// A suggester that does not exist, or invalid settings.
pub(crate) fn suggest(
    cluster: &Cluster,
    indices: &[Arc<Index>],
    wanted: &Value,
    budget: &Budget,
) -> Result<Map<String, Value>> {
    let mut suggested = Map::new();
    let has_documents = indices.iter().any(|index| index.live_docs() > 0);
    for Suggestion { name, text, kind } in parse(wanted)? {
        budget.elements("suggestions", 1)?;
        let entries = match kind {
            Suggester::Term(settings) => term::terms(indices, &settings, budget)?,
            Suggester::Phrase(settings) => phrase::phrases(cluster, indices, &settings, text, budget)?,
            Suggester::Completion(settings) => completion::completions(indices, &settings, text, budget)?,
        };
        if has_documents {
            suggested.insert(name.clone(), entries);
        }
    }
    Ok(suggested)
}
