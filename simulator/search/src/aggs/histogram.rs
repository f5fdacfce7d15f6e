//! Buckets of equal width: of numbers, and of dates by the calendar.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::values::{Shown, Source, field_of, plain, shown};
use super::{Aggregation, Matches, Scope, bucket, refuse};
use crate::dates::{Fill, Unit, add_units, floor_to, parse_math};
use crate::error::Result;
use crate::query::zone;

/// The width of buckets.
#[derive(Clone, Copy, Debug)]
enum Width {
    Fixed(i64),
    Calendar(Unit),
}

/// Where buckets begin: their width, and how far values are moved before they are cut.
#[derive(Clone, Copy, Debug)]
struct Cut {
    width: Width,
    /// What is added before cutting, and taken off after.
    shift: i64,
    /// What is added to the key alone.
    after: i64,
}

impl Cut {
    fn key(&self, value: i64) -> i64 {
        let moved = value.saturating_add(self.shift);
        let floor = match self.width {
            Width::Fixed(width) => moved.div_euclid(width).saturating_mul(width),
            Width::Calendar(unit) => floor_to(moved, unit),
        };
        floor.saturating_sub(self.shift).saturating_add(self.after)
    }

    fn next(&self, key: i64) -> i64 {
        match self.width {
            Width::Fixed(width) => key.saturating_add(width),
            Width::Calendar(unit) => add_units(key.saturating_add(self.shift), 1, unit).saturating_sub(self.shift),
        }
    }
}

fn interval(settings: &Value) -> Result<Width> {
    let wanted = settings
        .get("interval")
        .ok_or_else(|| refuse("Missing required field [interval] for histogram aggregation"))?;
    let text = wanted.as_str().map_or_else(|| wanted.to_string(), str::to_owned);
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
            let millis =
                crate::cluster::duration(other).map_or(0, |width| i64::try_from(width.as_millis()).unwrap_or(i64::MAX));
            Width::Fixed(if millis > 0 {
                millis
            } else {
                return Err(refuse(format!("Unknown interval [{other}]")));
            })
        }
    })
}

fn cut(settings: &Value, dates: bool) -> Result<Cut> {
    if !dates {
        let width = settings
            .get("interval")
            .and_then(|value| value.as_f64().or_else(|| value.as_str()?.parse().ok()))
            .map(|width| width as i64)
            .filter(|width| *width > 0);
        return Ok(Cut {
            width: Width::Fixed(
                width.ok_or_else(|| refuse("Missing required field [interval] for histogram aggregation"))?,
            ),
            shift: 0,
            after: 0,
        });
    }
    let offset = |key: &str| -> Result<i64> {
        let Some(value) = settings.get(key) else {
            return Ok(0);
        };
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        zone(&text).ok_or_else(|| refuse(format!("time zone [{text}] is not understood")))
    };
    let length = |key: &str| -> i64 {
        let text = settings.get(key).and_then(Value::as_str).unwrap_or("0s");
        let (sign, text) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.trim_start_matches('+')),
        };
        sign * crate::cluster::duration(text).map_or(0, |length| i64::try_from(length.as_millis()).unwrap_or(0))
    };
    let zone = offset("time_zone")? + offset("pre_zone")?;
    let width = interval(settings)?;
    // Units of up to a day used to be shifted only when told so; a zone that is given is meant.
    Ok(Cut {
        width,
        shift: zone - length("offset") - length("pre_offset"),
        after: offset("post_zone")? + length("post_offset"),
    })
}

/// `histogram` and `date_histogram`.
pub(super) fn histogram(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let settings = &aggregation.settings;
    let dates = aggregation.kind == "date_histogram";
    let field = field_of(aggregation)?;
    let cut = cut(settings, dates)?;
    let least = settings.get("min_doc_count").and_then(Value::as_u64).unwrap_or(1);
    let shown = shown(scope, aggregation);
    let under = !aggregation.under.is_empty();
    let mut counts: BTreeMap<i64, u64> = BTreeMap::new();
    let mut parts: BTreeMap<i64, Matches> = BTreeMap::new();
    for set in &matches.sets {
        let source = Source::of(scope, set, field)?;
        let Source::Numbers { values, kind } = &source else {
            continue;
        };
        if let (Some(values), false, false) = (values.one_each(), under, kind.is_floating()) {
            count_single(&cut, values, &set.docs, &mut counts);
            continue;
        }
        // Documents of a log come in order of time: the last bucket is mostly the next.
        let mut last: Option<(i64, i64, i64)> = None;
        let mut run = 0u64;
        for (place, doc) in set.docs.iter().enumerate() {
            let mut previous = None;
            for value in values.of(*doc) {
                let value = if kind.is_floating() {
                    crate::mapping::unsortable(*value).floor() as i64
                } else {
                    *value
                };
                let key = match last {
                    Some((from, to, key)) if (from..to).contains(&value) => key,
                    _ => {
                        if let Some((_, _, key)) = last.take().filter(|_| run > 0) {
                            *counts.entry(key).or_default() += run;
                            run = 0;
                        }
                        let key = cut.key(value);
                        let from = key.saturating_sub(cut.after);
                        last = Some((from, cut.next(from), key));
                        key
                    }
                };
                if previous == Some(key) {
                    continue;
                }
                previous = Some(key);
                run += 1;
                if under {
                    parts.entry(key).or_default().push_doc(set, place);
                }
            }
        }
        if let Some((_, _, key)) = last.filter(|_| run > 0) {
            *counts.entry(key).or_default() += run;
        }
    }
    if least == 0 {
        fill(scope, settings, &cut, &shown, &mut counts)?;
    }
    counts.retain(|_, count| *count >= least);
    scope.spend(counts.len())?;
    let nothing = Matches::default();
    let mut buckets = counts
        .iter()
        .map(|(key, count)| {
            let mut head = Map::new();
            if let Some(text) = shown.text(*key as f64) {
                head.insert("key_as_string".to_owned(), json!(text));
            }
            head.insert("key".to_owned(), plain(*key as f64));
            if under {
                bucket(scope, &aggregation.under, head, parts.get(key).unwrap_or(&nothing))
            } else {
                head.insert("doc_count".to_owned(), json!(count));
                Ok(Value::Object(head))
            }
        })
        .collect::<Result<Vec<_>>>()?;
    if let Some((by, direction)) = settings
        .get("order")
        .and_then(Value::as_object)
        .and_then(|order| order.iter().next())
    {
        if by == "_count" {
            buckets.sort_by_key(|bucket| bucket.get("doc_count").and_then(Value::as_u64));
        }
        if direction.as_str() == Some("desc") {
            buckets.reverse();
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

/// Counts where every document has one value: documents of a log come in order of time, so the last bucket is mostly the next.
fn count_single(cut: &Cut, values: &[i64], docs: &[u32], counts: &mut BTreeMap<i64, u64>) {
    let (mut from, mut to, mut key, mut run) = (0, 0, 0, 0u64);
    for doc in docs {
        let Some(value) = values.get(*doc as usize).copied() else {
            continue;
        };
        if value < from || value >= to {
            if run > 0 {
                *counts.entry(key).or_default() += run;
            }
            key = cut.key(value);
            from = key.saturating_sub(cut.after);
            to = cut.next(from);
            run = 0;
        }
        run += 1;
    }
    if run > 0 {
        *counts.entry(key).or_default() += run;
    }
}

/// Puts empty buckets into the gaps, and up to the bounds.
fn fill(scope: &Scope<'_>, settings: &Value, cut: &Cut, shown: &Shown, counts: &mut BTreeMap<i64, u64>) -> Result<()> {
    let bound = |key: &str| -> Result<Option<i64>> {
        let Some(value) = settings.get("extended_bounds").and_then(|bounds| bounds.get(key)) else {
            return Ok(None);
        };
        match (value, shown) {
            (Value::String(text), Shown::Date(format)) => parse_math(text, format, scope.now, Fill::Floor, 0).map(Some),
            _ => Ok(value.as_f64().map(|number| number as i64)),
        }
    };
    let ends = [counts.keys().next().copied(), counts.keys().next_back().copied()];
    let [first, last] = ends;
    let from = [first, bound("min")?.map(|value| cut.key(value))]
        .into_iter()
        .flatten()
        .min();
    let to = [last, bound("max")?.map(|value| cut.key(value))]
        .into_iter()
        .flatten()
        .max();
    let (Some(mut key), Some(to)) = (from, to) else {
        return Ok(());
    };
    let mut made = 0;
    while key <= to {
        counts.entry(key).or_insert(0);
        made += 1;
        if made % 10_000 == 0 {
            scope.spend(10_000)?;
        }
        let next = cut.next(key);
        if next <= key {
            break;
        }
        key = next;
    }
    Ok(())
}
