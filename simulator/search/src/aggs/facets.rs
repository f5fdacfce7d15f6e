//! Facets, the predecessors of aggregations in Elasticsearch 1.5.
//!
//! - Guarantees: the terms of each shard are ranked and cut before those of all shards are; what no document decides is
//!   refused in the parse phase.
//! - Limits: scripts are expressions, and none changes the terms of a field.
//!
//! Source: Elasticsearch 1.5's facets.

mod checks;
mod geo;
mod histogram;
mod order;
mod range;
mod settings;
mod statistical;
mod stats;
mod terms;
mod terms_stats;

use serde_json::{Map, Value, json};

use crate::aggs::buckets::{everything, filtered, live_docs};
use crate::aggs::values::{Input, Source};
use crate::aggs::{DocSet, Matches, Scope, join};
use crate::budget::Budget;
use crate::cluster::Cluster;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::find::Searched;
use crate::json::{is_scalar, java_text, spread_members};
use crate::mapping::truth;
use crate::query::Context;
use crate::script::Script;

/// A facet of a request.
struct Facet<'a> {
    kind: Kind<'a>,
    /// Filter of the documents.
    filter: Option<&'a Value>,
    /// Whether it is over all documents instead of those that match.
    is_global: bool,
    /// Whether the documents are collected first. Then all documents are those of other types and nested objects, too.
    is_after: bool,
    /// Path of the nested objects that it is over, instead of the documents.
    nested: Option<String>,
}

/// What a facet computes.
enum Kind<'a> {
    Query(&'a Value),
    Filter(&'a Value),
    Terms(terms::Terms),
    TermsStats(terms_stats::TermsStats),
    Statistical(statistical::Statistical),
    Histogram(histogram::Histogram),
    Range(range::Range),
    GeoDistance(geo::GeoDistance),
}

impl<'a> Kind<'a> {
    /// Parses the settings of a kind of facet.
    fn parse(name: &str, kind: &str, settings: &'a Value) -> Result<Kind<'a>> {
        let no_members = Map::new();
        let members = settings.as_object().unwrap_or(&no_members);
        Ok(match kind {
            "query" => Kind::Query(settings),
            "filter" => Kind::Filter(settings),
            "terms" => Kind::Terms(terms::Terms::parse(name, members)?),
            "terms_stats" | "termsStats" => Kind::TermsStats(terms_stats::TermsStats::parse(name, members)?),
            "statistical" => Kind::Statistical(statistical::Statistical::parse(name, members)?),
            "histogram" => Kind::Histogram(histogram::Histogram::of_numbers(name, members)?),
            "date_histogram" | "dateHistogram" => Kind::Histogram(histogram::Histogram::of_dates(name, members)?),
            "range" => Kind::Range(range::Range::parse(name, members)?),
            "geo_distance" | "geoDistance" => Kind::GeoDistance(geo::GeoDistance::parse(name, members)?),
            _ => return Err(SearchError::search(format!("No facet type found for [{kind}]"))),
        })
    }

    /// Name in responses.
    fn name(&self) -> &'static str {
        match self {
            Kind::Query(_) => "query",
            Kind::Filter(_) => "filter",
            Kind::Terms(_) => "terms",
            Kind::TermsStats(_) => "terms_stats",
            Kind::Statistical(_) => "statistical",
            Kind::Histogram(histogram) => histogram.name(),
            Kind::Range(_) => "range",
            Kind::GeoDistance(_) => "geo_distance",
        }
    }
}

impl<'a> Facet<'a> {
    /// Parses a facet, and checks its fields if there is a `context`. Of several kinds, the last one counts.
    fn parse(name: &str, definition: &'a Value, context: Option<&Context<'_>>) -> Result<Facet<'a>> {
        let (mut kind, mut filter, mut is_global, mut is_after, mut nested) = (None, None, false, None, None);
        for (key, value) in definition.as_object().into_iter().flat_map(spread_members) {
            match (key.as_str(), value) {
                ("facet_filter" | "facetFilter", Value::Object(_)) => {
                    context.map(|context| context.parse_filter(value)).transpose()?;
                    filter = Some(value);
                }
                (_, Value::Object(_)) => {
                    let parsed = Kind::parse(name, key, value)?;
                    context
                        .map(|context| checks::check(name, &parsed, context))
                        .transpose()?;
                    kind = Some(parsed);
                }
                (_, value) if !is_scalar(value) => {}
                ("global", _) => is_global = truth(value),
                ("nested", _) => nested = Some(java_text(value)),
                ("scope" | "_scope", _) => {
                    return Err(SearchError::search("the [scope] support in facets have been removed"));
                }
                ("mode", _) => {
                    is_after = match java_text(value).as_str() {
                        "collector" => Some(false),
                        "post" => Some(true),
                        mode => return Err(SearchError::illegal(format!("failed to parse facet mode [{mode}]"))),
                    }
                }
                _ => {}
            }
        }
        if let (Some(context), Some(path)) = (context, &nested) {
            checks::check_nested(path, context)?;
        }
        let kind = kind.ok_or_else(|| SearchError::search(format!("no facet type found for facet named [{name}]")))?;
        Ok(Facet {
            is_after: is_after.unwrap_or(matches!(kind, Kind::Query(_) | Kind::Filter(_))),
            kind,
            filter,
            is_global,
            nested,
        })
    }
}

/// Fails for facets that cannot be parsed, or whose fields an index does not have.
pub(crate) fn check(wanted: Option<&Value>, context: &Context<'_>) -> Result<()> {
    for (name, definition) in wanted.and_then(Value::as_object).into_iter().flatten() {
        Facet::parse(name, definition, Some(context))?;
    }
    Ok(())
}

/// Computes the facets of the matching documents.
///
/// # Errors
/// A facet that cannot be computed, or that has too many entries.
pub(crate) fn facets(
    cluster: &Cluster,
    searched: &[Searched],
    wanted: &Value,
    matches: &Matches,
    budget: &Budget,
) -> Result<Value> {
    let scope = Scope::new(cluster, searched, budget);
    let mut result = Map::new();
    for (name, definition) in wanted.as_object().into_iter().flatten() {
        let facet = Facet::parse(name, definition, None)?;
        let mut narrowed;
        let mut own = matches;
        if facet.is_global {
            narrowed = match facet.is_after {
                true => live_docs(&scope),
                false => everything(&scope)?,
            };
            own = &narrowed;
        }
        if let Some(path) = &facet.nested {
            narrowed = join::nested_objects(&scope, path, own)?;
            own = &narrowed;
        }
        if let Some(filter) = facet.filter {
            narrowed = filtered(&scope, filter, own, true)?;
            own = &narrowed;
        }
        let mut answer = compute(&scope, &facet.kind, own)?;
        answer.shift_insert(0, "_type".to_owned(), json!(facet.kind.name()));
        result.insert(name.clone(), answer.into());
    }
    Ok(result.into())
}

fn compute(scope: &Scope<'_>, kind: &Kind<'_>, matches: &Matches) -> Result<Map<String, Value>> {
    let count = |query: &Value, is_filter| -> Result<Map<String, Value>> {
        let count = filtered(scope, query, matches, is_filter)?.count();
        Ok(Map::from_iter([("count".to_owned(), json!(count))]))
    };
    match kind {
        Kind::Query(query) => count(query, false),
        Kind::Filter(filter) => count(filter, true),
        Kind::Terms(terms) => terms.compute(scope, matches),
        Kind::TermsStats(terms) => terms.compute(scope, matches),
        Kind::Statistical(statistical) => statistical.compute(scope, matches),
        Kind::Histogram(histogram) => histogram.compute(scope, matches),
        Kind::Range(range) => range.compute(scope, matches),
        Kind::GeoDistance(distances) => distances.compute(scope, matches),
    }
}

/// Where a facet gets values from.
enum Values {
    Field(String),
    Script(Script),
}

impl Values {
    /// Returns the field. `None` for a script.
    fn field(&self) -> Option<&str> {
        match self {
            Values::Field(field) => Some(field),
            Values::Script(_) => None,
        }
    }

    fn input(&self) -> Input<'_> {
        match self {
            Values::Field(field) => Input::Field(field),
            Values::Script(script) => Input::Script(script, crate::mapping::Kind::Double),
        }
    }
}

/// Returns the error for invalid settings.
fn refuse(name: &str, reason: &str) -> SearchError {
    let reason = format!("Facet [{name}]: {reason}");
    SearchError::new(400, Exception::FacetPhaseExecution, reason)
}

/// Calls `visit` with the values of each document, set by set, and those of the second input, if there is one.
fn each(
    scope: &Scope<'_>,
    matches: &Matches,
    keys: Input<'_>,
    values: Option<Input<'_>>,
    mut visit: impl FnMut(&DocSet, u32, &Source, &Source) -> Result<()>,
) -> Result<()> {
    for set in &matches.sets {
        scope.budget.check_time()?;
        let keys = Source::of(scope, set, keys)?;
        let values = values.map_or(Ok(Source::Nothing), |values| Source::of(scope, set, values))?;
        set.docs.iter().try_for_each(|doc| visit(set, *doc, &keys, &values))?;
    }
    Ok(())
}
