//! Significant terms: terms that are more frequent among the matches than among all documents.
//!
//! Source: Elasticsearch 1.5's significant terms with the JLH score.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::aggs::buckets::everything;
use crate::aggs::terms::{Allowed, Key, count, grouped, head, text};
use crate::aggs::values::{input_of, shown};
use crate::aggs::{Aggregation, Matches, Scope, all};
use crate::error::Result;

/// The JLH score of a term, from its share of the matches and its share of all documents.
fn score(own: u64, own_total: u64, all: u64, all_total: u64) -> f64 {
    if own_total == 0 || all_total == 0 || all == 0 {
        return 0.0;
    }
    let (share, background) = (own as f64 / own_total as f64, all as f64 / all_total as f64);
    if share <= background {
        0.0
    } else {
        (share - background) * (share / background)
    }
}

/// `significant_terms`.
pub(super) fn significant_terms(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let settings = &aggregation.settings;
    let field = input_of(aggregation)?;
    let number = |keys: [&str; 2], default: u64| {
        keys.iter()
            .find_map(|key| settings.get(*key))
            .and_then(Value::as_u64)
            .unwrap_or(default)
    };
    let size = match number(["size", "size"], 10) {
        0 => usize::MAX,
        size => usize::try_from(size).unwrap_or(usize::MAX),
    };
    let least = number(["min_doc_count", "minDocCount"], 3);
    let allowed = Allowed::parse(settings)?;
    let shown = shown(scope, aggregation);
    let background = everything(scope)?;
    let counted = |matches: &Matches| -> Result<HashMap<Key, u64>> {
        let mut counts = HashMap::new();
        for set in &matches.sets {
            count(scope, set, field, false, &mut counts)?;
        }
        Ok(counts)
    };
    let (own, own_total) = (counted(matches)?, matches.count() as u64);
    let (whole, whole_total) = (counted(&background)?, background.count() as u64);
    let mut buckets: Vec<(f64, Key, u64, u64)> = own
        .into_iter()
        .filter(|(key, count)| *count >= least && allowed.accepts(&text(key, &shown)))
        .map(|(key, count)| {
            let known = whole.get(&key).copied().unwrap_or(count);
            (score(count, own_total, known, whole_total), key, count, known)
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
