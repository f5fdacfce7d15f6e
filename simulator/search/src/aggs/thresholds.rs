//! Numbers of buckets and documents that `terms` and `significant_terms` are bounded by.
//!
//! Source: Elasticsearch 1.5's `TermsAggregator.BucketCountThresholds`.

use serde_json::Value;

use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::json;

/// The thresholds of an aggregation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Thresholds {
    /// Number of buckets of the response.
    pub(super) size: usize,
    /// Number of buckets that each shard returns, if it is given.
    shard_size: Option<usize>,
    /// Number of documents that a bucket of the response has.
    pub(super) min_doc_count: u64,
    /// Number of documents that a bucket of a shard has.
    pub(super) shard_min_doc_count: u64,
}

fn number(settings: &Value, keys: [&str; 2]) -> Option<i32> {
    let value = keys.iter().find_map(|key| settings.get(*key))?;
    json::int(value, json::BODY).ok()
}

/// Returns a number of buckets: all if `size` is 0.
fn buckets(size: i32) -> Option<usize> {
    match usize::try_from(size).ok()? {
        0 => Some(usize::MAX),
        size => Some(size),
    }
}

impl Thresholds {
    /// Reads the thresholds. Default: 10 buckets of at least `min_doc_count` documents.
    pub(super) fn parse(settings: &Value, min_doc_count: u64) -> Thresholds {
        let documents = |keys| u64::try_from(number(settings, keys)?).ok();
        let min_doc_count = documents(["min_doc_count", "minDocCount"]).unwrap_or(min_doc_count);
        let shard_min_doc_count = documents(["shard_min_doc_count", "shardMinDocCount"]).unwrap_or(0);
        Thresholds {
            size: number(settings, ["size", "size"]).and_then(buckets).unwrap_or(10),
            shard_size: number(settings, ["shard_size", "shardSize"]).and_then(|size| usize::try_from(size).ok()),
            min_doc_count,
            shard_min_doc_count: shard_min_doc_count.min(min_doc_count),
        }
    }

    /// Fails for a number below 0. `status` is that of the error.
    pub(super) fn check(status: u16, settings: &Value) -> Result<()> {
        let is_below_zero = |keys| number(settings, keys).is_some_and(|number| number < 0);
        if is_below_zero(["size", "size"]) || is_below_zero(["min_doc_count", "minDocCount"]) {
            return Err(SearchError::new(
                status,
                Exception::Elasticsearch,
                "parameters [requiredSize] and [minDocCount] must be >=0 in terms aggregation.",
            ));
        }
        Ok(())
    }

    /// Returns the number of buckets of `terms` that a shard returns. Without `suggested`, the default is `size`.
    pub(super) fn shard_size(self, suggested: Option<usize>) -> usize {
        let given = self.shard_size.map(|size| if size == 0 { usize::MAX } else { size });
        given.or(suggested).unwrap_or(self.size).max(self.size)
    }

    /// Returns the number of buckets of `significant_terms` that a shard returns.
    pub(super) fn significant_shard_size(self, shards: usize) -> usize {
        let given = self.shard_size.filter(|size| *size > 0);
        let suggested = || self.suggested_shard_size(shards).saturating_mul(2);
        given.unwrap_or_else(suggested).max(self.size)
    }

    /// Returns the default number of buckets that each of several shards returns, so that few are missed.
    pub(super) fn suggested_shard_size(self, shards: usize) -> usize {
        if shards <= 1 {
            self.size
        } else {
            self.size.saturating_mul(shards.min(10)).max(10)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case(json!({}), (10, 1, 0), 10)]
    #[case(json!({"size": 0}), (usize::MAX, 1, 0), usize::MAX)]
    #[case(json!({"size": 20, "shard_size": 5}), (20, 1, 0), 20)]
    #[case(json!({"minDocCount": 2, "shardMinDocCount": 3}), (10, 2, 2), 10)]
    fn a_shard_returns_at_least_what_the_response_needs(
        #[case] settings: Value,
        #[case] (size, min_doc_count, shard_min_doc_count): (usize, u64, u64),
        #[case] shard_size: usize,
    ) {
        let thresholds = Thresholds::parse(&settings, 1);
        let found = (
            thresholds.size,
            thresholds.min_doc_count,
            thresholds.shard_min_doc_count,
        );
        assert_eq!(found, (size, min_doc_count, shard_min_doc_count));
        assert_eq!(thresholds.shard_size(None), shard_size);
    }
}
