//! Search parameters of a URI.
//!
//! Source: Elasticsearch 1.5's `RestSearchAction`, which converts the parameters to a search source of their own.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::values::unknown_operator;
use crate::durations::time;
use crate::error::{Result, SearchError};
use crate::find::operator;
use crate::find::query_source::QuerySource;
use crate::find::request::{Element, SearchRequest, SearchType, Source, hit_count};
use crate::find::sort::parse_sort_text;
use crate::find::source::{SourceFilter, names};
use crate::json::is_set;
use crate::options::Limits;
use crate::query::StringSettings;

/// Parses the parameters of a query string.
fn string_settings(params: &BTreeMap<String, String>) -> Result<StringSettings> {
    let mut settings = StringSettings::default();
    if let Some(field) = params.get("df") {
        settings.fields = Some(vec![(field.clone(), 1.0)]);
    }
    settings.analyze_wildcard = params.get("analyze_wildcard").is_some_and(|text| is_set(text));
    settings.lowercase_expanded_terms = params.get("lowercase_expanded_terms").is_none_or(|text| is_set(text));
    settings.lenient = params.get("lenient").is_some_and(|text| is_set(text));
    let given = params.get("default_operator").map(String::as_str);
    settings.operator = match given {
        // In contrast to a body, a parameter is in upper case.
        Some(text) if !matches!(text, "OR" | "AND") => return Err(unknown_operator(text)),
        other => operator(other)?,
    };
    Ok(settings)
}

fn int_param(name: &str, text: &str) -> Result<i64> {
    text.parse::<i32>().map(i64::from).map_err(|_| {
        SearchError::illegal(format!("Failed to parse int parameter [{name}] with value [{text}]"))
            .caused_by(SearchError::number(text))
    })
}

impl QuerySource {
    /// Creates the query of the parameter `q`.
    pub(crate) fn text(text: &str, params: &BTreeMap<String, String>, limits: &Limits) -> Result<QuerySource> {
        if text.len() > limits.query {
            return Err(SearchError::query(format!(
                "the query is longer than {} bytes",
                limits.query
            )));
        }
        let analyzer = params.get("analyzer").cloned();
        Ok(QuerySource::Text(
            text.to_owned(),
            Box::new(string_settings(params)?),
            analyzer,
        ))
    }
}

impl SearchRequest {
    /// Applies the parameters. They take precedence over the body.
    pub(super) fn read_params(&mut self, params: &BTreeMap<String, String>, limits: &Limits) -> Result<()> {
        let mut shown = Map::new();
        let mut elements = Vec::new();
        let text = |name: &str| params.get(name);
        for (name, first) in [("from", true), ("size", false)] {
            let Some(number) = text(name)
                .map(|text| int_param(name, text))
                .transpose()?
                .filter(|number| *number != -1)
            else {
                continue;
            };
            shown.insert(name.to_owned(), json!(number));
            elements.push(match (hit_count(name, number), first) {
                (Ok(count), true) => {
                    self.from = count;
                    Element::From(number)
                }
                (Ok(count), false) => {
                    self.size = Some(count);
                    Element::Size(number)
                }
                (Err(error), _) => Element::Invalid(error),
            });
        }
        if let Some(length) = text("timeout") {
            let length = time(length)?;
            self.timeout = Some(length);
            shown.insert("timeout".to_owned(), json!(length.as_millis()));
        }
        if let Some(number) = text("terminate_after") {
            let number = int_param("terminate_after", number)?;
            if number < 0 {
                return Err(SearchError::illegal("terminateAfter must be > 0"));
            }
            self.terminate_after = u64::try_from(number).ok().filter(|number| *number > 0);
            shown.insert("terminate_after".to_owned(), json!(number));
        }
        if let Some(query) = text("q") {
            elements.push(Element::Query(QuerySource::text(query, params, limits)?));
            shown.insert("query".to_owned(), query_string_json(query, params));
        }
        for (name, setting) in [("version", &mut self.version), ("explain", &mut self.explain)] {
            if let Some(value) = text(name) {
                *setting = is_set(value);
                shown.insert(name.to_owned(), json!(is_set(value)));
            }
        }
        if let Some(filter) = SourceFilter::of_params(params) {
            shown.insert("_source".to_owned(), filter.to_json());
            self.source = Some(filter);
        }
        if let Some(fields) = text("fields") {
            let fields = names(&json!(fields));
            let shown_fields = match fields.as_slice() {
                [field] => json!(field),
                fields => json!(fields),
            };
            shown.insert("fields".to_owned(), shown_fields);
            if let Err(error) = self.add_fields(fields) {
                elements.push(Element::Invalid(error));
            }
        }
        if let Some(order) = text("sort").filter(|order| !order.is_empty()) {
            let (specs, order) = parse_sort_text(order);
            self.set_sort(specs.clone());
            shown.insert("sort".to_owned(), order);
            elements.push(Element::Sort(specs));
        }
        if let Some(value) = text("track_scores") {
            self.track_scores = is_set(value);
            shown.insert("track_scores".to_owned(), json!(self.track_scores));
        }
        if let Some(field) = text("suggest_field") {
            let size = text("suggest_size").map_or(Ok(5), |size| int_param("suggest_size", size))?;
            let mut own = Map::new();
            if let Some(typed) = text("suggest_text").or(text("q")) {
                own.insert("text".to_owned(), json!(typed));
            }
            let mut term = json!({"field": field, "size": size});
            if let Some(mode) = text("suggest_mode") {
                term["suggest_mode"] = json!(mode);
            }
            own.insert("term".to_owned(), term);
            let suggest = json!({field: own});
            shown.insert("suggest".to_owned(), suggest.clone());
            elements.push(Element::Suggest);
            self.suggest = Some(suggest);
        }
        if let Some(groups) = text("stats") {
            self.groups = names(&json!(groups));
            shown.insert("stats".to_owned(), json!(self.groups));
        }
        if let Some(boost) = text("indices_boost") {
            // Elasticsearch splits the parameter at commas before it looks for them.
            let first = boost.split(',').next().unwrap_or_default();
            return Err(SearchError::illegal(format!("Illegal index boost [{first}], no ','")));
        }
        self.routing = text("routing").cloned();
        self.preference = text("preference").cloned();
        if let Some(kind) = text("search_type") {
            self.search_type = SearchType::parse(kind)?;
        }
        if !shown.is_empty() {
            self.sources.push(Source {
                text: Value::Object(shown).to_string(),
                elements,
            });
        }
        Ok(())
    }
}

/// Returns the search source for a query string.
fn query_string_json(query: &str, params: &BTreeMap<String, String>) -> Value {
    let mut shown = Map::new();
    shown.insert("query".to_owned(), json!(query));
    for (name, key) in [
        ("df", "default_field"),
        ("default_operator", "default_operator"),
        ("analyzer", "analyzer"),
    ] {
        if let Some(text) = params.get(name) {
            let text = if name == "default_operator" {
                text.to_ascii_lowercase()
            } else {
                text.clone()
            };
            shown.insert(key.to_owned(), json!(text));
        }
    }
    let yes = |name: &str, default: bool| params.get(name).map_or(default, |text| is_set(text));
    shown.insert(
        "lowercase_expanded_terms".to_owned(),
        json!(yes("lowercase_expanded_terms", true)),
    );
    shown.insert("analyze_wildcard".to_owned(), json!(yes("analyze_wildcard", false)));
    if params.contains_key("lenient") {
        shown.insert("lenient".to_owned(), json!(yes("lenient", false)));
    }
    json!({"query_string": shown})
}
