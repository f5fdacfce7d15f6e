//! Aggregations `filter`, `filters`, `missing` and `global`.

use serde_json::{Map, Value, json};

use crate::aggs::values::{Source, input_of};
use crate::aggs::{Aggregation, Matches, Scope, all, refuse};
use crate::error::Result;
use crate::index::{SegmentView, outer_docs};
use crate::score::{END, Weight};

/// `filter`, `filters`, `missing`, `global`.
pub(super) fn buckets(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let single = |inside: &Matches| -> Result<Value> {
        let mut result = Map::new();
        result.insert("doc_count".to_owned(), json!(inside.count()));
        result.extend(all(&scope.in_bucket(), &aggregation.sub_aggregations, inside)?);
        Ok(Value::Object(result))
    };
    scope.spend(1)?;
    match aggregation.kind.as_str() {
        "filter" => single(&filtered(scope, &aggregation.settings, matches, true)?),
        "missing" => {
            let field = input_of(aggregation)?;
            let sources = matches
                .sets
                .iter()
                .map(|set| Source::of(scope, set, field))
                .collect::<Result<Vec<_>>>()?;
            single(&matches.filtered(|at, doc| sources.get(at).is_none_or(|source| source.is_missing(doc))))
        }
        "global" => single(&everything(scope)?),
        _ => match aggregation.settings.get("filters") {
            Some(Value::Object(named)) => {
                scope.spend(named.len())?;
                let buckets = named
                    .iter()
                    .map(|(name, filter)| Ok((name.clone(), single(&filtered(scope, filter, matches, true)?)?)))
                    .collect::<Result<Map<_, _>>>()?;
                Ok(json!({"buckets": buckets}))
            }
            Some(Value::Array(listed)) => {
                scope.spend(listed.len())?;
                let buckets = listed
                    .iter()
                    .map(|filter| single(&filtered(scope, filter, matches, true)?))
                    .collect::<Result<Vec<_>>>()?;
                Ok(json!({"buckets": buckets}))
            }
            _ => Err(refuse(format!("Missing [filters] in [{}]", aggregation.name))),
        },
    }
}

/// Returns the documents that a search can find, whatever its query: those of its types and of its aliases.
pub(super) fn everything(scope: &Scope<'_>) -> Result<Matches> {
    let mut matches = live_docs(scope);
    for set in &mut matches.sets {
        let Some(searched) = scope.searched.get(set.index) else {
            continue;
        };
        let Some(view) = searched.view.segments.get(set.segment) else {
            continue;
        };
        match &searched.scope {
            None => {
                let outer = outer_docs(&view.segment, None)?;
                set.docs.retain(|doc| outer.contains(*doc));
            }
            Some(weight) => match weight.scorer(set.segment, view, scope.budget)? {
                None => set.docs.clear(),
                Some(mut scorer) => set.docs.retain(|doc| scorer.doc() != END && scorer.seek(*doc) == *doc),
            },
        }
        set.scores.truncate(set.docs.len());
    }
    Ok(matches)
}

/// Returns all documents of the searched shards, nested objects included.
pub(super) fn live_docs(scope: &Scope<'_>) -> Matches {
    docs_where(scope, SegmentView::is_live)
}

/// Returns all documents of the searched shards, nested objects and deleted ones included.
pub(super) fn every_doc(scope: &Scope<'_>) -> Matches {
    docs_where(scope, |_, _| true)
}

fn docs_where(scope: &Scope<'_>, is_wanted: impl Fn(&SegmentView, u32) -> bool) -> Matches {
    let mut matches = Matches::default();
    for (index, searched) in scope.searched.iter().enumerate() {
        for (segment, view) in searched.view.segments.iter().enumerate() {
            let docs: Vec<u32> = (0..view.segment.max_doc())
                .filter(|doc| is_wanted(view, *doc))
                .collect();
            let scores = vec![1.0; docs.len()];
            matches.push(index, segment, docs, scores);
        }
    }
    matches
}

/// Returns the documents that match a filter or, if `is_filter` is false, a query.
pub(super) fn filtered(scope: &Scope<'_>, filter: &Value, matches: &Matches, is_filter: bool) -> Result<Matches> {
    let mut kept = Matches::default();
    let mut weight: Option<(usize, Weight)> = None;
    for set in &matches.sets {
        let Some(searched) = scope.searched.get(set.index) else {
            continue;
        };
        let weight = match &weight {
            Some((index, weight)) if *index == set.index => weight,
            _ => {
                let context = searched.context(scope.cluster);
                let query = if is_filter {
                    context.parse_filter(filter)?
                } else {
                    context.parse_query(filter)?
                };
                let Some(corpus) = searched.corpus() else {
                    continue;
                };
                let fresh = Weight::of(&query, &corpus, scope.budget)?;
                fresh.check(&searched.mapping)?;
                &weight.insert((set.index, fresh)).1
            }
        };
        let Some(view) = searched.view.segments.get(set.segment) else {
            continue;
        };
        let Some(mut scorer) = weight.scorer(set.segment, view, scope.budget)? else {
            continue;
        };
        kept.push_part(set, |doc| scorer.doc() != END && scorer.seek(doc) == doc);
    }
    Ok(kept)
}
