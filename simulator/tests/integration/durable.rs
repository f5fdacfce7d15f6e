//! Restarts of a simulator with its data directory.

use std::path::Path;

use crate::client::client;
use reqwest::{Client, StatusCode};
use rstest::rstest;
use serde_json::{Value, json};
use stuntdouble_simulator::{Builder, Clock, Durability, Profile, Simulator};
use tempfile::TempDir;

const SERVICES: &str = "/api/v1/namespaces/default/services";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A running simulator, and a client of it.
struct Running(Simulator, Client);

impl Running {
    async fn start(builder: Builder, directory: &Path) -> Self {
        Self(builder.data_dir(directory).start().await.unwrap(), client())
    }

    async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> (StatusCode, Value) {
        let request = self
            .1
            .request(method.parse().unwrap(), format!("{}{path}", self.0.url()));
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        let response = request.send().await.unwrap();
        (response.status(), response.json().await.unwrap())
    }

    async fn done(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, answer) = self.ask(method, path, Some(body)).await;
        assert!(status.is_success(), "{method} {path}: {answer}");
        answer
    }

    async fn get(&self, path: &str) -> Value {
        self.ask("GET", path, None).await.1
    }

    /// Returns the first `count` lines of a watch.
    async fn watch(&self, path: &str, from: u64, count: usize) -> Vec<String> {
        let url = format!("{}{path}?watch=true&resourceVersion={from}", self.0.url());
        let mut response = self.1.get(url).send().await.unwrap();
        let mut text = String::new();
        while text.lines().count() < count {
            let chunk = response.chunk().await.unwrap().expect("the watch continues");
            text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
        text.lines().take(count).map(str::to_owned).collect()
    }
}

fn revision(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

fn bare(profile: Profile) -> Builder {
    let clock: Clock = "frozen:2016-03-01T00:00:00Z".parse().unwrap();
    Simulator::builder().profile(profile).bare(true).seed(7).clock(clock)
}

#[rstest]
#[tokio::test]
async fn objects_and_watches_survive_a_restart(
    #[values(Profile::Documented, Profile::Kubernetes12)] profile: Profile,
    #[values(Durability::Sync, Durability::Interval)] durability: Durability,
) {
    let directory = TempDir::new().unwrap();
    let first = Running::start(bare(profile).durability(durability), directory.path()).await;
    let map = |n: usize| json!({"metadata": {"name": "m"}, "data": {"n": n.to_string()}});
    let created = revision(&first.done("POST", CONFIG_MAPS, map(0)).await);
    for n in 1..120 {
        first.done("PUT", &format!("{CONFIG_MAPS}/m"), map(n)).await;
    }
    let other = first
        .done("POST", CONFIG_MAPS, json!({"metadata": {"name": "other"}}))
        .await;
    first.done("DELETE", &format!("{CONFIG_MAPS}/other"), json!({})).await;
    let last = revision(&other) + 1;
    let list = first.get(CONFIG_MAPS).await;
    let starts = [created - 1, created, created + 25, last - 50, last - 1];
    let mut before = Vec::new();
    for from in starts {
        let count = if from < last - 100 {
            1
        } else {
            usize::try_from(last - from).unwrap()
        };
        before.push(first.watch(CONFIG_MAPS, from, count).await);
    }
    first.0.shutdown().await;

    let second = Running::start(bare(profile).durability(durability), directory.path()).await;
    assert_eq!(second.get(CONFIG_MAPS).await, list);
    for (from, expected) in starts.into_iter().zip(before) {
        let frames = second.watch(CONFIG_MAPS, from, expected.len()).await;
        assert_eq!(frames, expected, "from {from}");
    }
    let next = second
        .done("POST", CONFIG_MAPS, json!({"metadata": {"name": "next"}}))
        .await;
    assert_eq!(revision(&next), last + 1);
}

#[rstest]
#[tokio::test]
async fn addresses_ports_and_uids_are_not_reused(
    #[values(Profile::Documented, Profile::Kubernetes12)] profile: Profile,
) {
    let directory = TempDir::new().unwrap();
    let node_port =
        |name: &str| json!({"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}});
    let mut seen = Vec::new();
    for start in 0..4 {
        let cluster = Running::start(bare(profile), directory.path()).await;
        for n in 0..3 {
            let service = cluster.done("POST", SERVICES, node_port(&format!("s{start}{n}"))).await;
            let spec = &service["spec"];
            seen.push(spec["clusterIP"].to_string());
            seen.push(spec["ports"][0]["nodePort"].to_string());
            seen.push(service["metadata"]["uid"].to_string());
        }
        let held = json!({"metadata": {"name": "held"}, "spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 80}]}});
        let (status, refusal) = cluster.ask("POST", SERVICES, Some(held)).await;
        assert_eq!(status, 422, "{refusal}");
        cluster.0.shutdown().await;
    }
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), count);

    let last = Running::start(bare(profile), directory.path()).await;
    let service = last.get(&format!("{SERVICES}/s00")).await;
    last.done("DELETE", &format!("{SERVICES}/s00"), json!({})).await;
    let address = service["spec"]["clusterIP"].clone();
    let again = json!({"metadata": {"name": "again"}, "spec": {"clusterIP": address, "ports": [{"port": 80}]}});
    last.done("POST", SERVICES, again).await;
}

#[tokio::test]
async fn an_event_that_was_stored_before_a_restart_expires() {
    let directory = TempDir::new().unwrap();
    let events = "/api/v1/namespaces/default/events";
    let first = Running::start(bare(Profile::Documented), directory.path()).await;
    let event = json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}});
    first.done("POST", events, event).await;
    first.0.shutdown().await;

    let second = Running::start(bare(Profile::Documented), directory.path()).await;
    assert_eq!(second.get(events).await["items"].as_array().unwrap().len(), 1);
    second.0.advance(std::time::Duration::from_secs(3 * 3600)).await;
    assert_eq!(second.get(events).await["items"].as_array().map_or(0, Vec::len), 0);
}

/// Returns the names and phases of pods, and their nodes.
async fn pods(cluster: &Running) -> Vec<Vec<String>> {
    let list = cluster.get("/api/v1/pods").await;
    let text = |pod: &Value, path: &str| pod.pointer(path).map_or(String::new(), Value::to_string);
    let paths = [
        "/metadata/namespace",
        "/metadata/name",
        "/status/phase",
        "/status/podIP",
        "/spec/nodeName",
    ];
    let items = list["items"].as_array().unwrap();
    items
        .iter()
        .map(|pod| paths.map(|path| text(pod, path)).to_vec())
        .collect()
}

fn living() -> Builder {
    let clock: Clock = "frozen:2016-03-01T00:00:00Z".parse().unwrap();
    Simulator::builder().seed(7).clock(clock)
}

#[tokio::test]
async fn nodes_pods_and_add_ons_survive_a_restart() {
    let directory = TempDir::new().unwrap();
    let first = Running::start(living(), directory.path()).await;
    let template = json!({"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}});
    let controller = json!({"metadata": {"name": "w"}, "spec": {"replicas": 3, "template": template}});
    first
        .done("POST", "/api/v1/namespaces/default/replicationcontrollers", controller)
        .await;
    first.0.settle().await;
    let before = pods(&first).await;
    assert!(before.len() > 3, "{before:?}");
    let search = "/api/v1/proxy/namespaces/kube-system/services/elasticsearch-logging";
    let document = json!({"log": "kept"});
    first.done("PUT", &format!("{search}/kept/t/1"), document.clone()).await;
    first.0.shutdown().await;

    let second = Running::start(living(), directory.path()).await;
    second.0.settle().await;
    assert_eq!(pods(&second).await, before);
    let (status, health) = second.ask("GET", &format!("{search}/_cluster/health"), None).await;
    assert_eq!(status, 200, "{health}");
    assert_eq!(second.get(&format!("{search}/kept/t/1")).await["_source"], document);
    let scaled = json!({"spec": {"replicas": 5}});
    let path = "/api/v1/namespaces/default/replicationcontrollers/w";
    let api = second
        .0
        .client()
        .api("v1", "replicationcontrollers")
        .unwrap()
        .in_namespace("default");
    api.patch("w", &scaled).await.unwrap();
    second.0.settle().await;
    assert_eq!(second.get(path).await["status"]["replicas"], 5);
    assert_eq!(pods(&second).await.len(), before.len() + 2);
}

#[tokio::test]
async fn pods_that_a_stopped_kubelet_had_begun_to_start_run_after_a_restart() {
    let directory = TempDir::new().unwrap();
    let list = "/api/v1/namespaces/default/pods";
    let spec = |node: &str| json!({"nodeName": node, "containers": [{"name": "c", "image": "x"}]});
    let pod = |name: &str, node: &str| json!({"metadata": {"name": name}, "spec": spec(node)});
    let first = Running::start(living(), directory.path()).await;
    let node = first.get("/api/v1/nodes").await["items"][0]["metadata"]["name"].clone();
    let node = node.as_str().unwrap();
    let created = first.done("POST", list, pod("running", node)).await;
    first.0.settle().await;
    let updates = first.watch(list, revision(&created), 2).await;
    let updates = updates.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut statuses = updates.map(|update| update["object"]["status"].clone());
    let waiting = statuses.find(|status| status["containerStatuses"][0]["state"]["waiting"].is_object());
    first.0.shutdown().await;

    // As if the kubelets had been stopped: the new pods are bound to the node, one of them has its first status.
    let stopped = Running::start(living().bare(true), directory.path()).await;
    for name in ["a", "b", "z"] {
        stopped.done("POST", list, pod(name, node)).await;
    }
    let mut begun = stopped.done("POST", list, pod("begun", node)).await;
    begun["status"] = waiting.unwrap();
    stopped.done("PUT", &format!("{list}/begun/status"), begun).await;
    stopped.0.shutdown().await;

    let second = Running::start(living(), directory.path()).await;
    second.0.settle().await;
    let own = |pod: &Vec<String>| pod[4].contains(node);
    let pods: Vec<_> = pods(&second).await.into_iter().filter(own).collect();
    assert!(pods.iter().all(|pod| pod[2].contains("Running")), "{pods:?}");
    let mut addresses: Vec<_> = pods.iter().map(|pod| &pod[3]).collect();
    addresses.sort();
    addresses.dedup();
    assert_eq!(addresses.len(), pods.len(), "{pods:?}");
}

#[tokio::test]
async fn an_unusable_directory_is_an_error_with_advice() {
    let directory = TempDir::new().unwrap();
    std::fs::write(directory.path().join("objects.redb"), "not a store").unwrap();
    let start = || Simulator::builder().bare(true).data_dir(directory.path()).start();
    let error = start().await.unwrap_err().to_string();
    assert!(
        error.contains("is damaged") && error.contains("restore it from a copy"),
        "{error}"
    );
    std::fs::remove_file(directory.path().join("objects.redb")).unwrap();
    let running = start().await.unwrap();
    let error = start().await.unwrap_err().to_string();
    assert!(error.contains("is in use"), "{error}");
    running.shutdown().await;
}
