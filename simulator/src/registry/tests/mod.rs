//! Tests of the registry's verbs, by method, path and body.

mod admission;
mod agreement;
mod conflicts;
mod creating;
mod deleting;
mod empty_values;
mod expiring;
mod kinds;
mod listing;
mod newer_clients;
mod profiles;
mod unchanged;
mod updating;
mod watching;

use std::sync::Arc;

use serde_json::{Value, json};

use super::{GetOptions, ListOptions, Registry, RequestBody, RequestInfo, Response, Settings};
use crate::{
    api::Status,
    clock::Clock,
    patch::Language,
    profile::Profile,
    rng::Rng,
    scheme::{Scheme, Syntax},
    store::{Memory, Store},
    watch::Hub,
};

/// Cluster with the namespace `ns`.
pub(super) struct Rig(Registry, Clock);

impl Rig {
    pub(super) async fn new() -> Self {
        Self::of(Profile::Kubernetes12).await
    }

    pub(super) async fn of(profile: Profile) -> Self {
        Self::with_store(profile, |hub| Arc::new(Memory::new(hub))).await
    }

    pub(super) async fn with_store(profile: Profile, open: impl FnOnce(Arc<Hub>) -> Arc<dyn Store>) -> Self {
        let settings = Settings::for_tests(profile);
        let clock = Clock::frozen("2016-03-01T00:00:00Z".parse().unwrap());
        let registry = Registry::with_store(settings, clock.clone(), Arc::new(Rng::seeded(7)), open);
        let rig = Self(registry, clock);
        rig.0.bootstrap().await.unwrap();
        rig.expect_ok("POST", "namespaces", json!({"metadata": {"name": "ns"}}))
            .await;
        rig
    }

    /// Sends a request. Returns the status code and the body.
    ///
    /// `path` is below `/api/v1`, or below `/apis` with a leading slash. It starts with `ns/` for objects in the
    /// namespace.
    pub(super) async fn send(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let body = RequestBody {
            bytes: if body.is_null() {
                String::new()
            } else {
                body.to_string()
            }
            .into(),
            syntax: Syntax::Json,
        };
        let request = request_info(path);
        let response = match (method, &request.name) {
            ("POST", _) => self.0.create(&request, &body).await,
            ("PUT", _) => self.0.update(&request, &body).await,
            ("PATCH", _) => self.0.patch(&request, Language::Merge, &body.bytes).await,
            ("DELETE", Some(_)) => self.0.delete(&request, Some(&body)).await,
            ("DELETE", None) => {
                self.0
                    .delete_collection(&request, &ListOptions::default(), Some(&body))
                    .await
            }
            (_, Some(_)) => self.0.get(&request, &GetOptions::default()),
            (_, None) => self.0.list(&request, &ListOptions::default()).await,
        };
        let Response { code, body } = response.unwrap_or_else(|status: Status| Response {
            code: status.code,
            body: status.to_value().to_string().into(),
        });
        (code, serde_json::from_slice(&body).unwrap())
    }

    /// Sends a request that must succeed. Returns the body.
    pub(super) async fn expect_ok(&self, method: &str, path: &str, body: Value) -> Value {
        let (code, answer) = self.send(method, path, body).await;
        assert!(code < 300, "{method} {path}: {answer}");
        answer
    }

    /// Sends a request that must fail. Returns the status code and the message.
    pub(super) async fn expect_error(&self, method: &str, path: &str, body: Value) -> (u16, String) {
        let (code, answer) = self.send(method, path, body).await;
        assert!(code >= 400, "{method} {path}: {answer}");
        (code, answer["message"].as_str().unwrap_or_default().to_owned())
    }
}

fn request_info(path: &str) -> RequestInfo {
    let (group, version, path) = match path.strip_prefix('/') {
        None => ("", "v1", path),
        Some(rest) => {
            let mut parts = rest.splitn(3, '/');
            (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap())
        }
    };
    let mut segments = path
        .split('/')
        .map(str::to_owned)
        .collect::<std::collections::VecDeque<_>>();
    let namespace = ["ns", "nowhere"]
        .contains(&segments[0].as_str())
        .then(|| segments.pop_front())
        .flatten();
    let resource = Scheme::builtin()
        .resource(group, version, &segments[0])
        .unwrap()
        .clone();
    RequestInfo {
        resource,
        namespace,
        name: segments.get(1).cloned(),
        subresource: segments.get(2).cloned(),
    }
}

/// Pod with one container per element of `resources`.
pub(super) fn pod(name: &str, resources: &[Value]) -> Value {
    let containers = resources
        .iter()
        .enumerate()
        .map(|(n, r)| json!({"name": format!("c{n}"), "image": "x", "resources": r}));
    json!({"metadata": {"name": name}, "spec": {"containers": containers.collect::<Vec<_>>()}})
}
