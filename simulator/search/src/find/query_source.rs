//! Queries of requests: a body, or the parameter `q`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::budget::Budget;
use crate::error::{Result, SearchError};
use crate::json;
use crate::options::Limits;
use crate::query::StringSettings;

/// The query of a request, before it is parsed for an index.
#[derive(Clone, Debug, Default)]
pub(crate) enum QuerySource {
    /// No query: matches all documents.
    #[default]
    All,
    /// A query string, its settings, and the name of its analyzer.
    Text(String, Box<StringSettings>, Option<String>),
    /// A query of the DSL.
    Body(Value),
    /// A body that cannot be parsed, and its error.
    Invalid(SearchError),
}

/// Returns a query or filter without its further entries.
fn first_entry(query: &Value) -> Value {
    match query {
        Value::Object(query) => query.clone().into_iter().take(1).collect(),
        other => other.clone(),
    }
}

/// Returns the first object of a body: Elasticsearch's parser reads over the starts of lists.
fn first_object(body: &Value) -> Option<&Map<String, Value>> {
    match body {
        Value::Array(items) => items.iter().find_map(first_object),
        other => other.as_object(),
    }
}

impl QuerySource {
    /// Creates the query of a body that has only a query, or of the parameter `q` if there is no body. The parameter
    /// `lenient` is one of searches and explanations alone.
    ///
    /// # Errors
    /// Parameters that cannot be parsed.
    pub(crate) fn parse(params: &BTreeMap<String, String>, body: &[u8], limits: &Limits) -> Result<QuerySource> {
        if body.iter().all(u8::is_ascii_whitespace) {
            let text = params.get("q");
            let mut query = text.map_or(Ok(QuerySource::All), |text| QuerySource::text(text, params, limits))?;
            if let QuerySource::Text(_, settings, _) = &mut query {
                settings.lenient = false;
            }
            return Ok(query);
        }
        let body = json::derivable(body).and_then(|()| json::value(body));
        Ok(match body.as_ref().map(first_object) {
            Err(error) => QuerySource::Invalid(error.clone()),
            Ok(None) => QuerySource::Invalid(SearchError::query("Required query is missing")),
            Ok(Some(body)) => match body.iter().find(|(key, _)| *key != "query") {
                Some((other, _)) => {
                    QuerySource::Invalid(SearchError::query(format!("request does not support [{other}]")))
                }
                None => match body.get("query") {
                    Some(query) => QuerySource::first_of(query),
                    None => QuerySource::Invalid(SearchError::query("Required query is missing")),
                },
            },
        })
    }

    /// The first entry of a query, which is the query. Elasticsearch's parser takes the second one for a part of the
    /// request.
    fn first_of(query: &Value) -> QuerySource {
        if query.is_array() {
            let reason = "[_na] query malformed, must start with start_object";
            return QuerySource::Invalid(SearchError::query(reason));
        }
        let second = query.as_object().and_then(|query| query.values().nth(1));
        let key = second.and_then(|second| second.as_object()?.keys().next());
        match key.filter(|key| *key != "query") {
            Some(key) => QuerySource::Invalid(SearchError::query(format!("request does not support [{key}]"))),
            None => QuerySource::Body(first_entry(query)),
        }
    }

    /// Counts the parts of the query in a budget.
    ///
    /// # Errors
    /// More parts than the queries of one request may have.
    pub(crate) fn check(&self, budget: &Budget) -> Result<()> {
        match self {
            QuerySource::Body(body) => budget.query(body),
            _ => Ok(()),
        }
    }
}
