//! Indexing of geo points.
//!
//! Source: `GeoPointFieldMapper` of Elasticsearch 1.5.

use serde_json::Value;

use crate::error::{Result, SearchError};
use crate::index::document::DocumentParser;
use crate::mapping::FieldNode;
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
                    let shortest = if is_prefix { 1 } else { longest };
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
