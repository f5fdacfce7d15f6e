//! Suggestions: terms, phrases and completions for a text.
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

/// The suggestions of a request over some indices, by name.
///
/// # Errors
/// A suggester that is not understood.
pub(crate) fn suggest(
    cluster: &Cluster,
    indices: &[Arc<Index>],
    wanted: &Value,
    budget: &Budget,
) -> Result<Map<String, Value>> {
    let wanted = wanted
        .as_object()
        .ok_or_else(|| SearchError::illegal("suggest must be an object"))?;
    let shared_text = wanted.get("text").and_then(Value::as_str);
    let mut suggested = Map::new();
    for (name, definition) in wanted.iter().filter(|(name, _)| *name != "text") {
        budget.elements("suggestions", 1)?;
        let definition = definition
            .as_object()
            .ok_or_else(|| SearchError::illegal(format!("suggestion [{name}] must be an object")))?;
        let text = definition.get("text").and_then(Value::as_str).or(shared_text);
        let kind = definition
            .iter()
            .find(|(key, _)| !matches!(key.as_str(), "text" | "prefix" | "regex"));
        let (kind, own) = kind.ok_or_else(|| SearchError::illegal("Suggester[null] not supported"))?;
        let Value::Object(own) = own else {
            return Err(SearchError::illegal(format!("Suggester[{kind}] not supported")));
        };
        let text = text.ok_or_else(|| SearchError::illegal("The required text option is missing"))?;
        let entries = match kind.as_str() {
            "term" => term::terms(indices, &term::Settings::parse(own, text)?, budget)?,
            "phrase" => phrase::phrases(cluster, indices, own, text, budget)?,
            "completion" => completion::completions(indices, own, text, budget)?,
            _ => return Err(SearchError::illegal(format!("Suggester[{kind}] not supported"))),
        };
        suggested.insert(name.clone(), entries);
    }
    Ok(suggested)
}
