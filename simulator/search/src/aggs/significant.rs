//! Significant terms: terms that are more frequent among the matches than among all documents.
//!
//! Source: Elasticsearch 1.5's significant terms.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::aggs::allowed::Allowed;
use crate::aggs::buckets::{everything, filtered};
use crate::aggs::heuristic::{Frequencies, Heuristic};
use crate::aggs::terms::{Key, count, grouped, head, text};
use crate::aggs::values::{input_of, is_unmapped, shown};
use crate::aggs::{Aggregation, Matches, Scope, all};
use crate::error::Result;
use crate::json;

/// `significant_terms`.
pub(super) fn significant_terms(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let settings = &aggregation.settings;
    let field = input_of(aggregation)?;
    let number = |keys: [&str; 2], default: u64| {
        keys.iter()
            .find_map(|key| settings.get(*key))
            .and_then(|value| u64::try_from(json::int(value).ok()?).ok())
            .unwrap_or(default)
    };
    let size = match number(["size", "size"], 10) {
        0 => usize::MAX,
        size => usize::try_from(size).unwrap_or(usize::MAX),
    };
    let least = number(["min_doc_count", "minDocCount"], 3);
    let allowed = Allowed::parse(settings)?;
    if is_unmapped(scope, field) {
        return Ok(json!({"buckets": []}));
    }
    let shown = shown(scope, aggregation);
    let background = everything(scope)?;
    let counted = |matches: &Matches| -> Result<HashMap<Key, u64>> {
        let mut counts = HashMap::new();
        for set in &matches.sets {
            count(scope, set, field, &mut counts)?;
        }
        Ok(counts)
    };
    let (own, own_total) = (counted(matches)?, matches.count() as u64);
    // A filter of the background takes documents from its terms, not from its size.
    let whole_total = background.count() as u64;
    let whole = match settings.get("background_filter") {
        Some(filter) => counted(&filtered(scope, filter, &background, true)?)?,
        None => counted(&background)?,
    };
    let heuristic = Heuristic::parse(settings)?;
    let mut buckets: Vec<(f64, Key, u64, u64)> = own
        .into_iter()
        .filter(|(key, count)| *count >= least && allowed.accepts(&text(key, &shown)))
        .map(|(key, count)| {
            let known = whole.get(&key).copied().unwrap_or(0);
            let frequencies = Frequencies {
                own: count,
                own_total,
                all: known,
                all_total: whole_total,
            };
            (heuristic.score(frequencies), key, count, known)
        })
        .filter(|(score, ..)| *score > 0.0)
        .collect();
    buckets.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    buckets.truncate(size);
    scope.spend(buckets.len())?;
    let groups = grouped(scope, matches, field, buckets.iter().map(|(_, key, ..)| key))?;
    let nothing = Matches::default();
    let buckets = buckets
        .iter()
        .map(|(score, key, count, known)| {
            let mut head = head(key, &shown);
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
