//! Sort by distance from points.
//!
//! Source: Elasticsearch 1.5's `GeoDistanceSortParser`.

use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::json::{is_scalar, java_text, token_of};
use crate::query::{DistanceType, GeoPoint, MultiValueMode, unit_in_metres};

/// Origins and unit of a sort by distance.
#[derive(Clone, Debug)]
pub(super) struct GeoSort {
    points: Vec<GeoPoint>,
    /// Unit of the distance, in metres.
    unit: f64,
    distance_type: DistanceType,
}

/// Settings of a sort by distance.
pub(super) struct GeoSettings {
    pub(super) field: String,
    pub(super) geo: GeoSort,
    pub(super) descending: bool,
    pub(super) mode: Option<MultiValueMode>,
    pub(super) nested_path: Option<String>,
    pub(super) nested_filter: Option<Value>,
}

/// Parses a point, or a list of points, in which two numbers are one point.
fn points_of(value: &Value) -> Result<Vec<GeoPoint>> {
    let Value::Array(items) = value else {
        let point = match value {
            Value::Object(_) => GeoPoint::read(value),
            scalar => GeoPoint::read(&java_text(scalar).into()),
        };
        return Ok(vec![point?]);
    };
    let (mut items, mut points) = (items.iter(), Vec::new());
    while let Some(item) = items.next() {
        points.push(match item.as_f64() {
            None => GeoPoint::read(item)?,
            Some(lon) => {
                let next = items.next();
                let lat = next.and_then(Value::as_f64).ok_or_else(|| {
                    let token = next.map_or("END_ARRAY", token_of);
                    let reason = format!("geo point parsing: expected second number but got{token}");
                    SearchError::parse(reason)
                })?;
                GeoPoint { lat, lon }
            }
        });
    }
    Ok(points)
}

impl GeoSettings {
    /// Parses the settings under `_geo_distance`.
    ///
    /// # Errors
    /// An unknown unit or mode.
    pub(super) fn parse(settings: &Map<String, Value>) -> Result<GeoSettings> {
        let mut found = GeoSettings {
            field: String::new(),
            geo: GeoSort {
                points: vec![],
                unit: 1.0,
                distance_type: DistanceType::of(settings)?,
            },
            descending: false,
            mode: None,
            nested_path: None,
            nested_filter: None,
        };
        for (key, value) in settings {
            let text = is_scalar(value).then(|| java_text(value));
            match (key.as_str(), text) {
                (_, None) if value.is_null() => {}
                ("order", Some(order)) => found.descending = order == "desc",
                ("reverse", Some(_)) => found.descending = crate::mapping::truth(value),
                ("unit", Some(unit)) => found.geo.unit = unit_in_metres(&unit)?,
                ("mode" | "sort_mode" | "sortMode", Some(mode)) => found.mode = Some(MultiValueMode::parse(&mode)?),
                ("nested_path" | "nestedPath", Some(path)) => found.nested_path = Some(path),
                ("nested_filter" | "nestedFilter", None) => found.nested_filter = Some(value.clone()),
                ("distance_type" | "distanceType" | "normalize", Some(_)) => {}
                _ => {
                    found.field = key.clone();
                    found.geo.points.extend(points_of(value)?);
                }
            }
        }
        if settings.get("normalize").is_none_or(crate::mapping::truth) {
            for point in &mut found.geo.points {
                *point = point.normalized((true, true));
            }
        }
        if found.mode == Some(MultiValueMode::Sum) {
            return Err(SearchError::illegal(
                "sort_mode [sum] isn't supported for sorting by geo distance",
            ));
        }
        Ok(found)
    }

    /// Returns the error for a field that is not a `geo_point`.
    pub(super) fn unmapped(field: &str) -> SearchError {
        if field.is_empty() {
            return SearchError::null_pointer();
        }
        SearchError::illegal(format!(
            "failed to find mapper for [{field}] for geo distance based sort"
        ))
    }
}

impl GeoSort {
    /// Reduces the distances of the encoded points of a document to one value: `f64::MAX` for a document without
    /// points.
    pub(super) fn value(&self, encoded: &[i64], descending: bool, mode: Option<MultiValueMode>) -> f64 {
        let distances = encoded.iter().flat_map(|encoded| {
            let point = GeoPoint::decode(*encoded);
            let unit = match self.distance_type {
                // It is not a length.
                DistanceType::Factor => 1.0,
                _ => self.unit,
            };
            let distance = move |from: &GeoPoint| self.distance_type.between(*from, point) / unit;
            self.points.iter().map(distance)
        });
        let mode = mode.unwrap_or(MultiValueMode::of_order(descending));
        mode.select(distances).unwrap_or(f64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_mode_selects_the_nearest_or_the_farthest_point() {
        let settings = json!({"at": [[0, 0], "0,2"], "unit": "km", "order": "asc"});
        let found = GeoSettings::parse(settings.as_object().unwrap()).unwrap();
        let place = [GeoPoint { lat: 0.0, lon: 0.5 }.encode()];
        let kilometres = |descending, mode| found.geo.value(&place, descending, mode).round();
        assert_eq!(found.field, "at");
        assert_eq!(kilometres(false, None), 56.0);
        assert_eq!(kilometres(true, None), 167.0);
        assert_eq!(kilometres(true, Some(MultiValueMode::Avg)), 111.0);
        assert_eq!(found.geo.value(&[], false, None), f64::MAX);
    }

    #[test]
    fn an_unknown_unit_is_rejected() {
        let settings = json!({"at": "0,0", "unit": "ells"});
        assert!(GeoSettings::parse(settings.as_object().unwrap()).is_err());
    }
}
