//! The subfields of geo points: `lat`, `lon` and `geohash`.
//!
//! Source: `GeoPointFieldMapper` of Elasticsearch 1.5.

use serde_json::{Map, Value, json};

use super::Kind;
use super::field::FieldType;
use super::flags::is_on;
use crate::error::{Result, SearchError};
use crate::json::java_text;
use crate::query::{MAX_GEOHASH_LENGTH, geohash_length, metres};

/// Names of the subfields, and the settings that enable them.
const SUBFIELDS: [(&str, &str); 3] = [("lat", "lat_lon"), ("lon", "lat_lon"), ("geohash", "geohash")];

/// Returns whether a setting of a point is enabled. `geohash_prefix` enables `geohash`.
fn is_enabled(point: &FieldType, setting: &str) -> bool {
    let own = |key| point.setting(key).is_some_and(is_on);
    own(setting) || setting == "geohash" && own("geohash_prefix")
}

/// Returns whether `name` is a generated subfield of the point.
pub(super) fn is_subfield(point: &FieldType, name: &str) -> bool {
    let matches = |(own, setting): &(&str, &str)| *own == name && is_enabled(point, setting);
    point.kind == Kind::GeoPoint && SUBFIELDS.iter().any(matches)
}

/// Returns the subfields of a point. Empty for fields of other types.
pub(super) fn subfields(point: &FieldType) -> Result<Vec<(&'static str, FieldType)>> {
    let names = SUBFIELDS
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| is_subfield(point, name));
    let with_type = names.map(|name| {
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
    /// Returns whether latitudes and longitudes beyond their range are converted to those of the same place.
    pub(crate) fn normalizes_points(&self) -> (bool, bool) {
        let is_set = |key: &str| self.setting(key).is_none_or(is_on);
        let both = is_set("normalize");
        // Elasticsearch ignores a setting for the longitude alone.
        (both && is_set("normalize_lat"), both)
    }

    /// Returns whether latitudes and longitudes beyond their range are errors.
    pub(crate) fn validates_points(&self) -> (bool, bool) {
        let is_set = |key: &str| self.setting(key).is_none_or(is_on);
        let both = is_set("validate") && !self.ignore_malformed;
        (both && is_set("validate_lat"), both && is_set("validate_lon"))
    }

    /// Returns whether all prefixes of a geohash are indexed.
    pub(crate) fn has_geohash_prefixes(&self) -> bool {
        is_enabled(self, "geohash_prefix")
    }

    /// Maximum length of an indexed geohash, in characters.
    pub(crate) fn geohash_precision(&self) -> usize {
        self.geohash_setting()
            .map_or(MAX_GEOHASH_LENGTH, |own| usize::try_from(own).unwrap_or(0))
    }

    /// Returns the length of the indexed geohashes, if it is set.
    pub(super) fn geohash_setting(&self) -> Option<i64> {
        let own = self
            .setting("geohash_precision")
            .filter(|_| self.kind == Kind::GeoPoint)?;
        geohash_setting(own).ok()
    }
}

/// Parses the length of indexed geohashes. In contrast to that of a query, a number with a fraction is a distance.
///
/// # Errors
/// A text that is not a distance.
pub(super) fn geohash_setting(setting: &Value) -> Result<i64> {
    match setting.as_i64() {
        Some(length) => Ok(length),
        None => geohash_levels(&json!(java_text(setting))).map(|levels| levels as i64),
    }
}

/// Parses a geohash length: a number, or a distance that a cell must not exceed.
///
/// # Errors
/// A text that is not a distance.
pub(crate) fn geohash_levels(setting: &Value) -> Result<usize> {
    let number = setting.as_f64().map(|number| number as usize);
    let distance = || metres(setting, None).map(geohash_length);
    number
        .or_else(distance)
        .ok_or_else(|| SearchError::number(setting.as_str().unwrap_or_default()))
}
