//! Sends bulk requests to the search service, and decides what becomes of a batch.

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
        network::{Backend, Backends, whole},
    },
};

/// How long the backend may take for a batch.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The backend has taken it, but for this many lines that it never will.
    Taken { refused: usize },
    /// It has not; the same batch may be sent again.
    Failed,
}

/// Sends to one of the ready pods of the search service.
pub(super) struct Sender {
    endpoints: Arc<Informer>,
    backends: Backends,
}

impl Sender {
    pub(super) fn new(endpoints: Arc<Informer>, backends: Backends) -> Self {
        Self { endpoints, backends }
    }

    /// A server of the search service that answers now.
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
            .body(whole(body));
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

/// The ready addresses of endpoints, `HOST:PORT`.
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

/// The outcome of a batch that the backend has answered.
fn outcome(body: &[u8]) -> Outcome {
    let Ok(answer) = serde_json::from_slice::<Value>(body) else {
        return Outcome::Failed;
    };
    if answer["errors"] == false {
        return Outcome::Taken { refused: 0 };
    }
    let items = answer["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let statuses = || items.iter().filter_map(|item| item["index"]["status"].as_u64());
    if items.is_empty() || statuses().any(|status| status == 429 || status >= 500) {
        return Outcome::Failed;
    }
    Outcome::Taken {
        refused: statuses().filter(|status| *status >= 400).count(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(r#"{"errors":false,"items":[]}"#, Outcome::Taken { refused: 0 })]
    #[case(r#"{"errors":true,"items":[{"index":{"status":201}},{"index":{"status":400}}]}"#, Outcome::Taken { refused: 1 })]
    #[case(
        r#"{"errors":true,"items":[{"index":{"status":400}},{"index":{"status":503}}]}"#,
        Outcome::Failed
    )]
    #[case(r#"{"error":"no"}"#, Outcome::Failed)]
    #[case("no JSON", Outcome::Failed)]
    fn a_batch_is_taken_unless_it_is_worth_sending_again(#[case] body: &str, #[case] expected: Outcome) {
        assert_eq!(outcome(body.as_bytes()), expected);
    }
}
