//! The `terms` aggregation.

use std::cmp::Ordering;
use std::collections::HashMap;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use crate::aggs::include_exclude::IncludeExclude;
use crate::aggs::order::{By, Order, compare_values, orders};
use crate::aggs::thresholds::Thresholds;
use crate::aggs::values::{Input, Source, ValueFormatter, formatter, input_of, kinds, numeric_mismatch, plain};
use crate::aggs::{Aggregation, DocSet, Matches, Scope, all, bucket};
use crate::error::{Result, SearchError};
use crate::json;
use crate::mapping::{Kind, truth, unsortable};

/// A term: a string, or an encoded number and whether it is floating-point.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Key {
    Number(i64, bool),
    Text(Box<str>),
}

/// Validates the settings that are independent of the mapping.
pub(super) fn check(name: &str, settings: &Value) -> Result<()> {
    orders(name, settings)?;
    Thresholds::check(500, settings)?;
    let mode = ["collect_mode", "collectMode"]
        .iter()
        .find_map(|key| settings.get(*key));
    match mode.and_then(Value::as_str) {
        None | Some("depth_first" | "breadth_first") => Ok(()),
        Some(mode) => Err(SearchError::parse(format!("No collect_mode found for value [{mode}]"))),
    }
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

/// A term with its count.
struct Candidate {
    key: Key,
    count: u64,
    /// Sum of the errors of the shards that returned the term.
    error: u64,
    /// The shards that returned the term.
    shards: Vec<usize>,
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

/// Computes `terms`: one bucket per term. Default order: descending by document count.
pub(super) fn terms(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let field = input_of(aggregation)?;
    let orders = orders(&aggregation.name, &aggregation.settings)?;
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
    let of_order = |own: &&Aggregation| orders.iter().any(|order| order.is_by(&own.name));
    let terms = Terms {
        scope,
        matches,
        field,
        thresholds: Thresholds::parse(&aggregation.settings, 1),
        formatter: formatter(scope, aggregation)?,
        sorted_by: aggregation.sub_aggregations.iter().filter(of_order).cloned().collect(),
        orders,
    };
    terms.compute(aggregation)
}

/// A `terms` aggregation.
struct Terms<'a> {
    scope: &'a Scope<'a>,
    matches: &'a Matches,
    field: Input<'a>,
    orders: Vec<Order>,
    thresholds: Thresholds,
    formatter: ValueFormatter,
    /// The sub-aggregations that buckets are sorted by.
    sorted_by: Vec<Aggregation>,
}

impl Terms<'_> {
    fn compute(&self, aggregation: &Aggregation) -> Result<Value> {
        let (scope, settings) = (self.scope, &aggregation.settings);
        let mut include_exclude = IncludeExclude::parse(settings)?;
        if kinds(scope, self.field).any(Kind::is_numeric) {
            include_exclude.read_numbers()?;
        }
        let shards = scope.searched.len();
        let by_count = matches!(
            self.orders.as_slice(),
            [Order {
                by: By::Count,
                descending: true
            }]
        );
        let by_term = matches!(self.orders.as_slice(), [Order { by: By::Term, .. }]);
        // Terms in their own order need no others to be counted rightly.
        let suggested = (!by_term).then(|| self.thresholds.suggested_shard_size(shards));
        let shard_size = self.thresholds.shard_size(suggested);
        let mut merged: IndexMap<Key, Candidate> = IndexMap::new();
        let (mut other, mut error, mut unbounded) = (0, 0, false);
        for shard in 0..shards {
            let (own, rest) = self.of_shard(shard, &include_exclude, shard_size)?;
            other += rest;
            let mut own_error = 0;
            if own.len() >= shard_size && by_count {
                own_error = own.last().map_or(0, |candidate| candidate.count);
            } else if own.len() >= shard_size && !by_term {
                unbounded = true;
            }
            error += own_error;
            for candidate in own {
                let entry = merged.entry(candidate.key.clone());
                let known = entry.or_insert_with(|| Candidate { count: 0, ..candidate });
                known.count += candidate.count;
                known.error += own_error;
                known.shards.push(shard);
            }
        }
        let is_kept = |candidate: &Candidate| candidate.count >= self.thresholds.min_doc_count;
        let mut candidates: Vec<Candidate> = merged.into_values().filter(is_kept).collect();
        if shards > 1 {
            self.evaluate(self.matches, &mut candidates)?;
        }
        let (candidates, rest) = self.first(candidates, self.thresholds.size);
        let shows_error = ["show_term_doc_count_error", "showTermDocCountError"]
            .iter()
            .find_map(|key| settings.get(*key))
            .is_some_and(truth);
        // Of shards without documents in this bucket, there are no results.
        let results = (0..shards).filter(|shard| scope.collects(self.matches, *shard)).count();
        let term_error = |candidate: &Candidate| match (unbounded, results) {
            (true, _) => json!(-1),
            (false, 0 | 1) => json!(0),
            (false, _) => json!(error - candidate.error),
        };
        scope.spend(candidates.len())?;
        let below = &aggregation.sub_aggregations;
        let groups = if below.is_empty() {
            HashMap::new()
        } else {
            self.groups(self.matches, &candidates)?
        };
        let nothing = Matches::default();
        let buckets = candidates.iter().map(|candidate| {
            let group = groups.get(&candidate.key).unwrap_or(&nothing);
            let mut body = bucket(scope, below, head(&candidate.key, &self.formatter), group)?;
            body["doc_count"] = json!(candidate.count);
            if shows_error {
                body["doc_count_error_upper_bound"] = term_error(candidate);
            }
            Ok(body)
        });
        let buckets = buckets.collect::<Result<Vec<_>>>()?;
        let bound = match (unbounded, results) {
            (true, _) => json!(-1),
            (false, 0 | 1) => json!(0),
            (false, _) => json!(error),
        };
        Ok(json!({"doc_count_error_upper_bound": bound, "sum_other_doc_count": other + rest, "buckets": buckets}))
    }

    /// Returns the terms that a shard returns, best first, and the sum of the counts of the others.
    fn of_shard(&self, shard: usize, wanted: &IncludeExclude, size: usize) -> Result<(Vec<Candidate>, u64)> {
        let matches = self.matches.of_shard(shard);
        let mut counts: IndexMap<Key, u64> = IndexMap::new();
        for set in &matches.sets {
            count(self.scope, set, self.field, &mut counts)?;
        }
        if self.thresholds.min_doc_count == 0 && self.scope.collects(&matches, shard) {
            add_unmatched(self.scope, shard, self.field, &mut counts)?;
        }
        counts.retain(|key, _| wanted.accepts(&text(key, &self.formatter)));
        let is_kept = |count: u64| count >= self.thresholds.shard_min_doc_count;
        let rare: u64 = counts.values().filter(|count| !is_kept(**count)).sum();
        counts.retain(|_, count| is_kept(*count));
        let candidates = counts.into_iter().map(|(key, count)| Candidate {
            key,
            count,
            error: 0,
            shards: vec![],
            values: vec![],
        });
        let mut candidates: Vec<Candidate> = candidates.collect();
        self.evaluate(&matches, &mut candidates)?;
        let (candidates, rest) = self.first(candidates, size);
        Ok((candidates, rare + rest))
    }

    /// Returns the first candidates by the orders, and the sum of the counts of the others.
    fn first(&self, mut candidates: Vec<Candidate>, size: usize) -> (Vec<Candidate>, u64) {
        let sum = |candidates: &[Candidate]| -> u64 { candidates.iter().map(|candidate| candidate.count).sum() };
        let total = sum(&candidates);
        candidates.sort_by(|a, b| compare(&self.orders, a, b));
        candidates.truncate(size);
        let rest = total - sum(&candidates);
        (candidates, rest)
    }

    /// Computes the values of the sub-aggregations that candidates are sorted by.
    fn evaluate(&self, matches: &Matches, candidates: &mut [Candidate]) -> Result<()> {
        if self.sorted_by.is_empty() {
            return Ok(());
        }
        self.scope.spend(candidates.len())?;
        let groups = self.groups(matches, candidates)?;
        let nothing = Matches::default();
        for candidate in candidates {
            let group = groups.get(&candidate.key).unwrap_or(&nothing);
            let found = all(&self.scope.in_bucket(), &self.sorted_by, group)?;
            let values = self.orders.iter().map(|order| order.value(&found, &self.sorted_by));
            candidate.values = values.collect();
        }
        Ok(())
    }

    /// Returns the documents of each candidate, in the shards that returned it.
    fn groups(&self, matches: &Matches, candidates: &[Candidate]) -> Result<HashMap<Key, Matches>> {
        let keys = candidates.iter().map(|candidate| &candidate.key);
        let mut groups = grouped(self.scope, matches, self.field, keys)?;
        for candidate in candidates.iter().filter(|candidate| !candidate.shards.is_empty()) {
            if let Some(group) = groups.get_mut(&candidate.key) {
                group.sets.retain(|set| candidate.shards.contains(&set.index));
            }
        }
        Ok(groups)
    }
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
pub(super) fn add_unmatched(
    scope: &Scope<'_>,
    shard: usize,
    field: Input<'_>,
    counts: &mut IndexMap<Key, u64>,
) -> Result<()> {
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
