//! Indexing of geo points.
//!
//! Source: `GeoPointFieldMapper` of Elasticsearch 1.5.

use serde_json::Value;

use crate::error::{Result, SearchError};
use crate::index::document::DocumentParser;
use crate::json::java_number;
use crate::mapping::{FieldNode, FieldType};
use crate::query::GeoPoint;

/// Returns the error for a value that is no point.
fn malformed(value: &Value) -> SearchError {
    match value {
        Value::Array(parts) if parts.first().is_some_and(Value::is_number) => {
            let wrong = parts.iter().find_map(Value::as_str);
            wrong.map_or_else(|| SearchError::parse("geo_point expected"), SearchError::float)
        }
        other => GeoPoint::read(other)
            .err()
            .unwrap_or_else(|| SearchError::parse("geo_point expected")),
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
    if checks_lat && !(-90.0..=90.0).contains(&point.lat) {
        return invalid("latitude", point.lat);
    }
    if checks_lon && !(-180.0..=180.0).contains(&point.lon) {
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
        // The empty geohash is the cell of the whole earth.
        let whole = (*value == "").then_some(GeoPoint { lat: 0.0, lon: 0.0 });
        match (GeoPoint::parse(value).or(whole), value) {
            (Some(point), _) => {
                let kind = &field.field_type;
                let point = point.normalized(kind.normalizes_points());
                check(kind, &field.name, point)?;
                self.doc.add_field_name(field);
                self.doc.encoded.push_number(field.ordinal, point.encode());
                self.point_fields(name, node, point, value)
            }
            (None, Value::Array(items)) if !items.first().is_some_and(Value::is_number) => {
                items.iter().try_for_each(|item| self.points(name, node, item))
            }
            _ => Err(SearchError::mapping("failed to parse").caused_by(malformed(value))),
        }
    }

    /// Indexes a point in its sub-fields: `lat` and `lon`, `geohash` (with its prefixes if they are enabled),
    /// multi-fields.
    fn point_fields(&mut self, name: &str, node: &FieldNode, point: GeoPoint, value: &Value) -> Result<()> {
        for (other, below) in &node.fields {
            let values: Vec<Value> = match other.as_str() {
                "lat" => vec![point.lat.into()],
                "lon" => vec![point.lon.into()],
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
