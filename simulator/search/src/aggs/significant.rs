//! The `significant_terms` aggregation of Elasticsearch 1.5: terms that are more frequent in the matches than in the
//! background.

use std::cmp::Ordering;

use indexmap::IndexMap;
use serde_json::{Value, json};

use crate::aggs::buckets::{every_doc, filtered, live_docs};
use crate::aggs::heuristic::{Frequencies, Heuristic};
use crate::aggs::include_exclude::IncludeExclude;
use crate::aggs::terms::{Key, add_unmatched, check_hint, count, grouped, head, text};
use crate::aggs::thresholds::Thresholds;
use crate::aggs::values::{Input, ValueFormatter, formatter, input_of, is_unmapped, kinds};
use crate::aggs::{Aggregation, Matches, Scope, all};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::mapping::Kind;
use crate::ties::{best, in_hash_order};

/// A term that shards return.
#[derive(Default)]
struct Found {
    /// Number of matches with the term.
    own: u64,
    /// Number of documents of the background with the term.
    all: u64,
    /// The shards that returned it.
    shards: Vec<usize>,
}

/// Computes `significant_terms`.
pub(super) fn significant_terms(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let settings = &aggregation.settings;
    let field = input_of(aggregation)?;
    let thresholds = Thresholds::parse(settings, 3);
    let mut include_exclude = IncludeExclude::parse(settings)?;
    if is_unmapped(scope, field) {
        return Ok(json!({"buckets": []}));
    }
    if kinds(scope, field).any(Kind::is_numeric) {
        include_exclude.read_numbers()?;
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
            Exception::UnsupportedOperation,
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
    let shard_size = thresholds.significant_shard_size(shards);
    // With a count of 0, terms without matches are scored, unless they are looked up by those that have some.
    let hint = settings.get("execution_hint").or_else(|| settings.get("executionHint"));
    let is_hashed = hint.is_some_and(|hint| hint != "global_ordinals");
    let has_unmatched = thresholds.min_doc_count == 0 && !scope.in_bucket && !is_hashed;
    let has_unmatched = has_unmatched && !kinds(scope, field).any(Kind::is_numeric);
    let mut found: IndexMap<Key, Found> = IndexMap::new();
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
        let mut own = counted(matches)?;
        if has_unmatched {
            add_unmatched(scope, shard, field, &mut own)?;
        }
        let mut own: Vec<(Key, u64)> = own.into_iter().collect();
        own.retain(|(key, count)| {
            *count >= thresholds.shard_min_doc_count && include_exclude.accepts(&text(key, &formatter))
        });
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
            Ok((heuristic.score(frequencies)?, (key, own, all)))
        });
        let scored = scored.collect::<Result<Vec<_>>>()?;
        for (_, (key, own, all)) in best(scored.into_iter(), shard_size, true) {
            let term = found.entry(key).or_default();
            term.own += own;
            term.all += all;
            term.shards.push(shard);
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
    let size = thresholds.size.min(found.len());
    let scored = found.into_iter().map(|(key, term)| {
        let frequencies = Frequencies {
            own: term.own,
            own_total,
            all: term.all,
            all_total,
        };
        Ok((heuristic.score(frequencies)?, (key, term)))
    });
    let mut scored = scored.collect::<Result<Vec<_>>>()?;
    scored.retain(|(score, (_, term))| *score > 0.0 && term.own >= thresholds.min_doc_count);
    let buckets = best(scored.into_iter(), size, true);
    scope.spend(buckets.len())?;
    let mut groups = grouped(scope, matches, field, buckets.iter().map(|(_, (key, _))| key))?;
    for (_, (key, term)) in &buckets {
        if let Some(group) = groups.get_mut(key) {
            group.sets.retain(|set| term.shards.contains(&set.index));
        }
    }
    let nothing = Matches::default();
    let buckets = buckets
        .iter()
        .map(|(score, (key, term))| {
            let mut head = head(key, &formatter);
            if let Some(number) = head.get("key").filter(|key| key.is_number()) {
                let text = number.to_string();
                head.entry("key_as_string").or_insert_with(|| json!(text));
            }
            head.insert("doc_count".to_owned(), json!(term.own));
            head.insert("score".to_owned(), json!(score));
            head.insert("bg_count".to_owned(), json!(term.all));
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
