//! The order of the buckets of terms: counts, terms, and the values of sub-aggregations.
//!
//! Source: Elasticsearch 1.5's `AggregationPath` and `InternalOrder`.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use crate::aggs::{Aggregation, failed, refuse};
use crate::error::Result;
use crate::json::token_of;

/// What buckets are ordered by.
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

/// Where a value is: aggregations inside of one another, and a value of the last one.
pub(super) struct Path {
    names: Vec<String>,
    key: Option<String>,
}

/// What an aggregation gives to order by.
#[derive(PartialEq)]
enum Gives {
    /// The number of documents of its only bucket.
    Documents,
    /// One number.
    Number,
    /// Several numbers with names.
    Numbers,
    Nothing,
}

fn gives(kind: &str) -> Gives {
    match kind {
        "filter" | "global" | "missing" | "nested" | "reverse_nested" | "children" => Gives::Documents,
        "avg" | "sum" | "min" | "max" | "value_count" | "cardinality" => Gives::Number,
        "stats" | "extended_stats" | "percentiles" | "percentile_ranks" => Gives::Numbers,
        _ => Gives::Nothing,
    }
}

/// The orders in the settings of an aggregation. Default: the highest counts first.
pub(super) fn orders(name: &str, settings: &Value) -> Result<Vec<Order>> {
    let parse = |object: &Map<String, Value>| -> Result<Vec<Order>> {
        object
            .iter()
            .map(|(key, direction)| {
                let by = match key.as_str() {
                    "_count" => By::Count,
                    "_term" | "_key" => By::Term,
                    path => By::SubAggregation(Path::parse(path)),
                };
                match direction.as_str() {
                    Some("asc") => Ok(Order { by, descending: false }),
                    Some("desc") => Ok(Order { by, descending: true }),
                    Some(other) => Err(refuse(format!(
                        "Unknown terms order direction [{other}] in terms aggregation [{name}]"
                    ))),
                    None => Err(refuse(format!(
                        "Unexpected token {} for [order] in [{name}]",
                        token_of(direction)
                    ))),
                }
            })
            .collect()
    };
    match settings.get("order") {
        None => Ok(vec![Order {
            by: By::Count,
            descending: true,
        }]),
        Some(Value::Object(object)) => parse(object),
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(Value::as_object)
            .map(parse)
            .collect::<Result<Vec<_>>>()
            .map(|all| all.into_iter().flatten().collect()),
        Some(other) => Err(refuse(format!(
            "Unknown key for a {} in [{name}]: [order].",
            token_of(other)
        ))),
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

    /// The aggregation that the path leads to.
    ///
    /// # Errors
    /// A path that leads nowhere, or to nothing that orders.
    fn target<'a>(&self, aggregations: &'a [Aggregation]) -> Result<Option<&'a Aggregation>> {
        let path = self.text();
        let invalid = |why: &str| Err(failed(format!("Invalid terms aggregation order path [{path}]. {why}")));
        let built = "Terms buckets can only be sorted on a sub-aggregator path that is built out of zero or more single-bucket \
                     aggregations within the path and a final single-bucket or a metrics aggregation at the path end.";
        let (mut below, mut found) = (aggregations, None);
        for (at, name) in self.names.iter().enumerate() {
            let Some(own) = below.iter().find(|own| own.name == *name) else {
                return Err(failed(format!(
                    "Invalid term-aggregator order path [{path}]. Unknown aggregation [{name}]"
                )));
            };
            if at + 1 < self.names.len() && gives(&own.kind) != Gives::Documents {
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
        match (gives(&own.kind), self.key.as_deref()) {
            (Gives::Nothing, _) => invalid(built),
            (Gives::Documents, Some(key)) if key != "doc_count" => invalid(&format!(
                "Ordering on a single-bucket aggregation can only be done on its doc_count. Either drop the key (a la \"{last}\") or \
                 change it to \"doc_count\" (a la \"{last}.doc_count\")"
            )),
            (Gives::Number, Some(key)) if key != "value" => invalid(&format!(
                "Ordering on a single-value metrics aggregation can only be done on its value. Either drop the key (a la \"{last}\") \
                 or change it to \"value\" (a la \"{last}.value\")"
            )),
            (Gives::Numbers, None) => {
                invalid("When ordering on a multi-value metrics aggregation a metric name must be specified")
            }
            (Gives::Numbers, Some(key)) if !has_number(own, key) => invalid(&format!(
                "Unknown metric name [{key}] on multi-value metrics aggregation [{last}]"
            )),
            _ => Ok(Some(own)),
        }
    }

    /// The value in a bucket of the aggregation that the path leads to.
    fn value(&self, bucket: Option<&Value>, target: &Aggregation) -> f64 {
        let found = self.names.iter().fold(bucket, |at, name| at?.get(name));
        let key = self.key.as_deref();
        let number = match gives(&target.kind) {
            Gives::Documents => found.and_then(|found| found.get("doc_count")),
            Gives::Number => found.and_then(|found| found.get("value")),
            _ => found.zip(key).and_then(|(found, key)| number_of(found, key)),
        };
        // What has no values has no average, the least maximum and the greatest minimum.
        let name = if gives(&target.kind) == Gives::Number {
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

/// Returns whether an aggregation of several numbers has one of a name.
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

/// A number of an aggregation of several.
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
    /// Fails for a path that leads to nothing that orders.
    pub(super) fn check(&self, aggregations: &[Aggregation]) -> Result<()> {
        match &self.by {
            By::SubAggregation(path) => path.target(aggregations).map(drop),
            By::Count | By::Term => Ok(()),
        }
    }

    /// The value of a bucket that orders it, if one of a sub-aggregation does.
    pub(super) fn value(&self, bucket: Option<&Value>, aggregations: &[Aggregation]) -> Option<f64> {
        let By::SubAggregation(path) = &self.by else {
            return None;
        };
        let target = path.target(aggregations).ok().flatten();
        Some(target.map_or(f64::NAN, |target| path.value(bucket, target)))
    }
}

/// Compares two values; what is no number comes last in either direction.
pub(super) fn compare_values(a: f64, b: f64, descending: bool) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) if descending => b.total_cmp(&a),
        (false, false) => a.total_cmp(&b),
    }
}
