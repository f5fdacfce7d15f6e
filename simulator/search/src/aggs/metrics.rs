//! Metrics aggregations: `min`, `max`, `avg`, `sum`, `stats`, `percentiles`, `cardinality`, `top_hits` and others.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::aggs::cardinality::cardinality;
use crate::aggs::values::{Input, Source, ValueFormatter, formatter, input_of};
use crate::aggs::{Aggregation, Matches, Scope, refuse};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::find::{best_of, render};
use crate::json::{floating, java_number, number_of};
use crate::mapping::truth;

/// Computes a numeric metrics aggregation.
pub(super) fn metric(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let field = input_of(aggregation)?;
    match aggregation.kind.as_str() {
        "value_count" => {
            let count = count(scope, field, matches)?;
            // Another node does not send the format of the count. The first shard decides.
            let first = scope.searched.first();
            let is_local = first.is_some_and(|first| scope.cluster.is_local(&first.index, first.number));
            let text = formatter(scope, aggregation)?.text(count as f64);
            return Ok(single(json!(count), text.filter(|_| is_local)));
        }
        "cardinality" => {
            let count = cardinality(scope, aggregation, field, matches)?;
            return Ok(single(json!(count), formatter(scope, aggregation)?.text(count as f64)));
        }
        _ => {}
    }
    let mut values = Vec::new();
    // Sum and sum of squares of each shard: the order of the additions decides the last digits.
    let mut sums: BTreeMap<usize, [f64; 2]> = BTreeMap::new();
    for set in &matches.sets {
        let source = Source::of(scope, set, field)?;
        let [sum, squares] = sums.entry(set.index).or_default();
        for value in set.docs.iter().flat_map(|doc| source.numbers(*doc)) {
            *sum += value;
            *squares += value * value;
            values.push(value);
        }
    }
    let count = values.len();
    let [sum, squares] = sums
        .values()
        .fold([0.0, 0.0], |[sum, squares], own| [sum + own[0], squares + own[1]]);
    let min = values.iter().copied().fold(f64::INFINITY, f64::min);
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let formatter = formatter(scope, aggregation)?;
    let some = |value: f64| match value {
        _ if count == 0 => Value::Null,
        _ => floating(value),
    };
    let with_text = |shown: Value, value: f64| single(shown, formatter.text(value).filter(|_| count > 0));
    let extreme = |value: f64| match value.is_infinite() {
        // Elasticsearch takes it for that of no values.
        true => single(Value::Null, None),
        false => with_text(some(value), value),
    };
    let average = sum / count as f64;
    Ok(match aggregation.kind.as_str() {
        "min" => extreme(min),
        "max" => extreme(max),
        "avg" => with_text(some(average), average),
        "sum" => single(floating(sum), formatter.text(sum)),
        "percentiles" => percentiles(aggregation, values, &formatter),
        "percentile_ranks" => percentile_ranks(aggregation, values, &formatter),
        kind => {
            let mut answer =
                json!({"count": count, "min": some(min), "max": some(max), "avg": some(average), "sum": some(sum)});
            if count > 0 {
                for (name, value) in [("min", min), ("max", max), ("avg", average), ("sum", sum)] {
                    if let Some(text) = formatter.text(value) {
                        answer[format!("{name}_as_string")] = json!(text);
                    }
                }
            }
            if kind == "extended_stats" {
                let variance = (squares - sum * sum / count as f64) / count as f64;
                answer["sum_of_squares"] = some(squares);
                answer["variance"] = some(variance);
                let deviation = variance.sqrt();
                let sigma = aggregation.settings.get("sigma").and_then(Value::as_f64).unwrap_or(2.0);
                answer["std_deviation"] = some(deviation);
                let bounds = [average + sigma * deviation, average - sigma * deviation];
                answer["std_deviation_bounds"] = json!({"upper": some(bounds[0]), "lower": some(bounds[1])});
                let text = |value: f64| formatter.text(value).filter(|_| count > 0);
                if let (Some(upper), Some(lower)) = (text(bounds[0]), text(bounds[1])) {
                    answer["sum_of_squares_as_string"] = json!(text(squares));
                    answer["variance_as_string"] = json!(text(variance));
                    answer["std_deviation_as_string"] = json!(text(deviation));
                    answer["std_deviation_bounds_as_string"] = json!({"upper": upper, "lower": lower});
                }
            }
            answer
        }
    })
}

/// Returns an aggregation's only value.
fn single(value: Value, text: Option<String>) -> Value {
    let mut answer = json!({"value": value});
    if let Some(text) = text {
        answer["value_as_string"] = json!(text);
    }
    answer
}

/// Returns percentiles or percentile ranks as an object (`keyed`) or as a list.
fn by_key(aggregation: &Aggregation, entries: Vec<(f64, Option<f64>)>, formatter: &ValueFormatter) -> Value {
    let number = |value: Option<f64>| floating(value.unwrap_or(f64::NAN));
    let text = |value: Option<f64>| formatter.text(value.unwrap_or(f64::NAN));
    if aggregation.settings.get("keyed").is_none_or(truth) {
        let mut values = Map::new();
        for (key, value) in entries {
            let key = java_number(key);
            let text = text(value).map(|text| (format!("{key}_as_string"), json!(text)));
            values.insert(key, number(value));
            values.extend(text);
        }
        return json!({"values": values});
    }
    let list: Vec<Value> = entries
        .into_iter()
        .map(|(key, value)| {
            let mut entry = json!({"key": key, "value": number(value)});
            if let Some(text) = text(value) {
                entry["value_as_string"] = json!(text);
            }
            entry
        })
        .collect();
    json!({"values": list})
}

fn numbers(aggregation: &Aggregation, key: &str) -> Option<Vec<f64>> {
    let mut numbers: Vec<f64> = aggregation
        .settings
        .get(key)?
        .as_array()?
        .iter()
        .filter_map(number_of)
        .collect();
    numbers.sort_by(f64::total_cmp);
    Some(numbers)
}

/// Checks the percentages of percentiles, which Elasticsearch does when it writes the response.
///
/// # Errors
/// One below 0 or above 100, of percentiles that are in the response.
pub(crate) fn check_percents(aggregations: &[Aggregation], response: &Value) -> Result<()> {
    for aggregation in aggregations {
        let Some(shown) = response.get(&aggregation.name) else {
            continue;
        };
        let percents = (aggregation.kind == "percentiles").then(|| numbers(aggregation, "percents"));
        let mut percents = percents.flatten().into_iter().flatten();
        if let Some(wrong) = percents.find(|percent| !(0.0..=100.0).contains(percent)) {
            let reason = format!("q should be in [0,1], got {}", java_number(wrong / 100.0));
            return Err(SearchError::new(500, Exception::IllegalArgument, reason));
        }
        let check = |bucket: &Value| check_percents(&aggregation.sub_aggregations, bucket);
        match shown.get("buckets") {
            Some(Value::Array(buckets)) => buckets.iter().try_for_each(check)?,
            Some(Value::Object(buckets)) => buckets.values().try_for_each(check)?,
            _ => check(shown)?,
        }
    }
    Ok(())
}

fn percentiles(aggregation: &Aggregation, mut values: Vec<f64>, formatter: &ValueFormatter) -> Value {
    let wanted = numbers(aggregation, "percents").unwrap_or_else(|| vec![1.0, 5.0, 25.0, 50.0, 75.0, 95.0, 99.0]);
    values.sort_by(f64::total_cmp);
    let at = |percent: f64| {
        let place = percent.clamp(0.0, 100.0) / 100.0 * values.len().saturating_sub(1) as f64;
        let (low, high) = (values.get(place.floor() as usize)?, values.get(place.ceil() as usize)?);
        Some(low + (high - low) * place.fract())
    };
    let found = wanted.into_iter().map(|percent| (percent, at(percent))).collect();
    by_key(aggregation, found, formatter)
}

/// Returns the percentage of the values below each wanted value.
fn percentile_ranks(aggregation: &Aggregation, mut values: Vec<f64>, formatter: &ValueFormatter) -> Value {
    let wanted = numbers(aggregation, "values").unwrap_or_default();
    values.sort_by(f64::total_cmp);
    let ranks = wanted.into_iter().map(|value| (value, share_below(&values, value)));
    by_key(
        aggregation,
        ranks
            .map(|(value, share)| (value, share.map(|share| share.clamp(0.0, 1.0) * 100.0)))
            .collect(),
        formatter,
    )
}

/// Returns the share of the sorted values below `wanted`. A value counts in part within half of the distance to its
/// neighbours, as in a t-digest whose centroids have one value each. Like the digest, it does not count the value
/// before the last one in the ranks around the last one.
fn share_below(values: &[f64], wanted: f64) -> Option<f64> {
    let last = *values.last()?;
    let gaps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]) / 2.0).collect();
    let Some(last_gap) = gaps.last() else {
        return Some(if wanted < last { 0.0 } else { 1.0 });
    };
    let share = |below: usize, value: f64, left: f64, right: f64| {
        (below as f64 + (wanted - value + left) / (left + right)) / values.len() as f64
    };
    let inner = values.iter().zip(&gaps).enumerate().take(gaps.len() - 1);
    for (at, (value, right)) in inner {
        if wanted < value + right {
            let left = gaps.get(at.saturating_sub(1)).unwrap_or(right);
            return Some(share(at, *value, *left, *right));
        }
    }
    Some(if wanted < last + last_gap {
        share(gaps.len() - 1, last, *last_gap, *last_gap)
    } else {
        1.0
    })
}

fn count(scope: &Scope<'_>, field: Input<'_>, matches: &Matches) -> Result<usize> {
    let mut count = 0;
    for set in &matches.sets {
        count += match Source::of(scope, set, field)? {
            Source::Nothing => 0,
            Source::Constant(_) => set.docs.len(),
            Source::Numbers { values, .. } => set.docs.iter().map(|doc| values.of(*doc).len()).sum(),
            Source::Terms(terms) => set.docs.iter().map(|doc| terms.of(*doc).len()).sum::<usize>(),
        };
    }
    Ok(count)
}

/// Computes `top_hits`: the documents of a bucket with the highest scores, or the first ones of the sort order.
pub(super) fn top_hits(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let request = aggregation
        .hits
        .as_deref()
        .ok_or_else(|| refuse(format!("Missing definition for aggregation [{}]", aggregation.name)))?;
    if request.from == 0 && request.size == Some(0) && matches.count() > 0 {
        let reason = "numHits must be > 0; please use TotalHitCountCollector if you just need the total hit count";
        return Err(SearchError::new(500, Exception::IllegalArgument, reason));
    }
    let (hits, best) = best_of(scope.searched, request, matches)?;
    let hits = hits
        .iter()
        // The inner hits are those of the search.
        .map(|hit| render(scope.cluster, request, scope.searched, hit, false))
        .collect::<Result<Vec<_>>>()?;
    let max_score = if request.sort.is_empty() || request.track_scores {
        match best {
            None => Value::Null,
            Some(best) if best > 0.0 => crate::score::score_json(best),
            // The shards are brought together from Java's `Float.MIN_VALUE` on.
            Some(_) => json!(1.4e-45),
        }
    } else {
        Value::Null
    };
    Ok(json!({"hits": {"total": matches.count(), "max_score": max_score, "hits": hits}}))
}
