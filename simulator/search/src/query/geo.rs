//! Distances, geohash cells and geo shapes.
//!
//! Source: Elasticsearch 1.5's geo filters.

use std::f64::consts::PI;

use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::json::{is_scalar, java_number, java_text, typed_number};
use crate::query::geo_point::{EQUATORIAL_RADIUS, GeoPoint, MAX_GEOHASH_LENGTH, POLAR_RADIUS};

/// Calculation of the distance between two points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DistanceType {
    /// On a plane whose axes are latitude and longitude.
    Plane,
    /// The cosine of the angle between the points, which is not a length.
    Factor,
    Arc,
    #[default]
    SloppyArc,
}

impl DistanceType {
    /// Parses `distance_type` of settings.
    ///
    /// # Errors
    /// An unknown name.
    pub(crate) fn of(settings: &Map<String, Value>) -> Result<DistanceType> {
        let mut names = ["distance_type", "distanceType"].iter();
        let given = names
            .find_map(|key| settings.get(*key))
            .filter(|value| is_scalar(value));
        match given.map(|name| java_text(name).to_lowercase()).as_deref() {
            None | Some("sloppy_arc") => Ok(DistanceType::SloppyArc),
            Some("arc") => Ok(DistanceType::Arc),
            Some("plane") => Ok(DistanceType::Plane),
            Some("factor") => Ok(DistanceType::Factor),
            Some(other) => Err(SearchError::illegal(format!("No geo distance for [{other}]"))),
        }
    }

    fn name(self) -> &'static str {
        match self {
            DistanceType::Plane => "PLANE",
            DistanceType::Factor => "FACTOR",
            DistanceType::Arc => "ARC",
            DistanceType::SloppyArc => "SLOPPY_ARC",
        }
    }

    /// Distance between two points, in metres unless it is not a length.
    pub(crate) fn between(self, from: GeoPoint, to: GeoPoint) -> f64 {
        match self {
            DistanceType::Plane => {
                let (north, east) = (to.lat - from.lat, to.lon - from.lon);
                north.hypot(east).to_radians() * EQUATORIAL_RADIUS
            }
            DistanceType::Factor => {
                let [a, b, east] = [from.lat, to.lat, to.lon - from.lon].map(f64::to_radians);
                a.sin() * b.sin() + a.cos() * b.cos() * east.cos()
            }
            DistanceType::Arc | DistanceType::SloppyArc => from.distance(to),
        }
    }
}

/// Height and width of the cell of a geohash with `length` characters, in degrees.
fn cell_degrees(length: usize) -> (f64, f64) {
    let bits = i32::try_from(length * 5).unwrap_or(60);
    (180.0 / 2f64.powi(bits / 2), 360.0 / 2f64.powi(bits - bits / 2))
}

/// Returns the neighbor cells of a geohash: eight, fewer at a pole.
pub(crate) fn neighbors(hash: &str) -> Vec<String> {
    let Some(middle) = GeoPoint::of_geohash(hash) else {
        return vec![];
    };
    let (height, width) = cell_degrees(hash.len());
    let steps = [-1.0, 0.0, 1.0];
    let around = steps.iter().flat_map(|up| steps.iter().map(move |right| (*up, *right)));
    around
        .filter(|step| *step != (0.0, 0.0))
        .map(|(up, right)| GeoPoint {
            lat: middle.lat + up * height,
            lon: (middle.lon + right * width + 540.0).rem_euclid(360.0) - 180.0,
        })
        .filter(|point| point.lat.abs() < 90.0)
        .map(|point| point.geohash(hash.len()))
        .collect()
}

/// Returns the length of the geohashes with the largest cells that are not larger than a distance in metres, by the
/// number of such cells along the equator.
pub(crate) fn geohash_length(metres: f64) -> usize {
    let (equator, meridian) = (2.0 * PI * EQUATORIAL_RADIUS, PI * POLAR_RADIUS);
    if metres <= 0.0 {
        return MAX_GEOHASH_LENGTH;
    }
    let width = metres / (1.0 + meridian / equator);
    let bits = (equator / width).log2().ceil().max(0.0) as usize;
    // Of every ten bits, five are of the longitude: three in the first character, two in the second.
    let (full, rest) = (bits / 5, bits % 5);
    let length = 2 * full + usize::from(rest > 0) + usize::from(rest > 3);
    length.clamp(1, MAX_GEOHASH_LENGTH)
}

/// As [`geohash_length`], but cells are not smaller than the distance.
pub(crate) fn enclosing_geohash_length(metres: f64) -> usize {
    let length = geohash_length(metres);
    let (height, width) = cell_degrees(length);
    let size = (height / 180.0 * PI * POLAR_RADIUS).hypot(width / 360.0 * 2.0 * PI * EQUATORIAL_RADIUS);
    if size < metres { length.max(2) - 1 } else { length }
}

/// Units of distances and their lengths in metres, in the order in which suffixes are tried.
const UNITS: [(&str, f64); 19] = [
    ("in", 0.0254),
    ("inch", 0.0254),
    ("yd", 0.9144),
    ("yards", 0.9144),
    ("ft", 0.3048),
    ("feet", 0.3048),
    ("km", 1_000.0),
    ("kilometers", 1_000.0),
    ("NM", 1_852.0),
    ("nmi", 1_852.0),
    ("nauticalmiles", 1_852.0),
    ("mm", 0.001),
    ("millimeters", 0.001),
    ("cm", 0.01),
    ("centimeters", 0.01),
    ("mi", 1_609.344),
    ("miles", 1_609.344),
    ("m", 1.0),
    ("meters", 1.0),
];

/// Length of a unit of distances in metres.
///
/// # Errors
/// An unknown unit.
pub(crate) fn unit_in_metres(unit: &str) -> Result<f64> {
    let found = UNITS.iter().find(|(name, _)| *name == unit);
    let found = found.map(|(_, metres)| *metres);
    found.ok_or_else(|| SearchError::illegal(format!("No distance unit match [{unit}]")))
}

/// Parses a distance to metres: `1km`, or a number in `unit` (default: metres).
pub(crate) fn metres(value: &Value, unit: Option<&str>) -> Option<f64> {
    let factor = || unit_in_metres(unit.unwrap_or("m")).ok();
    match value {
        Value::Number(number) => Some(number.as_f64()? * factor()?),
        Value::String(text) => {
            let own = UNITS
                .iter()
                .find_map(|(name, metres)| Some((text.strip_suffix(name)?, *metres)));
            let (number, factor) = match own {
                Some(own) => own,
                None => (text.as_str(), factor()?),
            };
            Some(typed_number::<f64>(number.trim())? * factor)
        }
        _ => None,
    }
}

/// A geo shape.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GeoShape {
    /// Points at a distance between two bounds, in metres. `from` is `None` without a lower bound.
    Distance {
        center: GeoPoint,
        from: Option<f64>,
        to: f64,
        distance_type: DistanceType,
    },
    Box {
        top: f64,
        left: f64,
        bottom: f64,
        right: f64,
        /// Whether the filter is one of ranges of latitudes and longitudes.
        indexed: bool,
    },
    Polygon(Vec<GeoPoint>),
}

impl GeoShape {
    /// Moves the points to the usual range of latitudes and longitudes.
    pub(crate) fn normalize(&mut self) {
        let both = (true, true);
        match self {
            GeoShape::Distance { center, .. } => *center = center.normalized(both),
            GeoShape::Box {
                top,
                left,
                bottom,
                right,
                ..
            } => {
                // All longitudes.
                let is_belt = *left < *right && (*right - *left) % 360.0 == 0.0;
                for (lat, lon, end) in [(top, left, -180.0), (bottom, right, 180.0)] {
                    let corner = GeoPoint { lat: *lat, lon: *lon }.normalized((true, !is_belt));
                    *lat = corner.lat;
                    *lon = if is_belt { end } else { corner.lon };
                }
            }
            GeoShape::Polygon(corners) => {
                for corner in corners {
                    *corner = corner.normalized(both);
                }
            }
        }
    }

    /// Prints the filter of a field.
    pub(crate) fn label(&self, field: &str) -> String {
        let pair = |point: &GeoPoint| format!("{}, {}", java_number(point.lat), java_number(point.lon));
        let shown = |point: &GeoPoint| format!("[{}]", pair(point));
        let crosses = matches!(self, GeoShape::Box { left, right, .. } if left > right);
        match self {
            GeoShape::Distance {
                center,
                from,
                to,
                distance_type,
            } => {
                let (center, to, name) = (pair(center), java_number(*to), distance_type.name());
                match from {
                    None => format!("GeoDistanceFilter({field}, {name}, {to}, {center})"),
                    Some(from) => {
                        let from = java_number(*from);
                        format!("GeoDistanceRangeFilter({field}, {name}, [{from} - {to}], {center})")
                    }
                }
            }
            GeoShape::Box {
                top,
                left,
                bottom,
                right,
                indexed: true,
            } => {
                let [top, left, bottom, right] = [top, left, bottom, right].map(|side| java_number(*side));
                let between = format!("{field}.lat:[{bottom} TO {top}]");
                match crosses {
                    true => {
                        format!("BooleanFilter({field}.lon:[* TO {right}] {field}.lon:[{left} TO *] +{between})")
                    }
                    false => format!("BooleanFilter(+{field}.lon:[{left} TO {right}] +{between})"),
                }
            }
            GeoShape::Box {
                top,
                left,
                bottom,
                right,
                ..
            } => {
                let corners =
                    [(top, left), (bottom, right)].map(|(lat, lon)| shown(&GeoPoint { lat: *lat, lon: *lon }));
                format!("GeoBoundingBoxFilter({field}, {})", corners.join(", "))
            }
            GeoShape::Polygon(corners) => {
                let corners: Vec<String> = corners.iter().map(shown).collect();
                format!("GeoPolygonFilter({field}, [{}])", corners.join(", "))
            }
        }
    }

    /// Returns whether the shape contains a point.
    pub(crate) fn contains(&self, point: GeoPoint) -> bool {
        match self {
            GeoShape::Distance {
                center,
                from,
                to,
                distance_type,
            } => {
                let distance = distance_type.between(*center, point);
                from.is_none_or(|from| distance >= from) && distance <= *to
            }
            GeoShape::Box {
                top,
                left,
                bottom,
                right,
                ..
            } => {
                let inside = if left <= right {
                    (*left..=*right).contains(&point.lon)
                } else {
                    point.lon >= *left || point.lon <= *right
                };
                inside && (*bottom..=*top).contains(&point.lat)
            }
            GeoShape::Polygon(corners) => {
                let next = corners.iter().cycle().skip(1);
                corners
                    .iter()
                    .zip(next)
                    .filter(|(a, b)| {
                        (a.lon < point.lon) != (b.lon < point.lon)
                            && b.lat + (point.lon - b.lon) / (a.lon - b.lon) * (a.lat - b.lat) < point.lat
                    })
                    .count()
                    % 2
                    == 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_geohash_has_neighbors() {
        let mut around = neighbors("u33d8");
        around.sort();
        assert_eq!(
            around,
            ["u336r", "u336x", "u336z", "u33d2", "u33d3", "u33d9", "u33db", "u33dc"]
        );
        assert_eq!(neighbors("b").len(), 5);
    }

    #[test]
    fn a_distance_maps_to_a_geohash_length() {
        let lengths = ["5km", "10m", "500km", "0m", "99999km"].map(|text| {
            let distance = metres(&json!(text), None).unwrap_or(-1.0);
            (geohash_length(distance), enclosing_geohash_length(distance))
        });
        assert_eq!(lengths, [(6, 5), (9, 8), (3, 2), (12, 12), (1, 1)]);
    }

    #[test]
    fn a_shape_contains_the_points_inside() {
        let (near, far) = (GeoPoint { lat: 1.0, lon: 1.0 }, GeoPoint { lat: 20.0, lon: 20.0 });
        let polygon = [[0.0, 0.0], [0.0, 5.0], [5.0, 5.0], [5.0, 0.0]].map(|[lat, lon]| GeoPoint { lat, lon });
        for shape in [
            GeoShape::Distance {
                center: GeoPoint { lat: 1.0, lon: 1.1 },
                from: None,
                to: metres(&json!("20km"), None).unwrap_or(0.0),
                distance_type: DistanceType::default(),
            },
            GeoShape::Box {
                top: 5.0,
                left: 0.0,
                bottom: 0.0,
                right: 5.0,
                indexed: false,
            },
            GeoShape::Polygon(polygon.to_vec()),
        ] {
            assert!(shape.contains(near) && !shape.contains(far), "{shape:?}");
        }
    }
}
