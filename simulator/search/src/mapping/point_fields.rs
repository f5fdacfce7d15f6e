//! The fields that a geographic point is indexed in beside its own: `lat`, `lon` and `geohash`.
//!
//! Source: `GeoPointFieldMapper` of Elasticsearch 1.5.

use serde_json::{Map, Value, json};

use super::field::{FieldType, Kind, truth};
use crate::error::{Result, SearchError};
use crate::query::{MAX_GEOHASH_LENGTH, geohash_length, metres};

/// Names of the fields, and the setting that each of them needs.
const MADE: [(&str, &str); 3] = [("lat", "lat_lon"), ("lon", "lat_lon"), ("geohash", "geohash")];

/// Returns whether a setting of a point is on. Prefixes of geohashes need geohashes.
fn is_on(point: &FieldType, setting: &str) -> bool {
    let own = |key| point.setting(key).is_some_and(truth);
    own(setting) || setting == "geohash" && own("geohash_prefix")
}

/// Returns whether a field below a point is one of these.
pub(super) fn is_made(point: &FieldType, name: &str) -> bool {
    let made = |(own, setting): &(&str, &str)| *own == name && is_on(point, setting);
    point.kind == Kind::GeoPoint && MADE.iter().any(made)
}

/// The fields of a point. None for another field.
pub(super) fn of(point: &FieldType) -> Result<Vec<(&'static str, FieldType)>> {
    let made = MADE
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| is_made(point, name));
    let with_type = made.map(|name| {
        let definition = match name {
            "geohash" => json!({"type": "string", "index": "not_analyzed", "include_in_all": false}),
            _ => json!({"type": "double", "include_in_all": false}),
        };
        let empty = Map::new();
        let mut definition = definition.as_object().unwrap_or(&empty).clone();
        definition.extend(point.setting("store").map(|store| ("store".to_owned(), store.clone())));
        Ok((name, FieldType::parse(name, &definition)?))
    });
    with_type.collect()
}

impl FieldType {
    /// Returns whether every beginning of a point's geohash is indexed.
    pub(crate) fn has_geohash_prefixes(&self) -> bool {
        is_on(self, "geohash_prefix")
    }

    /// Most letters of the geohashes that are indexed.
    pub(crate) fn geohash_precision(&self) -> usize {
        self.setting("geohash_precision")
            .and_then(|setting| geohash_levels(setting).ok())
            .unwrap_or(MAX_GEOHASH_LENGTH)
    }
}

/// The length of geohashes that a setting says: a number, or the distance that a cell must not exceed.
///
/// # Errors
/// A text that is no distance.
pub(crate) fn geohash_levels(setting: &Value) -> Result<usize> {
    let number = setting.as_f64().map(|number| number as usize);
    let distance = || metres(setting, None).map(geohash_length);
    number
        .or_else(distance)
        .ok_or_else(|| SearchError::number(setting.as_str().unwrap_or_default()))
}
