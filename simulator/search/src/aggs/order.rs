//! The `order` setting of `terms`: by document count, by term, or by a value of a sub-aggregation.
//!
//! Source: Elasticsearch 1.5's `AggregationPath` and `InternalOrder`.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use crate::aggs::{Aggregation, failed, refuse};
use crate::error::Result;
use crate::json::token_of;

/// Sort key of buckets.
pub(super) enum By {
    Count,
    Term,
    /// A value of a sub-aggregation.
    SubAggregation(Path),
}

/// One criterion of an order.
pub(super) struct Order {
    pub(super) by: By,
    pub(super) descending: bool,
}

/// Path to a value: names of nested sub-aggregations, and the key of a value in the last one.
pub(super) struct Path {
    names: Vec<String>,
    key: Option<String>,
}

/// Number of values of an aggregation that buckets can be sorted by.
#[derive(PartialEq)]
enum Sortable {
    /// A single-bucket aggregation: its document count.
    SingleBucket,
    /// A single-value metrics aggregation.
    SingleValue,
    /// A multi-value metrics aggregation: its values have keys.
    MultiValue,
    None,
}

fn sortable(kind: &str) -> Sortable {
    match kind {
        "filter" | "global" | "missing" | "nested" | "reverse_nested" | "children" => Sortable::SingleBucket,
        "avg" | "sum" | "min" | "max" | "value_count" | "cardinality" => Sortable::SingleValue,
        "stats" | "extended_stats" | "percentiles" | "percentile_ranks" => Sortable::MultiValue,
        _ => Sortable::None,
    }
}

/// Parses the `order` setting. Default: descending by document count.
pub(super) fn orders(name: &str, settings: &Value) -> Result<Vec<Order>> {
    // The last member of an object counts.
    let parse = |object: &Map<String, Value>| -> Result<Order> {
        let mut last = None;
        for (key, direction) in object {
            let by = match key.as_str() {
                "_count" => By::Count,
                "_term" => By::Term,
                path => By::SubAggregation(Path::parse(path)),
            };
            let text = direction.as_str().ok_or_else(|| {
                let token = token_of(direction);
                refuse(format!("Unexpected token {token} for [order] in [{name}]."))
            })?;
            let descending = match text.to_ascii_lowercase().as_str() {
                "asc" => false,
                "desc" => true,
                _ => {
                    let reason = format!("Unknown terms order direction [{text}] in terms aggregation [{name}]");
                    return Err(refuse(reason));
                }
            };
            last = Some(Order { by, descending });
        }
        last.ok_or_else(|| refuse(format!("Must specify at least one field for [order] in [{name}].")))
    };
    match settings.get("order") {
        Some(Value::Object(object)) => Ok(vec![parse(object)?]),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| {
                let not_an_object = || refuse(format!("Order elements must be of type object in [{name}]."));
                parse(item.as_object().ok_or_else(not_an_object)?)
            })
            .collect(),
        // Terms ignore a boolean.
        _ => Ok(vec![Order {
            by: By::Count,
            descending: true,
        }]),
    }
}

impl Path {
    fn parse(text: &str) -> Path {
        let mut names: Vec<String> = text.split('>').map(|name| name.trim().to_owned()).collect();
        let mut key = None;
        if let Some(last) = names.last_mut() {
            let bracketed = last
                .strip_suffix(']')
                .and_then(|rest| rest.rsplit_once('['))
                .map(|(name, key)| (name.to_owned(), key.to_owned()));
            let split = bracketed.or_else(|| {
                let (name, key) = last.rsplit_once('.')?;
                Some((name.to_owned(), key.to_owned()))
            });
            if let Some((name, own)) = split {
                *last = name;
                key = Some(own);
            }
        }
        Path { names, key }
    }

    fn text(&self) -> String {
        let key = self.key.as_ref().map(|key| format!(".{key}"));
        self.names.join(">") + key.as_deref().unwrap_or("")
    }

    /// Returns the aggregation that the path ends at.
    ///
    /// # Errors
    /// A path to an unknown aggregation, or to one that buckets cannot be sorted by.
    fn target<'a>(&self, aggregations: &'a [Aggregation]) -> Result<Option<&'a Aggregation>> {
        let path = self.text();
        let invalid = |why: &str| Err(failed(format!("Invalid terms aggregation order path [{path}]. {why}")));
        let built = "Terms buckets can only be sorted on a sub-aggregator path that is built out of zero or more \
                     single-bucket aggregations within the path and a final single-bucket or a metrics aggregation at \
                     the path end.";
        let (mut below, mut found) = (aggregations, None);
        for (at, name) in self.names.iter().enumerate() {
            let Some(own) = below.iter().find(|own| own.name == *name) else {
                return Err(failed(format!(
                    "Invalid term-aggregator order path [{path}]. Unknown aggregation [{name}]"
                )));
            };
            if at + 1 < self.names.len() && sortable(&own.kind) != Sortable::SingleBucket {
                let sub_path = self.names.get(..=at).unwrap_or_default().join(">");
                return invalid(&format!(
                    "{built} Sub-path [{sub_path}] points to non single-bucket aggregation"
                ));
            }
            (below, found) = (&own.sub_aggregations, Some(own));
        }
        let (Some(own), Some(last)) = (found, self.names.last()) else {
            return Ok(None);
        };
        match (sortable(&own.kind), self.key.as_deref()) {
            (Sortable::None, _) => invalid(built),
            (Sortable::SingleBucket, Some(key)) if key != "doc_count" => invalid(&format!(
                "Ordering on a single-bucket aggregation can only be done on its doc_count. Either drop the key \
                 (a la \"{last}\") or change it to \"doc_count\" (a la \"{last}.doc_count\")"
            )),
            (Sortable::SingleValue, Some(key)) if key != "value" => invalid(&format!(
                "Ordering on a single-value metrics aggregation can only be done on its value. Either drop the key \
                 (a la \"{last}\") or change it to \"value\" (a la \"{last}.value\")"
            )),
            (Sortable::MultiValue, None) => {
                invalid("When ordering on a multi-value metrics aggregation a metric name must be specified")
            }
            (Sortable::MultiValue, Some(key)) if !has_number(own, key) => invalid(&format!(
                "Unknown metric name [{key}] on multi-value metrics aggregation [{last}]"
            )),
            _ => Ok(Some(own)),
        }
    }

    /// Returns the value of the target aggregation in the results of a bucket.
    fn value(&self, results: &Map<String, Value>, target: &Aggregation) -> f64 {
        let first = self.names.first().and_then(|name| results.get(name));
        let found = self.names.iter().skip(1).fold(first, |at, name| at?.get(name));
        let key = self.key.as_deref();
        let number = match sortable(&target.kind) {
            Sortable::SingleBucket => found.and_then(|found| found.get("doc_count")),
            Sortable::SingleValue => found.and_then(|found| found.get("value")),
            _ => found.zip(key).and_then(|(found, key)| number_of(found, key)),
        };
        // Without values, the average is NaN, the maximum is -Infinity and the minimum is Infinity.
        let name = if sortable(&target.kind) == Sortable::SingleValue {
            target.kind.as_str()
        } else {
            key.unwrap_or("")
        };
        let missing = match name {
            "max" => f64::NEG_INFINITY,
            "min" => f64::INFINITY,
            "sum" | "count" | "value_count" => 0.0,
            _ => f64::NAN,
        };
        number.and_then(Value::as_f64).unwrap_or(missing)
    }
}

/// Returns whether a multi-value metrics aggregation has a value with this key.
fn has_number(aggregation: &Aggregation, key: &str) -> bool {
    let stats = ["count", "sum", "min", "max", "avg"];
    let extended = ["sum_of_squares", "variance", "std_deviation"];
    match aggregation.kind.as_str() {
        "stats" => stats.contains(&key),
        "extended_stats" => stats.contains(&key) || extended.contains(&key),
        kind => {
            let setting = if kind == "percentiles" { "percents" } else { "values" };
            let wanted = aggregation.settings.get(setting).and_then(Value::as_array);
            let defaults = [1.0, 5.0, 25.0, 50.0, 75.0, 95.0, 99.0];
            key.parse::<f64>().is_ok_and(|key| match wanted {
                Some(wanted) => wanted.iter().any(|own| own.as_f64() == Some(key)),
                None => defaults.contains(&key),
            })
        }
    }
}

/// Returns one value of a multi-value metrics aggregation.
fn number_of<'a>(found: &'a Value, key: &str) -> Option<&'a Value> {
    let Some(values) = found.get("values") else {
        return found.get(key);
    };
    let wanted: f64 = key.parse().ok()?;
    match values {
        Value::Object(values) => values
            .iter()
            .find_map(|(own, value)| (own.parse() == Ok(wanted)).then_some(value)),
        Value::Array(values) => values
            .iter()
            .find(|own| own.get("key").and_then(Value::as_f64) == Some(wanted))
            .and_then(|own| own.get("value")),
        _ => None,
    }
}

impl Order {
    /// Fails for a path that buckets cannot be sorted by.
    pub(super) fn check(&self, aggregations: &[Aggregation]) -> Result<()> {
        match &self.by {
            By::SubAggregation(path) => path.target(aggregations).map(drop),
            By::Count | By::Term => Ok(()),
        }
    }

    /// Returns whether buckets are sorted by a sub-aggregation of this name, or by one in it.
    pub(super) fn is_by(&self, name: &str) -> bool {
        matches!(&self.by, By::SubAggregation(path) if path.names.first().is_some_and(|first| first == name))
    }

    /// Returns the sort value of a bucket with these results, if it is sorted by a sub-aggregation.
    pub(super) fn value(&self, results: &Map<String, Value>, aggregations: &[Aggregation]) -> Option<f64> {
        let By::SubAggregation(path) = &self.by else {
            return None;
        };
        let target = path.target(aggregations).ok().flatten();
        Some(target.map_or(f64::NAN, |target| path.value(results, target)))
    }
}

/// Compares two values. NaN is last in either direction.
pub(super) fn compare_values(a: f64, b: f64, descending: bool) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) if descending => b.total_cmp(&a),
        (false, false) => a.total_cmp(&b),
    }
}
