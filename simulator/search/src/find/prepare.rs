//! Parse phase of a search on one shard: query, filters, and check of the sort.
//!
//! Source: Elasticsearch 1.5's `SearchService.parseSource` and the texts of `SearchParseException`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::Value;

use crate::aggs;
use crate::cluster::{Cluster, Index};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::find::Searched;
use crate::find::inner_hits::{Outer, prepare_inner};
use crate::find::query_source::QuerySource;
use crate::find::request::{Element, SearchRequest};
use crate::find::rescore::check_queries as check_rescore_queries;
use crate::find::sort::{SortSpec, check_sort, shown};
use crate::highlight;
use crate::index::Shard;
use crate::mapping::Mapping;
use crate::query::{
    Caching, Context, FilterClass, Query, QueryKind, Rest, ScoreFunction, StringSettings, analyzer_of, label,
    parse_inner_hits, parse_string,
};
use crate::score::{Corpus, Explained, Statistics, Weight};
use crate::suggest;
use crate::ties::in_hash_order;

/// Parses the query of a request against one index, and restricts it to types and alias filters.
pub(crate) fn prepare_query(
    context: &Context<'_>,
    source: &QuerySource,
    types: &[String],
    filters: &[Value],
) -> Result<Query> {
    restrict(context, parse_source(context, source)?.0, types, filters)
}

/// Parses the query of a request, which matches nested objects as well as root documents. Returns also the error for
/// what is left of its body.
fn parse_source(context: &Context<'_>, source: &QuerySource) -> Result<(Query, Rest)> {
    let query = match source {
        QuerySource::All => QueryKind::All.into(),
        QuerySource::Text(text, settings, None) => parse_string(context, text, settings)?,
        QuerySource::Text(text, settings, Some(name)) => {
            let own = StringSettings {
                analyzer: Some(analyzer_of(context, "[query_string] analyzer", name)?),
                ..StringSettings::clone(settings)
            };
            parse_string(context, text, &own)?
        }
        QuerySource::Body(body) => {
            let (query, left) = context.parse_query_element(body)?;
            return Ok((query.unwrap_or_else(|| QueryKind::Nothing.into()), left));
        }
        QuerySource::Invalid(error) if error.kind == Exception::QueryParsing => {
            return Err(SearchError {
                reason: format!("[{}] {}", context.index, error.reason),
                ..error.clone()
            });
        }
        QuerySource::Invalid(error) => return Err(error.clone()),
    };
    Ok((query, Rest::Nothing))
}

/// Returns the filter of the documents that are in one of the aliases of these filters.
pub(crate) fn alias_filter(context: &Context<'_>, filters: &[Value]) -> Result<Option<Query>> {
    let parsed = filters.iter().map(|filter| context.parse_filter(filter));
    let mut parsed = parsed.collect::<Result<Vec<_>>>()?;
    if parsed.len() < 2 {
        return Ok(parsed.pop());
    }
    let kind = FilterClass::Boolean(parsed.len());
    Ok(Some(Query::any(parsed).filter(kind, Caching::Uncached)))
}

/// Restricts a query to root documents, types and alias filters.
fn restrict(context: &Context<'_>, query: Query, types: &[String], filters: &[Value]) -> Result<Query> {
    let mut restrictions = Vec::new();
    if !types.is_empty() {
        // Nested objects have types of their own.
        let named: BTreeSet<&str> = types.iter().map(String::as_str).collect();
        let of_types = context.of_types(named.iter().copied());
        restrictions.push(match named.len() {
            1 if context.mapping.has_nested() => {
                let of_type = of_types.with_caching(Caching::Uncached);
                let both = Query::every(vec![of_type, context.root_documents()]);
                both.filter(FilterClass::And, Caching::Cached)
            }
            _ => of_types,
        });
    } else if context.mapping.has_nested() {
        restrictions.push(context.root_documents().with_caching(Caching::Cached));
    }
    restrictions.extend(alias_filter(context, filters)?);
    let filter = match (restrictions.len(), restrictions.pop()) {
        (_, None) => return Ok(query),
        (1, Some(only)) => only,
        (_, last) => {
            let every = Query::every(restrictions.into_iter().chain(last).collect());
            every.filter(FilterClass::And, Caching::Uncached)
        }
    };
    let is_all = |query: &Query| matches!(query.kind, QueryKind::All) && query.boost == 1.0;
    let matches_all = match &query.kind {
        QueryKind::Constant {
            query: inner,
            form: None,
        } => is_all(inner),
        _ => is_all(&query),
    };
    Ok(match matches_all {
        true => filter.constant().boosted(query.boost),
        false => query.filtered(filter),
    })
}

/// The elements of a source that are already parsed, for error messages.
struct ParseProgress<'a> {
    index: &'a str,
    shard: u32,
    query: Option<String>,
    from: i64,
    size: i64,
    sort: &'a [SortSpec],
    mapping: &'a Mapping,
}

impl ParseProgress<'_> {
    fn reason(&self, what: &str) -> String {
        let query = self
            .query
            .as_ref()
            .map(|query| format!("query[{query}],"))
            .unwrap_or_default();
        format!(
            "[{}][{}]: {query}from[{}],size[{}]{}: Parse Failure [{what}]",
            self.index,
            self.shard,
            self.from,
            self.size,
            shown(self.sort, self.mapping)
        )
    }

    fn failure(&self, source: &str, error: SearchError) -> SearchError {
        let inner = if error.kind == Exception::SearchParse {
            SearchError {
                reason: self.reason(&error.reason),
                ..error
            }
        } else {
            error
        };
        SearchError::search(self.reason(&format!("Failed to parse source [{source}]"))).caused_by(inner)
    }
}

/// A shard to search.
pub(crate) struct Target<'a> {
    pub(crate) index: &'a Arc<Index>,
    pub(crate) number: u32,
    pub(crate) shard: &'a Shard,
    pub(crate) filters: &'a [Value],
    /// Boost of the index: a factor of the scores.
    pub(crate) boost: f32,
}

/// Returns the last query of each name, in the order of a hash map.
fn by_name(named: Vec<(String, Query)>) -> Vec<(String, Query)> {
    let last: IndexMap<String, Query> = named.into_iter().collect();
    in_hash_order(last.into_iter().collect(), |(name, _)| name.clone())
}

/// Parses a request for one shard.
///
/// # Errors
/// The failure of the shard, as in the response.
pub(crate) fn prepare(
    cluster: &Cluster,
    request: &SearchRequest,
    target: &Target<'_>,
    statistics: Option<&Statistics>,
) -> Result<Searched> {
    if let Some(error) = &request.failure {
        return Err(error.clone());
    }
    let (names, inner_hits) = (RefCell::default(), RefCell::default());
    let shared: Arc<Mapping> = target.index.mapping().for_types(&request.types);
    let mapping: &Mapping = &shared;
    let context = Context {
        types: &request.types,
        names: Some(&names),
        inner_hits: Some(&inner_hits),
        budget: Some(&request.budget),
        deletes: request.deletes,
        ..target.index.context(mapping, cluster)
    };
    let view = target.shard.view();
    let alone = Corpus::of(mapping, &view, target.shard);
    let corpus = Corpus { statistics, ..alone };
    let weigh = |query: &Query| Weight::of(query, &corpus, &request.budget);
    let mut progress = ParseProgress {
        index: &target.index.name,
        shard: target.number,
        query: None,
        from: -1,
        size: -1,
        sort: &[],
        mapping,
    };
    let mut query: Option<(Query, Weight)> = None;
    let (mut post_filter, mut names_of_filter) = (None, Vec::new());
    for source in &request.sources {
        for element in &source.elements {
            // Only the last query and the last filter have names.
            let kept = names.take();
            let read = match element {
                Element::From(from) => {
                    progress.from = *from;
                    Ok(())
                }
                Element::Size(size) => {
                    progress.size = *size;
                    Ok(())
                }
                Element::Query(query_source) => parse_source(&context, query_source).and_then(|(parsed, left)| {
                    let weight = weigh(&parsed)?;
                    progress.query = Some(label(&parsed));
                    query = Some((parsed, weight));
                    left.check(|| source.beyond_query())
                }),
                Element::PostFilter(body) => context.parse_filter_element(body).and_then(|(parsed, left)| {
                    post_filter = parsed.as_ref().map(weigh).transpose()?;
                    left.check(SearchError::incomplete)
                }),
                Element::Sort(specs) => check_sort(specs, &context).map(|()| progress.sort = &request.sort),
                Element::InvalidSort(specs, error) => check_sort(specs, &context).and_then(|()| Err(error.clone())),
                Element::IndicesBoost => request.boost_of(target.index).map(drop),
                Element::Aggregations => {
                    aggs::check_filters(request.aggregations.as_deref().unwrap_or_default(), &context)
                }
                Element::InnerHits => parse_inner_hits(&context, request.inner_hits.as_ref().unwrap_or(&Value::Null))
                    .map(|parsed| inner_hits.borrow_mut().extend(parsed)),
                Element::Rescore => check_rescore_queries(request, &context),
                Element::Highlight => highlight::check_queries(request.highlight.as_ref(), &context),
                Element::Facets => aggs::facets::check(request.facets.as_ref(), &context),
                Element::ScriptFields => {
                    let mut scripts = request.script_fields.iter();
                    scripts.try_for_each(|(_, script)| script.mapped(mapping).map(drop))
                }
                Element::Suggest => {
                    let wanted = request.suggest.as_ref();
                    wanted.map_or(Ok(()), |wanted| suggest::check(wanted, mapping))
                }
                Element::Invalid(error) => Err(error.clone()),
            };
            match element {
                Element::Query(_) => {}
                Element::PostFilter(_) => names_of_filter = names.replace(kept),
                _ => drop(names.replace(kept)),
            }
            read.map_err(|error| {
                if request.budget.is_exceeded() {
                    error
                } else {
                    progress.failure(&source.text, error)
                }
            })?;
        }
    }
    aggs::check_paths(request.aggregations.as_deref().unwrap_or_default(), &context)?;
    if let Some(wanted) = &request.suggest
        && view.live_docs() > 0
    {
        suggest::check_execution(wanted, mapping)?;
    }
    let plain = target.boost == 1.0 && request.types.is_empty() && target.filters.is_empty() && !mapping.has_nested();
    let (query, weight) = match query {
        Some(parsed) if plain => parsed,
        parsed => {
            let query = match parsed {
                Some((query, _)) => query,
                None => parse_source(&context, &request.query)?.0,
            };
            let mut query = restrict(&context, query, &request.types, target.filters)?;
            if target.boost != 1.0 {
                query = QueryKind::functions(query, vec![ScoreFunction::factor(target.boost)]).into();
            }
            let weight = weigh(&query)?;
            (query, weight)
        }
    };
    let explain = |query: &Query, wanted: bool| {
        let explained = || Explained::new(query, &corpus, &request.budget);
        wanted.then(explained).transpose()
    };
    let explained = explain(&query, request.has_explanations())?;
    let is_limited = !request.types.is_empty() || !target.filters.is_empty();
    let scope = match is_limited && request.has_global() {
        true => Some(weigh(&restrict(
            &context,
            QueryKind::All.into(),
            &request.types,
            target.filters,
        )?)?),
        false => None,
    };
    let outer = Outer {
        cluster,
        request,
        index: target.index,
        context: &context,
        number: target.number,
        view: &view,
        weigh: &|query| Weight::of(query, &alone, &request.budget),
        explain: &explain,
    };
    // They are parsed with the query.
    progress.query = None;
    let inner = prepare_inner(&outer, inner_hits.take()).map_err(|error| match request.sources.last() {
        Some(source) if error.kind == Exception::QueryParsing => progress.failure(&source.text, error),
        _ => error,
    })?;
    let sort_filters = request
        .sort
        .iter()
        .map(|spec| {
            let filter = spec.nested_filter_in(&shared);
            filter.map(|filter| weigh(&context.parse_filter(filter)?)).transpose()
        })
        .collect::<Result<Vec<_>>>()?;
    let named = by_name(names.into_inner())
        .into_iter()
        .chain(by_name(names_of_filter))
        .map(|(name, query)| Ok((name, weigh(&query)?)))
        .collect::<Result<Vec<_>>>()?;
    Ok(Searched {
        index: target.index.clone(),
        mapping: shared.clone(),
        types: request.types.clone(),
        number: target.number,
        view,
        weight,
        query,
        scope,
        explained,
        post_filter,
        named,
        sort_filters,
        inner,
    })
}
