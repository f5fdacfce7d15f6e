//! Aggregations of geo points: `geohash_grid` and `geo_bounds`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::aggs::values::{Source, input_of};
use crate::aggs::{Aggregation, Matches, Scope, bucket};
use crate::error::{Result, SearchError};
use crate::query::{GeoPoint, MAX_GEOHASH_LENGTH};

/// Returns the points of a document.
pub(super) fn points(source: &Source, doc: u32) -> Vec<GeoPoint> {
    match source {
        Source::Numbers { values, .. } => values
            .of(doc)
            .iter()
            .map(|encoded| GeoPoint::decode(*encoded))
            .collect(),
        _ => vec![],
    }
}

/// Computes `geohash_grid`: one bucket per geohash cell with points.
pub(super) fn geohash_grid(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let field = input_of(aggregation)?;
    let number = |key: &str, default: u64| aggregation.settings.get(key).and_then(Value::as_u64).unwrap_or(default);
    let precision = aggregation
        .settings
        .get("precision")
        .and_then(Value::as_i64)
        .unwrap_or(5);
    let length = usize::try_from(precision).ok();
    let length = length.filter(|length| (1..=MAX_GEOHASH_LENGTH).contains(length));
    let illegal = || {
        let reason = format!(
            "Illegal precision length of {precision}. Long-based geohashes only support precisions between 1 and 12"
        );
        SearchError::new(500, "ElasticsearchIllegalArgumentException", reason)
    };
    let mut cells: BTreeMap<String, Matches> = BTreeMap::new();
    for set in &matches.sets {
        let source = Source::of(scope, set, field)?;
        for (at, doc) in set.docs.iter().enumerate() {
            let hashes = points(&source, *doc)
                .into_iter()
                .map(|point| Ok(point.geohash(length.ok_or_else(illegal)?)));
            let mut hashes = hashes.collect::<Result<Vec<String>>>()?;
            hashes.sort();
            hashes.dedup();
            for hash in hashes {
                cells.entry(hash).or_default().push_doc(set, at);
            }
        }
    }
    let mut order: Vec<(String, Matches)> = cells.into_iter().collect();
    order.sort_by(|a, b| b.1.count().cmp(&a.1.count()).then_with(|| b.0.cmp(&a.0)));
    order.truncate(usize::try_from(number("size", 10_000)).unwrap_or(usize::MAX));
    scope.spend(order.len())?;
    let buckets = order
        .iter()
        .map(|(hash, inside)| {
            let mut head = Map::new();
            head.insert("key".to_owned(), json!(hash));
            bucket(scope, &aggregation.sub_aggregations, head, inside)
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(json!({"buckets": buckets}))
}

/// Computes `geo_bounds`: the smallest box that contains all points.
pub(super) fn geo_bounds(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let field = input_of(aggregation)?;
    let mut bounds: Option<[f64; 4]> = None;
    for set in &matches.sets {
        let source = Source::of(scope, set, field)?;
        for point in set.docs.iter().flat_map(|doc| points(&source, *doc)) {
            let [top, left, bottom, right] = bounds.unwrap_or([point.lat, point.lon, point.lat, point.lon]);
            bounds = Some([
                top.max(point.lat),
                left.min(point.lon),
                bottom.min(point.lat),
                right.max(point.lon),
            ]);
        }
    }
    Ok(match bounds {
        None => json!({}),
        Some([top, left, bottom, right]) => {
            json!({"bounds": {"top_left": {"lat": top, "lon": left}, "bottom_right": {"lat": bottom, "lon": right}}})
        }
    })
}
