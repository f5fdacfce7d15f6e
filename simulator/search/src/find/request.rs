//! Search requests: parameters of the URI, and body.
//!
//! Guarantees: the elements of a source are parsed in their order, so that an error shows the elements before it.
//! Source: Elasticsearch 1.5's `RestSearchAction`, `SearchSourceBuilder` and search parse elements.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::aggs::{self, Aggregation};
use crate::budget::Budget;
use crate::durations::time;
use crate::error::{Result, SearchError};
use crate::find::element;
use crate::find::query_source::QuerySource;
use crate::find::rescore_settings;
use crate::find::sort::{SortSpec, parse_first_sort, parse_sort};
use crate::find::source::SourceFilter;
use crate::highlight;
use crate::json;
use crate::mapping::truth;
use crate::options::Limits;
use crate::script::Script;

/// An element of a source, in the order of parsing.
#[derive(Clone, Debug)]
pub(crate) enum Element {
    From(i64),
    Size(i64),
    Query(QuerySource),
    PostFilter(Value),
    Sort,
    /// A sort with an error after its criteria.
    InvalidSort(SearchError),
    Aggregations,
    Facets,
    Suggest,
    InnerHits,
    Rescore,
    Highlight,
    Invalid(SearchError),
}

/// A search source: the body or the parameters.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) text: String,
    pub(crate) elements: Vec<Element>,
}

/// `search_type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SearchType {
    #[default]
    QueryThenFetch,
    QueryAndFetch,
    DfsQueryThenFetch,
    DfsQueryAndFetch,
    Count,
    Scan,
}

impl SearchType {
    pub(crate) fn parse(text: &str) -> Result<SearchType> {
        Ok(match text {
            "query_then_fetch" | "queryThenFetch" => SearchType::QueryThenFetch,
            "query_and_fetch" | "queryAndFetch" => SearchType::QueryAndFetch,
            "dfs_query_then_fetch" | "dfsQueryThenFetch" => SearchType::DfsQueryThenFetch,
            "dfs_query_and_fetch" | "dfsQueryAndFetch" => SearchType::DfsQueryAndFetch,
            "count" => SearchType::Count,
            "scan" => SearchType::Scan,
            other => return Err(SearchError::illegal(format!("No search type for [{other}]"))),
        })
    }

    /// Whether scores use the statistics of all shards together.
    pub(crate) fn is_dfs(self) -> bool {
        matches!(self, SearchType::DfsQueryThenFetch | SearchType::DfsQueryAndFetch)
    }

    /// Whether every shard returns a full page.
    pub(crate) fn fetches_every_page(self) -> bool {
        matches!(self, SearchType::QueryAndFetch | SearchType::DfsQueryAndFetch)
    }

    /// Adds the phase to an error of the reduce phase.
    pub(crate) fn reduce(self, shards: u32, error: SearchError) -> SearchError {
        let phase = match self {
            SearchType::QueryThenFetch | SearchType::DfsQueryThenFetch if shards > 1 => "fetch",
            SearchType::Count => "query",
            _ => "merge",
        };
        let reason = format!("Failed to execute phase [{phase}], [reduce] ");
        SearchError { reason, ..error }
    }

    /// Name of the first phase in errors.
    pub(crate) fn phase(self, shards: u32) -> &'static str {
        match self {
            SearchType::QueryThenFetch | SearchType::DfsQueryThenFetch if shards == 1 => "query_fetch",
            SearchType::QueryThenFetch | SearchType::Count => "query",
            SearchType::QueryAndFetch => "query_fetch",
            SearchType::DfsQueryThenFetch | SearchType::DfsQueryAndFetch => "dfs",
            SearchType::Scan => "init_scan",
        }
    }
}

/// A search request.
#[derive(Clone, Debug, Default)]
pub(crate) struct SearchRequest {
    pub(crate) sources: Vec<Source>,
    /// Why no shard can run the search.
    pub(crate) failure: Option<SearchError>,
    pub(crate) search_type: SearchType,
    /// Whether the search opens a scroll.
    pub(crate) scrolls: bool,
    /// The query of a request without sources, whose elements have it otherwise.
    pub(crate) query: QuerySource,
    /// Whether the hits are deleted.
    pub(crate) deletes: bool,
    pub(crate) from: usize,
    /// Number of hits. Default: 10.
    pub(crate) size: Option<usize>,
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
    pub(crate) partial_fields: Vec<(String, SourceFilter)>,
    pub(crate) script_fields: Vec<(String, Script)>,
    /// Groups in whose statistics the search counts, of the element `stats`.
    pub(crate) groups: Vec<String>,
    pub(crate) highlight: Option<Value>,
    pub(crate) aggregations: Option<Vec<Aggregation>>,
    pub(crate) facets: Option<Value>,
    pub(crate) suggest: Option<Value>,
    /// Comma-separated routing values. Default: those of the aliases.
    pub(crate) routing: Option<String>,
    pub(crate) preference: Option<String>,
    pub(crate) rescore: Vec<Value>,
    pub(crate) inner_hits: Option<Value>,
    /// Boost by name of index or alias.
    pub(crate) indices_boost: Vec<(String, f32)>,
    pub(crate) types: Vec<String>,
    /// Budget of the request.
    pub(crate) budget: Arc<Budget>,
}

/// Converts `from` or `size`.
pub(super) fn hit_count(name: &str, number: i64) -> Result<usize> {
    usize::try_from(number).map_err(|_| {
        let reason = format!("{name} is set to [{number}] and is expected to be higher or equal to 0");
        SearchError::search(reason)
    })
}

impl SearchRequest {
    /// Whether the best hits of each shard are collected apart.
    pub(super) fn separates_shards(&self) -> bool {
        self.search_type.fetches_every_page() || !self.rescore.is_empty()
    }

    /// Parses parameters and body; parameters take precedence.
    ///
    /// # Errors
    /// Parameters that cannot be parsed. A body that cannot be parsed fails on every shard instead.
    pub(crate) fn parse(params: &BTreeMap<String, String>, body: &[u8], limits: &Limits) -> Result<SearchRequest> {
        let mut request = SearchRequest::default();
        if !body.iter().all(u8::is_ascii_whitespace) {
            request.read_source(body, limits);
        }
        request.read_params(params, limits)?;
        Ok(request)
    }

    /// Parses a JSON object, such as the settings of `top_hits`.
    ///
    /// # Errors
    /// An element that cannot be parsed.
    pub(crate) fn of_object(object: &Map<String, Value>, limits: &Limits) -> Result<SearchRequest> {
        let mut request = SearchRequest::default();
        for (key, value) in object {
            request.read_element(key, value, limits)?;
        }
        Ok(request)
    }

    /// Counts the parts of the request in its budget.
    ///
    /// # Errors
    /// More parts than one request may have.
    pub(crate) fn check(&self) -> Result<()> {
        let budget = &self.budget;
        budget.check_time()?;
        if self.sources.is_empty() {
            self.query.check(budget)?;
        }
        for element in self.sources.iter().flat_map(|source| &source.elements) {
            match element {
                Element::Query(query) => query.check(budget)?,
                Element::PostFilter(filter) => budget.query(filter)?,
                _ => {}
            }
        }
        self.rescore
            .iter()
            .chain(&self.inner_hits)
            .try_for_each(|body| budget.query(body))?;
        let patterns = |filter: &SourceFilter| filter.include.len() + filter.exclude.len();
        let listed = self.fields.as_ref().map_or(0, Vec::len) + self.fielddata_fields.len() + self.script_fields.len();
        let sources = self
            .source
            .iter()
            .chain(self.partial_fields.iter().map(|(_, filter)| filter));
        budget.elements("source patterns", listed + sources.map(patterns).sum::<usize>())?;
        let highlighted = self.highlight.as_ref().and_then(|highlight| highlight.get("fields"));
        let highlighted = match highlighted {
            Some(Value::Object(fields)) => fields.len(),
            Some(Value::Array(fields)) => fields.len(),
            _ => 0,
        };
        budget.elements("highlighted fields", highlighted)?;
        budget.elements("sort fields", self.sort.len())?;
        budget.elements("aggregations", self.aggregations.as_deref().map_or(0, aggs::count))?;
        let facets = self.facets.as_ref().and_then(Value::as_object);
        budget.elements("facets", facets.map_or(0, Map::len))
    }

    /// Converts to the request for further pages, which have hits only.
    pub(crate) fn paged(self) -> SearchRequest {
        SearchRequest {
            aggregations: None,
            facets: None,
            suggest: None,
            ..self
        }
    }

    /// Whether the scores of hits, or of hits of aggregations, are explained.
    pub(crate) fn has_explanations(&self) -> bool {
        self.explain || self.aggregations.as_deref().is_some_and(aggs::have_explanations)
    }

    /// Whether an aggregation or a facet is over all documents.
    pub(crate) fn has_global(&self) -> bool {
        let is_global = |facet: &Value| facet.get("global").is_some_and(truth);
        let facets = self.facets.as_ref().and_then(Value::as_object);
        self.aggregations.as_deref().is_some_and(aggs::has_global)
            || facets.is_some_and(|facets| facets.values().any(is_global))
    }

    /// Number of hits per page.
    pub(crate) fn page(&self) -> usize {
        if self.search_type == SearchType::Count {
            0
        } else {
            self.size.unwrap_or(10)
        }
    }

    /// Adds a source, whose elements replace those before.
    pub(crate) fn with_source(mut self, source: &Value, limits: &Limits) -> SearchRequest {
        self.read_source(source.to_string().as_bytes(), limits);
        self
    }

    fn read_source(&mut self, body: &[u8], limits: &Limits) {
        let text = String::from_utf8_lossy(body).trim_start().to_owned();
        let mut source = Source {
            // Elasticsearch shows `_na_` for a body that does not look like JSON.
            text: match json::derivable(body) {
                Ok(()) => text,
                Err(_) => "_na_".to_owned(),
            },
            elements: Vec::new(),
        };
        match json::object(body) {
            Err(error) => source.elements.push(Element::Invalid(error)),
            Ok(object) => {
                for (at, (key, value)) in object.iter().enumerate() {
                    match self.read_element(key, value, limits) {
                        Ok(element) => {
                            source.elements.extend(element);
                            if element::ends_source(key, value) {
                                break;
                            }
                        }
                        Err(_) if key == "sort" => {
                            let rest = object.iter().skip(at);
                            let rest = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
                            source.elements.extend(self.read_invalid_sort(&Value::Object(rest)));
                            break;
                        }
                        Err(error) => {
                            source.elements.push(Element::Invalid(error));
                            break;
                        }
                    }
                }
            }
        }
        self.sources.push(source);
    }

    /// Parses an invalid sort again, with the elements that follow it, of which it may take some for criteria.
    fn read_invalid_sort(&mut self, rest: &Value) -> Vec<Element> {
        let (specs, read) = parse_first_sort(rest);
        self.set_sort(specs);
        match read {
            Ok(()) => vec![Element::Sort, Element::Invalid(SearchError::incomplete())],
            Err(error) => vec![Element::InvalidSort(error)],
        }
    }

    /// Sets the sort criteria. Score only is the same as none.
    pub(super) fn set_sort(&mut self, specs: Vec<SortSpec>) {
        let by_score = matches!(specs.as_slice(), [only] if only.field == "_score" && only.descending);
        self.sort = if by_score { vec![] } else { specs };
    }

    /// Adds fields to those of an earlier source, unless it wanted none. An empty list: none.
    ///
    /// # Errors
    /// Fields after none.
    pub(super) fn add_fields(&mut self, names: Vec<String>) -> Result<()> {
        match &mut self.fields {
            Some(fields) if fields.is_empty() && !names.is_empty() => {
                Err(SearchError::new(500, "UnsupportedOperationException", ""))
            }
            Some(fields) if !names.is_empty() => {
                fields.extend(names);
                Ok(())
            }
            fields => {
                *fields = Some(names);
                Ok(())
            }
        }
    }

    /// Parses one element of a source.
    fn read_element(&mut self, key: &str, value: &Value, limits: &Limits) -> Result<Option<Element>> {
        let yes = || Ok::<bool, SearchError>(element::scalar(key, value)?.is_some_and(truth));
        match key {
            "query" => {
                return Ok(Some(Element::Query(QuerySource::Body(value.clone()))));
            }
            "query_binary" | "queryBinary" => {
                let body = json::object(&json::binary(value, json::PART)?)?;
                return Ok(Some(Element::Query(QuerySource::Body(Value::Object(body)))));
            }
            "filter" | "post_filter" | "postFilter" => {
                return Ok(Some(Element::PostFilter(value.clone())));
            }
            "from" => {
                let number = element::int(key, value)?;
                self.from = number.map_or(Ok(self.from), |number| hit_count(key, number))?;
                return Ok(number.map(Element::From));
            }
            "size" => {
                let number = element::int(key, value)?;
                self.size = number.map_or(Ok(self.size), |number| hit_count(key, number).map(Some))?;
                return Ok(number.map(Element::Size));
            }
            "sort" => {
                self.set_sort(parse_sort(value)?);
                return Ok(Some(Element::Sort));
            }
            "facets" => {
                let facets = element::objects(value)?.map(|(name, facet)| (name.clone(), facet.clone()));
                let facets: Map<String, Value> = facets.collect();
                self.facets = Some(facets).filter(|facets| !facets.is_empty()).map(Value::Object);
                return Ok(Some(Element::Facets));
            }
            "track_scores" | "trackScores" => self.track_scores = yes()?,
            "explain" => self.explain = yes()?,
            "version" => self.version = yes()?,
            "min_score" | "minScore" => {
                self.min_score = element::float(key, value)?.or(self.min_score);
            }
            // Numbers only; others are ignored.
            "terminate_after" => {
                if let Some(Value::Number(_)) = element::scalar(key, value)? {
                    let after = u64::try_from(json::int(value, json::PART)?)
                        .ok()
                        .filter(|after| *after > 0);
                    self.terminate_after =
                        Some(after.ok_or_else(|| SearchError::illegal("terminateAfter must be > 0"))?);
                }
            }
            "timeout" => {
                self.timeout = match value {
                    Value::Number(number) => number.as_u64().map(Duration::from_millis),
                    Value::Array(_) => Some(time("[")?),
                    Value::Object(_) => Some(time("{")?),
                    other => Some(time(&json::java_text(other))?),
                }
            }
            "_source" => {
                SourceFilter::check(value)?;
                self.source = Some(SourceFilter::parse(value));
            }
            "fields" => {
                if let Some(fields) = element::listed(key, value)? {
                    self.add_fields(fields)?;
                }
            }
            "fielddata_fields" | "fielddataFields" => match value {
                Value::String(_) | Value::Array(_) => {
                    self.fielddata_fields = element::listed(key, value)?.unwrap_or_default();
                }
                other => {
                    let token = json::token_of(other);
                    let reason = format!("Expected either a VALUE_STRING or an START_ARRAY but got {token}");
                    return Err(SearchError::new(400, "ElasticsearchIllegalStateException", reason));
                }
            },
            "partial_fields" | "partialFields" => {
                let fields = element::objects(value)?;
                self.partial_fields = fields
                    .map(|(name, filter)| (name.clone(), SourceFilter::partial(filter)))
                    .collect()
            }
            "highlight" => {
                highlight::check(value)?;
                self.highlight = Some(value.clone());
                return Ok(Some(Element::Highlight));
            }
            "aggs" | "aggregations" => {
                if !value.is_array() {
                    element::members(value)?;
                }
                self.aggregations = Some(aggs::parse(value, limits)?);
                return Ok(Some(Element::Aggregations));
            }
            "suggest" => {
                self.suggest = Some(value.clone());
                return Ok(Some(Element::Suggest));
            }
            "inner_hits" => {
                if let Value::Array(items) = value {
                    let token = items.first().map_or("END_ARRAY", json::token_of);
                    return Err(SearchError::illegal(format!(
                        "Unexpected token {token} in [inner_hits]: inner_hit definitions must start with the name of \
                         the inner_hit."
                    )));
                }
                element::members(value)?;
                self.inner_hits = Some(value.clone());
                return Ok(Some(Element::InnerHits));
            }
            "rescore" => {
                rescore_settings::check(value)?;
                self.rescore = match value {
                    Value::Array(items) => items.clone(),
                    other => vec![other.clone()],
                };
                return Ok(Some(Element::Rescore));
            }
            "indices_boost" | "indicesBoost" => {
                let boosts = element::members(value)?.iter();
                let boosts = boosts.filter_map(|(name, boost)| Some((name.clone(), json::number_of(boost)? as f32)));
                self.indices_boost = boosts.collect();
            }
            "script_fields" | "scriptFields" => {
                let fields = element::objects(value)?;
                let fields = fields.map(|(name, settings)| Ok((name.clone(), Script::parse(settings)?)));
                self.script_fields = fields.collect::<Result<_>>()?;
            }
            "stats" => self.groups = element::listed(key, value)?.unwrap_or_default(),
            other => return Err(SearchError::no_element(other)),
        }
        Ok(None)
    }
}
