//! Numbers about the values of a facet.
//!
//! Source: Elasticsearch 1.5's facets with statistics.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

/// Numbers about values.
#[derive(Clone, Copy)]
pub(super) struct Stats {
    pub(super) count: u64,
    min: f64,
    max: f64,
    pub(super) total: f64,
    pub(super) squares: f64,
}

impl Default for Stats {
    fn default() -> Stats {
        Stats {
            count: 0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            total: 0.0,
            squares: 0.0,
        }
    }
}

impl Stats {
    pub(super) fn add(&mut self, value: f64) {
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.total += value;
        self.squares += value * value;
    }

    pub(super) fn mean(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.total / self.count as f64
        }
    }

    /// Compares with others by the number that an order of a facet names.
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

    pub(super) fn show(&self, shown: &mut Map<String, Value>) {
        let number = |value: f64| {
            if value.is_finite() {
                json!(value)
            } else {
                json!(if value > 0.0 { "Infinity" } else { "-Infinity" })
            }
        };
        shown.insert("min".to_owned(), number(self.min));
        shown.insert("max".to_owned(), number(self.max));
        shown.insert("total".to_owned(), json!(self.total));
        shown.insert("total_count".to_owned(), json!(self.count));
        shown.insert("mean".to_owned(), json!(self.mean()));
    }
}
