//! Failures of shards in responses.

use serde_json::{Value, json};

use crate::error::SearchError;

/// A shard that failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) index: String,
    pub(crate) shard: u32,
    pub(crate) error: SearchError,
}

/// Builds `_shards` of a response; `show` renders a failure.
pub(crate) fn shards_json(total: u32, failures: &[Failure], show: impl Fn(&Failure) -> Value) -> Value {
    let failed = u32::try_from(failures.len()).unwrap_or(u32::MAX);
    let mut shown = json!({"total": total, "successful": total.saturating_sub(failed), "failed": failed});
    if failed > 0 {
        shown["failures"] = failures.iter().map(show).collect();
    }
    shown
}

/// Returns the error of a search if every shard failed.
pub(crate) fn all_failed(
    failures: &[Failure],
    total: u32,
    phase: &str,
    node: impl Fn(&str, u32) -> String,
) -> Option<SearchError> {
    if failures.is_empty() || failures.len() < total as usize {
        return None;
    }
    let status = failures.iter().map(|failure| failure.error.status).max().unwrap_or(503);
    let reasons: String = failures
        .iter()
        .map(|failure| {
            let Failure { index, shard, error } = failure;
            format!("{{[{}][{index}][{shard}]: {error}}}", node(index, *shard))
        })
        .collect();
    Some(SearchError::new(
        status,
        "SearchPhaseExecutionException",
        format!("Failed to execute phase [{phase}], all shards failed; shardFailures {reasons}"),
    ))
}
