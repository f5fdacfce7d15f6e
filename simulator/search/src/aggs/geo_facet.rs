//! The `geo_distance` facet of Elasticsearch 1.5: documents by their distance to a point.

use serde_json::{Map, Value};

use crate::aggs::facet_stats::{Range, Stats};
use crate::aggs::facets::{Facet, each};
use crate::aggs::values::{Input, Source};
use crate::aggs::{Matches, Scope};
use crate::error::Result;
use crate::mapping::DataUse;
use crate::query::{Context, DistanceType, GeoPoint, unit_in_metres};

/// Setting names that are not the name of the field.
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

/// Returns the name of the field and the JSON of the origin.
fn field_and_origin<'a>(facet: &Facet<'a>) -> Option<(&'a str, &'a Value)> {
    let mut settings = facet.settings.as_object()?.iter();
    let (field, point) = settings.find(|(key, _)| !SETTINGS.contains(&key.as_str()))?;
    Some((field, point))
}

fn ranges<'a>(facet: &Facet<'a>) -> Option<&'a Vec<Value>> {
    let settings = facet.settings;
    settings.get("ranges").or_else(|| settings.get("entries"))?.as_array()
}

/// Validates the settings and returns the numeric fields that they use.
pub(super) fn check<'a>(facet: &'a Facet<'_>, context: &Context<'_>) -> Result<Vec<&'a str>> {
    if ranges(facet).is_none_or(Vec::is_empty) {
        return Err(facet.refuse("no ranges defined for geo_distance facet"));
    }
    let (field, point) = field_and_origin(facet).ok_or_else(|| facet.refuse("failed to find mapping for [null]"))?;
    let data = context.mapping.field_data(field);
    let data = data.ok_or_else(|| facet.refuse(&format!("failed to find mapping for [{field}]")))?;
    data.cast(field, DataUse::Points)?;
    GeoPoint::read(point)?;
    Ok(facet.value_field().into_iter().collect())
}

/// Computes the ranges: document counts, with statistics of the distances or of the value field.
pub(super) fn distances(
    scope: &Scope<'_>,
    facet: &Facet<'_>,
    matches: &Matches,
    result: &mut Map<String, Value>,
) -> Result<()> {
    let (Some((field, point)), Some(ranges)) = (field_and_origin(facet), ranges(facet)) else {
        return Ok(());
    };
    let origin = GeoPoint::read(point)?;
    let unit = facet.text(&["unit"]).unwrap_or("m");
    let unit = unit_in_metres(unit)?;
    let distance_type = facet
        .settings
        .as_object()
        .map_or(Ok(DistanceType::default()), DistanceType::of)?;
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
                .map(|encoded| distance_type.between(origin, GeoPoint::decode(*encoded)) / unit);
            let Some(distance) = distances.find(|distance| range.has(*distance)) else {
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
        let mut entry = range.to_json(count);
        stats.write_to(&mut entry);
        list.push(Value::Object(entry));
    }
    result.insert("ranges".to_owned(), list.into());
    Ok(())
}
