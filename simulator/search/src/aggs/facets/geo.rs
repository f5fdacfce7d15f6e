//! The `geo_distance` facet: documents by their distance to a point.

use serde_json::{Map, Value};

use super::range::{Bounds, NumberRange, count};
use super::settings::script;
use super::{Values, refuse};
use crate::aggs::geo::points;
use crate::aggs::values::Input;
use crate::aggs::{Matches, Scope};
use crate::error::{Result, SearchError};
use crate::json::java_text;
use crate::mapping::truth;
use crate::query::{DistanceType, GeoPoint, unit_in_metres};

/// Setting names that are not the name of the field.
const SETTINGS: [&str; 14] = [
    "ranges",
    "entries",
    "unit",
    "distance_type",
    "distanceType",
    "value_field",
    "valueField",
    "value_script",
    "valueScript",
    "normalize",
    "lang",
    "params",
    "script_id",
    "script_file",
];

/// Settings of the facet.
pub(super) struct GeoDistance {
    pub(super) field: String,
    pub(super) values: Option<Values>,
    origin: GeoPoint,
    ranges: Vec<NumberRange>,
    /// Length of the unit of the distances, in metres.
    unit: f64,
    distance_type: DistanceType,
}

impl GeoDistance {
    pub(super) fn parse(name: &str, settings: &Map<String, Value>) -> Result<GeoDistance> {
        let (mut place, mut unit, mut field) = (None, 1.0, None);
        let mut ranges = Vec::new();
        for (setting, value) in settings {
            match setting.as_str() {
                "ranges" | "entries" => ranges.extend(Bounds::list(value)?),
                "unit" => unit = unit_in_metres(&java_text(value))?,
                "value_field" | "valueField" => field = Some(java_text(value)),
                other if SETTINGS.contains(&other) => {}
                // Of several, the last one is the field. A number is read as a geohash.
                other => {
                    let point = if value.is_number() {
                        &java_text(value).into()
                    } else {
                        value
                    };
                    place = Some((other, GeoPoint::read(point)?));
                }
            }
        }
        let distance_type = DistanceType::of(settings)?;
        if ranges.is_empty() {
            return Err(refuse(name, "no ranges defined for geo_distance facet"));
        }
        let script = script(settings, &["value_script", "valueScript"])?;
        let (place, origin) = place.ok_or_else(SearchError::null_pointer)?;
        Ok(GeoDistance {
            field: place.to_owned(),
            values: script.map(Values::Script).or(field.map(Values::Field)),
            origin: match settings.get("normalize").is_none_or(truth) {
                true => origin.normalized((true, true)),
                false => origin,
            },
            ranges: ranges.iter().map(|range| range.of(None)).collect::<Result<_>>()?,
            unit,
            distance_type,
        })
    }

    /// Computes the ranges: document counts, with statistics of the distances or of the value field.
    pub(super) fn compute(&self, scope: &Scope<'_>, matches: &Matches) -> Result<Map<String, Value>> {
        let inputs = (Input::Field(&self.field), self.values.as_ref());
        let counted = count(scope, matches, inputs, &self.ranges, |places, doc| {
            let distance = |place| self.distance_type.between(self.origin, place) / self.unit;
            points(places, doc).into_iter().map(distance).collect()
        })?;
        let mut list = Vec::new();
        for (range, (count, stats)) in self.ranges.iter().zip(counted) {
            let mut entry = range.to_json(count);
            stats.write_to(&mut entry);
            list.push(Value::Object(entry));
        }
        Ok(Map::from_iter([("ranges".to_owned(), list.into())]))
    }
}
