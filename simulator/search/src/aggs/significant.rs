//! The `significant_terms` aggregation of Elasticsearch 1.5: terms that are more frequent in the matches than in the
//! background.

use std::cmp::Ordering;

use indexmap::IndexMap;
use serde_json::{Value, json};

use crate::aggs::buckets::{every_doc, filtered, live_docs};
use crate::aggs::heuristic::{Frequencies, Heuristic};
use crate::aggs::include_exclude::IncludeExclude;
use crate::aggs::terms::{Key, check_hint, count, grouped, head, suggested_shard_size, text};
use crate::aggs::values::{Input, ValueFormatter, formatter, input_of, is_unmapped, kinds};
use crate::aggs::{Aggregation, Matches, Scope, all};
use crate::error::{Result, SearchError};
use crate::json;
use crate::mapping::Kind;
use crate::ties::{best, in_hash_order};

/// Computes `significant_terms`.
pub(super) fn significant_terms(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let settings = &aggregation.settings;
    let field = input_of(aggregation)?;
    let number = |keys: [&str; 2], default: u64| {
        keys.iter()
            .find_map(|key| settings.get(*key))
            .and_then(|value| u64::try_from(json::int(value, json::BODY).ok()?).ok())
            .unwrap_or(default)
    };
    let size = match number(["size", "size"], 10) {
        0 => usize::MAX,
        size => usize::try_from(size).unwrap_or(usize::MAX),
    };
    let min_doc_count = number(["min_doc_count", "minDocCount"], 3);
    let include_exclude = IncludeExclude::parse(settings)?;
    if is_unmapped(scope, field) {
        return Ok(json!({"buckets": []}));
    }
    const HINTS: [&str; 3] = ["map", "global_ordinals", "global_ordinals_hash"];
    check_hint(
        scope,
        aggregation,
        field,
        &HINTS,
        "significant.SignificantTermsAggregatorFactory",
    )?;
    let formatter = formatter(scope, aggregation)?;
    if kinds(scope, field).any(Kind::is_floating) {
        return Err(SearchError::new(
            500,
            "UnsupportedOperationException",
            "No support for examining floating point numerics",
        ));
    }
    // The background includes nested objects and, without a filter, deleted documents. The index has no terms of its
    // own name.
    let (background, has_terms) = match settings.get("background_filter") {
        Some(filter) => (filtered(scope, filter, &live_docs(scope), true)?, true),
        None => (every_doc(scope), !matches!(field, Input::Field("_index"))),
    };
    let heuristic = Heuristic::parse(settings)?;
    let shards = scope.searched.len();
    let shard_size = match number(["shard_size", "shardSize"], 0) {
        0 => suggested_shard_size(size, shards).saturating_mul(2),
        size => usize::try_from(size).unwrap_or(usize::MAX),
    };
    let shard_min_doc_count = number(["shard_min_doc_count", "shardMinDocCount"], 0);
    let mut found: IndexMap<Key, (u64, u64)> = IndexMap::new();
    for shard in 0..shards {
        let counted = |matches: &Matches| -> Result<IndexMap<Key, u64>> {
            let mut counts = IndexMap::new();
            for set in matches.sets.iter().filter(|set| set.index == shard) {
                count(scope, set, field, &mut counts)?;
            }
            Ok(counts)
        };
        let background_counts = if has_terms {
            counted(&background)?
        } else {
            IndexMap::new()
        };
        let mut own: Vec<(Key, u64)> = counted(matches)?.into_iter().collect();
        own.retain(|(key, count)| *count >= shard_min_doc_count && include_exclude.accepts(&text(key, &formatter)));
        // Strings are scored in their order, numbers in the order in which the documents have them.
        own.sort_by(|(a, _), (b, _)| match (a, b) {
            (Key::Number(..), Key::Number(..)) => Ordering::Equal,
            _ => a.cmp(b),
        });
        let (own_total, all_total) = (matches.count_of(shard), background.count_of(shard));
        // Each shard returns the terms that are significant in the shard.
        let scored = own.into_iter().map(|(key, own)| {
            let all = background_counts.get(&key).copied().unwrap_or(0);
            let frequencies = Frequencies {
                own,
                own_total,
                all,
                all_total,
            };
            (heuristic.score(frequencies), (key, own, all))
        });
        for (_, (key, own, all)) in best(scored, shard_size.max(size), true) {
            let (count, known) = found.entry(key).or_default();
            (*count, *known) = (*count + own, *known + all);
        }
    }
    let (own_total, all_total) = (
        matches.count() as u64,
        (0..shards)
            .filter(|shard| scope.collects(matches, *shard))
            .map(|shard| background.count_of(shard))
            .sum(),
    );
    let found = in_hash_order(found.into_iter().collect(), |(key, _)| text(key, &ValueFormatter::Raw));
    let size = size.min(found.len());
    let scored = found.into_iter().map(|(key, (own, all))| {
        let frequencies = Frequencies {
            own,
            own_total,
            all,
            all_total,
        };
        (heuristic.score(frequencies), (key, own, all))
    });
    let scored = scored.filter(|(score, (_, own, _))| *score > 0.0 && *own >= min_doc_count);
    let buckets = best(scored, size, true);
    scope.spend(buckets.len())?;
    let groups = grouped(scope, matches, field, buckets.iter().map(|(_, (key, ..))| key))?;
    let nothing = Matches::default();
    let buckets = buckets
        .iter()
        .map(|(score, (key, count, known))| {
            let mut head = head(key, &formatter);
            if let Some(number) = head.get("key").filter(|key| key.is_number()) {
                let text = number.to_string();
                head.entry("key_as_string").or_insert_with(|| json!(text));
            }
            head.insert("doc_count".to_owned(), json!(count));
            head.insert("score".to_owned(), json!(score));
            head.insert("bg_count".to_owned(), json!(known));
            head.extend(all(
                scope,
                &aggregation.sub_aggregations,
                groups.get(key).unwrap_or(&nothing),
            )?);
            Ok(Value::Object(head))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(json!({"doc_count": own_total, "buckets": buckets}))
}
