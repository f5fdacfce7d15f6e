//! Geo filters of the DSL.
//!
//! Source: the filter parsers of Elasticsearch 1.5.

use serde_json::{Map, Value};

use crate::error::{Result, SearchError};
use crate::json::text_of;
use crate::json::{PART, boolean_token, double, is_scalar, not_numeric, token_of};
use crate::mapping::{Field, Kind, geohash_levels, own_lucene_text, truth};
use crate::query::dsl_parts::parsing_error;
use crate::query::geo::{metres, neighbors, unit_in_metres};
use crate::query::geo_point::MAX_GEOHASH_LENGTH;
use crate::query::value::term;
use crate::query::{Caching, Context, DistanceType, FilterClass, GeoPoint, GeoShape, Query, QueryField, QueryKind};

/// What the members of a geo filter say about its shape.
enum Given {
    Center(GeoPoint),
    Shape(GeoShape),
}

/// Settings of all geo filters.
const COMMON: [&str; 5] = ["_name", "_cache", "_cache_key", "_cacheKey", "normalize"];

/// Settings of the filters with a distance.
const OF_DISTANCES: [&str; 5] = ["unit", "distance_type", "distanceType", "optimize_bbox", "optimizeBbox"];

/// Bounds of `geo_distance_range`.
const BOUNDS: [&str; 12] = [
    "from",
    "to",
    "gt",
    "gte",
    "ge",
    "lt",
    "lte",
    "le",
    "include_lower",
    "includeLower",
    "include_upper",
    "includeUpper",
];

/// Returns whether `key` is a setting of the geo filter `name`.
fn is_setting_of(name: &str, key: &str) -> bool {
    let own = match name {
        "geo_distance" => key == "distance" || OF_DISTANCES.contains(&key),
        "geo_distance_range" => BOUNDS.contains(&key) || OF_DISTANCES.contains(&key),
        "geo_polygon" => false,
        _ => key == "type",
    };
    own || COMMON.contains(&key)
}

/// Parses `geo_distance`, `geo_distance_range`, `geo_bounding_box` and `geo_polygon`.
pub(super) fn geo(context: &Context<'_>, name: &str, object: &Map<String, Value>) -> Result<Query> {
    // Objects and arrays are points, whatever their name is.
    let is_setting = |key: &str, value: &Value| is_setting_of(name, key) && !value.is_object() && !value.is_array();
    let members = object.iter().filter(|(key, value)| !is_setting(key, value));
    let is_indexed = |key: &str| object.get(key).and_then(Value::as_str) == Some("indexed");
    let (path, shape) = match name {
        "geo_distance" | "geo_distance_range" => {
            let lacks_distance = name == "geo_distance" && object.get("distance").is_none_or(Value::is_null);
            let missing = || match lacks_distance {
                true => without_distance(context),
                false => SearchError::null_pointer(),
            };
            let (path, center) = place(context, name, members)?.ok_or_else(missing)?;
            (path, Given::Center(center))
        }
        "geo_polygon" => {
            let (path, corners) = polygon(context, object, members)?;
            (path, Given::Shape(GeoShape::Polygon(corners)))
        }
        _ => {
            let mut found = None;
            for (path, value) in members.filter(|(_, value)| !value.is_null()) {
                // The items of an array are values of the setting.
                if value.is_array() && is_setting_of(name, path) {
                    continue;
                }
                if !value.is_object() {
                    let reason = format!("[geo_bbox] filter does not support [{path}]");
                    return Err(parsing_error(context, &reason));
                }
                found = Some((path.as_str(), Given::Shape(bounding_box(value, is_indexed("type"))?)));
            }
            found.ok_or_else(SearchError::null_pointer)?
        }
    };
    let named = |key: &str| object.get(key).filter(|value| is_scalar(value)).map(text_of);
    let unit = named("unit");
    let unit = unit.as_deref();
    unit.map(unit_in_metres).transpose()?;
    let optimization = named("optimize_bbox").or_else(|| named("optimizeBbox"));
    if let Some(other) = optimization.filter(|text| !matches!(text.as_str(), "none" | "memory" | "indexed")) {
        let reason = format!("type [{other}] for bounding box optimization not supported");
        return Err(SearchError::illegal(reason));
    }
    let distance_type = DistanceType::of(object)?;
    let length = |keys: &[&str]| {
        // The last one counts.
        let is_given = |(key, value): &(&String, &Value)| keys.contains(&key.as_str()) && !value.is_null();
        let given = object.iter().rev().find(is_given);
        given
            .map(|(_, value)| match value {
                Value::Bool(flag) => Err(not_numeric(boolean_token(*flag), PART)),
                _ => metres(value, unit).ok_or_else(|| SearchError::float(&text_of(value))),
            })
            .transpose()
    };
    let mut shape = match shape {
        Given::Center(center) if name == "geo_distance" => GeoShape::Distance {
            center,
            from: None,
            to: length(&["distance"])?.ok_or_else(|| without_distance(context))?,
            distance_type,
        },
        Given::Center(center) => {
            let includes = |keys: [&str; 2], exclusive: &str| {
                let is_set = keys.iter().find_map(|key| object.get(*key)).is_none_or(truth);
                !object.contains_key(exclusive) && is_set
            };
            let from = length(&["from", "gte", "ge", "gt"])?;
            let to = length(&["to", "lte", "le", "lt"])?;
            let from = from.map(|from| match includes(["include_lower", "includeLower"], "gt") {
                true => from,
                false => from.next_up(),
            });
            let to = to.map(|to| match includes(["include_upper", "includeUpper"], "lt") {
                true => to,
                false => to.next_down(),
            });
            GeoShape::Distance {
                center,
                from: Some(from.unwrap_or(f64::NEG_INFINITY)),
                to: to.unwrap_or(f64::INFINITY),
                distance_type,
            }
        }
        Given::Shape(shape) => shape,
    };
    let storage = named("type").filter(|text| !matches!(text.as_str(), "memory" | "indexed"));
    if let Some(other) = storage.filter(|_| matches!(shape, GeoShape::Box { .. })) {
        let reason = "not supported, either 'indexed' or 'memory' are allowed";
        return Err(parsing_error(
            context,
            &format!("geo bounding box type [{other}] {reason}"),
        ));
    }
    if object.get("normalize").is_none_or(truth) {
        shape.normalize();
    }
    let field = point_field(context, path)?;
    let has_ranges = context.mapped(&format!("{}.lat", field.name)).is_some();
    if !has_ranges
        && ["type", "optimize_bbox", "optimizeBbox"]
            .iter()
            .any(|key| is_indexed(key))
    {
        let name = &field.name;
        let reason = format!("lat/lon is not enabled (indexed) for field [{name}], can't use indexed filter on it");
        return Err(SearchError::illegal(reason));
    }
    let field = QueryField::of(field);
    Ok(QueryKind::Geo { field, shape }.into())
}

/// Reads the point of a distance filter and the path of its field: from an object, an array, a text, or from members
/// for parts of the point, such as `place.lat`. The last one counts.
fn place<'a>(
    context: &Context<'_>,
    name: &str,
    members: impl Iterator<Item = (&'a String, &'a Value)>,
) -> Result<Option<(&'a str, GeoPoint)>> {
    let coordinate = |value: &Value| {
        let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
        number.ok_or_else(|| SearchError::float(&text_of(value)))
    };
    let of_hash = |value: &Value| GeoPoint::from_geohash(&text_of(value));
    let (mut path, mut point) = (None, GeoPoint::default());
    for (key, value) in members {
        match (key.rsplit_once('.'), value) {
            (_, Value::Object(parts)) => {
                path = Some(key.as_str());
                for (part, value) in parts.iter().filter(|(_, value)| is_scalar(value)) {
                    match part.as_str() {
                        "lat" => point.lat = coordinate(value)?,
                        "lon" => point.lon = coordinate(value)?,
                        "geohash" => point = of_hash(value)?,
                        _ => {
                            return Err(parsing_error(
                                context,
                                &format!("[{name}] filter does not support [{key}]"),
                            ));
                        }
                    }
                }
            }
            (_, Value::Array(_)) => {
                path = Some(key.as_str());
                point = GeoPoint::read(value)?;
            }
            (Some((own, "lat")), _) => (path, point.lat) = (Some(own), coordinate(value)?),
            (Some((own, "lon")), _) => (path, point.lon) = (Some(own), coordinate(value)?),
            (Some((own, "geohash")), _) => (path, point) = (Some(own), of_hash(value)?),
            (_, Value::Null) => {}
            _ => {
                path = Some(key.as_str());
                let text = text_of(value);
                point = match text.split_once(',') {
                    Some((lat, lon)) => GeoPoint {
                        lat: coordinate(&lat.into())?,
                        lon: coordinate(&lon.into())?,
                    },
                    None => of_hash(value)?,
                };
            }
        }
    }
    Ok(path.map(|path| (path, point)))
}

/// Reads the corners of a polygon and the path of its field. Its settings are no nulls.
fn polygon<'a>(
    context: &Context<'_>,
    object: &Map<String, Value>,
    members: impl Iterator<Item = (&'a String, &'a Value)>,
) -> Result<(&'a str, Vec<GeoPoint>)> {
    let refuse = |reason: &str| Err(parsing_error(context, reason));
    if object.values().any(Value::is_null) {
        return refuse("[geo_polygon] unexpected token type [VALUE_NULL]");
    }
    let (mut path, mut corners) = ("", Vec::new());
    for (name, value) in members {
        let Value::Object(parts) = value else {
            return match value.is_array() {
                true => refuse("[geo_polygon] unexpected token type [START_ARRAY]"),
                false => refuse(&format!("[geo_polygon] filter does not support [{name}]")),
            };
        };
        for (key, value) in parts {
            match (key.as_str(), value) {
                ("points", Value::Array(points)) => {
                    let points = points.iter().map(GeoPoint::read);
                    corners.extend(points.collect::<Result<Vec<_>>>()?);
                }
                ("points", _) => {
                    let token = token_of(value);
                    let reason = format!("[geo_polygon] filter does not support token type [{token}] under [points]");
                    return refuse(&reason);
                }
                _ => return refuse(&format!("[geo_polygon] filter does not support [{key}]")),
            }
        }
        path = name;
    }
    let is_closed = corners.first() == corners.last();
    if let (false, Some(first)) = (is_closed || corners.len() < 3, corners.first().copied()) {
        corners.push(first);
    }
    match corners.len() {
        0 => refuse("no points defined for geo_polygon filter"),
        1 | 2 => refuse("too few points defined for geo_polygon filter"),
        3 if is_closed => refuse("too few points defined for geo_polygon filter"),
        _ => Ok((path, corners)),
    }
}

/// Parses `geohash_cell`: matches points in the cell of a geohash, and in its neighbors.
pub(super) fn geohash_cell(context: &Context<'_>, object: &Map<String, Value>) -> Result<Query> {
    let settings = ["precision", "neighbors", "_cache", "_cache_key"];
    let mut members = object.iter().rev();
    let given = members.find(|(key, _)| !settings.contains(&key.as_str()));
    let levels = object.get("precision").map(geohash_levels).transpose()?;
    let (path, value) =
        given.ok_or_else(|| parsing_error(context, "no geohash value provided to geohash_cell filter"))?;
    let hash = GeoPoint::geohash_of(value).ok_or_else(|| SearchError::parse("geo_point expected"))?;
    let field = point_field(context, path)?;
    if !field.field_type.has_geohash_prefixes() {
        let reason = format!("can't execute geohash_cell on field [{path}], geohash_prefix is not enabled");
        return Err(parsing_error(context, &reason));
    }
    let letters = levels
        .filter(|levels| *levels > 0)
        .unwrap_or(MAX_GEOHASH_LENGTH.max(hash.len()));
    let cell: String = hash.chars().take(letters).collect();
    let around = object.get("neighbors").is_some_and(truth);
    let term = |hash: String| term(context, &format!("{}.geohash", field.name), &hash.into());
    let caching = Caching::of(object, false);
    if !around {
        return Ok(term(cell)?.filter(FilterClass::Plain, caching));
    }
    let cells = neighbors(&cell).into_iter().chain([cell]);
    let any = Query::any(cells.map(term).collect::<Result<Vec<_>>>()?);
    Ok(any.filter(FilterClass::Terms, caching))
}

fn without_distance(context: &Context<'_>) -> SearchError {
    parsing_error(context, "geo_distance requires 'distance' to be specified")
}

/// Returns the `geo_point` field at a path.
fn point_field<'c>(context: &'c Context<'_>, path: &str) -> Result<&'c Field> {
    match context.mapped(path) {
        Some(field) if field.field_type.kind == Kind::GeoPoint => Ok(field),
        None if own_lucene_text(path).is_none() => {
            context.note_unmapped(path);
            let reason = format!("failed to find geo_point field [{path}]");
            Err(parsing_error(context, &reason))
        }
        _ => {
            let reason = format!("field [{path}] is not a geo_point field");
            Err(parsing_error(context, &reason))
        }
    }
}

/// Parses a box from its sides, or from two corners.
fn bounding_box(value: &Value, indexed: bool) -> Result<GeoShape> {
    let (mut top, mut left, mut bottom, mut right) = (f64::NAN, f64::NAN, f64::NAN, f64::NAN);
    for (key, value) in value.as_object().into_iter().flatten() {
        let side = |own: f64| match value {
            Value::String(text) => double(text),
            other => Ok(other.as_f64().unwrap_or(own)),
        };
        match key.as_str() {
            "top" => top = side(top)?,
            "left" => left = side(left)?,
            "bottom" => bottom = side(bottom)?,
            "right" => right = side(right)?,
            "top_left" | "topLeft" => GeoPoint { lat: top, lon: left } = GeoPoint::read(value)?,
            "top_right" | "topRight" => GeoPoint { lat: top, lon: right } = GeoPoint::read(value)?,
            "bottom_left" | "bottomLeft" => GeoPoint { lat: bottom, lon: left } = GeoPoint::read(value)?,
            "bottom_right" | "bottomRight" => {
                GeoPoint {
                    lat: bottom,
                    lon: right,
                } = GeoPoint::read(value)?
            }
            other => return Err(SearchError::parse(format!("Unexpected field [{other}]"))),
        }
    }
    Ok(GeoShape::Box {
        top,
        left,
        bottom,
        right,
        indexed,
    })
}
