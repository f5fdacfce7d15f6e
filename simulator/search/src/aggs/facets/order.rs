//! Order of the terms of a facet.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::Value;

use super::stats::Stats;
use crate::aggs::terms::Key;
use crate::aggs::values::{Input, kinds};
use crate::aggs::{Scope, unreduced};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json::{camel_case, java_text};
use crate::mapping::Kind;

/// A term, the number of its documents and the statistics of their values.
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) count: u64,
    pub(super) stats: Stats,
}

#[derive(Clone, Copy, Default)]
enum By {
    #[default]
    Count,
    Term,
    Total,
    Min,
    Max,
    Mean,
}

/// Order of terms. The default is by descending count, and equal counts by descending term.
#[derive(Clone, Copy, Default)]
pub(super) struct Order {
    by: By,
    is_reversed: bool,
}

/// Names of the orders, and whether terms need statistics for them.
const ORDERS: [(&str, By, bool); 6] = [
    ("count", By::Count, false),
    ("term", By::Term, false),
    ("total", By::Total, true),
    ("min", By::Min, true),
    ("max", By::Max, true),
    ("mean", By::Mean, true),
];

impl Order {
    /// Parses the name of an order. `what` it orders is in the error. Only facets with statistics have all orders.
    pub(super) fn parse(name: &Value, what: &str, has_statistics: bool) -> Result<Order> {
        let name = java_text(name);
        let known = ORDERS
            .iter()
            .filter(|(_, _, is_statistic)| has_statistics || !is_statistic);
        let found = known.flat_map(|(own, by, _)| {
            let reversed = format!("reverse_{own}");
            let is_reversed = name == reversed || name == camel_case(&reversed);
            (is_reversed || name == *own).then_some(Order { by: *by, is_reversed })
        });
        found
            .last()
            .ok_or_else(|| SearchError::illegal(format!("No type argument match for {what} facet comparator [{name}]")))
    }

    fn compare(self, a: &Entry, b: &Entry) -> Ordering {
        let by_count = || b.count.cmp(&a.count).then_with(|| b.key.cmp(&a.key));
        let order = match self.by {
            By::Count => by_count(),
            By::Term => a.key.cmp(&b.key),
            By::Total => b.stats.total.total_cmp(&a.stats.total).then_with(by_count),
            By::Min => a.stats.min.total_cmp(&b.stats.min).then_with(by_count),
            By::Max => b.stats.max.total_cmp(&a.stats.max).then_with(by_count),
            By::Mean => b.stats.mean().total_cmp(&a.stats.mean()).then_with(by_count),
        };
        if self.is_reversed { order.reverse() } else { order }
    }

    /// Returns the first entries, in order.
    fn first(self, terms: Terms, most: usize) -> Vec<Entry> {
        let entries = terms.into_iter();
        let entries = entries.map(|(key, (count, stats))| Entry { key, count, stats });
        let mut entries: Vec<Entry> = entries.collect();
        entries.sort_by(|a, b| self.compare(a, b));
        entries.truncate(most);
        entries
    }
}

/// The number of documents of each term, and the statistics of their values.
type Terms = BTreeMap<Key, (u64, Stats)>;

/// Terms of each shard.
pub(super) struct Shards {
    shards: BTreeMap<usize, Terms>,
    /// Whether the terms have statistics.
    has_statistics: bool,
    /// Whether the numbers that are brought together are floating-point. `None` for strings.
    floating: Option<bool>,
}

impl Shards {
    /// Returns the shards of a search without terms, for those of a field. `None`: all terms are strings.
    pub(super) fn new(scope: &Scope<'_>, field: Option<Input<'_>>, has_statistics: bool) -> Shards {
        let kind = field.and_then(|field| kinds(scope, field).find(|kind| kind.is_numeric()));
        Shards {
            shards: BTreeMap::new(),
            has_statistics,
            floating: kind.map(Kind::is_floating),
        }
    }

    /// Returns the number of documents of a term in a shard, and the statistics of their values.
    pub(super) fn entry(&mut self, shard: usize, key: Key) -> &mut (u64, Stats) {
        self.shards.entry(shard).or_default().entry(key).or_default()
    }

    /// Returns the first `size` terms of the first `shard_size` terms of each shard.
    ///
    /// # Errors
    /// Numbers of one shard and strings or other numbers of another one.
    pub(super) fn first(self, order: Order, shard_size: usize, size: usize) -> Result<Vec<Entry>> {
        let mut all = Terms::new();
        for terms in self.shards.into_values() {
            for entry in order.first(terms, shard_size) {
                let own = floating(&entry.key);
                if self.floating.is_some() && own != self.floating {
                    let class = |floating| class(self.has_statistics, floating);
                    let reason = format!("{} cannot be cast to {}", class(own), class(self.floating));
                    return Err(unreduced(SearchError::new(500, Exception::ClassCast, reason)));
                }
                let (count, stats) = all.entry(entry.key).or_default();
                *count += entry.count;
                stats.merge(&entry.stats);
            }
        }
        Ok(order.first(all, size))
    }
}

/// Whether a term is a floating-point number. `None` for a string.
fn floating(key: &Key) -> Option<bool> {
    match key {
        Key::Number(_, floating) => Some(*floating),
        Key::Text(_) => None,
    }
}

/// Name of the class of a term in errors.
fn class(has_statistics: bool, floating: Option<bool>) -> String {
    let (package, entry) = match floating {
        None => ("String", if has_statistics { "StringEntry" } else { "TermEntry" }),
        Some(false) => ("Long", "LongEntry"),
        Some(true) => ("Double", "DoubleEntry"),
    };
    let lower = package.to_ascii_lowercase();
    match has_statistics {
        false => format!("org.elasticsearch.search.facet.terms.{lower}s.Internal{package}TermsFacet${entry}"),
        true => format!("org.elasticsearch.search.facet.termsstats.{lower}s.InternalTermsStats{package}Facet${entry}"),
    }
}
