//! Suggesters: terms, phrases and completions for a text.
//!
//! Source: Elasticsearch 1.5's suggesters.

mod candidates;
mod collate;
mod completion;
mod language_model;
mod phrase;
mod term;

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::analysis::Analyzer;
use crate::budget::Budget;
use crate::cluster::{Cluster, Index};
use crate::error::{Result, SearchError};
use crate::json::{self, is_scalar, java_text, spread, spread_members};
use crate::mapping::Mapping;

/// A suggestion of a request: name, text, and suggester.
struct Suggestion<'a> {
    name: &'a String,
    text: String,
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
            Suggester::Term(settings) => check_analyzers(settings.analyzers(), mapping),
            Suggester::Phrase(phrase) => {
                check_analyzers(phrase.analyzers(), mapping)?;
                phrase.mapped(mapping).map(drop)
            }
            Suggester::Completion(settings) => settings.check(mapping),
        }
    }

    /// Checks the mapping of the field, as Elasticsearch does when it executes the suggester.
    fn check_execution(&self, mapping: &Mapping) -> Result<()> {
        let analyzed = match self {
            Suggester::Term(settings) => {
                settings.check_frequencies()?;
                settings.analyzed_field()
            }
            Suggester::Phrase(phrase) => {
                phrase.check_frequencies()?;
                phrase.analyzed_field()
            }
            Suggester::Completion(settings) => return settings.mapped(mapping).map(drop),
        };
        let field = analyzed.and_then(|name| mapping.field(name));
        match field.filter(|field| field.field_type.kind.is_numeric()) {
            Some(_) => Err(SearchError {
                status: 500,
                ..SearchError::no_texts()
            }),
            None => Ok(()),
        }
    }
}

/// Parses a positive integer.
///
/// # Errors
/// A text that is none, or another integer.
fn positive(name: &str, value: &Value) -> Result<usize> {
    let number = json::int(value, json::PART)?;
    match usize::try_from(number) {
        Ok(number @ 1..) => Ok(number),
        _ => Err(SearchError::illegal(format!(
            "{name} must be positive but was: {number}"
        ))),
    }
}

/// Returns an analyzer by its name.
///
/// # Errors
/// There is none.
fn analyzer(name: &str, mapping: &Mapping) -> Result<Analyzer> {
    let missing = |_| SearchError::illegal(format!("Analyzer [{name}] doesn't exists"));
    Analyzer::configured(name, mapping.analysis()).map_err(missing)
}

/// Checks that there are analyzers with these names.
fn check_analyzers<'a>(mut names: impl Iterator<Item = &'a String>, mapping: &Mapping) -> Result<()> {
    names.try_for_each(|name| analyzer(name, mapping).map(drop))
}

/// Parses the `suggest` element of a request, and checks each suggester on the `mapping`, if there is one.
fn parse<'a>(wanted: &'a Value, mapping: Option<&Mapping>) -> Result<Vec<Suggestion<'a>>> {
    let wanted = wanted.as_object().ok_or_else(|| without_names(wanted))?;
    let shared_text = wanted.get("text").and_then(last_text);
    let mut suggestions = Vec::new();
    for (mut name, definition) in wanted.iter().filter(|(name, _)| *name != "text") {
        for part in spread(definition) {
            match part {
                Value::Object(definition) => {
                    let (text, kind) = suggestion(definition, mapping)?;
                    suggestions.extend(kind.map(|kind| (name, text, kind)));
                    // Elasticsearch takes the last name that it read for that of the next object of a list.
                    name = definition.keys().next_back().unwrap_or(name);
                }
                Value::Null => {}
                _ => return Err(unsupported(name)),
            }
        }
    }
    let with_text = |(name, text, kind): (_, Option<String>, _)| {
        let missing = || SearchError::illegal("The required text option is missing");
        let text = text.or_else(|| shared_text.clone()).ok_or_else(missing)?;
        Ok(Suggestion { name, text, kind })
    };
    suggestions.into_iter().map(with_text).collect()
}

/// Returns the error for suggestions that are no object.
fn without_names(wanted: &Value) -> SearchError {
    match spread(wanted).first() {
        Some(Value::Object(_)) if wanted.is_array() => SearchError::illegal("Suggestion must have name"),
        Some(scalar) if wanted.is_array() && is_scalar(scalar) => unsupported("null"),
        _ => SearchError::incomplete(),
    }
}

/// The text of a value, or of the last one of a list.
fn last_text(value: &Value) -> Option<String> {
    match value {
        Value::Array(items) => items.iter().rev().find_map(last_text),
        scalar => is_scalar(scalar).then(|| java_text(scalar)),
    }
}

fn unsupported(name: &str) -> SearchError {
    SearchError::illegal(format!("[suggest] does not support [{name}]"))
}

/// Parses the text and the suggester of a suggestion. The last suggester counts; a suggestion without one is none.
fn suggestion<'a>(
    definition: &'a Map<String, Value>,
    mapping: Option<&Mapping>,
) -> Result<(Option<String>, Option<Suggester<'a>>)> {
    let (mut text, mut kind) = (None, None);
    for (key, part) in spread_members(definition) {
        match part {
            Value::Object(settings) => {
                let suggester = match key.as_str() {
                    "term" => Suggester::Term(term::Settings::parse(settings, false)?),
                    "phrase" => Suggester::Phrase(Box::new(phrase::Phrase::parse(settings)?)),
                    "completion" => Suggester::Completion(completion::Settings::parse(settings)?),
                    other => return Err(SearchError::illegal(format!("Suggester[{other}] not supported"))),
                };
                mapping.map(|mapping| suggester.check(mapping)).transpose()?;
                kind = Some(suggester);
            }
            Value::Null => {}
            given if key == "text" => text = Some(java_text(given)),
            _ => return Err(unsupported(key)),
        }
    }
    Ok((text, kind))
}

/// Checks the `suggest` element of a request for an index.
///
/// # Errors
/// A suggester that does not exist, invalid settings, or a field that is not mapped as the suggester needs it.
pub(crate) fn check(wanted: &Value, mapping: &Mapping) -> Result<()> {
    parse(wanted, Some(mapping)).map(drop)
}

/// Checks what Elasticsearch notices when it executes the suggesters on an index.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_execution(wanted: &Value, mapping: &Mapping) -> Result<()> {
    let suggestions = parse(wanted, None)?;
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
    for Suggestion { name, text, kind } in parse(wanted, None)? {
        budget.elements("suggestions", 1)?;
        let entries = match kind {
            Suggester::Term(settings) => term::terms(indices, &settings, &text, budget)?,
            Suggester::Phrase(settings) => phrase::phrases(cluster, indices, &settings, &text, budget)?,
            Suggester::Completion(settings) => completion::completions(indices, &settings, &text, budget)?,
        };
        if has_documents {
            suggested.insert(name.clone(), entries);
        }
    }
    Ok(suggested)
}
