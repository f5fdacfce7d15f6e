//! Geo points and their geohashes.
//!
//! Source: `GeoUtils` and `GeoHashUtils` of Elasticsearch 1.5. A distance is on a sphere with the radius of the earth
//! at the average latitude, as in Lucene 4.10's `SloppyMath`.

use std::f64::consts::PI;

use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::json::{double, number_of};

/// Maximum length of a computed geohash.
pub(crate) const MAX_GEOHASH_LENGTH: usize = 12;
/// Radius of the earth at the equator, in metres.
pub(super) const EQUATORIAL_RADIUS: f64 = 6_378_137.0;
/// Radius of the earth at the poles, in metres.
pub(super) const POLAR_RADIUS: f64 = 6_356_752.314_245;
/// The characters of geohashes.
const GEOHASH: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";

pub(crate) fn is_geohash_char(c: char) -> bool {
    u8::try_from(c).is_ok_and(|byte| GEOHASH.contains(&byte))
}

/// A point, in degrees north and east.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct GeoPoint {
    pub(crate) lat: f64,
    pub(crate) lon: f64,
}

/// Returns a number in the range above `-circle / 2` up to `circle / 2`, from which it differs by whole circles.
fn centered(degrees: f64, circle: f64) -> f64 {
    let rest = degrees.rem_euclid(circle);
    let is_beyond = rest > circle / 2.0;
    rest - if is_beyond { circle } else { 0.0 }
}

impl GeoPoint {
    /// Returns the same place with a latitude from -90 to 90 and a longitude above -180 up to 180, as far as these are
    /// to be normalized. A latitude beyond a pole is on the opposite meridian.
    pub(crate) fn normalized(self, (of_lat, of_lon): (bool, bool)) -> GeoPoint {
        let GeoPoint { mut lat, mut lon } = self;
        let of_lon = of_lon && (lon > 180.0 || lon <= -180.0);
        if of_lat && (lat > 90.0 || lat <= -90.0) {
            lat = centered(lat, 360.0);
            let pole = if lat > 0.0 { 180.0 } else { -180.0 };
            if lat.abs() > 90.0 {
                lat = pole - lat;
                let goes_east = of_lon || centered(lon, 360.0) <= 0.0;
                lon += if goes_east { 180.0 } else { -180.0 };
            }
        }
        if of_lon {
            lon = centered(lon, 360.0);
        }
        GeoPoint { lat, lon }
    }

    /// Parses a point of a request: `[lon, lat]`, `"lat,lon"`, `{"lat": .., "lon": ..}` or a geohash. A coordinate that
    /// a list lacks is no number.
    ///
    /// # Errors
    /// Elasticsearch's for anything else.
    pub(crate) fn read(value: &Value) -> Result<GeoPoint> {
        match value {
            Value::Array(parts) => {
                let mut coordinates = [f64::NAN; 2];
                for (at, part) in parts.iter().enumerate() {
                    let number = part
                        .as_f64()
                        .ok_or_else(|| SearchError::parse("Numeric value expected"))?;
                    let place = coordinates.get_mut(at);
                    *place.ok_or_else(|| SearchError::parse("only two values allowed"))? = number;
                }
                let [lon, lat] = coordinates;
                Ok(GeoPoint { lat, lon })
            }
            Value::String(text) => match text.split_once(',') {
                Some((lat, lon)) => Ok(GeoPoint {
                    lat: double(lat)?,
                    lon: double(lon)?,
                }),
                None => GeoPoint::from_geohash(text),
            },
            Value::Object(parts) => GeoPoint::of_members(parts),
            _ => Err(SearchError::parse("geo_point expected")),
        }
    }

    fn of_members(parts: &Map<String, Value>) -> Result<GeoPoint> {
        let (mut lat, mut lon, mut hash) = (None, None, None);
        for (name, value) in parts {
            let coordinate = |what: &str| match value {
                Value::String(text) => double(text),
                other => {
                    let number = other.as_f64();
                    number.ok_or_else(|| SearchError::parse(format!("{what} must be a number")))
                }
            };
            match name.as_str() {
                "lat" => lat = Some(coordinate("latitude")?),
                "lon" => lon = Some(coordinate("longitude")?),
                "geohash" => {
                    let text = value.as_str();
                    hash = Some(text.ok_or_else(|| SearchError::parse("geohash must be a string"))?);
                }
                _ => return Err(SearchError::parse("field must be either 'lat', 'lon' or 'geohash'")),
            }
        }
        match (lat, lon, hash) {
            (None, None, Some(hash)) => GeoPoint::from_geohash(hash),
            (_, _, Some(_)) => Err(SearchError::parse("field must be either lat/lon or geohash")),
            (None, _, None) => Err(SearchError::parse("field [lat] missing")),
            (_, None, None) => Err(SearchError::parse("field [lon] missing")),
            (Some(lat), Some(lon), None) => Ok(GeoPoint { lat, lon }),
        }
    }

    /// Parses a point of a document: `[lon, lat]`, `"lat,lon"`, `{"lat": .., "lon": ..}` or a geohash.
    pub(crate) fn parse(value: &Value) -> Option<GeoPoint> {
        match value {
            Value::Array(parts) => {
                let [lon, lat, ..] = parts.as_slice() else { return None };
                Some(GeoPoint {
                    lat: number_of(lat)?,
                    lon: number_of(lon)?,
                })
            }
            other => GeoPoint::read(other).ok(),
        }
    }

    /// Encodes to 64 bits: latitude in the upper half, longitude in the lower half, in units of 1e-7 degrees.
    pub(crate) fn encode(self) -> i64 {
        let part = |degrees: f64| (degrees * 1e7).round() as i32;
        i64::from(part(self.lat)) << 32 | i64::from(part(self.lon) as u32)
    }

    /// Inverse of [`GeoPoint::encode`].
    pub(crate) fn decode(encoded: i64) -> GeoPoint {
        GeoPoint {
            lat: f64::from((encoded >> 32) as i32) / 1e7,
            lon: f64::from(encoded as i32) / 1e7,
        }
    }

    /// Distance to another point, in metres.
    pub(crate) fn distance(self, other: GeoPoint) -> f64 {
        let (a, b) = (self.lat.to_radians(), other.lat.to_radians());
        let half = ((b - a) / 2.0).sin().powi(2)
            + a.cos() * b.cos() * ((other.lon - self.lon).to_radians() / 2.0).sin().powi(2);
        2.0 * radius_at((a + b) / 2.0) * half.sqrt().min(1.0).asin()
    }

    /// Returns the geohash of the point with `length` characters.
    pub(crate) fn geohash(self, length: usize) -> String {
        let (mut lat, mut lon) = ((-90.0, 90.0), (-180.0, 180.0));
        let mut hash = String::new();
        let mut even = true;
        for _ in 0..length {
            let mut index = 0usize;
            for _ in 0..5 {
                let (range, value) = if even {
                    (&mut lon, self.lon)
                } else {
                    (&mut lat, self.lat)
                };
                let middle = (range.0 + range.1) / 2.0;
                index <<= 1;
                if value > middle {
                    index |= 1;
                    range.0 = middle;
                } else {
                    range.1 = middle;
                }
                even = !even;
            }
            hash.extend(GEOHASH.get(index).map(|byte| char::from(*byte)));
        }
        hash
    }

    /// Returns the geohash of a value: the given one, or one of maximum length for other forms of points.
    pub(crate) fn geohash_of(value: &Value) -> Option<String> {
        match value {
            Value::String(hash) if !hash.contains(',') => Some(hash.clone()),
            _ => Some(GeoPoint::parse(value)?.geohash(MAX_GEOHASH_LENGTH)),
        }
    }

    /// Returns the center of a geohash's cell.
    ///
    /// # Errors
    /// A character that geohashes do not have.
    pub(crate) fn from_geohash(hash: &str) -> Result<GeoPoint> {
        GeoPoint::of_geohash(hash).ok_or_else(|| {
            let unknown = hash.chars().find(|c| !is_geohash_character(*c)).unwrap_or_default();
            SearchError::illegal(format!("the character '{unknown}' is not a valid geohash character"))
        })
    }

    /// Returns the center of a geohash's cell, if its characters are those of geohashes.
    pub(crate) fn of_geohash(hash: &str) -> Option<GeoPoint> {
        let (mut lat, mut lon) = ((-90.0f64, 90.0f64), (-180.0f64, 180.0f64));
        let mut even = true;
        for byte in hash.bytes() {
            let index = GEOHASH.iter().position(|letter| *letter == byte)?;
            for bit in (0..5).rev() {
                let range = if even { &mut lon } else { &mut lat };
                let middle = (range.0 + range.1) / 2.0;
                if index >> bit & 1 == 1 {
                    range.0 = middle;
                } else {
                    range.1 = middle;
                }
                even = !even;
            }
        }
        (!hash.is_empty()).then_some(GeoPoint {
            lat: (lat.0 + lat.1) / 2.0,
            lon: (lon.0 + lon.1) / 2.0,
        })
    }
}

/// Number of steps between the equator and a pole in which the radius of the earth is known.
const LATITUDE_STEPS: f64 = 1_024.0;

/// Radius of the earth near a latitude in radians, in metres. Source: the table of `SloppyMath`, whose latitudes are
/// slightly closer than its steps.
fn radius_at(latitude: f64) -> f64 {
    let step = (latitude.abs() / (PI / 2.0) * LATITUDE_STEPS).round();
    if step >= LATITUDE_STEPS {
        return POLAR_RADIUS;
    }
    let latitude = PI * step / (2.0 * LATITUDE_STEPS + 1.0);
    let (east, north) = (EQUATORIAL_RADIUS * latitude.cos(), POLAR_RADIUS * latitude.sin());
    let (far_east, far_north) = (EQUATORIAL_RADIUS * east, POLAR_RADIUS * north);
    far_east.hypot(far_north) / east.hypot(north)
}

/// Returns whether a geohash can have the character.
fn is_geohash_character(c: char) -> bool {
    GEOHASH.iter().any(|letter| char::from(*letter) == c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case((100.0, 200.0), (80.0, 20.0))]
    #[case((95.0, 5.0), (85.0, -175.0))]
    #[case((-91.0, -181.0), (-89.0, -1.0))]
    #[case((270.0, 90.0), (-90.0, 90.0))]
    #[case((450.0, -540.5), (90.0, 179.5))]
    #[case((10.0, 541.0), (10.0, -179.0))]
    #[case((-90.0, 180.0), (-90.0, 180.0))]
    fn points_are_normalized(#[case] (lat, lon): (f64, f64), #[case] (expected_lat, expected_lon): (f64, f64)) {
        let expected = GeoPoint {
            lat: expected_lat,
            lon: expected_lon,
        };
        assert_eq!(GeoPoint { lat, lon }.normalized((true, true)), expected);
        assert_eq!(GeoPoint { lat, lon }.normalized((false, false)), GeoPoint { lat, lon });
    }

    #[test]
    fn every_form_of_a_point_is_parsed() {
        let berlin = GeoPoint { lat: 52.5, lon: 13.4 };
        for value in [
            json!([13.4, 52.5]),
            json!("52.5,13.4"),
            json!({"lat": 52.5, "lon": "13.4"}),
        ] {
            assert_eq!(GeoPoint::parse(&value), Some(berlin), "{value}");
        }
        let decoded = GeoPoint::decode(berlin.encode());
        assert!((decoded.lat - 52.5).abs() < 1e-6 && (decoded.lon - 13.4).abs() < 1e-6);
        assert_eq!(berlin.geohash(5), "u33d8");
        assert!(GeoPoint::parse(&json!("u33d8")).is_some_and(|point| point.distance(berlin) < 5_000.0));
    }
}
