//! Bulk requests to the search service, and the outcome of each batch.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{Method, Request, header};
use serde_json::Value;

use super::SEARCH_SERVICE;
use crate::{
    api::{Object, meta},
    client::{Informer, ObjectKey},
    cluster::{
        SYSTEM_NAMESPACE,
        network::{Backend, Backends, full_body},
    },
};

/// Timeout of a bulk request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The outcome of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The backend has accepted it, except for `rejected` lines that it will never accept.
    Accepted { rejected: usize },
    /// The backend has not accepted it; it may be sent again.
    Failed,
}

/// A client of one of the ready pods of the search service.
pub(super) struct Sender {
    endpoints: Arc<Informer>,
    backends: Backends,
}

impl Sender {
    pub(super) fn new(endpoints: Arc<Informer>, backends: Backends) -> Self {
        Self { endpoints, backends }
    }

    /// Returns a server of the search service that currently responds.
    pub(super) async fn server(&self) -> Option<Arc<dyn Backend>> {
        self.endpoints.catch_up().await;
        let endpoints = self.endpoints.get(&ObjectKey::new(SYSTEM_NAMESPACE, SEARCH_SERVICE))?;
        addresses(&endpoints)
            .iter()
            .find_map(|address| self.backends.at(address))
    }

    /// Sends a batch.
    pub(super) async fn send(&self, server: &dyn Backend, body: Bytes) -> Outcome {
        let request = Request::builder()
            .method(Method::POST)
            .uri("/_bulk")
            .header(header::HOST, SEARCH_SERVICE)
            .header(header::CONTENT_TYPE, "application/x-ndjson")
            .body(full_body(body));
        let Ok(request) = request else { return Outcome::Failed };
        let answered = tokio::time::timeout(TIMEOUT, async {
            let response = server.answer(request).await;
            let status = response.status().as_u16();
            (status, response.into_body().collect().await)
        });
        match answered.await {
            Ok((200, Ok(body))) => outcome(&body.to_bytes()),
            _ => Outcome::Failed,
        }
    }
}

/// Returns the ready addresses of endpoints, `HOST:PORT`.
fn addresses(endpoints: &Object) -> Vec<String> {
    let list = |value: &Value, field: &str| value[field].as_array().cloned().unwrap_or_default();
    let subsets = meta::lookup(endpoints, "subsets").and_then(Value::as_array);
    let mut found = Vec::new();
    for subset in subsets.into_iter().flatten() {
        for address in list(subset, "addresses") {
            for port in list(subset, "ports") {
                found.push(format!(
                    "{}:{}",
                    address["ip"].as_str().unwrap_or_default(),
                    port["port"]
                ));
            }
        }
    }
    found
}

/// Returns the outcome of a batch from the response body.
fn outcome(body: &[u8]) -> Outcome {
    let Ok(answer) = serde_json::from_slice::<Value>(body) else {
        return Outcome::Failed;
    };
    if answer["errors"] == false {
        return Outcome::Accepted { rejected: 0 };
    }
    let items = answer["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let statuses = || items.iter().filter_map(|item| item["index"]["status"].as_u64());
    if items.is_empty() || statuses().any(|status| status == 429 || status >= 500) {
        return Outcome::Failed;
    }
    Outcome::Accepted {
        rejected: statuses().filter(|status| *status >= 400).count(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(r#"{"errors":false,"items":[]}"#, Outcome::Accepted { rejected: 0 })]
    #[case(r#"{"errors":true,"items":[{"index":{"status":201}},{"index":{"status":400}}]}"#,
        Outcome::Accepted { rejected: 1 })]
    #[case(
        r#"{"errors":true,"items":[{"index":{"status":400}},{"index":{"status":503}}]}"#,
        Outcome::Failed
    )]
    #[case(r#"{"error":"no"}"#, Outcome::Failed)]
    #[case("no JSON", Outcome::Failed)]
    fn a_batch_is_accepted_unless_a_retry_may_succeed(#[case] body: &str, #[case] expected: Outcome) {
        assert_eq!(outcome(body.as_bytes()), expected);
    }
}
