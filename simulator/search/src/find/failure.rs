//! Failures of shards in responses.

use serde_json::{Value, json};

use crate::error::SearchError;
use crate::exception::Exception;
use crate::find::Searched;
use crate::find::request::SearchRequest;
use crate::find::sort::shown;
use crate::query::label;

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

/// Wraps an error in the failure of the query phase on a shard.
pub(super) fn query_failure(error: SearchError, request: &SearchRequest, searched: &Searched) -> SearchError {
    let message = match request.counts {
        true => "Query Failed [failed to execute count]",
        false => "Query Failed [Failed to execute main query]",
    };
    phase_failure((Exception::QueryPhaseExecution, message), error, request, searched)
}

/// Wraps an error in the failure of the phase on a shard in which statistics are collected.
pub(super) fn dfs_failure(error: SearchError, request: &SearchRequest, searched: &Searched) -> SearchError {
    let message = "Dfs Failed [Exception during dfs phase]";
    phase_failure((Exception::DfsPhaseExecution, message), error, request, searched)
}

/// Wraps an error in the failure of a phase, with its kind and its message.
fn phase_failure(
    (kind, message): (Exception, &str),
    error: SearchError,
    request: &SearchRequest,
    searched: &Searched,
) -> SearchError {
    let (from, size) = match request.counts {
        true => (-1, -1),
        false => (request.from as i64, request.size.unwrap_or(10) as i64),
    };
    let reason = format!(
        "[{}][{}]: query[{}],from[{}],size[{}]{}: {message}",
        searched.index.name,
        searched.number,
        label(&searched.query),
        from,
        size,
        shown(&request.sort, &searched.mapping),
    );
    SearchError::new(500, kind, reason).caused_by(error)
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
    // The query phase comes after the one in which a search is parsed and statistics are collected.
    let is_of_query = |failure: &Failure| {
        !matches!(
            failure.error.kind,
            Exception::SearchParse | Exception::DfsPhaseExecution
        )
    };
    let phase = match phase {
        "dfs" if failures.iter().all(is_of_query) => "query",
        phase => phase,
    };
    let reasons: String = failures
        .iter()
        .map(|failure| {
            let Failure { index, shard, error } = failure;
            format!("{{[{}][{index}][{shard}]: {error}}}", node(index, *shard))
        })
        .collect();
    Some(SearchError::new(
        status,
        Exception::SearchPhaseExecution,
        format!("Failed to execute phase [{phase}], all shards failed; shardFailures {reasons}"),
    ))
}
