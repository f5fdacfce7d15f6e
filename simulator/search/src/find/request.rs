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
use crate::cluster::Index;
use crate::error::{Result, SearchError};
use crate::find::query_source::QuerySource;
use crate::find::sort::SortSpec;
use crate::find::source::SourceFilter;
use crate::highlight;
use crate::json::{self, Token, Tokens};
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
    Sort(Vec<SortSpec>),
    /// A sort with an error after its criteria.
    InvalidSort(Vec<SortSpec>, SearchError),
    IndicesBoost,
    Aggregations,
    Facets,
    ScriptFields,
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

impl Source {
    /// Returns the error for a query whose parser reads one token beyond it: the name of the next element, or the end
    /// of the source.
    pub(crate) fn beyond_query(&self) -> SearchError {
        let elements = json::object(self.text.as_bytes()).unwrap_or_default();
        let is_query = |name: &str| matches!(name, "query" | "query_binary" | "queryBinary");
        let mut rest = elements.iter().skip_while(|(name, _)| !is_query(name)).skip(1);
        rest.next().map_or_else(SearchError::incomplete, |(name, value)| {
            SearchError::unexpected(json::token_of(value), name)
        })
    }
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
    /// Whether the hits are only counted: by `_count`, not by a search.
    pub(crate) counts: bool,
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
    pub(crate) highlight: Option<highlight::Wanted>,
    pub(crate) aggregations: Option<Vec<Aggregation>>,
    pub(crate) facets: Option<Value>,
    pub(crate) suggest: Option<Value>,
    /// Comma-separated routing values. Default: those of the aliases.
    pub(crate) routing: Option<String>,
    pub(crate) preference: Option<String>,
    pub(crate) rescore: Vec<Value>,
    pub(crate) inner_hits: Option<Value>,
    /// Boost by name of index or alias.
    pub(crate) indices_boost: Vec<(String, Result<f32>)>,
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
        let source = Value::Object(object.clone());
        let mut tokens = Tokens::new(&source);
        while let Some(token) = tokens.within_object() {
            if let Token::Name(key) = token {
                tokens.advance();
                if let Some(Element::InvalidSort(_, error)) = request.read_element(key, &mut tokens, limits)? {
                    return Err(error);
                }
            }
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
        let highlighted = self.highlight.as_ref().map_or(0, highlight::Wanted::field_count);
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

    /// Returns the boost of an index. Default: 1.
    ///
    /// # Errors
    /// One that is no number.
    pub(crate) fn boost_of(&self, index: &Index) -> Result<f32> {
        let is_own = |name: &String| *name == index.name || index.aliases.read().contains_key(name);
        let mut boosts = self.indices_boost.iter();
        boosts
            .find(|(name, _)| is_own(name))
            .map_or(Ok(1.0), |(_, boost)| boost.clone())
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
}
