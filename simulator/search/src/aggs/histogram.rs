//! Aggregations `histogram` and `date_histogram`.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde_json::{Map, Value, json};

use crate::aggs::order::compare_values;
use crate::aggs::values::{Source, ValueFormatter, formatter, input_of, is_unmapped, plain};
use crate::aggs::{Aggregation, DocSet, Matches, Scope, bucket, refuse};
use crate::dates::{Fill, TimeZone, Unit, add_units, floor_to, parse_math};
use crate::durations::millis;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::find::DIVIDED_DOCS;
use crate::json::{BODY, Token, Tokens, int, is_scalar, long, text_of};
use crate::mapping::truth;

/// Bucket interval: numbers or milliseconds, or a calendar unit.
#[derive(Clone, Copy, Debug)]
enum Width {
    Fixed(i64),
    Calendar(Unit),
}

/// Rounds values to bucket keys.
#[derive(Clone, Debug)]
pub(super) struct Rounding {
    width: Width,
    /// Zone in which values are rounded.
    zone: TimeZone,
    /// Zone whose offset is added to keys.
    post_zone: TimeZone,
    /// Whether keys are UTC times. If false, they are local times of the zone.
    to_utc: bool,
    /// Added to values before rounding.
    pre_offset: i64,
    /// Added to keys.
    post_offset: i64,
}

impl Rounding {
    /// Parses the rounding in the settings of an aggregation.
    ///
    /// # Errors
    /// A missing or invalid interval, or an invalid time zone.
    pub(super) fn parse(settings: &Value, dates: bool, name: &str) -> Result<Rounding> {
        let missing = || {
            refuse(format!(
                "Missing required field [interval] for histogram aggregation [{name}]"
            ))
        };
        let wanted = settings.get("interval").ok_or_else(missing)?;
        let mut rounding = Rounding {
            width: Width::Fixed(1),
            zone: TimeZone::UTC,
            post_zone: TimeZone::UTC,
            to_utc: true,
            pre_offset: 0,
            post_offset: 0,
        };
        if !dates {
            let width = Some(long(wanted, BODY)?).filter(|width| *width > 0);
            rounding.width = Width::Fixed(width.ok_or_else(missing)?);
            let number = |keys: [&str; 2]| {
                keys.iter()
                    .find_map(|key| settings.get(*key))
                    .map_or(Ok(0), |value| long(value, BODY))
            };
            rounding.pre_offset = number(["pre_offset", "preOffset"])?;
            rounding.post_offset = number(["post_offset", "postOffset"])?;
            return Ok(rounding);
        }
        rounding.width = interval(wanted)?;
        let get = |keys: [&str; 2]| keys.iter().find_map(|key| settings.get(*key));
        let zone = |value: Option<&Value>| {
            value.map_or(Ok(TimeZone::UTC), |value| match value.as_str() {
                Some(text) => TimeZone::parse(text),
                None => int(value, BODY).map(TimeZone::of_hours),
            })
        };
        rounding.zone = zone(get(["pre_zone", "preZone"]).or_else(|| get(["time_zone", "timeZone"])))?;
        rounding.post_zone = zone(get(["post_zone", "postZone"]))?;
        let adjust = get(["pre_zone_adjust_large_interval", "preZoneAdjustLargeInterval"]).is_some_and(truth);
        let length = match rounding.width {
            Width::Fixed(width) => width,
            Width::Calendar(unit) => unit.millis().unwrap_or(i64::MAX),
        };
        rounding.to_utc = adjust || length < 12 * 3_600_000;
        let offset = |value: Option<&Value>| -> Result<i64> {
            let text = value.and_then(Value::as_str).unwrap_or("0s");
            if text.is_empty() {
                let kind = Exception::StringIndexOutOfBounds;
                return Err(SearchError::new(400, kind, "String index out of range: 0"));
            }
            let (sign, length) = match text.strip_prefix('-') {
                Some(rest) => (-1, rest),
                None => (1, text.trim_start_matches('+')),
            };
            Ok(sign * millis(length)?)
        };
        // The last of the settings counts.
        for (key, value) in settings.as_object().into_iter().flatten() {
            match key.as_str() {
                "offset" => {
                    rounding.post_offset = offset(Some(value))?;
                    rounding.pre_offset = -rounding.post_offset;
                }
                "pre_offset" | "preOffset" => rounding.pre_offset = offset(Some(value))?,
                "post_offset" | "postOffset" => rounding.post_offset = offset(Some(value))?,
                _ => {}
            }
        }
        Ok(rounding)
    }

    /// Returns the key of the bucket that contains a value.
    pub(super) fn key(&self, value: i64) -> i64 {
        let moved = value.saturating_add(self.pre_offset);
        let zone_offset = self.zone.offset_at(moved);
        let local = moved.saturating_add(zone_offset);
        let floor = match self.width {
            Width::Fixed(width) => local.div_euclid(width).saturating_mul(width),
            Width::Calendar(unit) => floor_to(local, unit),
        };
        let floor = match self.width {
            // An hour that comes twice is two.
            Width::Calendar(Unit::Hour | Unit::Minute | Unit::Second) if self.to_utc => {
                floor.saturating_sub(zone_offset)
            }
            _ if self.to_utc => self.zone.utc_of(floor),
            _ => floor,
        };
        floor
            .saturating_add(self.post_zone.offset_at(floor))
            .saturating_add(self.post_offset)
    }

    /// Returns the key of the next bucket.
    fn next(&self, key: i64) -> i64 {
        let plain = self.post_zone.utc_of(key.saturating_sub(self.post_offset));
        let local = if self.to_utc {
            plain.saturating_add(self.zone.offset_at(plain))
        } else {
            plain
        };
        let next = match self.width {
            Width::Calendar(unit @ (Unit::Hour | Unit::Minute | Unit::Second)) if self.to_utc => {
                plain.saturating_add(unit.millis().unwrap_or(1))
            }
            Width::Fixed(width) if self.to_utc => self.zone.utc_of(local.saturating_add(width)),
            Width::Fixed(width) => local.saturating_add(width),
            Width::Calendar(unit) if self.to_utc => self.zone.utc_of(add_units(local, 1, unit)),
            Width::Calendar(unit) => add_units(local, 1, unit),
        };
        next.saturating_add(self.post_zone.offset_at(next))
            .saturating_add(self.post_offset)
    }

    /// Whether each bucket is the range from its key to the next key.
    fn is_plain(&self) -> bool {
        matches!(self.zone, TimeZone::Fixed(0))
            && matches!(self.post_zone, TimeZone::Fixed(0))
            && self.pre_offset == -self.post_offset
    }
}

/// Checks the settings of the histogram `name`.
///
/// # Errors
/// An invalid rounding, and bounds that are unknown or no numbers.
pub(super) fn check(name: &str, dates: bool, settings: &Value) -> Result<()> {
    Rounding::parse(settings, dates, name)?;
    let bounds = ["extended_bounds", "extendedBounds"]
        .iter()
        .find_map(|key| settings.get(*key));
    let Some(bounds) = bounds else { return Ok(()) };
    let mut tokens = Tokens::new(bounds);
    let mut key = "";
    while let Some(token) = tokens.within_object() {
        match token {
            Token::Name(name) => key = name,
            Token::Value(value) if !dates || !value.is_boolean() => {
                if !matches!(key, "min" | "max") {
                    let kind = tokens.kind();
                    let reason = format!("Unknown extended_bounds key for a {kind} in aggregation [{name}]: [{key}].");
                    return Err(refuse(reason));
                }
                if !dates || value.is_number() {
                    long(value, BODY)?;
                }
            }
            _ if dates => {
                return Err(refuse(format!(
                    "Unknown key for a {} in [{name}]: [{key}].",
                    tokens.kind()
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Parses the interval of a date histogram.
fn interval(wanted: &Value) -> Result<Width> {
    let text = text_of(wanted);
    Ok(match text.as_str() {
        "year" | "1y" => Width::Calendar(Unit::Year),
        "quarter" | "1q" => Width::Calendar(Unit::Quarter),
        "month" | "1M" => Width::Calendar(Unit::Month),
        "week" | "1w" => Width::Calendar(Unit::Week),
        "day" | "1d" => Width::Calendar(Unit::Day),
        "hour" | "1h" => Width::Calendar(Unit::Hour),
        "minute" | "1m" => Width::Calendar(Unit::Minute),
        "second" | "1s" => Width::Calendar(Unit::Second),
        other => {
            let width = Some(millis(other)?).filter(|width| *width > 0);
            Width::Fixed(width.ok_or_else(|| SearchError::illegal("Zero or negative time interval not supported"))?)
        }
    })
}

/// Computes `histogram` and `date_histogram`.
pub(super) fn histogram(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let settings = &aggregation.settings;
    let dates = aggregation.kind == "date_histogram";
    let field = input_of(aggregation)?;
    let rounding = Rounding::parse(settings, dates, &aggregation.name)?;
    let min_doc_count = settings
        .get("min_doc_count")
        .or_else(|| settings.get("minDocCount"))
        .and_then(|count| u64::try_from(long(count, BODY).ok()?).ok())
        .unwrap_or(1);
    let formatter = formatter(scope, aggregation)?;
    let has_sub_aggregations = !aggregation.sub_aggregations.is_empty();
    let bounds = extended_bounds(scope, aggregation, &formatter)?;
    let of_set = |set| Ok((set, Source::of(scope, set, field)?));
    let sources: Vec<(&DocSet, Source)> = matches.sets.iter().map(of_set).collect::<Result<_>>()?;
    let mut parts: BTreeMap<i64, Matches> = BTreeMap::new();
    let mut counts = Counts::new();
    if has_sub_aggregations {
        for (set, source) in &sources {
            each_key(&rounding, source, &set.docs, |key, at| {
                *counts.entry(key).or_default() += 1;
                parts.entry(key).or_default().push_doc(set, at);
            });
        }
    } else if (matches.count() as u64) < DIVIDED_DOCS {
        let each = sources.iter().map(|(set, source)| count(&rounding, source, &set.docs));
        counts = each.fold(counts, added);
    } else {
        let each = sources
            .par_iter()
            .map(|(set, source)| count(&rounding, source, &set.docs));
        counts = each.reduce(Counts::new, added);
    }
    if min_doc_count == 0 && !is_unmapped(scope, field) {
        fill(scope, bounds, &rounding, &mut counts)?;
    }
    counts.retain(|_, count| *count >= min_doc_count);
    scope.spend(counts.len())?;
    let nothing = Matches::default();
    let mut buckets = counts
        .iter()
        .map(|(key, count)| {
            let mut head = Map::new();
            if let Some(text) = formatter.text(*key as f64) {
                head.insert("key_as_string".to_owned(), json!(text));
            }
            head.insert("key".to_owned(), plain(*key as f64));
            if has_sub_aggregations {
                bucket(
                    scope,
                    &aggregation.sub_aggregations,
                    head,
                    parts.get(key).unwrap_or(&nothing),
                )
            } else {
                head.insert("doc_count".to_owned(), json!(count));
                Ok(Value::Object(head))
            }
        })
        .collect::<Result<Vec<_>>>()?;
    let order = settings.get("order").and_then(Value::as_object);
    let mut criteria = order.into_iter().flatten().rev();
    if let Some((by, direction)) = criteria.find_map(|(by, direction)| Some((by, direction.as_str()?))) {
        let descending = direction != "asc";
        if by == "_key" || by == "_time" {
            if descending {
                buckets.reverse();
            }
        } else {
            if by != "_count" && buckets.len() > 1 {
                check_order(&aggregation.sub_aggregations, by)?;
            }
            // The sort is stable: ties keep the order of their keys.
            buckets.sort_by(|a, b| compare_values(order_value(a, by), order_value(b, by), descending));
        }
    }
    if settings.get("keyed").is_some_and(crate::mapping::truth) {
        let named = buckets.into_iter().map(|bucket| {
            let name = bucket.get("key_as_string").and_then(Value::as_str).map_or_else(
                || bucket.get("key").map(Value::to_string).unwrap_or_default(),
                str::to_owned,
            );
            (name, bucket)
        });
        return Ok(json!({"buckets": named.collect::<Map<_, _>>()}));
    }
    Ok(json!({"buckets": buckets}))
}

/// Fails for an order by a missing sub-aggregation.
fn check_order(sub_aggregations: &[Aggregation], by: &str) -> Result<()> {
    let name = by.split(['.', '>']).next().unwrap_or(by);
    if sub_aggregations.iter().any(|aggregation| aggregation.name == name) {
        return Ok(());
    }
    Err(SearchError::illegal(format!(
        "Invalid order path [{by}]. Cannot find aggregation named [{name}]"
    )))
}

/// Returns the value that a bucket is sorted by: its document count, or a value of a sub-aggregation.
fn order_value(bucket: &Value, by: &str) -> f64 {
    let (name, value) = by.split_once('.').unwrap_or((by, "value"));
    let found = if by == "_count" {
        bucket.get("doc_count")
    } else {
        bucket
            .get(name)
            .and_then(|inner| inner.get(value).or_else(|| inner.get("doc_count")))
    };
    found.and_then(Value::as_f64).unwrap_or(f64::NAN)
}

/// Numbers of documents by the keys of their buckets.
type Counts = BTreeMap<i64, u64>;

fn added(mut counts: Counts, more: Counts) -> Counts {
    for (key, count) in more {
        *counts.entry(key).or_default() += count;
    }
    counts
}

/// Calls `sink` with the key of each bucket of each document, and the place of the document in `docs`.
fn each_key(rounding: &Rounding, source: &Source, docs: &[u32], mut sink: impl FnMut(i64, usize)) {
    let Source::Numbers { values, kind } = source else {
        return;
    };
    for (at, doc) in docs.iter().enumerate() {
        let mut previous = None;
        for value in values.of(*doc) {
            let value = if kind.is_floating() {
                crate::mapping::unsortable(*value) as i64
            } else {
                *value
            };
            let key = Some(rounding.key(value));
            if let Some(key) = key.filter(|_| previous != key) {
                sink(key, at);
            }
            previous = key;
        }
    }
}

/// Counts the documents of each bucket.
fn count(rounding: &Rounding, source: &Source, docs: &[u32]) -> Counts {
    let mut counts = Counts::new();
    let single = match source {
        Source::Numbers { values, kind } if !kind.is_floating() && rounding.is_plain() => values.one_each(),
        _ => None,
    };
    match single {
        Some(values) => count_single(rounding, values, docs, &mut counts),
        None => each_key(rounding, source, docs, |key, _| *counts.entry(key).or_default() += 1),
    }
    counts
}

/// Counts buckets if every document has one value.
///
/// Log documents are mostly in order of time, so most values are in the same bucket as the previous one.
fn count_single(rounding: &Rounding, values: &[i64], docs: &[u32], counts: &mut Counts) {
    let (mut from, mut to, mut key, mut run) = (0, 0, 0, 0u64);
    for doc in docs {
        let Some(value) = values.get(*doc as usize).copied() else {
            continue;
        };
        if value < from || value >= to {
            if run > 0 {
                *counts.entry(key).or_default() += run;
            }
            key = rounding.key(value);
            (from, to) = (key, rounding.next(key));
            run = 0;
        }
        run += 1;
    }
    if run > 0 {
        *counts.entry(key).or_default() += run;
    }
}

/// Returns the `extended_bounds` of the buckets.
fn extended_bounds(
    scope: &Scope<'_>,
    aggregation: &Aggregation,
    formatter: &ValueFormatter,
) -> Result<[Option<i64>; 2]> {
    let settings = &aggregation.settings;
    let given = settings
        .get("extended_bounds")
        .or_else(|| settings.get("extendedBounds"));
    let bound = |key: &str| -> Result<Option<i64>> {
        match (given.and_then(|bounds| bounds.get(key)), formatter) {
            (Some(Value::String(text)), ValueFormatter::Date(format)) => {
                parse_math(text, format, scope.now, Fill::Floor, 0).map(Some)
            }
            (Some(value), _) if is_scalar(value) => long(value, BODY).map(Some),
            _ => Ok(None),
        }
    };
    match [bound("min")?, bound("max")?] {
        [Some(min), Some(max)] if min > max => Err(refuse(format!(
            "[extended_bounds.min][{min}] cannot be greater than [extended_bounds.max][{max}] for histogram \
             aggregation [{}]",
            aggregation.name
        ))),
        bounds => Ok(bounds),
    }
}

/// Adds empty buckets in the gaps and up to the extended bounds.
fn fill(scope: &Scope<'_>, [min, max]: [Option<i64>; 2], rounding: &Rounding, counts: &mut Counts) -> Result<()> {
    let (first, last) = (counts.keys().next().copied(), counts.keys().next_back().copied());
    let from = [first, min.map(|value| rounding.key(value))];
    let from = from.into_iter().flatten().min();
    let to = [last, max.map(|value| rounding.key(value))];
    let to = to.into_iter().flatten().max();
    let (Some(mut key), Some(to)) = (from, to) else {
        return Ok(());
    };
    let mut added = 0;
    while key <= to {
        counts.entry(key).or_insert(0);
        added += 1;
        if added % 10_000 == 0 {
            scope.spend(10_000)?;
        }
        let next = rounding.next(key);
        if next <= key {
            break;
        }
        key = next;
    }
    Ok(())
}
