//! Facets, the predecessors of aggregations in Elasticsearch 1.5.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::aggs::buckets::{everything, filtered};
use crate::aggs::facet_stats::{Range, Stats};
use crate::aggs::histogram::Rounding;
use crate::aggs::values::{Input, Source};
use crate::aggs::{DocSet, Matches, Scope, geo_facet};
use crate::budget::Budget;
use crate::cluster::Cluster;
use crate::durations::time;
use crate::error::{Result, SearchError};
use crate::find::{Searched, names};
use crate::mapping::truth;
use crate::query::Context;

/// One facet of a request: name, type and settings.
pub(super) struct Facet<'a> {
    name: &'a str,
    kind: &'a str,
    pub(super) settings: &'a Value,
}

fn parse<'a>(name: &'a str, definition: &'a Value) -> Result<Facet<'a>> {
    let (kind, settings) = definition
        .as_object()
        .into_iter()
        .flatten()
        .find(|(key, _)| {
            !matches!(
                key.as_str(),
                "facet_filter"
                    | "facetFilter"
                    | "global"
                    | "mode"
                    | "scope"
                    | "nested"
                    | "cache_filter"
                    | "cacheFilter"
            )
        })
        .ok_or_else(|| SearchError::search(format!("no facet type found for facet named [{name}]")))?;
    if !matches!(
        kind.as_str(),
        "terms"
            | "date_histogram"
            | "histogram"
            | "query"
            | "filter"
            | "statistical"
            | "terms_stats"
            | "range"
            | "geo_distance"
    ) {
        return Err(SearchError::search(format!("No facet type found for [{kind}]")));
    }
    Ok(Facet { name, kind, settings })
}

impl Facet<'_> {
    pub(super) fn text(&self, keys: &[&str]) -> Option<&str> {
        keys.iter()
            .find_map(|key| self.settings.get(*key))
            .and_then(Value::as_str)
    }

    fn key_field(&self) -> Option<&str> {
        self.text(&["key_field", "keyField", "field"])
    }

    /// Returns the key field of a histogram facet, which is required.
    fn histogram_field(&self) -> Result<&str> {
        let missing = "key field is required to be set for histogram facet, either using [field] or using [key_field]";
        self.key_field().ok_or_else(|| self.refuse(missing))
    }

    pub(super) fn value_field(&self) -> Option<&str> {
        self.text(&["value_field", "valueField"])
    }

    /// Returns the error for invalid settings.
    pub(super) fn refuse(&self, reason: &str) -> SearchError {
        let reason = format!("Facet [{}]: {reason}", self.name);
        SearchError::new(400, "FacetPhaseExecutionException", reason)
    }
}

/// Validates facets before the search.
///
/// # Errors
/// A facet that cannot be parsed, or a field that is not mapped or not numeric.
pub(crate) fn check(wanted: Option<&Value>, context: &Context<'_>) -> Result<()> {
    for (name, definition) in wanted.and_then(Value::as_object).into_iter().flatten() {
        let facet = parse(name, definition)?;
        let fields: Vec<&str> = match facet.kind {
            "date_histogram" | "histogram" => {
                let field = facet.histogram_field()?;
                let intervals = ["interval", "time_interval", "timeInterval"];
                if intervals.iter().all(|key| facet.settings.get(*key).is_none()) {
                    return Err(facet.refuse("[interval] is required to be set for histogram facet"));
                }
                [field].into_iter().chain(facet.value_field()).collect()
            }
            "range" => facet.key_field().into_iter().chain(facet.value_field()).collect(),
            "geo_distance" => geo_facet::check(&facet, context)?,
            "terms_stats" | "statistical" => {
                let field = facet.text(&["field"]).filter(|_| facet.kind == "statistical");
                facet.value_field().into_iter().chain(field).collect()
            }
            _ => vec![],
        };
        for field in fields {
            match context.mapped(field) {
                None if facet.kind == "histogram" => {
                    return Err(facet.refuse(&format!("No mapping found for key_field [{field}]")));
                }
                None if facet.kind == "statistical" => {
                    return Err(facet.refuse(&format!("No mapping found for field [{field}]")));
                }
                None => return Err(facet.refuse(&format!("(key) field [{field}] not found"))),
                Some(mapped) if !mapped.field_type.kind.is_numeric() => return Err(SearchError::no_numbers()),
                Some(_) => {}
            }
        }
    }
    Ok(())
}

/// Computes the facets of the matching documents.
///
/// # Errors
/// A facet that cannot be parsed.
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
        let facet = parse(name, definition)?;
        let all;
        let mut own = if definition.get("global").is_some_and(truth) {
            all = everything(&scope)?;
            &all
        } else {
            matches
        };
        let narrowed;
        if let Some(filter) = definition.get("facet_filter").or_else(|| definition.get("facetFilter")) {
            narrowed = filtered(&scope, filter, own, true)?;
            own = &narrowed;
        }
        let mut answer = compute(&scope, &facet, own)?;
        answer.shift_insert(0, "_type".to_owned(), json!(facet.kind));
        result.insert(name.clone(), answer.into());
    }
    Ok(result.into())
}

fn compute(scope: &Scope<'_>, facet: &Facet<'_>, matches: &Matches) -> Result<Map<String, Value>> {
    let mut result = Map::new();
    match facet.kind {
        "query" | "filter" => {
            let count = filtered(scope, facet.settings, matches, facet.kind == "filter")?.count();
            result.insert("count".to_owned(), json!(count));
        }
        "terms" => terms(scope, facet, matches, &mut result)?,
        "terms_stats" => terms_stats(scope, facet, matches, &mut result)?,
        "statistical" => statistical(scope, facet, matches, &mut result)?,
        "range" => ranges(scope, facet, matches, &mut result)?,
        "geo_distance" => geo_facet::distances(scope, facet, matches, &mut result)?,
        _ => histogram(scope, facet, matches, &mut result)?,
    }
    Ok(result)
}

/// Returns the values of a document as JSON strings or numbers.
fn texts(source: &Source, doc: u32) -> Vec<Value> {
    match source {
        Source::Terms(terms) => terms
            .of(doc)
            .iter()
            .map(|ordinal| json!(terms.term(*ordinal)))
            .collect(),
        Source::Numbers { kind, .. } if kind.is_floating() => source.numbers(doc).map(|number| json!(number)).collect(),
        Source::Numbers { values, .. } => values.of(doc).iter().map(|number| json!(number)).collect(),
        _ => vec![],
    }
}

pub(super) fn each(
    scope: &Scope<'_>,
    matches: &Matches,
    field: &str,
    mut visit: impl FnMut(&DocSet, &Source, u32) -> Result<()>,
) -> Result<()> {
    for set in &matches.sets {
        let source = Source::of(scope, set, Input::Field(field))?;
        set.docs.iter().try_for_each(|doc| visit(set, &source, *doc))?;
    }
    Ok(())
}

/// Compares terms by the `order` of a facet; the default order breaks ties by descending term.
fn by_count(order: &str) -> impl Fn(&(String, u64), &(String, u64)) -> std::cmp::Ordering + '_ {
    move |a, b| match order {
        "term" => a.0.cmp(&b.0),
        "reverse_term" | "reverseTerm" => b.0.cmp(&a.0),
        "reverse_count" | "reverseCount" => a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)),
        _ => b.1.cmp(&a.1).then_with(|| b.0.cmp(&a.0)),
    }
}

fn size(facet: &Facet<'_>) -> usize {
    facet
        .settings
        .get("size")
        .and_then(Value::as_u64)
        .and_then(|size| usize::try_from(size).ok())
        .map_or(10, |size| if size == 0 { usize::MAX } else { size })
}

fn terms(scope: &Scope<'_>, facet: &Facet<'_>, matches: &Matches, result: &mut Map<String, Value>) -> Result<()> {
    let fields = match facet.settings.get("fields") {
        Some(fields) => names(fields),
        None => facet.key_field().map(str::to_owned).into_iter().collect(),
    };
    let excluded = facet.settings.get("exclude").map(names).unwrap_or_default();
    let pattern = facet
        .text(&["regex"])
        .map(|pattern| regex::Regex::new(&format!("^(?:{pattern})$")))
        .transpose()
        .map_err(|error| SearchError::argument(error.to_string()))?;
    let mut counts: BTreeMap<String, (Value, u64)> = BTreeMap::new();
    let (mut missing, mut total) = (0u64, 0u64);
    for field in &fields {
        each(scope, matches, field, |_, source, doc| {
            let values = texts(source, doc);
            missing += u64::from(values.is_empty());
            for value in values {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                total += 1;
                if !excluded.contains(&text) && pattern.as_ref().is_none_or(|pattern| pattern.is_match(&text)) {
                    counts.entry(text).or_insert((value, 0)).1 += 1;
                }
            }
            Ok(())
        })?;
    }
    let mut order: Vec<(String, u64)> = counts.iter().map(|(text, (_, count))| (text.clone(), *count)).collect();
    order.sort_by(by_count(facet.text(&["order"]).unwrap_or("count")));
    order.truncate(size(facet));
    let kept: u64 = order.iter().map(|(_, count)| *count).sum();
    let list: Vec<Value> = order
        .iter()
        .filter_map(|(text, count)| Some(json!({"term": counts.get(text)?.0, "count": count})))
        .collect();
    result.insert("missing".to_owned(), json!(missing));
    result.insert("total".to_owned(), json!(total));
    result.insert("other".to_owned(), json!(total - kept));
    result.insert("terms".to_owned(), list.into());
    Ok(())
}

fn terms_stats(scope: &Scope<'_>, facet: &Facet<'_>, matches: &Matches, result: &mut Map<String, Value>) -> Result<()> {
    let (Some(key), Some(value)) = (facet.key_field(), facet.value_field()) else {
        return Err(SearchError::search(format!(
            "[key_field] and [value_field] are required for facet [{}]",
            facet.name
        )));
    };
    let mut counts: BTreeMap<String, (Value, u64, Stats)> = BTreeMap::new();
    each(scope, matches, key, |set, source, doc| {
        let numbers = Source::of(scope, set, Input::Field(value))?;
        for term in texts(source, doc) {
            let text = term.as_str().map_or_else(|| term.to_string(), str::to_owned);
            let (_, count, stats) = counts.entry(text).or_insert((term, 0, Stats::default()));
            *count += 1;
            numbers.numbers(doc).for_each(|number| stats.add(number));
        }
        Ok(())
    })?;
    let mut order: Vec<(String, u64)> = counts
        .iter()
        .map(|(text, (_, count, _))| (text.clone(), *count))
        .collect();
    order.sort_by(by_count(facet.text(&["order"]).unwrap_or("count")));
    order.truncate(size(facet));
    let list: Vec<Value> = order
        .iter()
        .filter_map(|(text, _)| counts.get(text))
        .map(|(term, count, stats)| {
            json!({
                "term": term,
                "count": count,
                "total_count": stats.count,
                "min": stats.min,
                "max": stats.max,
                "total": stats.total,
                "mean": stats.mean(),
            })
        })
        .collect();
    result.insert("missing".to_owned(), json!(0));
    result.insert("terms".to_owned(), list.into());
    Ok(())
}

fn statistical(scope: &Scope<'_>, facet: &Facet<'_>, matches: &Matches, result: &mut Map<String, Value>) -> Result<()> {
    let fields = match facet.settings.get("fields") {
        Some(fields) => names(fields),
        None => facet.key_field().map(str::to_owned).into_iter().collect(),
    };
    let mut stats = Stats::default();
    for field in &fields {
        each(scope, matches, field, |_, source, doc| {
            source.numbers(doc).for_each(|number| stats.add(number));
            Ok(())
        })?;
    }
    let mean = stats.mean();
    let variance = if stats.count == 0 {
        0.0
    } else {
        stats.sum_of_squares / stats.count as f64 - mean * mean
    };
    result.insert("count".to_owned(), json!(stats.count));
    stats.write_to(result);
    result.shift_remove("total_count");
    result.insert("sum_of_squares".to_owned(), json!(stats.sum_of_squares));
    result.insert("variance".to_owned(), json!(variance));
    result.insert("std_deviation".to_owned(), json!(variance.max(0.0).sqrt()));
    Ok(())
}

fn ranges(scope: &Scope<'_>, facet: &Facet<'_>, matches: &Matches, result: &mut Map<String, Value>) -> Result<()> {
    let settings = facet.settings;
    let (field, ranges) = match settings.get("ranges").and_then(Value::as_array) {
        Some(ranges) => (facet.key_field().unwrap_or("").to_owned(), ranges.clone()),
        // The short form names the field as the key of its ranges.
        None => settings
            .as_object()
            .into_iter()
            .flatten()
            .find_map(|(key, value)| Some((key.clone(), value.as_array()?.clone())))
            .unwrap_or_default(),
    };
    let values = facet.value_field().unwrap_or(&field).to_owned();
    let mut list = Vec::new();
    for range in ranges.iter().map(Range::parse) {
        let (mut count, mut stats) = (0u64, Stats::default());
        each(scope, matches, &field, |set, source, doc| {
            if source.numbers(doc).any(|number| range.has(number)) {
                count += 1;
                Source::of(scope, set, Input::Field(&values))?
                    .numbers(doc)
                    .for_each(|number| stats.add(number));
            }
            Ok(())
        })?;
        let mut entry = range.to_json(count);
        if stats.count == 0 {
            entry.insert("total_count".to_owned(), json!(0));
            entry.insert("total".to_owned(), json!(0.0));
            entry.insert("mean".to_owned(), json!(0.0));
        } else {
            stats.write_to(&mut entry);
        }
        list.push(Value::Object(entry));
    }
    result.insert("ranges".to_owned(), list.into());
    Ok(())
}

fn histogram(scope: &Scope<'_>, facet: &Facet<'_>, matches: &Matches, result: &mut Map<String, Value>) -> Result<()> {
    let dates = facet.kind == "date_histogram";
    let interval = facet.text(&["time_interval", "timeInterval"]).map(time).transpose()?;
    let rounding = match interval.filter(|_| !dates) {
        Some(interval) => Rounding::parse(&json!({"interval": interval.as_millis() as u64}), false, facet.name)?,
        None => Rounding::parse(facet.settings, dates, facet.name)?,
    };
    let field = facet.histogram_field()?;
    let mut entries: BTreeMap<i64, (u64, Stats)> = BTreeMap::new();
    each(scope, matches, field, |set, source, doc| {
        for number in source.numbers(doc) {
            let (count, stats) = entries.entry(rounding.key(number.floor() as i64)).or_default();
            *count += 1;
            if let Some(values) = facet.value_field() {
                Source::of(scope, set, Input::Field(values))?
                    .numbers(doc)
                    .for_each(|number| stats.add(number));
            }
        }
        Ok(())
    })?;
    let list: Vec<Value> = entries
        .into_iter()
        .map(|(key, (count, stats))| {
            let mut entry = Map::new();
            entry.insert(if dates { "time" } else { "key" }.to_owned(), json!(key));
            entry.insert("count".to_owned(), json!(count));
            if facet.value_field().is_some() {
                stats.write_to(&mut entry);
            }
            Value::Object(entry)
        })
        .collect();
    result.insert("entries".to_owned(), list.into());
    Ok(())
}
