//! Buckets by term.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::aggs::allowed::Allowed;
use crate::aggs::order::{By, Order, compare_values, orders};
use crate::aggs::values::{Input, Shown, Source, has_numbers, input_of, numeric_mismatch, plain, shown};
use crate::aggs::{Aggregation, DocSet, Matches, Scope, bucket};
use crate::error::{Result, SearchError};
use crate::json;
use crate::mapping::{truth, unsortable};

/// A term: text, or a number as the field encodes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Key {
    Number(i64, bool),
    Text(Box<str>),
}

impl Key {
    fn order(&self, other: &Key) -> Ordering {
        self.cmp(other)
    }
}

/// Fails for settings that no document decides about.
pub(super) fn check(name: &str, settings: &Value) -> Result<()> {
    orders(name, settings)?;
    let below_zero = |keys: [&str; 2]| {
        let value = keys.iter().find_map(|key| settings.get(*key));
        value
            .and_then(|value| json::int(value).ok())
            .is_some_and(|value| value < 0)
    };
    if below_zero(["size", "size"]) || below_zero(["min_doc_count", "minDocCount"]) {
        return Err(SearchError::new(
            500,
            "ElasticsearchException",
            "parameters [requiredSize] and [minDocCount] must be >=0 in terms aggregation.",
        ));
    }
    let mode = ["collect_mode", "collectMode"]
        .iter()
        .find_map(|key| settings.get(*key));
    match mode.and_then(Value::as_str) {
        None | Some("depth_first" | "breadth_first") => Ok(()),
        Some(mode) => Err(SearchError::parse(format!("No collect_mode found for value [{mode}]"))),
    }
}

/// Fails for settings that the mapping of the field decides about.
fn check_field(scope: &Scope<'_>, aggregation: &Aggregation, input: Input<'_>) -> Result<()> {
    let settings = &aggregation.settings;
    let hint = ["execution_hint", "executionHint"]
        .iter()
        .find_map(|key| settings.get(*key));
    if let Some(hint) = hint.and_then(Value::as_str)
        && !matches!(
            hint,
            "map" | "global_ordinals" | "global_ordinals_hash" | "global_ordinals_low_cardinality"
        )
        && numeric_mismatch(scope, input)
    {
        return Err(SearchError::illegal(format!(
            "Unknown `execution_hint`: [{hint}], expected any of [map, global_ordinals, global_ordinals_hash, \
             global_ordinals_low_cardinality]"
        )));
    }
    let by_pattern = ["include", "exclude"]
        .iter()
        .any(|key| settings.get(*key).is_some_and(|names| !names.is_array()));
    if by_pattern && has_numbers(scope, input) {
        return Err(crate::aggs::failed(format!(
            "Aggregation [{}] cannot support regular expression style include/exclude settings as they can only be applied \
             to string fields. Use an array of numeric values for include/exclude clauses used to filter numeric fields",
            aggregation.name
        )));
    }
    Ok(())
}

/// A term with its count, the error bound of the count, and its bucket if that orders it.
struct Candidate {
    key: Key,
    count: u64,
    error: u64,
    bucket: Option<Value>,
    /// The values of sub-aggregations that order it, one for each criterion.
    values: Vec<Option<f64>>,
}

/// Compares two candidates by the orders of a request; equal ones come in the order of their terms.
fn compare(orders: &[Order], a: &Candidate, b: &Candidate) -> Ordering {
    for (at, order) in orders.iter().enumerate() {
        let plain = |way: Ordering| if order.descending { way.reverse() } else { way };
        let way = match &order.by {
            By::Count => plain(a.count.cmp(&b.count)),
            By::Term => plain(a.key.order(&b.key)),
            By::SubAggregation(_) => {
                let value = |candidate: &Candidate| candidate.values.get(at).copied().flatten().unwrap_or(f64::NAN);
                compare_values(value(a), value(b), order.descending)
            }
        };
        if way != Ordering::Equal {
            return way;
        }
    }
    a.key.order(&b.key)
}

/// Number of terms that each shard returns, as Elasticsearch suggests it.
pub(super) fn suggested_shard_size(size: usize, shards: usize) -> usize {
    if shards <= 1 {
        size
    } else {
        size.saturating_mul(shards.min(10)).max(10)
    }
}

/// `terms`: a bucket for every term, the most frequent first.
pub(super) fn terms(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let settings = &aggregation.settings;
    let field = input_of(aggregation)?;
    let number = |keys: [&str; 2]| {
        keys.iter()
            .find_map(|key| settings.get(*key))
            .and_then(|value| u64::try_from(json::int(value).ok()?).ok())
    };
    let all = |size: u64| match usize::try_from(size).unwrap_or(usize::MAX) {
        0 => usize::MAX,
        size => size,
    };
    let size = all(number(["size", "size"]).unwrap_or(10));
    let least = number(["min_doc_count", "minDocCount"]).unwrap_or(1);
    let allowed = Allowed::parse(settings)?;
    let orders = orders(&aggregation.name, settings)?;
    check_field(scope, aggregation, field)?;
    orders
        .iter()
        .try_for_each(|order| order.check(&aggregation.sub_aggregations))?;
    let shown = shown(scope, aggregation)?;
    let shards = scope.searched.len();
    let shard_size = number(["shard_size", "shardSize"])
        .map_or_else(|| suggested_shard_size(size, shards), all)
        .max(size);
    let by_count = matches!(
        orders.as_slice(),
        [Order {
            by: By::Count,
            descending: true
        }]
    );
    let by_term = matches!(orders.as_slice(), [Order { by: By::Term, .. }]);
    let mut merged: HashMap<Key, (u64, u64)> = HashMap::new();
    let (mut other, mut error, mut unbounded) = (0u64, 0u64, false);
    for shard in 0..shards {
        let mut counts: HashMap<Key, u64> = HashMap::new();
        for set in matches.sets.iter().filter(|set| set.index == shard) {
            count(scope, set, field, &mut counts)?;
        }
        if least == 0 {
            add_unmatched(scope, shard, field, &mut counts)?;
        }
        counts.retain(|key, _| allowed.accepts(&text(key, &shown)));
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
            let (count, missed) = merged.entry(candidate.key).or_default();
            *count += candidate.count;
            // Counted down below: a shard that returns the term adds no error.
            *missed += own_error;
        }
    }
    let single = shards <= 1;
    let total_error = error;
    let mut buckets: Vec<Candidate> = merged
        .into_iter()
        .filter(|(_, (count, _))| *count >= least)
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
        // What orders the buckets has to be computed for all of them.
        scope.spend(buckets.len())?;
        let groups = grouped(scope, matches, field, buckets.iter().map(|candidate| &candidate.key))?;
        for candidate in &mut buckets {
            let group = groups.get(&candidate.key).unwrap_or(&nothing);
            let below = &aggregation.sub_aggregations;
            let bucket = bucket(scope, below, head(&candidate.key, &shown), group)?;
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
            let mut shown = match candidate.bucket {
                Some(bucket) => bucket,
                None if plain => {
                    let mut head = head(&candidate.key, &shown);
                    head.insert("doc_count".to_owned(), json!(candidate.count));
                    Value::Object(head)
                }
                None => bucket(
                    scope,
                    &aggregation.sub_aggregations,
                    head(&candidate.key, &shown),
                    groups.get(&candidate.key).unwrap_or(&nothing),
                )?,
            };
            if shows_error {
                shown["doc_count_error_upper_bound"] = json!(candidate.error);
            }
            Ok(shown)
        })
        .collect::<Result<Vec<_>>>()?;
    let bound = match (unbounded, single) {
        (true, _) => json!(-1),
        (false, true) => json!(0),
        (false, false) => json!(error),
    };
    Ok(json!({"doc_count_error_upper_bound": bound, "sum_other_doc_count": other, "buckets": buckets}))
}

pub(super) fn text(key: &Key, shown: &Shown) -> String {
    match key {
        Key::Text(text) => text.to_string(),
        Key::Number(encoded, floating) => {
            let number = if *floating {
                unsortable(*encoded)
            } else {
                *encoded as f64
            };
            shown.text(number).unwrap_or_else(|| plain(number).to_string())
        }
    }
}

pub(super) fn head(key: &Key, shown: &Shown) -> Map<String, Value> {
    let mut head = Map::new();
    match key {
        Key::Text(text) => drop(head.insert("key".to_owned(), json!(text))),
        Key::Number(encoded, floating) => {
            let (key, number) = if *floating {
                (json!(unsortable(*encoded)), unsortable(*encoded))
            } else {
                (json!(encoded), *encoded as f64)
            };
            head.insert("key".to_owned(), key);
            if let Some(text) = shown.text(number) {
                head.insert("key_as_string".to_owned(), json!(text));
            }
        }
    }
    head
}

/// Adds the terms of a shard that no matching document has, with a count of 0.
fn add_unmatched(scope: &Scope<'_>, shard: usize, field: Input<'_>, counts: &mut HashMap<Key, u64>) -> Result<()> {
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

pub(super) fn count(scope: &Scope<'_>, set: &DocSet, field: Input<'_>, counts: &mut HashMap<Key, u64>) -> Result<()> {
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

fn distinct(values: &[i64]) -> impl Iterator<Item = i64> + '_ {
    values
        .iter()
        .enumerate()
        .filter(|(at, value)| *at == 0 || values.get(at - 1) != Some(value))
        .map(|(_, value)| *value)
}

/// The documents of each of these terms, found in one pass.
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
                // The groups by ordinal, so that no text is compared for a document.
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
