//! Aggregations `range`, `date_range`, `ip_range` and `geo_distance`.

use std::net::Ipv4Addr;

use serde_json::{Map, Value, json};

use crate::aggs::geo::points;
use crate::aggs::values::{Source, ValueFormatter, formatter, input_of, is_unmapped};
use crate::aggs::{Aggregation, Matches, Scope, bucket, refuse, skips_inner};
use crate::dates::{Fill, parse_math};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::{double, java_number};
use crate::mapping::{FieldType, Kind};
use crate::query::{DistanceType, GeoPoint, unit_in_metres};

struct Bounds {
    key: String,
    from: Option<f64>,
    to: Option<f64>,
}

fn bound(scope: &Scope<'_>, formatter: &ValueFormatter, range: &Value, key: &str) -> Result<Option<f64>> {
    let Some(value) = range.get(key).filter(|value| !value.is_null() && !value.is_boolean()) else {
        return Ok(None);
    };
    Ok(Some(match (value, formatter) {
        (Value::Number(number), _) => number.as_f64().unwrap_or(f64::NAN),
        (Value::String(text), ValueFormatter::Date(format)) => {
            parse_math(text, format, scope.now, Fill::Floor, 0)? as f64
        }
        (Value::String(text), ValueFormatter::Ipv4) => FieldType::of(Kind::Ip).encode_text(text)? as f64,
        (Value::String(text), ValueFormatter::Raw | ValueFormatter::Number(_)) => {
            double(text).map_err(|error| SearchError { status: 500, ..error })?
        }
        (other, _) => return Err(refuse(format!("[{other}] is not a number, a date or an address"))),
    }))
}

/// Returns the address range of a CIDR mask such as `10.0.0.0/24`. The end is exclusive; `None` is an open end.
fn masked(mask: &str) -> Option<Bounds> {
    let (address, bits) = mask.split_once('/')?;
    let address = u32::from(address.parse::<Ipv4Addr>().ok()?);
    let bits: u32 = bits.parse().ok().filter(|_| bits.len() <= 3)?;
    // Java shifts by the lowest five bits of the distance.
    let mask_bits = u32::MAX.wrapping_shl(32u32.wrapping_sub(bits));
    let from = address & mask_bits;
    let to = u64::from(from | !mask_bits) + 1;
    Some(Bounds {
        key: mask.to_owned(),
        from: Some(f64::from(from)).filter(|from| *from > 0.0),
        to: Some(to as f64).filter(|_| to <= u64::from(u32::MAX)),
    })
}

/// Fails for an invalid CIDR mask.
pub(super) fn check_masks(name: &str, ranges: Option<&Value>) -> Result<()> {
    let ranges = ranges.and_then(Value::as_array).into_iter().flatten();
    let mut masks = ranges.filter_map(|range| range.get("mask")?.as_str());
    match masks.find(|mask| masked(mask).is_none()) {
        Some(mask) => Err(refuse(format!("invalid CIDR mask [{mask}] in aggregation [{name}]"))),
        None => Ok(()),
    }
}

/// Computes `range`, `date_range` and `ip_range`.
pub(super) fn ranges(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let settings = &aggregation.settings;
    let field = input_of(aggregation)?;
    let formatter = formatter(scope, aggregation)?;
    let ranges = settings
        .get("ranges")
        .and_then(Value::as_array)
        .ok_or_else(|| refuse(format!("Missing [ranges] in ranges aggregator [{}]", aggregation.name)))?;
    let text = |bound: f64| formatter.text(bound).unwrap_or_else(|| java_number(bound));
    let has_masks = aggregation.kind == "ip_range";
    let parse = |range: &Value| {
        let mask = range.get("mask").filter(|_| has_masks).and_then(Value::as_str);
        if let Some(network) = mask.and_then(masked) {
            return Ok(network);
        }
        let from = bound(scope, &formatter, range, "from")?;
        let to = bound(scope, &formatter, range, "to")?;
        let key = own_key(range).unwrap_or_else(|| key_of(from.map(text), to.map(text)));
        Ok(Bounds { key, from, to })
    };
    let bounds = ranges.iter().filter(|range| range.is_object()).map(parse);
    let bounds = bounds.collect::<Result<Vec<_>>>()?;
    if bounds.is_empty() && !is_unmapped(scope, field) {
        let kind = Exception::ArrayIndexOutOfBounds;
        return Err(SearchError::new(500, kind, "Index 0 out of bounds for length 0"));
    }
    scope.spend(bounds.len())?;
    let sources = matches
        .sets
        .iter()
        .map(|set| Source::of(scope, set, field))
        .collect::<Result<Vec<_>>>()?;
    bucketed(scope, aggregation, bounds, Some(&text), |from, to| {
        matches.filtered(|at, doc| {
            let Some(source) = sources.get(at) else {
                return false;
            };
            source.numbers(doc).any(|value| is_inside(value, from, to))
        })
    })
}

/// The `key` of a range, if it has one.
fn own_key(range: &Value) -> Option<String> {
    range.get("key").and_then(Value::as_str).map(str::to_owned)
}

/// The key of a range without its own: its bounds. `None`: an open end.
fn key_of(from: Option<String>, to: Option<String>) -> String {
    let end = |bound: Option<String>| bound.unwrap_or_else(|| "*".to_owned());
    format!("{}-{}", end(from), end(to))
}

/// Returns one bucket per range, sorted by bounds. Those of an unmapped field stay in their order, without
/// aggregations. With a `text`, which formats a bound, buckets also have their bounds as strings.
fn bucketed(
    scope: &Scope<'_>,
    aggregation: &Aggregation,
    mut bounds: Vec<Bounds>,
    text: Option<&dyn Fn(f64) -> String>,
    inside: impl Fn(Option<f64>, Option<f64>) -> Matches,
) -> Result<Value> {
    let mut inner = aggregation.sub_aggregations.as_slice();
    if skips_inner(scope, aggregation) {
        inner = &[];
    } else {
        bounds.sort_by(|a, b| {
            let low = |bounds: &Bounds| bounds.from.unwrap_or(f64::NEG_INFINITY);
            let high = |bounds: &Bounds| bounds.to.unwrap_or(f64::INFINITY);
            low(a).total_cmp(&low(b)).then(high(a).total_cmp(&high(b)))
        });
    }
    let keyed = aggregation.settings.get("keyed").is_some_and(crate::mapping::truth);
    let mut buckets = Vec::new();
    for Bounds { key, from, to } in bounds {
        let mut head = Map::new();
        if !keyed {
            head.insert("key".to_owned(), json!(key));
        }
        for (name, bound) in [("from", from), ("to", to)] {
            if let Some(bound) = bound {
                head.insert(name.to_owned(), json!(bound));
                head.extend(text.map(|text| (format!("{name}_as_string"), json!(text(bound)))));
            }
        }
        let matches = inside(from, to);
        buckets.push((key, bucket(scope, inner, head, &matches)?));
    }
    Ok(listed(buckets, keyed))
}

/// Returns whether a value is in a range. `from` is inclusive, `to` is exclusive.
pub(super) fn is_inside(value: f64, from: Option<f64>, to: Option<f64>) -> bool {
    from.is_none_or(|from| value >= from) && to.is_none_or(|to| value < to)
}

/// Returns buckets as an object (`keyed`) or as a list.
fn listed(buckets: Vec<(String, Value)>, keyed: bool) -> Value {
    if keyed {
        return json!({"buckets": buckets.into_iter().collect::<Map<_, _>>()});
    }
    json!({"buckets": buckets.into_iter().map(|(_, bucket)| bucket).collect::<Vec<_>>()})
}

/// What `geo_distance` measures.
struct Distances {
    origin: Option<GeoPoint>,
    /// Length of the unit in metres.
    unit: f64,
    kind: DistanceType,
}

impl Distances {
    /// Parses the settings of the aggregation `name`.
    fn parse(name: &str, settings: &Value) -> Result<Distances> {
        let origin = ["origin", "point", "center"].iter().find_map(|key| settings.get(*key));
        let unit = settings.get("unit").and_then(Value::as_str).unwrap_or("m");
        Ok(Distances {
            origin: origin.map(|origin| origin_of(name, origin)).transpose()?,
            unit: match unit {
                "" => return Err(SearchError::illegal("No distance unit match []")),
                unit => unit_in_metres(unit)?,
            },
            kind: settings
                .as_object()
                .map_or(Ok(DistanceType::default()), DistanceType::of)?,
        })
    }
}

/// Parses the origin of the aggregation `name`. A part that a list lacks is no number.
fn origin_of(name: &str, value: &Value) -> Result<GeoPoint> {
    if let Some(point) = GeoPoint::parse(value) {
        return Ok(point);
    }
    match value {
        Value::String(text) if !text.contains(',') => GeoPoint::from_geohash(text),
        Value::String(text) => Err(SearchError::float(text)),
        Value::Array(parts) if parts.len() > 2 => Err(refuse(format!(
            "malformed [origin] geo point array in [{name}] geo_distance aggregation. a geo point array must be of the \
             form [lon, lat]"
        ))),
        Value::Array(parts) => Ok(GeoPoint {
            lat: f64::NAN,
            lon: parts.first().and_then(Value::as_f64).unwrap_or(f64::NAN),
        }),
        other => {
            let last = other.as_object().and_then(|parts| parts.keys().next_back());
            Err(refuse(format!(
                "malformed [{}] geo point object. either [lat] or [lon] (or both) are missing in [{name}] geo_distance \
                 aggregation",
                last.map_or("origin", String::as_str)
            )))
        }
    }
}

/// Fails for an unknown unit or distance type, and an origin that is no point.
pub(super) fn check_distances(name: &str, settings: &Value) -> Result<()> {
    Distances::parse(name, settings).map(drop)
}

/// Computes `geo_distance`: one bucket per range of distances from a point.
pub(super) fn geo_distance(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let settings = &aggregation.settings;
    let field = input_of(aggregation)?;
    let distances = Distances::parse(&aggregation.name, settings)?;
    let origin = distances.origin.unwrap_or_default();
    let parse = |range: &Value| {
        // The key is made before the texts of bounds are read.
        let shown = |key: &str| range.get(key)?.as_f64().filter(|bound| *bound != 0.0).map(java_number);
        let bound = |key: &str| bound(scope, &ValueFormatter::Raw, range, key);
        Ok(Bounds {
            key: own_key(range).unwrap_or_else(|| key_of(shown("from"), shown("to"))),
            from: Some(bound("from")?.unwrap_or(0.0)),
            to: bound("to")?,
        })
    };
    let ranges = settings.get("ranges").and_then(Value::as_array);
    let bounds = ranges.into_iter().flatten().map(parse).collect::<Result<Vec<_>>>()?;
    scope.spend(bounds.len())?;
    let sources = matches.sets.iter().map(|set| Source::of(scope, set, field));
    let sources = sources.collect::<Result<Vec<_>>>()?;
    bucketed(scope, aggregation, bounds, None, |from, to| {
        matches.filtered(|at, doc| {
            let points = sources.get(at).map(|source| points(source, doc)).unwrap_or_default();
            points
                .iter()
                .any(|point| is_inside(distances.kind.between(origin, *point) / distances.unit, from, to))
        })
    })
}
