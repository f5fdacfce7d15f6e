//! Aggregations of geo points: `geohash_grid` and `geo_bounds`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::aggs::values::{Source, input_of};
use crate::aggs::{Aggregation, Matches, Scope, bucket};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::{BODY, int};
use crate::mapping::truth;
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

/// Reads a number of the settings of `geohash_grid`, whose parser also takes one from an array and ignores any other
/// value.
///
/// # Errors
/// A number that is too large.
pub(super) fn grid_number(settings: &Value, key: &str) -> Result<Option<i32>> {
    let mut value = settings.get(key);
    while let Some(Value::Array(items)) = value {
        value = items.last();
    }
    value
        .filter(|value| value.is_number())
        .map(|value| int(value, BODY))
        .transpose()
}

/// Computes `geohash_grid`: one bucket per geohash cell with points.
pub(super) fn geohash_grid(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let field = input_of(aggregation)?;
    let number = |key: &str, default: i32| grid_number(&aggregation.settings, key).map(|own| own.unwrap_or(default));
    let precision = number("precision", 5)?;
    let length = usize::try_from(precision).ok();
    let length = length.filter(|length| (1..=MAX_GEOHASH_LENGTH).contains(length));
    let illegal = || {
        let reason = format!(
            "Illegal precision length of {precision}. Long-based geohashes only support precisions between 1 and 12"
        );
        SearchError::new(500, Exception::ElasticsearchIllegalArgument, reason)
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
    // Cells are numbers with a sign, which a hash of full length sets.
    let is_negative = |hash: &str| hash.len() == MAX_GEOHASH_LENGTH && hash >= "h";
    let by_hash = |a: &str, b: &str| is_negative(a).cmp(&is_negative(b)).then_with(|| b.cmp(a));
    order.sort_by(|a, b| b.1.count().cmp(&a.1.count()).then_with(|| by_hash(&a.0, &b.0)));
    match number("size", 10_000)? {
        // No limit.
        0 => {}
        size => order.truncate(usize::try_from(size).unwrap_or(0)),
    }
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

/// Computes `geo_bounds`: the smallest box that contains all points. With `wrap_longitude`, which is the default, it
/// can cross the longitude of 180 degrees.
pub(super) fn geo_bounds(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let field = input_of(aggregation)?;
    let (mut bottom, mut top) = (f64::INFINITY, f64::NEG_INFINITY);
    // The ends of the eastern and of the western longitudes.
    let [mut east, mut west] = [(f64::INFINITY, f64::NEG_INFINITY); 2];
    for set in &matches.sets {
        let source = Source::of(scope, set, field)?;
        for point in set.docs.iter().flat_map(|doc| points(&source, *doc)) {
            (bottom, top) = (bottom.min(point.lat), top.max(point.lat));
            let side = if point.lon < 0.0 { &mut west } else { &mut east };
            *side = (side.0.min(point.lon), side.1.max(point.lon));
        }
    }
    let (left, right) = match (west.0.is_finite(), east.0.is_finite()) {
        (false, false) => return Ok(json!({})),
        (true, false) => west,
        (false, true) => east,
        (true, true) => {
            let wraps = aggregation.settings.get("wrap_longitude").is_none_or(truth);
            let (direct, around) = (east.1 - west.0, 360.0 - east.0 + west.1);
            if wraps && around < direct {
                (east.0, west.1)
            } else {
                (west.0, east.1)
            }
        }
    };
    Ok(json!({
        "bounds": {"top_left": {"lat": top, "lon": left}, "bottom_right": {"lat": bottom, "lon": right}},
    }))
}
