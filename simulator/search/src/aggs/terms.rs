//! The `terms` aggregation.

use std::cmp::Ordering;
use std::collections::HashMap;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::aggs::include_exclude::IncludeExclude;
use crate::aggs::order::{By, Order, compare_values, orders};
use crate::aggs::values::{Input, Source, ValueFormatter, formatter, input_of, numeric_mismatch, plain};
use crate::aggs::{Aggregation, DocSet, Matches, Scope, bucket};
use crate::error::{Result, SearchError};
use crate::json;
use crate::mapping::{truth, unsortable};

/// A term: a string, or an encoded number and whether it is floating-point.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Key {
    Number(i64, bool),
    Text(Box<str>),
}

/// Validates the settings that are independent of the mapping.
pub(super) fn check(name: &str, settings: &Value) -> Result<()> {
    orders(name, settings)?;
    check_counts(500, settings)?;
    let mode = ["collect_mode", "collectMode"]
        .iter()
        .find_map(|key| settings.get(*key));
    match mode.and_then(Value::as_str) {
        None | Some("depth_first" | "breadth_first") => Ok(()),
        Some(mode) => Err(SearchError::parse(format!("No collect_mode found for value [{mode}]"))),
    }
}

/// Checks the numbers of documents and terms. `status` is that of the error.
///
/// # Errors
/// A number below 0.
pub(super) fn check_counts(status: u16, settings: &Value) -> Result<()> {
    let below_zero = |keys: [&str; 2]| {
        let value = keys.iter().find_map(|key| settings.get(*key));
        value
            .and_then(|value| json::int(value, json::BODY).ok())
            .is_some_and(|value| value < 0)
    };
    if below_zero(["size", "size"]) || below_zero(["min_doc_count", "minDocCount"]) {
        return Err(SearchError::new(
            status,
            "ElasticsearchException",
            "parameters [requiredSize] and [minDocCount] must be >=0 in terms aggregation.",
        ));
    }
    Ok(())
}

/// Fails if the aggregation of texts has an execution hint that is none of `known`, those of the Java class `factory`.
pub(super) fn check_hint(
    scope: &Scope<'_>,
    aggregation: &Aggregation,
    input: Input<'_>,
    known: &[&str],
    factory: &str,
) -> Result<()> {
    let settings = &aggregation.settings;
    let mut hints = ["execution_hint", "executionHint"].iter();
    let hint = hints.find_map(|key| settings.get(*key)).and_then(Value::as_str);
    match hint.filter(|hint| !known.contains(hint)) {
        Some(hint) if numeric_mismatch(scope, input) => Err(SearchError::illegal(format!(
            "Unknown `execution_hint`: [{hint}], expected any of \
             [Lorg.elasticsearch.search.aggregations.bucket.{factory}$ExecutionMode;@1"
        ))),
        _ => Ok(()),
    }
}

/// A term with its count, the error bound of the count, and its bucket if it is sorted by a sub-aggregation.
struct Candidate {
    key: Key,
    count: u64,
    error: u64,
    bucket: Option<Value>,
    /// Values of sub-aggregations to sort by: one per criterion, `None` for other criteria.
    values: Vec<Option<f64>>,
}

/// Compares two candidates by the orders of a request, then by term.
fn compare(orders: &[Order], a: &Candidate, b: &Candidate) -> Ordering {
    for (at, order) in orders.iter().enumerate() {
        let plain = |way: Ordering| if order.descending { way.reverse() } else { way };
        let way = match &order.by {
            By::Count => plain(a.count.cmp(&b.count)),
            By::Term => plain(a.key.cmp(&b.key)),
            By::SubAggregation(_) => {
                let value = |candidate: &Candidate| candidate.values.get(at).copied().flatten().unwrap_or(f64::NAN);
                compare_values(value(a), value(b), order.descending)
            }
        };
        if way != Ordering::Equal {
            return way;
        }
    }
    a.key.cmp(&b.key)
}

/// Returns the default `shard_size`.
pub(super) fn suggested_shard_size(size: usize, shards: usize) -> usize {
    if shards <= 1 {
        size
    } else {
        size.saturating_mul(shards.min(10)).max(10)
    }
}

/// Computes `terms`: one bucket per term. Default order: descending by document count.
pub(super) fn terms(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let settings = &aggregation.settings;
    let field = input_of(aggregation)?;
    let number = |keys: [&str; 2]| {
        keys.iter()
            .find_map(|key| settings.get(*key))
            .and_then(|value| u64::try_from(json::int(value, json::BODY).ok()?).ok())
    };
    let all = |size: u64| match usize::try_from(size).unwrap_or(usize::MAX) {
        0 => usize::MAX,
        size => size,
    };
    let size = all(number(["size", "size"]).unwrap_or(10));
    let min_doc_count = number(["min_doc_count", "minDocCount"]).unwrap_or(1);
    let shard_min_doc_count = number(["shard_min_doc_count", "shardMinDocCount"]).unwrap_or(0);
    let mut include_exclude = IncludeExclude::parse(settings)?;
    let orders = orders(&aggregation.name, settings)?;
    const HINTS: [&str; 4] = [
        "map",
        "global_ordinals",
        "global_ordinals_hash",
        "global_ordinals_low_cardinality",
    ];
    check_hint(scope, aggregation, field, &HINTS, "terms.TermsAggregatorFactory")?;
    orders
        .iter()
        .try_for_each(|order| order.check(&aggregation.sub_aggregations))?;
    let formatter = formatter(scope, aggregation)?;
    let shards = scope.searched.len();
    let by_count = matches!(
        orders.as_slice(),
        [Order {
            by: By::Count,
            descending: true
        }]
    );
    let by_term = matches!(orders.as_slice(), [Order { by: By::Term, .. }]);
    // Terms in their own order need no others to be counted rightly.
    let default_size = || {
        if by_term {
            size
        } else {
            suggested_shard_size(size, shards)
        }
    };
    let shard_size = number(["shard_size", "shardSize"])
        .map_or_else(default_size, all)
        .max(size);
    let mut merged: HashMap<Key, (u64, u64)> = HashMap::new();
    let (mut other, mut error, mut unbounded) = (0u64, 0u64, false);
    for shard in 0..shards {
        let mut counts: IndexMap<Key, u64> = IndexMap::new();
        for set in matches.sets.iter().filter(|set| set.index == shard) {
            count(scope, set, field, &mut counts)?;
        }
        if min_doc_count == 0 && scope.collects(matches, shard) {
            add_unmatched(scope, shard, field, &mut counts)?;
        }
        if counts.keys().any(|key| matches!(key, Key::Number(..))) {
            include_exclude.read_numbers()?;
        }
        counts.retain(|key, _| include_exclude.accepts(&text(key, &formatter)));
        let mut own: Vec<Candidate> = counts
            .into_iter()
            .map(|(key, count)| Candidate {
                key,
                count,
                error: 0,
                bucket: None,
                values: vec![],
            })
            .collect();
        own.retain(|candidate| {
            let is_kept = candidate.count >= shard_min_doc_count;
            other += if is_kept { 0 } else { candidate.count };
            is_kept
        });
        let full = own.len() >= shard_size;
        let ordered = orders.iter().all(|order| !matches!(order.by, By::SubAggregation(..)));
        let mut own_error = 0;
        if ordered && full {
            own.sort_by(|a, b| compare(&orders, a, b));
            let rest = own.split_off(shard_size.min(own.len()));
            other += rest.iter().map(|candidate| candidate.count).sum::<u64>();
        }
        if full && !by_term {
            if by_count {
                own_error = own.last().map_or(0, |candidate| candidate.count);
            } else {
                unbounded = true;
            }
        }
        error += own_error;
        for candidate in own {
            let (count, known) = merged.entry(candidate.key).or_default();
            *count += candidate.count;
            // The error of the shards that returned the term, subtracted below: a shard that returns it adds no
            // error.
            *known += own_error;
        }
    }
    let single = shards <= 1;
    let total_error = error;
    let mut buckets: Vec<Candidate> = merged
        .into_iter()
        .filter(|(_, (count, _))| *count >= min_doc_count)
        .map(|(key, (count, known))| Candidate {
            key,
            count,
            error: if single { 0 } else { total_error - known },
            bucket: None,
            values: vec![],
        })
        .collect();
    let nothing = Matches::default();
    if orders.iter().any(|order| matches!(order.by, By::SubAggregation(..))) {
        // The sort needs the sub-aggregations of all buckets.
        scope.spend(buckets.len())?;
        let groups = grouped(scope, matches, field, buckets.iter().map(|candidate| &candidate.key))?;
        for candidate in &mut buckets {
            let group = groups.get(&candidate.key).unwrap_or(&nothing);
            let below = &aggregation.sub_aggregations;
            let bucket = bucket(scope, below, head(&candidate.key, &formatter), group)?;
            candidate.values = orders.iter().map(|order| order.value(Some(&bucket), below)).collect();
            candidate.bucket = Some(bucket);
        }
    }
    buckets.sort_by(|a, b| compare(&orders, a, b));
    let rest = buckets.split_off(size.min(buckets.len()));
    other += rest.iter().map(|candidate| candidate.count).sum::<u64>();
    scope.spend(buckets.len())?;
    let shows_error = ["show_term_doc_count_error", "showTermDocCountError"]
        .iter()
        .find_map(|key| settings.get(*key))
        .is_some_and(truth);
    let plain = aggregation.sub_aggregations.is_empty();
    let wanted = buckets.iter().filter(|candidate| candidate.bucket.is_none() && !plain);
    let groups = grouped(scope, matches, field, wanted.map(|candidate| &candidate.key))?;
    let buckets = buckets
        .into_iter()
        .map(|candidate| {
            let mut body = match candidate.bucket {
                Some(bucket) => bucket,
                None if plain => {
                    let mut head = head(&candidate.key, &formatter);
                    head.insert("doc_count".to_owned(), json!(candidate.count));
                    Value::Object(head)
                }
                None => bucket(
                    scope,
                    &aggregation.sub_aggregations,
                    head(&candidate.key, &formatter),
                    groups.get(&candidate.key).unwrap_or(&nothing),
                )?,
            };
            if shows_error {
                body["doc_count_error_upper_bound"] = match unbounded {
                    true => json!(-1),
                    false => json!(candidate.error),
                };
            }
            Ok(body)
        })
        .collect::<Result<Vec<_>>>()?;
    let bound = match (unbounded, single) {
        (true, _) => json!(-1),
        (false, true) => json!(0),
        (false, false) => json!(error),
    };
    Ok(json!({"doc_count_error_upper_bound": bound, "sum_other_doc_count": other, "buckets": buckets}))
}

/// Returns a term as `include`, `exclude` and ties compare it.
pub(super) fn text(key: &Key, formatter: &ValueFormatter) -> String {
    match key {
        Key::Text(text) => text.to_string(),
        Key::Number(encoded, floating) => {
            let number = if *floating {
                unsortable(*encoded)
            } else {
                *encoded as f64
            };
            formatter.text(number).unwrap_or_else(|| plain(number).to_string())
        }
    }
}

/// Returns the start of a bucket: its key.
pub(super) fn head(key: &Key, formatter: &ValueFormatter) -> Map<String, Value> {
    let mut head = Map::new();
    match key {
        Key::Text(text) => drop(head.insert("key".to_owned(), json!(text))),
        Key::Number(encoded, floating) => {
            let (key, number) = if *floating {
                (json::floating(unsortable(*encoded)), unsortable(*encoded))
            } else {
                (json!(encoded), *encoded as f64)
            };
            head.insert("key".to_owned(), key);
            if let Some(text) = formatter.text(number) {
                head.insert("key_as_string".to_owned(), json!(text));
            }
        }
    }
    head
}

/// Adds the terms of a shard that no match has, with a count of 0.
fn add_unmatched(scope: &Scope<'_>, shard: usize, field: Input<'_>, counts: &mut IndexMap<Key, u64>) -> Result<()> {
    let Some(searched) = scope.searched.get(shard) else {
        return Ok(());
    };
    for (segment, view) in searched.view.segments.iter().enumerate() {
        scope.budget.check_time()?;
        let set = DocSet {
            index: shard,
            segment,
            docs: vec![],
            scores: vec![],
        };
        match Source::of(scope, &set, field)? {
            Source::Nothing | Source::Constant(_) => {}
            Source::Numbers { values, kind } => {
                for value in (0..view.segment.max_doc()).flat_map(|doc| values.of(doc)) {
                    counts.entry(Key::Number(*value, kind.is_floating())).or_default();
                }
            }
            Source::Terms(terms) => {
                for ordinal in (0u32..).take(terms.len()) {
                    counts.entry(Key::Text(terms.term(ordinal).into())).or_default();
                }
            }
        }
    }
    Ok(())
}

/// Adds the document counts of the terms of a set.
pub(super) fn count(scope: &Scope<'_>, set: &DocSet, field: Input<'_>, counts: &mut IndexMap<Key, u64>) -> Result<()> {
    match Source::of(scope, set, field)? {
        Source::Nothing => {}
        Source::Constant(text) => *counts.entry(Key::Text(text.into())).or_default() += set.docs.len() as u64,
        Source::Numbers { values, kind } => {
            for doc in &set.docs {
                for value in distinct(values.of(*doc)) {
                    *counts.entry(Key::Number(value, kind.is_floating())).or_default() += 1;
                }
            }
        }
        Source::Terms(terms) => {
            let mut here = vec![0u64; terms.len()];
            for doc in &set.docs {
                for ordinal in terms.of(*doc) {
                    if let Some(count) = here.get_mut(*ordinal as usize) {
                        *count += 1;
                    }
                }
            }
            for (ordinal, count) in (0u32..).zip(here).filter(|(_, count)| *count > 0) {
                *counts.entry(Key::Text(terms.term(ordinal).into())).or_default() += count;
            }
        }
    }
    Ok(())
}

/// Returns sorted values without duplicates.
fn distinct(values: &[i64]) -> impl Iterator<Item = i64> + '_ {
    values
        .iter()
        .enumerate()
        .filter(|(at, value)| *at == 0 || values.get(at - 1) != Some(value))
        .map(|(_, value)| *value)
}

/// Returns the documents of each term, in one pass over the matches.
pub(super) fn grouped<'a>(
    scope: &Scope<'_>,
    matches: &Matches,
    field: Input<'_>,
    keys: impl Iterator<Item = &'a Key>,
) -> Result<HashMap<Key, Matches>> {
    let mut groups: HashMap<Key, Matches> = keys.map(|key| (key.clone(), Matches::default())).collect();
    for set in &matches.sets {
        match Source::of(scope, set, field)? {
            Source::Nothing => {}
            Source::Constant(text) => {
                if let Some(group) = groups.get_mut(&Key::Text(text.into())) {
                    group.sets.push(set.clone());
                }
            }
            Source::Numbers { values, kind } => {
                for (at, doc) in set.docs.iter().enumerate() {
                    for value in distinct(values.of(*doc)) {
                        if let Some(group) = groups.get_mut(&Key::Number(value, kind.is_floating())) {
                            group.push_doc(set, at);
                        }
                    }
                }
            }
            Source::Terms(terms) => {
                // Groups by ordinal, so that no strings are compared per document.
                let mut here: Vec<Option<Matches>> = vec![None; terms.len()];
                for key in groups.keys() {
                    if let Key::Text(text) = key
                        && let Some(slot) = terms.find(text).and_then(|ordinal| here.get_mut(ordinal as usize))
                    {
                        *slot = Some(Matches::default());
                    }
                }
                for (at, doc) in set.docs.iter().enumerate() {
                    for ordinal in terms.of(*doc) {
                        if let Some(Some(group)) = here.get_mut(*ordinal as usize) {
                            group.push_doc(set, at);
                        }
                    }
                }
                for (ordinal, found) in (0u32..).zip(here) {
                    if let Some(found) = found
                        && let Some(group) = groups.get_mut(&Key::Text(terms.term(ordinal).into()))
                    {
                        group.sets.extend(found.sets);
                    }
                }
            }
        }
    }
    Ok(groups)
}
