//! A cluster on a frozen clock.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value, json};
use stuntdouble_simulator::{Addons, Api, Clock, Controllers, Simulator};

use crate::client::client;

pub(crate) type Object = Arc<Map<String, Value>>;

pub(crate) struct Cluster(pub(crate) Simulator);

impl Cluster {
    pub(crate) async fn start() -> Self {
        Self::with(Controllers::default()).await
    }

    pub(crate) async fn with(controllers: Controllers) -> Self {
        let clock: Clock = "frozen:2016-03-01T00:00:00Z".parse().unwrap();
        let builder = Simulator::builder().seed(7).clock(clock).addons(Addons::none());
        let cluster = Self(builder.controllers(controllers).start().await.unwrap());
        cluster.0.settle().await;
        cluster
    }

    pub(crate) fn api(&self, plural: &str) -> Api {
        let version = match plural {
            "deployments" | "replicasets" | "daemonsets" | "jobs" | "horizontalpodautoscalers" => "extensions/v1beta1",
            _ => "v1",
        };
        self.0.client().api(version, plural).unwrap().in_namespace("default")
    }

    /// Creates an object, and waits until the cluster is idle.
    pub(crate) async fn create(&self, plural: &str, object: Value) -> Object {
        let object = self.api(plural).create(object).await.unwrap();
        self.0.settle().await;
        object
    }

    pub(crate) async fn patch(&self, plural: &str, name: &str, patch: Value) {
        self.api(plural).patch(name, &patch).await.unwrap();
        self.0.settle().await;
    }

    pub(crate) async fn delete(&self, plural: &str, name: &str) {
        self.api(plural).delete(name, None).await.unwrap();
        self.0.settle().await;
    }

    pub(crate) async fn advance(&self, seconds: u64) {
        self.0.advance(Duration::from_secs(seconds)).await;
        self.0.settle().await;
    }

    pub(crate) async fn list(&self, plural: &str) -> Vec<Object> {
        self.api(plural).list(&Default::default()).await.unwrap().items
    }

    pub(crate) async fn get(&self, plural: &str, name: &str) -> Value {
        Value::Object(self.api(plural).get(name).await.unwrap().as_ref().clone())
    }

    /// Returns status and body of a response.
    pub(crate) async fn request(&self, method: &str, path: &str) -> (u16, String) {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let request = client().request(method, format!("{}{path}", self.0.url()));
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    /// Returns the log of a pod's only container.
    pub(crate) async fn log(&self, pod: &str) -> String {
        self.request("GET", &format!("/api/v1/namespaces/default/pods/{pod}/log"))
            .await
            .1
    }

    /// Returns the number of pods in this phase.
    pub(crate) async fn pods(&self, phase: &str) -> usize {
        let pods = self.list("pods").await;
        pods.iter().filter(|pod| pod["status"]["phase"] == phase).count()
    }

    /// Returns the messages of the events with this reason, oldest first.
    pub(crate) async fn messages(&self, reason: &str) -> Vec<String> {
        let mut events = self.list("events").await;
        events.retain(|event| event["reason"] == reason);
        let number = |event: &Object| {
            event["metadata"]["resourceVersion"]
                .as_str()
                .unwrap()
                .parse::<u64>()
                .unwrap()
        };
        events.sort_by_key(number);
        let message = |event: &Object| event["message"].as_str().unwrap().to_owned();
        events.iter().map(message).collect()
    }

    /// Returns the reasons of the events of an object, with their counts.
    pub(crate) async fn events(&self, name: &str) -> Vec<(String, u64)> {
        let mut events: Vec<_> = self
            .list("events")
            .await
            .iter()
            .filter(|event| event["involvedObject"]["name"] == name)
            .map(|event| {
                (
                    event["reason"].as_str().unwrap().to_owned(),
                    event["count"].as_u64().unwrap(),
                )
            })
            .collect();
        events.sort();
        events
    }
}

pub(crate) fn pod_spec(image: &str, script: Option<&str>) -> Value {
    match script {
        Some(script) => json!({"containers": [{"name": "main", "image": image, "command": ["sh", "-c", script]}]}),
        None => json!({"containers": [{"name": "main", "image": image}]}),
    }
}

pub(crate) fn owner(name: &str, replicas: u64, image: &str) -> Value {
    let template = json!({"metadata": {"labels": {"app": name}}, "spec": pod_spec(image, None)});
    json!({"metadata": {"name": name}, "spec": {"replicas": replicas, "template": template}})
}
