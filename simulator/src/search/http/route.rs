//! From method and path to handler.

use http::Method;

use super::{Answer, RestRequest, Shared};
use crate::search::api;
use crate::search::error::{Result, SearchError};

/// Answers a request.
pub(super) fn dispatch(shared: &Shared, request: &RestRequest) -> Result<Answer> {
    let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
    match (&request.method, path.as_slice()) {
        (&Method::GET | &Method::POST, ["_search"]) => api::search::search(shared, request, "", None),
        (&Method::GET | &Method::POST, [index, "_search"]) => api::search::search(shared, request, index, None),
        (&Method::POST | &Method::PUT, ["_bulk"]) => crate::search::write::bulk(shared, None, None, &request.body).map(|(v, _)| Answer::ok(v)),
        (&Method::POST, ["_refresh"]) => shared.cluster.indices().iter().try_for_each(|index| index.shard.refresh()).map(|()| Answer::acknowledged()),
        _ => Err(SearchError::illegal(format!("No handler found for uri [/{}] and method [{}]", path.join("/"), request.method))),
    }
}
