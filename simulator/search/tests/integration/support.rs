//! In-process search backend with clocks that tests step.

use std::borrow::Borrow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use stuntdouble_search::{Limits, Options, SearchServer};

/// A response.
pub(crate) struct TestResponse {
    pub(crate) status: u16,
    pub(crate) body: Value,
    pub(crate) text: String,
}

impl TestResponse {
    /// Asserts the status of an error and a part of its message.
    pub(crate) fn expect_error(&self, status: u16, reason: &str) {
        assert_eq!(self.status, status, "{}", self.text);
        assert!(self.body["error"].as_str().unwrap().contains(reason), "{}", self.text);
    }
}

/// A search backend with a stepped wall clock and a stepped monotonic clock.
pub(crate) struct Backend {
    pub(crate) server: SearchServer,
    ticks: Arc<AtomicU64>,
    /// Offset of the wall clock, in milliseconds.
    clock: Arc<AtomicU64>,
}

impl Backend {
    pub(crate) fn new() -> Backend {
        Backend::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Backend {
        Backend::of(limits, SearchServer::new)
    }

    /// Opens a data directory.
    pub(crate) fn open(directory: &Path) -> Backend {
        Backend::of(Limits::default(), |options| {
            SearchServer::open(options, directory).unwrap()
        })
    }

    fn of(limits: Limits, start: impl FnOnce(Options) -> SearchServer) -> Backend {
        let ticks = Arc::new(AtomicU64::new(0));
        let counted = ticks.clone();
        let clock = Arc::new(AtomicU64::new(0));
        let stepped = clock.clone();
        let start_time: jiff::Timestamp = "2015-06-26T12:00:00Z".parse().unwrap();
        let options = Options {
            clock: Arc::new(move || start_time + Duration::from_millis(stepped.load(Ordering::Relaxed))),
            ticks: Arc::new(move || Duration::from_millis(counted.load(Ordering::Relaxed))),
            limits,
            background: false,
            shards: 1,
            ..Options::default()
        };
        Backend {
            server: start(options),
            ticks,
            clock,
        }
    }

    /// Advances the wall clock.
    pub(crate) fn step_clock(&self, by: Duration) {
        self.clock.fetch_add(by.as_millis() as u64, Ordering::Relaxed);
    }

    /// Advances the monotonic clock.
    pub(crate) fn step(&self, by: Duration) {
        self.ticks.fetch_add(by.as_millis() as u64, Ordering::Relaxed);
    }

    pub(crate) async fn send(&self, method: &str, uri: &str, body: &str) -> TestResponse {
        let request = http::Request::builder()
            .method(method)
            .uri(uri)
            .body(Full::new(Bytes::from(body.to_owned())))
            .unwrap();
        let response = self.server.handle(request).await;
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        TestResponse {
            status,
            body: serde_json::from_str(&text).unwrap_or(Value::Null),
            text,
        }
    }

    /// Sends JSON; no body for `null`.
    pub(crate) async fn send_json(&self, method: &str, uri: &str, body: &Value) -> TestResponse {
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        self.send(method, uri, &body).await
    }

    pub(crate) async fn get(&self, uri: &str) -> TestResponse {
        self.send("GET", uri, "").await
    }

    pub(crate) async fn post(&self, uri: &str, body: &str) -> TestResponse {
        self.send("POST", uri, body).await
    }

    pub(crate) async fn put(&self, uri: &str, body: &str) -> TestResponse {
        self.send("PUT", uri, body).await
    }

    /// Searches with a body. Returns the ids of the hits.
    pub(crate) async fn ids(&self, uri: &str, body: &Value) -> Vec<String> {
        let answer = self.post(uri, &body.to_string()).await;
        assert_eq!(answer.status, 200, "{body}: {}", answer.text);
        answer.body["hits"]["hits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| hit["_id"].as_str().unwrap().to_owned())
            .collect()
    }
}

/// Twelve log lines over two days, one per hour, with a size and a level.
pub(crate) async fn logs() -> Backend {
    let backend = Backend::new();
    let mut body = String::new();
    for n in 0..12 {
        let day = 22 + n / 6;
        let level = ["info", "warn", "error"][n % 3];
        body.push_str(&format!(
            "{{\"index\":{{\"_index\":\"logstash-2015.06.{day}\",\"_type\":\"fluentd\",\"_id\":\"{n}\"}}}}\n"
        ));
        body.push_str(&format!(
            "{{\"log\":\"{level} request {n} served\",\"level\":\"{level}\",\"size\":{},\"ratio\":{}.5,\
             \"@timestamp\":\"2015-06-{day}T{:02}:30:00Z\"}}\n",
            n * 10,
            n,
            n % 6
        ));
    }
    let answer = backend.post("/_bulk?refresh=true", &body).await;
    assert_eq!(answer.body["errors"], false, "{}", answer.text);
    backend
}

/// Creates a backend with an index that has one type with these fields.
pub(crate) async fn index_of(index: &str, type_name: &str, properties: Value) -> Backend {
    let backend = Backend::new();
    let mappings = json!({type_name: {"properties": properties}});
    ask(&backend, "PUT", &format!("/{index}"), json!({"mappings": mappings})).await;
    backend
}

/// Sends a request that must succeed. Returns the body of the response.
pub(crate) async fn ask(backend: &Backend, method: &str, uri: &str, body: impl Borrow<Value>) -> Value {
    let answer = backend.send_json(method, uri, body.borrow()).await;
    assert!(answer.status < 300, "{method} {uri}: {}", answer.text);
    answer.body
}
