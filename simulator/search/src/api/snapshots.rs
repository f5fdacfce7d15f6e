//! The snapshot APIs, of a cluster without repositories: none can be created.

use http::Method;
use serde_json::json;

use crate::cluster::Block;
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::rest::{Answer, RestRequest};
use crate::shared::Shared;

/// Handles a request below `/_snapshot`. `None` if the path is not one of the API.
pub(crate) fn handle(shared: &Shared, request: &RestRequest, path: &[&str]) -> Result<Option<Answer>> {
    let handled = without_block(request, path);
    if !matches!(handled, Ok(None)) {
        shared.cluster.check_blocks(&[], Block::Metadata)?;
    }
    handled
}

fn without_block(request: &RestRequest, path: &[&str]) -> Result<Option<Answer>> {
    let missing = |names: &str| {
        let name = names.split(',').next().unwrap_or_default();
        Err(SearchError::new(
            404,
            Exception::RepositoryMissing,
            format!("[{name}] missing"),
        ))
    };
    match (&request.method, path) {
        (&Method::GET, [] | ["_all"]) => Ok(Some(Answer::ok(json!({})))),
        (&Method::GET, ["_status"] | [_, "_status"]) => Ok(Some(Answer::ok(json!({"snapshots": []})))),
        (&Method::GET, [name] | [name, _] | [name, _, "_status"])
        | (&Method::DELETE, [name] | [name, _])
        | (&Method::POST, [name, "_verify"] | [name, _, "_restore" | "_create"])
        | (&Method::PUT, [name, _]) => missing(name),
        (&Method::PUT | &Method::POST, [name]) => {
            let Some(body) = request.json()? else {
                return Err(SearchError::parse("Failed to derive xcontent from "));
            };
            if body.get("type").is_none() {
                return Err(SearchError::validation("type is missing"));
            }
            let reason = format!("[{name}] failed to create repository");
            let cause = SearchError::illegal("snapshots are not supported");
            Err(SearchError::new(500, Exception::Repository, reason).caused_by(cause))
        }
        _ => Ok(None),
    }
}
