//! The facet of documents by their distance to a point.
//!
//! Source: Elasticsearch 1.5's `geo_distance` facet.

use serde_json::{Map, Value, json};

use crate::aggs::facet_stats::Stats;
use crate::aggs::facets::{Facet, Range, each};
use crate::aggs::values::{Input, Source};
use crate::aggs::{Matches, Scope};
use crate::error::{Result, SearchError};
use crate::query::{Context, GeoPoint, metres};

/// Settings beside the field and its point.
const SETTINGS: [&str; 9] = [
    "ranges",
    "entries",
    "unit",
    "distance_type",
    "distanceType",
    "value_field",
    "valueField",
    "normalize",
    "lang",
];

/// The field, and what says where the point is.
fn place<'a>(facet: &Facet<'a>) -> Option<(&'a str, &'a Value)> {
    let mut settings = facet.settings.as_object()?.iter();
    let (field, point) = settings.find(|(key, _)| !SETTINGS.contains(&key.as_str()))?;
    Some((field, point))
}

fn ranges<'a>(facet: &Facet<'a>) -> Option<&'a Vec<Value>> {
    let settings = facet.settings;
    settings.get("ranges").or_else(|| settings.get("entries"))?.as_array()
}

/// Fails for settings that are not enough. Returns the fields of numbers.
pub(super) fn check<'a>(facet: &'a Facet<'_>, context: &Context<'_>) -> Result<Vec<&'a str>> {
    if ranges(facet).is_none_or(Vec::is_empty) {
        return Err(facet.refuse("no ranges defined for geo_distance facet"));
    }
    let (field, point) = place(facet).ok_or_else(|| facet.refuse("failed to find mapping for [null]"))?;
    if context.mapped(field).is_none() {
        return Err(facet.refuse(&format!("failed to find mapping for [{field}]")));
    }
    GeoPoint::parse(point).ok_or_else(|| SearchError::parse("geo_point expected"))?;
    Ok(facet.value_field().into_iter().collect())
}

/// Counts the documents of each range, with their distances or their values.
pub(super) fn distances(
    scope: &Scope<'_>,
    facet: &Facet<'_>,
    matches: &Matches,
    shown: &mut Map<String, Value>,
) -> Result<()> {
    let (Some((field, point)), Some(ranges)) = (place(facet), ranges(facet)) else {
        return Ok(());
    };
    let origin = GeoPoint::parse(point).ok_or_else(|| SearchError::parse("geo_point expected"))?;
    let unit = facet.text(&["unit"]).unwrap_or("km");
    let unit = metres(&json!(1), Some(unit))
        .ok_or_else(|| SearchError::illegal(format!("No distance unit match [{unit}]")))?;
    let mut list = Vec::new();
    for range in ranges.iter().map(Range::parse) {
        let (mut count, mut stats) = (0u64, Stats::default());
        each(scope, matches, field, |set, source, doc| {
            let Source::Numbers { values, .. } = source else {
                return Ok(());
            };
            let mut distances = values
                .of(doc)
                .iter()
                .map(|place| GeoPoint::decode(*place).distance(origin) / unit);
            let Some(distance) = distances.find(|far| range.has(*far)) else {
                return Ok(());
            };
            count += 1;
            match facet.value_field() {
                None => stats.add(distance),
                Some(field) => {
                    let source = Source::of(scope, set, Input::Field(field))?;
                    source.numbers(doc).for_each(|number| stats.add(number));
                }
            }
            Ok(())
        })?;
        let mut one = range.show(count);
        stats.show(&mut one);
        list.push(Value::Object(one));
    }
    shown.insert("ranges".to_owned(), list.into());
    Ok(())
}
