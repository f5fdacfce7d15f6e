//! Facets, the predecessors of aggregations in Elasticsearch 1.5.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::aggs::buckets::{everything, filtered, live_docs};
use crate::aggs::facet_stats::{Range, Stats};
use crate::aggs::histogram::Rounding;
use crate::aggs::values::{Input, Source, kinds};
use crate::aggs::{DocSet, Matches, Scope, geo_facet};
use crate::budget::Budget;
use crate::cluster::Cluster;
use crate::dates::{Fill, parse_math};
use crate::durations::millis;
use crate::error::{Result, SearchError};
use crate::find::{Searched, names};
use crate::mapping::{Kind, truth};

/// One facet of a request: name, type and settings.
pub(super) struct Facet<'a> {
    pub(super) name: &'a str,
    pub(super) kind: &'a str,
    pub(super) settings: &'a Value,
}

pub(super) fn parse<'a>(name: &'a str, definition: &'a Value) -> Result<Facet<'a>> {
    let (kind, settings) = definition
        .as_object()
        .into_iter()
        .flatten()
        .find(|(key, value)| {
            value.is_object()
                && !matches!(
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

    fn order(&self) -> Option<&str> {
        self.text(&["order", "comparator"])
    }

    /// Returns the key field of a histogram facet, which is required.
    pub(super) fn histogram_field(&self) -> Result<&str> {
        let missing = "key field is required to be set for histogram facet, either using [field] or using [key_field]";
        self.key_field().ok_or_else(|| self.refuse(missing))
    }

    pub(super) fn value_field(&self) -> Option<&str> {
        self.text(&["value_field", "valueField"])
    }

    /// Returns the rounding of a numeric histogram. `None` without an interval.
    pub(super) fn numeric_rounding(&self) -> Result<Option<Rounding>> {
        let interval = match self.text(&["time_interval", "timeInterval"]) {
            Some(text) => json!(millis(text)?),
            None => self.settings.get("interval").cloned().unwrap_or_default(),
        };
        Ok(Rounding::parse(&json!({"interval": interval}), false, self.name).ok())
    }

    /// Returns the field and the ranges of a `range` facet.
    pub(super) fn ranges(&self) -> (String, Vec<Value>) {
        match self.settings.get("ranges").and_then(Value::as_array) {
            Some(ranges) => (self.key_field().unwrap_or("").to_owned(), ranges.clone()),
            // The short form names the field as the key of its ranges.
            None => self
                .settings
                .as_object()
                .into_iter()
                .flatten()
                .find_map(|(key, value)| Some((key.clone(), value.as_array()?.clone())))
                .unwrap_or_default(),
        }
    }

    /// Returns the error for invalid settings.
    pub(super) fn refuse(&self, reason: &str) -> SearchError {
        let reason = format!("Facet [{}]: {reason}", self.name);
        SearchError::new(400, "FacetPhaseExecutionException", reason)
    }
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
            all = match facet.kind {
                // Nested objects and documents of other types are counted.
                "query" | "filter" => live_docs(&scope),
                _ => everything(&scope)?,
            };
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
        Source::Constant(text) => vec![json!(text)],
        Source::Nothing => vec![],
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
    let flags = facet.text(&["regex_flags", "regexFlags"]).unwrap_or("");
    let pattern = facet
        .text(&["regex"])
        .map(|pattern| {
            regex::RegexBuilder::new(&format!("^(?:{pattern})$"))
                .case_insensitive(flags.contains("CASE_INSENSITIVE"))
                .size_limit(1 << 20)
                .build()
        })
        .transpose()
        .map_err(|error| SearchError::argument(error.to_string()))?;
    let mut counts: BTreeMap<String, (Value, u64)> = BTreeMap::new();
    let (mut missing, mut total) = (0u64, 0u64);
    for field in &fields {
        if let Some(text) = excluded.iter().find(|text| text.parse::<f64>().is_err())
            && kinds(scope, Input::Field(field)).any(Kind::is_numeric)
        {
            return Err(SearchError {
                status: 500,
                ..SearchError::number(text)
            });
        }
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
    order.sort_by(by_count(facet.order().unwrap_or("count")));
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
    let (key, value) = (
        facet.key_field().unwrap_or_default(),
        facet.value_field().unwrap_or_default(),
    );
    let mut counts: BTreeMap<String, (Value, u64, Stats)> = BTreeMap::new();
    let mut missing = 0u64;
    each(scope, matches, key, |set, source, doc| {
        let numbers = Source::of(scope, set, Input::Field(value))?;
        // Documents without a string key are not counted.
        missing += u64::from(matches!(source, Source::Numbers { .. }) && source.is_missing(doc));
        for term in texts(source, doc) {
            let text = term.as_str().map_or_else(|| term.to_string(), str::to_owned);
            let (_, count, stats) = counts.entry(text).or_insert((term, 0, Stats::default()));
            *count += 1;
            numbers.numbers(doc).for_each(|number| stats.add(number));
        }
        Ok(())
    })?;
    let mut order: Vec<(&String, &(Value, u64, Stats))> = counts.iter().collect();
    let wanted = facet.order().unwrap_or("count");
    order.sort_by(|(a_text, a), (b_text, b)| {
        let ranked = a.2.ranked(&b.2, wanted);
        ranked.then_with(|| by_count(wanted)(&((*a_text).clone(), a.1), &((*b_text).clone(), b.1)))
    });
    order.truncate(size(facet));
    let list: Vec<Value> = order
        .iter()
        .map(|(_, (term, count, stats))| {
            let mut entry = Map::new();
            entry.insert("term".to_owned(), term.clone());
            entry.insert("count".to_owned(), json!(count));
            stats.write_to(&mut entry);
            Value::Object(entry)
        })
        .collect();
    result.insert("missing".to_owned(), json!(missing));
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
        f64::NAN
    } else {
        stats.sum_of_squares / stats.count as f64 - mean * mean
    };
    let number = |value: f64| {
        if value.is_nan() { json!("NaN") } else { json!(value) }
    };
    result.insert("count".to_owned(), json!(stats.count));
    stats.write_to(result);
    result.shift_remove("total_count");
    result.insert("sum_of_squares".to_owned(), json!(stats.sum_of_squares));
    result.insert("variance".to_owned(), number(variance));
    result.insert("std_deviation".to_owned(), number(variance.sqrt()));
    Ok(())
}

fn ranges(scope: &Scope<'_>, facet: &Facet<'_>, matches: &Matches, result: &mut Map<String, Value>) -> Result<()> {
    let (field, ranges) = facet.ranges();
    let mapped = scope
        .searched
        .iter()
        .find_map(|searched| searched.mapping.field(&field));
    let read = |text: &str| {
        let field_type = &mapped?.field_type;
        match field_type.kind {
            Kind::Date => parse_math(text, &field_type.format, scope.now, Fill::Floor, 0)
                .ok()
                .map(|time| time as f64),
            _ => Some(field_type.decode(field_type.encode_text(text).ok()?)),
        }
    };
    let values = facet.value_field().filter(|values| *values != field);
    let mut list = Vec::new();
    for definition in &ranges {
        let range = Range::read(definition, read);
        let (mut count, mut stats) = (0u64, Stats::default());
        each(scope, matches, &field, |set, source, doc| {
            let Some(first) = source.numbers(doc).find(|number| range.has(*number)) else {
                return Ok(());
            };
            count += 1;
            match values {
                None => stats.add(first),
                Some(values) => {
                    let source = Source::of(scope, set, Input::Field(values))?;
                    source.numbers(doc).for_each(|number| stats.add(number));
                }
            }
            Ok(())
        })?;
        let mut entry = range.to_json(count);
        for (name, text) in [("from_str", "from"), ("to_str", "to")] {
            let text = definition.get(text).filter(|text| text.is_string());
            entry.extend(text.map(|text| (name.to_owned(), text.clone())));
        }
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
    let rounding = match facet.numeric_rounding()?.filter(|_| !dates) {
        Some(rounding) => rounding,
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
    let mut entries: Vec<(i64, (u64, Stats))> = entries.into_iter().collect();
    match facet.order() {
        Some("count") => entries.sort_by_key(|(_, (count, _))| *count),
        Some("total") => entries.sort_by(|(_, (_, a)), (_, (_, b))| a.total.total_cmp(&b.total)),
        _ => {}
    }
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
