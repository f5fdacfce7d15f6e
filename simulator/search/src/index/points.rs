//! Indexing of geo points.
//!
//! Source: `GeoPointFieldMapper` of Elasticsearch 1.5.

use serde_json::Value;

use crate::error::{Result, SearchError};
use crate::index::document::DocumentParser;
use crate::json::{BODY, boolean_token, double, java_number, not_numeric, token_of};
use crate::mapping::{FieldNode, FieldType};
use crate::query::GeoPoint;

/// A point, and the value that it is read from.
type Read<'v> = Result<(GeoPoint, &'v Value)>;

/// Reads the points of a value: one, or those of an array.
fn points_of(value: &Value) -> Vec<Read<'_>> {
    match value {
        Value::Array(items) => match items.as_slice() {
            [Value::Number(lon), rest @ ..] => {
                let lon = lon.as_f64().unwrap_or(f64::NAN);
                vec![latitude(rest.first()).map(|lat| (GeoPoint { lat, lon }, value))]
            }
            items => items.iter().map(point_of).collect(),
        },
        value => vec![point_of(value)],
    }
}

fn point_of(value: &Value) -> Read<'_> {
    match value {
        // The empty geohash is the cell of the whole earth.
        Value::String(text) if text.is_empty() => Ok((GeoPoint { lat: 0.0, lon: 0.0 }, value)),
        _ => Ok((GeoPoint::read(value)?, value)),
    }
}

/// Returns the number after the longitude of an array.
fn latitude(value: Option<&Value>) -> Result<f64> {
    match value {
        Some(Value::Number(lat)) => Ok(lat.as_f64().unwrap_or(f64::NAN)),
        Some(Value::String(lat)) => double(lat),
        Some(Value::Bool(lat)) => Err(not_numeric(boolean_token(*lat), BODY)),
        Some(other) => Err(not_numeric(token_of(other), BODY)),
        None => Err(not_numeric("END_ARRAY", BODY)),
    }
}

/// Fails for a point beyond the earth, unless the field accepts it.
fn check(kind: &FieldType, name: &str, point: GeoPoint) -> Result<()> {
    let (checks_lat, checks_lon) = kind.validates_points();
    let invalid = |what: &str, value: f64| {
        let shown = java_number(value);
        let reason = format!("illegal {what} value [{shown}] for {name}");
        Err(SearchError::mapping("failed to parse").caused_by(SearchError::illegal(reason)))
    };
    if checks_lat && (point.lat > 90.0 || point.lat < -90.0) {
        return invalid("latitude", point.lat);
    }
    if checks_lon && (point.lon > 180.0 || point.lon < -180.0) {
        return invalid("longitude", point.lon);
    }
    Ok(())
}

impl DocumentParser<'_> {
    /// Indexes one point or an array of points.
    pub(super) fn points(&mut self, name: &str, node: &FieldNode, value: &Value) -> Result<()> {
        let Some(field) = self.mapping.field_of(self.type_name, name) else {
            return Ok(());
        };
        for read in points_of(value) {
            let (point, value) = read.map_err(|error| SearchError::mapping("failed to parse").caused_by(error))?;
            let kind = &field.field_type;
            let point = point.normalized(kind.normalizes_points());
            check(kind, &field.name, point)?;
            self.doc.add_field_name(field);
            // A point without a coordinate is nowhere.
            if !point.lat.is_nan() && !point.lon.is_nan() {
                self.doc.encoded.push_number(field.ordinal, point.encode());
            }
            self.point_fields(name, node, point, value)?;
        }
        Ok(())
    }

    /// Indexes a point in its sub-fields: `lat` and `lon`, `geohash` (with its prefixes if they are enabled),
    /// multi-fields.
    fn point_fields(&mut self, name: &str, node: &FieldNode, point: GeoPoint, value: &Value) -> Result<()> {
        for (other, below) in &node.fields {
            let coordinate = |own: f64| {
                serde_json::Number::from_f64(own)
                    .into_iter()
                    .map(Value::Number)
                    .collect()
            };
            let values: Vec<Value> = match other.as_str() {
                "lat" => coordinate(point.lat),
                "lon" => coordinate(point.lon),
                "geohash" => {
                    let hash = GeoPoint::geohash_of(value).unwrap_or_default();
                    let longest = hash.len().min(node.field_type.geohash_precision());
                    let is_prefix = node.field_type.has_geohash_prefixes();
                    // Without prefixes, a geohash that is longer than the precision is not indexed.
                    let shortest = if is_prefix { 1 } else { hash.len() };
                    let lengths = (shortest..=longest).rev();
                    lengths
                        .filter_map(|length| hash.get(..length))
                        .map(Value::from)
                        .collect()
                }
                _ => vec![value.clone()],
            };
            for value in &values {
                self.field(&format!("{name}.{other}"), below, value, false)?;
            }
        }
        Ok(())
    }
}
