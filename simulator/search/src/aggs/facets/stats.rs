//! Statistics of the values of a facet.

use serde_json::{Map, Value, json};

use crate::json::floating;

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

    pub(super) fn merge(&mut self, other: &Stats) {
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.total += other.total;
        self.sum_of_squares += other.sum_of_squares;
    }

    /// Returns the mean, or 0 without values.
    pub(super) fn mean(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.total / self.count as f64
        }
    }

    /// Adds all statistics, except the sum of squares, to a result.
    pub(super) fn write_to(&self, result: &mut Map<String, Value>) {
        result.insert("min".to_owned(), floating(self.min));
        result.insert("max".to_owned(), floating(self.max));
        result.insert("total".to_owned(), json!(self.total));
        result.insert("total_count".to_owned(), json!(self.count));
        result.insert("mean".to_owned(), json!(self.mean()));
    }
}
