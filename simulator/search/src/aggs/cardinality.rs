//! `cardinality`: estimates the number of distinct values.
//!
//! Up to a number of values, their hashes are kept, and the estimate is nearly exact. Above it, each of 2^precision
//! registers keeps the longest run of zeros of its hashes.
//!
//! Limits: the bias of estimates up to five times the number of registers is computed, not that of a table of measured
//! values: these differ from Elasticsearch's by up to about one percent.
//!
//! Source: S. Heule, M. Nunkesser, A. Hall, "HyperLogLog in practice"; Elasticsearch 1.5's `HyperLogLogPlusPlus`.

use std::collections::HashSet;

use crate::aggs::values::{Input, Source};
use crate::aggs::{Aggregation, Matches, Scope, failed};
use crate::error::Result;
use crate::json::long;
use crate::mapping::{Kind, flag, unsortable};
use crate::murmur::{hash_128, mixed_64};

/// Number of leading bits of the hashes that are kept.
const KEPT_BITS: u32 = 25;
const MIN_PRECISION: u32 = 4;
const MAX_PRECISION: u32 = 18;
/// Precision of an aggregation that is not in the buckets of another one.
const DEFAULT_PRECISION: u32 = 14;
/// Share of a table of hashes that may be used.
const MAX_LOAD: f64 = 0.75;
/// Estimates up to which empty registers are counted, by precision.
const LINEAR_LIMITS: [f64; 15] = [
    10.0, 20.0, 40.0, 80.0, 220.0, 400.0, 900.0, 1800.0, 3100.0, 6500.0, 11500.0, 20000.0, 50000.0, 120_000.0,
    350_000.0,
];

/// Returns the precision for `precision_threshold`, a number of distinct values.
fn precision_of(threshold: i64) -> u32 {
    let entries = (threshold as f64 / MAX_LOAD).ceil() as i64;
    let bits = i64::BITS - entries.saturating_mul(4).leading_zeros();
    bits.clamp(MIN_PRECISION, MAX_PRECISION)
}

/// An estimator of a number of distinct hashes.
pub(super) enum Estimator {
    Hashes { precision: u32, hashes: HashSet<u64> },
    Registers { precision: u32, runs: Vec<u8> },
}

impl Estimator {
    fn new(precision: u32) -> Estimator {
        Estimator::Hashes {
            precision,
            hashes: HashSet::new(),
        }
    }

    fn add(&mut self, hash: u64) {
        match self {
            Estimator::Registers { precision, runs } => add_run(runs, *precision, hash),
            Estimator::Hashes { precision, hashes } => {
                hashes.insert(kept(hash, *precision));
                let registers = 1usize << *precision;
                if hashes.len() > (registers as f64 / 4.0 * MAX_LOAD) as usize {
                    let mut runs = vec![0; registers];
                    hashes.iter().for_each(|hash| add_run(&mut runs, *precision, *hash));
                    *self = Estimator::Registers {
                        precision: *precision,
                        runs,
                    };
                }
            }
        }
    }

    fn estimate(&self) -> u64 {
        match self {
            Estimator::Hashes { hashes, .. } => {
                let slots = f64::from(1u32 << KEPT_BITS);
                linear(slots, slots - hashes.len() as f64) as u64
            }
            Estimator::Registers { precision, runs } => {
                let registers = runs.len() as f64;
                let sum: f64 = runs.iter().map(|run| (-f64::from(*run)).exp2()).sum();
                let raw = scale(registers) * registers * registers / sum;
                let empty = runs.iter().filter(|run| **run == 0).count();
                let limit = LINEAR_LIMITS.get((precision - MIN_PRECISION) as usize).copied();
                let counted = (empty > 0).then(|| linear(registers, empty as f64));
                if let Some(counted) = counted.filter(|counted| limit.is_some_and(|limit| *counted <= limit)) {
                    return counted as u64;
                }
                let unbiased = match raw <= 5.0 * registers {
                    true => without_bias(raw, registers),
                    false => raw,
                };
                unbiased.round() as u64
            }
        }
    }
}

/// Returns what is kept of a hash: its first bits and, if those behind its register are zeros, the length of the run.
fn kept(hash: u64, precision: u32) -> u64 {
    let first = hash & !(u64::MAX >> KEPT_BITS);
    if first << precision == 0 {
        let run = (hash << KEPT_BITS).leading_zeros();
        first | (1u64 << (u64::BITS - 1)).checked_shr(KEPT_BITS + run).unwrap_or(0)
    } else {
        first
    }
}

/// Adds a hash to its register.
fn add_run(runs: &mut [u8], precision: u32, hash: u64) {
    let run = (hash << precision).leading_zeros().min(u64::BITS - precision) + 1;
    if let Some(longest) = runs.get_mut((hash >> (u64::BITS - precision)) as usize) {
        *longest = (*longest).max(run as u8);
    }
}

/// Estimates a number of distinct values by the number of empty slots.
fn linear(slots: f64, empty: f64) -> f64 {
    (slots * (slots / empty).ln()).round()
}

/// Scale of the raw estimate.
fn scale(registers: f64) -> f64 {
    match registers as u32 {
        16 => 0.673,
        32 => 0.697,
        64 => 0.709,
        _ => 0.7213 / (1.0 + 1.079 / registers),
    }
}

/// Returns the number of values whose expected raw estimate this is.
fn without_bias(raw: f64, registers: f64) -> f64 {
    let wanted = scale(registers) * registers / raw;
    // Expected inverse of a register's 2^run, if `load` values fall into it on average.
    let expected = |load: f64| {
        let up_to = |run: i32| (-load * (-f64::from(run)).exp2()).exp();
        let runs = (1..60).map(|run| (up_to(run) - up_to(run - 1)) * (-f64::from(run)).exp2());
        up_to(0) + runs.sum::<f64>()
    };
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if expected(middle) > wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    low * registers
}

/// Computes `cardinality`: the estimated number of distinct values.
///
/// # Errors
/// Texts that are not to be hashed.
pub(super) fn cardinality(
    scope: &Scope<'_>,
    aggregation: &Aggregation,
    input: Input<'_>,
    matches: &Matches,
) -> Result<u64> {
    let setting = |key: &str| aggregation.settings.get(key);
    let threshold = setting("precision_threshold").or_else(|| setting("precisionThreshold"));
    let threshold = threshold.map(|value| long(value, crate::json::BODY)).transpose()?;
    let rehash = setting("rehash").map(flag).transpose()?;
    // Fewer bits within each bucket of other aggregations.
    let default = DEFAULT_PRECISION.saturating_sub(5 * aggregation.bucket_levels);
    let mut estimator = Estimator::new(threshold.map_or(default.max(MIN_PRECISION), precision_of));
    for set in &matches.sets {
        let source = Source::of(scope, set, input)?;
        // Values of `murmur3` fields are hashes.
        let is_hashed = matches!(source, Source::Numbers { kind: Kind::Hash, .. });
        let hashes = rehash.unwrap_or(!is_hashed);
        match source {
            Source::Nothing => {}
            Source::Constant(_) | Source::Terms(_) if !hashes => {
                return Err(failed(format!(
                    "Turning off rehashing for cardinality aggregation [{}] on non-numeric values in not allowed",
                    aggregation.name
                )));
            }
            Source::Constant(text) => estimator.add(hash_128(text.as_bytes())),
            Source::Numbers { values, kind } => {
                for value in set.docs.iter().flat_map(|doc| values.of(*doc)).copied() {
                    estimator.add(match (kind.is_floating(), hashes) {
                        (false, true) => mixed_64(value as u64),
                        (true, true) => mixed_64(unsortable(value).to_bits()),
                        (false, false) => value as u64,
                        (true, false) => unsortable(value) as i64 as u64,
                    });
                }
            }
            Source::Terms(terms) => {
                let here: HashSet<u32> = set.docs.iter().flat_map(|doc| terms.of(*doc)).copied().collect();
                for ordinal in here {
                    estimator.add(hash_128(terms.term(ordinal).as_bytes()));
                }
            }
        }
    }
    Ok(estimator.estimate())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(0, 4)]
    #[case(1, 4)]
    #[case(100, 10)]
    #[case(40_000, 18)]
    #[case(i64::MAX, 18)]
    fn the_threshold_decides_the_precision(#[case] threshold: i64, #[case] expected: u32) {
        assert_eq!(precision_of(threshold), expected);
    }

    #[rstest]
    #[case(50, 0.0)]
    #[case(96, 0.0)]
    #[case(300, 0.05)]
    #[case(1500, 0.05)]
    #[case(100_000, 0.06)]
    fn estimates_are_near_the_number_of_values(#[case] values: u64, #[case] error: f64) {
        let mut estimator = Estimator::new(9);
        (0..values)
            .chain(0..values)
            .for_each(|value| estimator.add(mixed_64(value + 1)));
        let estimate = estimator.estimate() as f64;
        assert!(
            (estimate / values as f64 - 1.0).abs() <= error,
            "{estimate} of {values}"
        );
    }

    #[test]
    fn what_is_kept_of_a_hash_leads_to_its_register() {
        for hash in [
            0,
            1,
            u64::MAX,
            1 << 38,
            1 << 39,
            0x8000_0000_0000_0001,
            0x1234_0000_0000_0000,
        ] {
            for precision in MIN_PRECISION..=MAX_PRECISION {
                let registers = |hash: u64| {
                    let mut runs = vec![0; 1 << precision];
                    add_run(&mut runs, precision, hash);
                    runs
                };
                assert_eq!(
                    registers(hash),
                    registers(kept(hash, precision)),
                    "{hash:x}, {precision}"
                );
            }
        }
    }
}
