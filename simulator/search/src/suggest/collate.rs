//! `collate` of the phrase suggester: checks suggested phrases with a query template.
//!
//! Limits: the query runs on every shard of the index.
//!
//! Source: `collate` of Elasticsearch 1.5's phrase suggester.

use serde_json::{Map, Value};

use crate::budget::Budget;
use crate::cluster::{Cluster, Index};
use crate::error::{Result, SearchError};
use crate::json;
use crate::mapping::truth;
use crate::mustache::render;
use crate::score::{Corpus, END, Weight};

/// Template variable of the phrase.
const SUGGESTION: &str = "suggestion";

/// Query template for suggested phrases.
pub(super) struct Collate {
    template: String,
    is_filter: bool,
    params: Map<String, Value>,
    /// Whether phrases without matching documents are kept, and marked with `collate_match`.
    pub(super) prune: bool,
}

impl Collate {
    /// Parses `collate`. Returns `None` if it has no query.
    ///
    /// # Errors
    /// An unknown setting, or a second query.
    pub(super) fn parse(own: &Value) -> Result<Option<Collate>> {
        let mut collate = Collate {
            template: String::new(),
            is_filter: false,
            params: Map::new(),
            prune: false,
        };
        for (key, value) in own.as_object().into_iter().flatten() {
            match key.as_str() {
                "query" | "filter" if !collate.template.is_empty() => {
                    return Err(SearchError::illegal(format!(
                        "suggester[phrase][collate] query already set, doesn't support additional [{key}]"
                    )));
                }
                "query" | "filter" => {
                    collate.is_filter = key == "filter";
                    collate.template = json::text_of(value);
                }
                "params" => collate.params = value.as_object().cloned().unwrap_or_default(),
                "prune" => collate.prune = truth(value),
                "preference" => {}
                other => {
                    return Err(SearchError::illegal(format!(
                        "suggester[phrase][collate] doesn't support field [{other}]"
                    )));
                }
            }
        }
        Ok((!collate.template.is_empty()).then_some(collate))
    }

    /// Returns whether documents of an index match the query for a phrase.
    ///
    /// # Errors
    /// An invalid template, or a query that the index cannot parse.
    pub(super) fn matches(&self, cluster: &Cluster, index: &Index, phrase: &str, budget: &Budget) -> Result<bool> {
        let mut params = self.params.clone();
        params.insert(SUGGESTION.to_owned(), phrase.into());
        let body = json::value(render(&self.template, &params)?.as_bytes())?;
        let mapping = index.mapping();
        let context = index.context(&mapping, cluster);
        let query = if self.is_filter {
            context.parse_filter(&body)?
        } else {
            context.parse_query(&body)?
        };
        for shard in &index.shards {
            let view = shard.view();
            let weight = Weight::of(&query, &Corpus::of(&mapping, &view, shard), budget)?;
            for (at, segment) in view.segments.iter().enumerate() {
                let Some(mut scorer) = weight.scorer(at, segment, budget)? else {
                    continue;
                };
                let mut doc = scorer.doc();
                while doc != END {
                    if segment.is_live(doc) {
                        return Ok(true);
                    }
                    doc = scorer.advance();
                }
            }
        }
        Ok(false)
    }
}
