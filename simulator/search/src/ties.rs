//! Order of entries and tie-breaking of equal scores, as the collections of Java and Lucene do it.
//!
//! Limits: bins of a hash map that became trees are in list order.
//! Source: `java.util.HashMap` of Java 8 and later, the open hash map of HPPC 0.6, Elasticsearch's
//! `CopyOnWriteHashMap`, Lucene 4.10's `PriorityQueue`.

use std::collections::{BTreeMap, VecDeque};

use indexmap::IndexSet;
use serde_json::{Map, Value};

use crate::murmur::mixed;

/// Returns Java's `String.hashCode`.
pub(crate) fn java_hash(text: &str) -> u32 {
    text.encode_utf16()
        .fold(0, |hash: u32, unit| hash.wrapping_mul(31).wrapping_add(u32::from(unit)))
}

/// Returns the hash of a text, spread as `HashMap` does.
fn hash(text: &str) -> u32 {
    let hash = java_hash(text);
    hash ^ (hash >> 16)
}

/// Sorts entries with distinct keys into the iteration order of a `HashMap` that they were inserted into in the given
/// order.
pub(crate) fn in_hash_order<T>(entries: Vec<T>, key: impl Fn(&T) -> String) -> Vec<T> {
    in_hash_order_for(16, entries, key)
}

/// As [`in_hash_order`], for a map that was created with a capacity of `bins`.
pub(crate) fn in_hash_order_for<T>(bins: usize, entries: Vec<T>, key: impl Fn(&T) -> String) -> Vec<T> {
    let mut capacity = bins.clamp(1, 1 << 30).next_power_of_two();
    while entries.len() > (capacity as f64 * 0.75) as usize {
        capacity *= 2;
    }
    let bin = |entry: &T| hash(&key(entry)) as usize & (capacity - 1);
    let mut entries: Vec<(usize, T)> = entries.into_iter().map(|entry| (bin(&entry), entry)).collect();
    entries.sort_by_key(|(bin, _)| *bin);
    entries.into_iter().map(|(_, entry)| entry).collect()
}

/// Returns distinct texts in the iteration order of a `HashSet` that they were inserted into in the given order.
pub(crate) fn as_hash_set<T: AsRef<str> + Eq + std::hash::Hash>(texts: impl IntoIterator<Item = T>) -> Vec<T> {
    let distinct: IndexSet<T> = texts.into_iter().collect();
    in_hash_order(distinct.into_iter().collect(), |text| text.as_ref().to_owned())
}

/// Sorts entries with distinct keys into the iteration order of a map of the cluster state.
pub(crate) fn in_state_order<T>(entries: Vec<T>, key: impl Fn(&T) -> String) -> Vec<T> {
    let mut capacity = 16usize;
    while entries.len() >= capacity / 4 * 3 {
        capacity *= 2;
    }
    // Its tables are numbered by the leading zeros of their sizes.
    let salt = mixed(17 + (capacity as u32).leading_zeros());
    let mut slots: Vec<Option<T>> = (0..capacity).map(|_| None).collect();
    for entry in entries {
        let start = mixed(java_hash(&key(&entry)) ^ salt) as usize & (capacity - 1);
        let (before, after) = slots.split_at_mut(start);
        let free = after.iter_mut().chain(before).find(|slot| slot.is_none());
        if let Some(slot) = free {
            *slot = Some(entry);
        }
    }
    slots.into_iter().flatten().collect()
}

/// Sorts entries with distinct keys into the iteration order of a trie of hashes, 6 bits at a time: entries without a
/// collision first, level by level.
pub(crate) fn in_trie_order<T>(entries: Vec<T>, key: impl Fn(&T) -> String) -> Vec<T> {
    let hashed = entries.into_iter().map(|entry| (java_hash(&key(&entry)), entry));
    let mut nodes = VecDeque::from([(0, hashed.collect::<Vec<_>>())]);
    let mut sorted = Vec::new();
    while let Some((shift, entries)) = nodes.pop_front() {
        let mut slots: BTreeMap<u32, Vec<(u32, T)>> = BTreeMap::new();
        for (hash, entry) in entries {
            let slot = hash.checked_shr(shift).unwrap_or(0) & 63;
            slots.entry(slot).or_default().push((hash, entry));
        }
        for slot in slots.into_values() {
            if slot.len() == 1 || shift > 32 {
                sorted.extend(slot.into_iter().map(|(_, entry)| entry));
            } else {
                nodes.push_back((shift + 6, slot));
            }
        }
    }
    sorted
}

/// Sorts the keys of all objects of a value as [`in_hash_order`] does.
fn json_in_hash_order(value: Value) -> Value {
    match value {
        Value::Object(object) => object_in_hash_order(object).into(),
        Value::Array(items) => items.into_iter().map(json_in_hash_order).collect(),
        other => other,
    }
}

/// Sorts the keys of an object, and of all objects in it, as [`in_hash_order`] does.
pub(crate) fn object_in_hash_order(object: Map<String, Value>) -> Map<String, Value> {
    let entries = in_hash_order(object.into_iter().collect(), |(key, _)| key.clone());
    let sorted = entries.into_iter().map(|(key, value)| (key, json_in_hash_order(value)));
    sorted.collect()
}

/// Returns the `size` entries with the highest scores, best first. `replaces_equal`: whether an entry replaces the
/// lowest of the others if it has the same score.
pub(crate) fn best<T>(entries: impl Iterator<Item = (f64, T)>, size: usize, replaces_equal: bool) -> Vec<(f64, T)> {
    let mut heap = Heap(Vec::new());
    for entry in entries {
        if heap.0.len() < size {
            heap.0.push(entry);
            heap.up_heap();
        } else if let Some(lowest) = heap.0.first_mut()
            && (entry.0 > lowest.0 || replaces_equal && entry.0 == lowest.0)
        {
            *lowest = entry;
            heap.down_heap();
        }
    }
    let mut sorted = Vec::with_capacity(heap.0.len());
    while !heap.0.is_empty() {
        sorted.push(heap.0.swap_remove(0));
        heap.down_heap();
    }
    sorted.reverse();
    sorted
}

/// A binary heap with the lowest score first.
struct Heap<T>(Vec<(f64, T)>);

impl<T> Heap<T> {
    fn is_less(&self, a: usize, b: usize) -> bool {
        matches!((self.0.get(a), self.0.get(b)), (Some(a), Some(b)) if a.0 < b.0)
    }

    /// Restores the heap order after an insertion at the end.
    fn up_heap(&mut self) {
        let mut at = self.0.len().saturating_sub(1);
        while at > 0 {
            let above = (at - 1) / 2;
            if !self.is_less(at, above) {
                return;
            }
            self.0.swap(at, above);
            at = above;
        }
    }

    /// Restores the heap order after a replacement of the first entry.
    fn down_heap(&mut self) {
        let mut at = 0;
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let below = if self.is_less(right, left) { right } else { left };
            if !self.is_less(below, at) {
                return;
            }
            self.0.swap(at, below);
            at = below;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_in_the_order_of_the_cluster_state() {
        for pair in [
            "doc kid",
            "b a",
            "zeta alpha",
            "parent child",
            "blog comment",
            "t1 t2",
            "w q",
            "three one",
        ] {
            let keys: Vec<&str> = pair.split(' ').rev().collect();
            assert_eq!(in_state_order(keys, |key| (*key).to_owned()).join(" "), pair);
        }
    }

    #[test]
    fn keys_are_returned_by_bin() {
        let keys = ["reset", "peer", "a", "q", "b"];
        let ordered = in_hash_order(keys.to_vec(), |key| (*key).to_owned());
        // The hashes of `a` and `q` are 97 and 113: both are in bin 1, in insertion order.
        let of = |key: &str| ordered.iter().position(|own| *own == key).unwrap();
        assert_eq!((of("q"), of("b")), (of("a") + 1, of("a") + 2));
        assert_eq!(hash("peer"), 3_436_898 ^ (3_436_898 >> 16));
    }

    #[test]
    fn one_of_equal_scores_is_kept() {
        let entries = [(1.0, "a"), (1.0, "b"), (2.0, "c"), (1.0, "d")];
        assert_eq!(best(entries.into_iter(), 2, true), [(2.0, "c"), (1.0, "d")]);
        assert_eq!(best(entries.into_iter(), 2, false), [(2.0, "c"), (1.0, "b")]);
    }

    #[test]
    fn best_entries_are_first() {
        let entries = (0..50).map(|n| (f64::from((n * 37) % 50), n));
        let scores: Vec<f64> = best(entries, 10, true).into_iter().map(|(score, _)| score).collect();
        let expected: Vec<f64> = (40..50).rev().map(f64::from).collect();
        assert_eq!(scores, expected);
    }
}
