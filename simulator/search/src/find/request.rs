//! What a search asks for: from the parameters of its URI and from its body.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::sort::{SortSpec, parse_sort, parse_sort_text};
use super::source::{SourceFilter, names};
use crate::cluster::duration;
use crate::error::{Result, SearchError};
use crate::options::Limits;
use crate::query::{Operator, StringSettings};

/// Where the query stands.
#[derive(Clone, Debug)]
pub(crate) enum QuerySource {
    /// Nowhere: everything is meant.
    All,
    /// In a query string.
    Text(String, Box<StringSettings>),
    /// In a body.
    Body(Value),
}

/// What a search asks for.
#[derive(Clone, Debug)]
pub(crate) struct SearchRequest {
    pub(crate) query: QuerySource,
    pub(crate) post_filter: Option<Value>,
    pub(crate) from: usize,
    pub(crate) size: usize,
    pub(crate) sort: Vec<SortSpec>,
    pub(crate) track_scores: bool,
    pub(crate) min_score: Option<f32>,
    pub(crate) terminate_after: Option<u64>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) explain: bool,
    pub(crate) version: bool,
    pub(crate) source: Option<SourceFilter>,
    pub(crate) fields: Option<Vec<String>>,
    pub(crate) fielddata_fields: Vec<String>,
    pub(crate) highlight: Option<Value>,
    pub(crate) aggregations: Option<Value>,
    pub(crate) types: Vec<String>,
}

impl Default for SearchRequest {
    fn default() -> SearchRequest {
        SearchRequest {
            query: QuerySource::All,
            post_filter: None,
            from: 0,
            size: 10,
            sort: vec![],
            track_scores: false,
            min_score: None,
            terminate_after: None,
            timeout: None,
            explain: false,
            version: false,
            source: None,
            fields: None,
            fielddata_fields: vec![],
            highlight: None,
            aggregations: None,
            types: vec![],
        }
    }
}

/// What parameters take for true.
pub(crate) fn flag(text: &str) -> bool {
    !matches!(text, "false" | "0" | "off" | "no")
}

/// The settings that parameters give a query string.
pub(crate) fn string_settings(params: &BTreeMap<String, String>) -> Result<StringSettings> {
    let mut settings = StringSettings::default();
    if let Some(field) = params.get("df") {
        settings.fields = vec![(field.clone(), 1.0)];
    }
    settings.analyzer = params.get("analyzer").cloned();
    settings.analyze_wildcard = params.get("analyze_wildcard").is_some_and(|text| flag(text));
    settings.lowercase_expanded_terms = params.get("lowercase_expanded_terms").is_none_or(|text| flag(text));
    settings.lenient = params.get("lenient").is_some_and(|text| flag(text));
    settings.operator = operator(params.get("default_operator").map(String::as_str))?;
    Ok(settings)
}

pub(crate) fn operator(text: Option<&str>) -> Result<Operator> {
    match text.map(str::to_ascii_lowercase).as_deref() {
        None | Some("or") => Ok(Operator::Or),
        Some("and") => Ok(Operator::And),
        Some(other) => Err(SearchError::illegal(format!(
            "Unsupported defaultOperator [{other}], can either be [OR] or [AND]"
        ))),
    }
}

fn count(name: &str, text: &str) -> Result<usize> {
    text.parse()
        .map_err(|_| SearchError::illegal(format!("Failed to parse int parameter [{name}] with value [{text}]")))
}

impl SearchRequest {
    /// The request that parameters and a body make; parameters win.
    pub(crate) fn parse(
        params: &BTreeMap<String, String>,
        body: Option<&Value>,
        limits: &Limits,
    ) -> Result<SearchRequest> {
        let mut request = SearchRequest::default();
        if let Some(body) = body {
            request.read_body(body)?;
        }
        request.read_params(params, limits)?;
        if request.from.saturating_add(request.size) > limits.window {
            return Err(SearchError::new(
                400,
                "QueryPhaseExecutionException",
                format!(
                    "Result window is too large, from + size must be less than or equal to: [{}] but was [{}]",
                    limits.window,
                    request.from.saturating_add(request.size)
                ),
            ));
        }
        Ok(request)
    }

    fn read_params(&mut self, params: &BTreeMap<String, String>, limits: &Limits) -> Result<()> {
        for (name, text) in params {
            match name.as_str() {
                "q" => {
                    if text.len() > limits.query {
                        return Err(SearchError::query(format!(
                            "the query is longer than {} bytes",
                            limits.query
                        )));
                    }
                    self.query = QuerySource::Text(text.clone(), Box::new(string_settings(params)?));
                }
                "from" => self.from = count(name, text)?,
                "size" => self.size = count(name, text)?,
                "sort" => self.sort = parse_sort_text(text)?,
                "track_scores" => self.track_scores = flag(text),
                "explain" => self.explain = flag(text),
                "version" => self.version = flag(text),
                "terminate_after" => self.terminate_after = Some(count(name, text)? as u64).filter(|after| *after > 0),
                "timeout" => {
                    self.timeout =
                        Some(duration(text).ok_or_else(|| SearchError::parse(format!("Failed to parse [{text}]")))?)
                }
                "min_score" => self.min_score = Some(text.parse().map_err(|_| SearchError::number(text))?),
                "fields" => {
                    self.fields = Some(
                        text.split(',')
                            .map(|field| field.trim().to_owned())
                            .filter(|field| !field.is_empty())
                            .collect(),
                    )
                }
                "fielddata_fields" => self.fielddata_fields = names(&Value::String(text.clone())),
                "_source" => self.source = Some(SourceFilter::parse(&Value::String(text.clone()))),
                "_source_include" | "_source_includes" => {
                    self.source.get_or_insert_default().include = names(&Value::String(text.clone()))
                }
                "_source_exclude" | "_source_excludes" => {
                    self.source.get_or_insert_default().exclude = names(&Value::String(text.clone()))
                }
                "search_type" => match text.as_str() {
                    "count" => self.size = 0,
                    "query_then_fetch"
                    | "query_and_fetch"
                    | "dfs_query_then_fetch"
                    | "dfs_query_and_fetch"
                    | "scan" => {}
                    other => {
                        return Err(SearchError::illegal(format!("No search type for [{other}]")));
                    }
                },
                _ => {}
            }
        }
        Ok(())
    }

    fn read_body(&mut self, body: &Value) -> Result<()> {
        let Value::Object(body) = body else {
            return Err(SearchError::new(
                400,
                "SearchParseException",
                "Failed to parse source: expected an object",
            ));
        };
        for (key, value) in body {
            let number = || {
                value
                    .as_u64()
                    .or_else(|| value.as_str().and_then(|text| text.parse().ok()))
                    .and_then(|number| usize::try_from(number).ok())
            };
            let refuse = || {
                SearchError::new(
                    400,
                    "SearchParseException",
                    format!("Parse Failure [Failed to parse source [{key}: {value}]]"),
                )
            };
            let yes = crate::mapping::truth(value);
            match key.as_str() {
                "query" => self.query = QuerySource::Body(value.clone()),
                "filter" | "post_filter" => self.post_filter = Some(value.clone()),
                "from" => self.from = number().ok_or_else(refuse)?,
                "size" => self.size = number().ok_or_else(refuse)?,
                "sort" => self.sort = parse_sort(value)?,
                "track_scores" => self.track_scores = yes,
                "explain" => self.explain = yes,
                "version" => self.version = yes,
                "min_score" => self.min_score = Some(value.as_f64().ok_or_else(refuse)? as f32),
                "terminate_after" => {
                    self.terminate_after = number().map(|after| after as u64).filter(|after| *after > 0)
                }
                "timeout" => {
                    self.timeout = value
                        .as_str()
                        .and_then(duration)
                        .or_else(|| value.as_u64().map(Duration::from_millis))
                }
                "_source" => self.source = Some(SourceFilter::parse(value)),
                "fields" | "stored_fields" => self.fields = Some(names(value)),
                "fielddata_fields" => self.fielddata_fields = names(value),
                "highlight" => self.highlight = Some(value.clone()),
                "aggs" | "aggregations" => self.aggregations = Some(value.clone()),
                // A log viewer sends these empty.
                "facets" | "suggest" | "script_fields" | "rescore"
                    if value.as_object().is_some_and(|object| object.is_empty()) => {}
                "facets" | "suggest" | "script_fields" | "rescore" => {
                    return Err(SearchError::new(
                        400,
                        "SearchParseException",
                        format!("Parse Failure [{key} are not part of this backend]"),
                    ));
                }
                "stats" | "indices_boost" | "query_cache" | "preference" => {}
                other => {
                    return Err(SearchError::new(
                        400,
                        "SearchParseException",
                        format!("Parse Failure [No parser for element [{other}]]"),
                    ));
                }
            }
        }
        Ok(())
    }
}
