//! A running `stuntdouble serve` over an etcd cluster, with requests for tests.

use std::process::Command;

use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::server::{PROGRAM, Server, client};

/// A running server over an etcd cluster. Dropping it kills it (SIGKILL).
pub(crate) struct Replica(Server);

impl Replica {
    /// Starts a server over the etcd cluster at these URLs.
    pub(crate) fn start(etcd: &[String], arguments: &[&str]) -> Self {
        Self(Server::of(
            Command::new(PROGRAM)
                .args(["serve", "--listen", "127.0.0.1:0", "--etcd", &etcd.join(",")])
                .args(arguments),
        ))
    }

    pub(crate) fn url(&self) -> &str {
        &self.0.urls[0]
    }

    /// Sends a signal, such as `-STOP` or `-CONT`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.0.process.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Response {
        let mut request = client().request(method, format!("{}{path}", self.url()));
        if let Some(body) = body {
            request = request.json(&body);
        }
        request.send().await.unwrap()
    }

    /// Sends a request that must succeed. Returns the body.
    pub(crate) async fn expect(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let response = self.send(method.clone(), path, body).await;
        let status = response.status();
        let answer: Value = response.json().await.unwrap();
        assert!(status.is_success(), "{method} {path}: {answer}");
        answer
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.expect(Method::GET, path, None).await
    }

    pub(crate) async fn create(&self, path: &str, body: Value) -> Value {
        self.expect(Method::POST, path, Some(body)).await
    }

    /// Watches a collection from a version.
    pub(crate) async fn watch(&self, path: &str, from: u64) -> Watch {
        let path = format!("{path}?watch=true&resourceVersion={from}");
        let response = self.send(Method::GET, &path, None).await;
        assert!(response.status().is_success(), "{path}: {}", response.status());
        Watch {
            response,
            text: String::new(),
        }
    }
}

/// The events of a watch.
pub(crate) struct Watch {
    response: Response,
    text: String,
}

impl Watch {
    /// Returns the next event, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((line, rest)) = self.text.split_once('\n') {
                let event = serde_json::from_str(line).unwrap();
                self.text = rest.to_owned();
                return Some(event);
            }
            let chunk = self.response.chunk().await.ok()??;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// Returns the revisions of the next events, up to `last`.
    pub(crate) async fn revisions(&mut self, last: u64) -> Vec<u64> {
        let mut revisions = Vec::new();
        while revisions.last() != Some(&last) {
            let event = self.next().await.expect("the watch ended early");
            revisions.push(revision(&event["object"]));
        }
        revisions
    }

    /// Reads events until an object satisfies `is_so`, and returns it.
    pub(crate) async fn until(&mut self, is_so: impl Fn(&Value) -> bool) -> Value {
        loop {
            let event = self.next().await.expect("the watch ended early");
            if is_so(&event["object"]) {
                return event["object"].clone();
            }
        }
    }
}

pub(crate) fn revision(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

/// Returns a config map with a value.
pub(crate) fn config_map(name: &str, value: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"value": value}})
}
