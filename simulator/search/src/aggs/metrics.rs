//! Numbers about values: extremes, sums, counts; and the best hits.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value, json};

use super::values::{Source, field_of, shown};
use super::{Aggregation, Matches, Scope, refuse};
use crate::error::Result;
use crate::find::{SearchRequest, best_of, render};

/// The metrics of one number each, and those of several.
pub(super) fn metric(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let field = field_of(aggregation)?;
    match aggregation.kind.as_str() {
        "value_count" => return count(scope, field, matches).map(|count| json!({"value": count})),
        "cardinality" => {
            return distinct(scope, field, matches).map(|count| json!({"value": count}));
        }
        _ => {}
    }
    let mut values = Vec::new();
    for set in &matches.sets {
        let source = Source::of(scope, set, field)?;
        if matches!(source, Source::Terms(_)) {
            return Err(refuse(format!(
                "Expected numeric type on field [{field}], but got text, in [{}]",
                aggregation.name
            )));
        }
        for doc in &set.docs {
            values.extend(source.numbers(*doc));
        }
    }
    let count = values.len();
    let sum: f64 = values.iter().sum();
    let min = values.iter().copied().fold(f64::INFINITY, f64::min);
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let shown = shown(scope, aggregation);
    let some = |value: f64| {
        if count == 0 { Value::Null } else { json!(value) }
    };
    let with_text = |value: f64| {
        let mut answer = json!({"value": some(value)});
        if let (Some(text), true) = (shown.text(value), count > 0) {
            answer["value_as_string"] = json!(text);
        }
        answer
    };
    let average = sum / count as f64;
    Ok(match aggregation.kind.as_str() {
        "min" => with_text(min),
        "max" => with_text(max),
        "avg" => with_text(average),
        "sum" => json!({"value": sum}),
        "percentiles" => percentiles(aggregation, values),
        kind => {
            let mut answer =
                json!({"count": count, "min": some(min), "max": some(max), "avg": some(average), "sum": some(sum)});
            if count > 0 {
                for (name, value) in [("min", min), ("max", max), ("avg", average), ("sum", sum)] {
                    if let Some(text) = shown.text(value) {
                        answer[format!("{name}_as_string")] = json!(text);
                    }
                }
            }
            if kind == "extended_stats" {
                let squares: f64 = values.iter().map(|value| value * value).sum();
                let variance = squares / count as f64 - average * average;
                answer["sum_of_squares"] = some(squares);
                answer["variance"] = some(variance);
                answer["std_deviation"] = some(variance.max(0.0).sqrt());
            }
            answer
        }
    })
}

fn percentiles(aggregation: &Aggregation, mut values: Vec<f64>) -> Value {
    let wanted: Vec<f64> = aggregation
        .settings
        .get("percents")
        .and_then(Value::as_array)
        .map_or_else(
            || vec![1.0, 5.0, 25.0, 50.0, 75.0, 95.0, 99.0],
            |percents| percents.iter().filter_map(Value::as_f64).collect(),
        );
    values.sort_by(f64::total_cmp);
    let at = |percent: f64| {
        let place = percent.clamp(0.0, 100.0) / 100.0 * values.len().saturating_sub(1) as f64;
        let (low, high) = (values.get(place.floor() as usize)?, values.get(place.ceil() as usize)?);
        Some(low + (high - low) * place.fract())
    };
    let shown: Map<String, Value> = wanted
        .into_iter()
        .map(|percent| {
            (
                format!("{percent:?}"),
                at(percent).map_or_else(|| json!("NaN"), |value| json!(value)),
            )
        })
        .collect();
    json!({"values": shown})
}

fn count(scope: &Scope<'_>, field: &str, matches: &Matches) -> Result<usize> {
    let mut count = 0;
    for set in &matches.sets {
        count += match Source::of(scope, set, field)? {
            Source::Nothing => 0,
            Source::Numbers { values, .. } => set.docs.iter().map(|doc| values.of(*doc).len()).sum(),
            Source::Terms(terms) => set.docs.iter().map(|doc| terms.of(*doc).len()).sum::<usize>(),
        };
    }
    Ok(count)
}

/// Exact, unlike the estimate that it stands in for.
fn distinct(scope: &Scope<'_>, field: &str, matches: &Matches) -> Result<usize> {
    let mut numbers: HashSet<i64> = HashSet::new();
    let mut texts: HashSet<String> = HashSet::new();
    for set in &matches.sets {
        match Source::of(scope, set, field)? {
            Source::Nothing => {}
            Source::Numbers { values, .. } => set.docs.iter().for_each(|doc| numbers.extend(values.of(*doc))),
            Source::Terms(terms) => {
                let here: HashSet<u32> = set.docs.iter().flat_map(|doc| terms.of(*doc)).copied().collect();
                texts.extend(here.into_iter().map(|ordinal| terms.term(ordinal).to_owned()));
            }
        }
    }
    Ok(numbers.len() + texts.len())
}

/// `top_hits`: the best of a bucket's documents.
pub(super) fn top_hits(scope: &Scope<'_>, aggregation: &Aggregation, matches: &Matches) -> Result<Value> {
    let mut settings = aggregation.settings.clone();
    if let Value::Object(settings) = &mut settings {
        settings.entry("size").or_insert(json!(3));
    }
    let request = SearchRequest::parse(&BTreeMap::new(), Some(&settings), &scope.cluster.options.limits)?;
    let (hits, best) = best_of(scope.searched, &request, matches)?;
    let shown = hits
        .iter()
        .map(|hit| render(&request, scope.searched, hit))
        .collect::<Result<Vec<_>>>()?;
    Ok(
        json!({"hits": {"total": matches.count(), "max_score": if request.sort.is_empty() { best.map_or(Value::Null, crate::score::shown) } else { Value::Null }, "hits": shown}}),
    )
}
