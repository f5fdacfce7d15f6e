//! Statistics and ranges of facets.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use crate::aggs::ranges::is_inside;

/// Statistics of numeric values.
#[derive(Clone, Copy)]
pub(super) struct Stats {
    pub(super) count: u64,
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) total: f64,
    pub(super) sum_of_squares: f64,
}

impl Default for Stats {
    fn default() -> Stats {
        Stats {
            count: 0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            total: 0.0,
            sum_of_squares: 0.0,
        }
    }
}

impl Stats {
    pub(super) fn add(&mut self, value: f64) {
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.total += value;
        self.sum_of_squares += value * value;
    }

    /// Returns the mean, or 0 without values.
    pub(super) fn mean(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.total / self.count as f64
        }
    }

    /// Compares by the statistic that the `order` of a facet names.
    pub(super) fn ranked(&self, other: &Stats, order: &str) -> Ordering {
        let (name, reversed) = match order.strip_prefix("reverse") {
            Some(name) => (name.trim_start_matches('_').to_ascii_lowercase(), true),
            None => (order.to_owned(), false),
        };
        let ranked = match name.as_str() {
            "total" => other.total.total_cmp(&self.total),
            "min" => self.min.total_cmp(&other.min),
            "max" => other.max.total_cmp(&self.max),
            "mean" => other.mean().total_cmp(&self.mean()),
            _ => Ordering::Equal,
        };
        if reversed { ranked.reverse() } else { ranked }
    }

    /// Adds all statistics, except the sum of squares, to a result.
    pub(super) fn write_to(&self, result: &mut Map<String, Value>) {
        let number = |value: f64| {
            if value.is_finite() {
                json!(value)
            } else {
                json!(if value > 0.0 { "Infinity" } else { "-Infinity" })
            }
        };
        result.insert("min".to_owned(), number(self.min));
        result.insert("max".to_owned(), number(self.max));
        result.insert("total".to_owned(), json!(self.total));
        result.insert("total_count".to_owned(), json!(self.count));
        result.insert("mean".to_owned(), json!(self.mean()));
    }
}

/// One range of a `range` or `geo_distance` facet: `from` is inclusive, `to` is exclusive.
pub(super) struct Range {
    from: Option<f64>,
    to: Option<f64>,
}

impl Range {
    pub(super) fn parse(definition: &Value) -> Range {
        Range::read(definition, |text| text.parse().ok())
    }

    /// Parses a range; `read` converts bounds that are strings.
    pub(super) fn read(definition: &Value, read: impl Fn(&str) -> Option<f64>) -> Range {
        let bound = |key: &str| {
            let value = definition.get(key)?;
            value.as_f64().or_else(|| read(value.as_str()?))
        };
        Range {
            from: bound("from"),
            to: bound("to"),
        }
    }

    pub(super) fn has(&self, number: f64) -> bool {
        is_inside(number, self.from, self.to)
    }

    /// Returns the bounds and the document count as JSON.
    pub(super) fn to_json(&self, count: u64) -> Map<String, Value> {
        let mut result = Map::new();
        for (name, bound) in [("from", self.from), ("to", self.to)] {
            result.extend(bound.map(|bound| (name.to_owned(), json!(bound))));
        }
        result.insert("count".to_owned(), json!(count));
        result
    }
}
