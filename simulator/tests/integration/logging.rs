//! Log collectors and add-ons, on a frozen clock.

use std::time::Duration;

use crate::client::client;
use serde_json::{Value, json};
use stuntdouble_simulator::{Addons, Api, Clock, Simulator};

const SYSTEM: &str = "kube-system";

struct Cluster(Simulator);

impl Cluster {
    async fn start(addons: Addons) -> Self {
        let clock: Clock = "frozen:2016-03-01T23:59:55Z".parse().unwrap();
        let builder = Simulator::builder().seed(7).clock(clock).addons(addons);
        Self(builder.start().await.unwrap())
    }

    fn api(&self, plural: &str, namespace: &str) -> Api {
        self.0.client().api("v1", plural).unwrap().in_namespace(namespace)
    }

    async fn names(&self, plural: &str, namespace: &str) -> Vec<String> {
        let list = self.api(plural, namespace).list(&Default::default()).await.unwrap();
        let name = |object: &Value| object["name"].as_str().unwrap().to_owned();
        list.items.iter().map(|object| name(&object["metadata"])).collect()
    }

    /// Returns the names of the running pods with a name prefix.
    async fn running(&self, prefix: &str) -> Vec<String> {
        let list = self.api("pods", SYSTEM).list(&Default::default()).await.unwrap();
        let running = list.items.iter().filter(|pod| pod["status"]["phase"] == "Running");
        let names = running.map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned());
        names.filter(|name| name.starts_with(prefix)).collect()
    }

    async fn advance(&self, seconds: u64) {
        self.0.advance(Duration::from_secs(seconds)).await;
    }

    /// Deletes pods of the system namespace without a grace period.
    async fn delete_pods(&self, names: &[String]) {
        for name in names {
            self.api("pods", SYSTEM).delete(name, Some(0)).await.unwrap();
        }
        self.0.settle().await;
    }

    /// Sends a GET request to a service of the system namespace.
    async fn get(&self, service: &str, path: &str) -> (u16, String) {
        let url = format!(
            "{}/api/v1/proxy/namespaces/{SYSTEM}/services/{service}{path}",
            self.0.url()
        );
        // The workspace builds the client without a default cryptography provider.
        let response = client().get(url).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    /// Returns the lines of a tag, ordered by time.
    async fn lines(&self, tag: &str) -> Vec<Value> {
        assert_eq!(self.get("elasticsearch-logging", "/_refresh").await.0, 200);
        let path = format!("/logstash-*/_search?q=tag:%22{tag}%22&size=10000&sort=@timestamp:asc");
        let (status, body) = self.get("elasticsearch-logging", &path).await;
        assert_eq!(status, 200, "{body}");
        let found: Value = serde_json::from_str(&body).unwrap();
        found["hits"]["hits"].as_array().unwrap().clone()
    }

    /// Starts a pod on a node that writes this many lines, one per second.
    async fn start_ticks(&self, name: &str, node: &str, count: usize) {
        let script =
            format!("i=0; while [ $i -lt {count} ]; do sleep 1; i=$((i+1)); echo tick $i; done; sleep 1000000");
        self.start_pod(name, node, &script).await;
    }

    /// Starts a pod on a node that runs a script once.
    async fn start_pod(&self, name: &str, node: &str, script: &str) {
        let container = json!({"name": "main", "image": "busybox", "command": ["sh", "-c", script]});
        let spec = json!({"nodeName": node, "restartPolicy": "Never", "containers": [container]});
        let pod = json!({"metadata": {"name": name}, "spec": spec});
        self.api("pods", "default").create(pod).await.unwrap();
        self.0.settle().await;
    }
}

fn ticks(from: usize, to: usize) -> Vec<String> {
    (from..=to).map(|number| format!("tick {number}\n")).collect()
}

fn logs(hits: &[Value]) -> Vec<&str> {
    hits.iter().map(|hit| hit["_source"]["log"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_line_of_every_node_is_found_once_in_the_index_of_its_day() {
    let cluster = Cluster::start(Addons::all()).await;
    for node in ["node-1", "node-2"] {
        cluster.start_ticks(&format!("on-{node}"), node, 10).await;
    }
    cluster.advance(12).await;
    for node in ["node-1", "node-2"] {
        let hits = cluster.lines(&format!("kubernetes.on-{node}_default_main")).await;
        assert_eq!(logs(&hits), ticks(1, 10));
        assert_eq!(hits[0]["_index"], "logstash-2016.03.01");
        assert_eq!(hits[9]["_index"], "logstash-2016.03.02");
        assert_eq!(hits[9]["_type"], "fluentd");
        let first = json!({
            "log": "tick 1\n",
            "stream": "stdout",
            "tag": format!("kubernetes.on-{node}_default_main"),
            "@timestamp": "2016-03-01T23:59:56.000+00:00",
        });
        assert_eq!(hits[0]["_source"], first);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_line_is_lost_or_duplicated_while_search_pods_and_collectors_are_replaced() {
    let cluster = Cluster::start(Addons::all()).await;
    cluster.start_ticks("web", "node-1", 25).await;
    for _ in 0..4 {
        cluster.advance(3).await;
        let search = cluster.running("elasticsearch-logging-").await;
        cluster.delete_pods(&search).await;
        cluster.advance(2).await;
        let collectors = cluster.running("fluentd-elasticsearch-").await;
        assert_eq!(
            collectors,
            ["fluentd-elasticsearch-node-1", "fluentd-elasticsearch-node-2"]
        );
        cluster.delete_pods(&collectors).await;
    }
    cluster.advance(10).await;
    assert_eq!(cluster.running("elasticsearch-logging-").await.len(), 2);
    let hits = cluster.lines("kubernetes.web_default_main").await;
    assert_eq!(logs(&hits), ticks(1, 25));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_lines_of_a_deleted_pod_are_collected() {
    let cluster = Cluster::start(Addons::all()).await;
    cluster.start_ticks("short", "node-1", 100).await;
    cluster.advance(3).await;
    cluster.api("pods", "default").delete("short", Some(0)).await.unwrap();
    cluster.advance(5).await;
    let hits = cluster.lines("kubernetes.short_default_main").await;
    assert_eq!(logs(&hits), ticks(1, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_dropped_before_they_were_collected_are_reported() {
    const LINES: usize = 1500;
    let cluster = Cluster::start(Addons::all()).await;
    let text = "x".repeat(1000);
    let script = format!("i=0; while [ $i -lt {LINES} ]; do echo $i {text}; i=$((i+1)); done");
    cluster.start_pod("burst", "node-1", &script).await;
    cluster.advance(5).await;
    assert_eq!(cluster.get("elasticsearch-logging", "/_refresh").await.0, 200);
    let path = "/logstash-*/_count?q=tag:%22kubernetes.burst_default_main%22";
    let (status, body) = cluster.get("elasticsearch-logging", path).await;
    assert_eq!(status, 200, "{body}");
    let count: Value = serde_json::from_str(&body).unwrap();
    let found = usize::try_from(count["count"].as_u64().unwrap()).unwrap();
    assert!(0 < found && found < LINES, "{found}");
    let collector = cluster
        .lines("kubernetes.fluentd-elasticsearch-node-1_kube-system_fluentd-elasticsearch")
        .await;
    let report =
        "lines of kubernetes.burst_default_main are lost: they were dropped from its log before they were read\n";
    assert_eq!(logs(&collector), [format!("{} {report}", LINES - found)]);
}

/// The check of the logging test of Kubernetes v1.2.
#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_lines_from_a_pod_on_each_node_are_all_found() {
    const LINES: usize = 100;
    let cluster = Cluster::start(Addons::all()).await;
    let (status, root) = cluster.get("elasticsearch-logging", "/").await;
    let root: Value = serde_json::from_str(&root).unwrap();
    assert_eq!((status, &root["status"]), (200, &200.into()));
    assert_eq!(root["cluster_name"], "kubernetes-logging");
    let (_, health) = cluster
        .get("elasticsearch-logging", "/_cluster/health?level=indices")
        .await;
    let health: Value = serde_json::from_str(&health).unwrap();
    assert!(health["status"] == "green" || health["status"] == "yellow", "{health}");
    assert_eq!(cluster.running("elasticsearch-logging-v1-").await.len(), 2);
    let collectors = cluster
        .api("pods", SYSTEM)
        .list(&Default::default())
        .await
        .unwrap()
        .items;
    for node in ["node-1", "node-2"] {
        let on_node = |pod: &&std::sync::Arc<serde_json::Map<String, Value>>| {
            pod["metadata"]["labels"]["k8s-app"] == "fluentd-logging"
                && pod["spec"]["nodeName"] == node
                && pod["status"]["phase"] == "Running"
        };
        assert_eq!(collectors.iter().filter(on_node).count(), 1, "{node}");
        let script = format!("i=0; while [ $i -lt {LINES} ]; do echo $i synthetic-{node}; i=$((i+1)); done");
        cluster.start_pod(&format!("synthetic-{node}"), node, &script).await;
    }
    cluster.advance(10).await;
    for node in ["node-1", "node-2"] {
        let name = format!("synthetic-{node}");
        let pod = cluster.api("pods", "default").get(&name).await.unwrap();
        assert_eq!(pod["status"]["phase"], "Succeeded");
        let hits = cluster.lines(&format!("kubernetes.{name}_default_main")).await;
        let mut found: Vec<String> = logs(&hits).into_iter().map(str::to_owned).collect();
        found.sort();
        let mut expected: Vec<String> = (0..LINES).map(|number| format!("{number} {name}\n")).collect();
        expected.sort();
        assert_eq!(found, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_add_ons_are_created_again_with_their_names_and_labels() {
    let cluster = Cluster::start(Addons::all()).await;
    let services = cluster.names("services", SYSTEM).await;
    let expected = [
        "elasticsearch-logging",
        "heapster",
        "kibana-logging",
        "kube-dns",
        "kubernetes-dashboard",
        "monitoring-grafana",
        "monitoring-influxdb",
    ];
    assert_eq!(services, expected);
    for name in &services {
        let service = cluster.api("services", SYSTEM).get(name).await.unwrap();
        assert_eq!(service["metadata"]["labels"]["kubernetes.io/cluster-service"], "true");
        assert_eq!(service["spec"]["type"], "ClusterIP");
        cluster.api("services", SYSTEM).delete(name, None).await.unwrap();
    }
    let controllers = cluster.names("replicationcontrollers", SYSTEM).await;
    for name in &controllers {
        cluster
            .api("replicationcontrollers", SYSTEM)
            .delete(name, None)
            .await
            .unwrap();
    }
    cluster.0.settle().await;
    assert_eq!(cluster.names("services", SYSTEM).await, expected);
    assert_eq!(cluster.names("replicationcontrollers", SYSTEM).await, controllers);
    assert_eq!(cluster.get("elasticsearch-logging", "/").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn disabled_add_ons_are_absent() {
    let cluster = Cluster::start(Addons::all().without_collectors()).await;
    assert!(cluster.running("fluentd-elasticsearch-").await.is_empty());
    assert_eq!(cluster.running("elasticsearch-logging-").await.len(), 2);
    let cluster = Cluster::start(Addons::all().without_logging()).await;
    assert!(cluster.running("elasticsearch-logging-").await.is_empty());
    assert_eq!(cluster.get("elasticsearch-logging", "/").await.0, 404);
    let cluster = Cluster::start("heapster".parse().unwrap()).await;
    assert_eq!(cluster.names("services", SYSTEM).await, ["heapster"]);
    let cluster = Cluster::start(Addons::none()).await;
    assert!(cluster.names("pods", SYSTEM).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_simulated_usage_is_collected_stored_and_shown() {
    let cluster = Cluster::start(Addons::all()).await;
    for (name, cpu) in [("a", "250m"), ("b", "1")] {
        let annotations = json!({"stuntdouble/cpu-usage": cpu, "stuntdouble/memory-usage": "64Mi"});
        let spec = json!({"nodeName": "node-1", "containers": [{"name": "main", "image": "example.com/app"}]});
        let pod = json!({"metadata": {"name": name, "annotations": annotations}, "spec": spec});
        cluster.api("pods", "default").create(pod).await.unwrap();
    }
    cluster.advance(130).await;
    let model = async |path: &str| {
        let (status, body) = cluster.get("heapster", &format!("/api/v1/model/{path}")).await;
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str::<Value>(&body).unwrap()
    };
    assert_eq!(model("namespaces/default/pods/").await, json!(["a", "b"]));
    assert_eq!(
        model("namespaces/default/pods/a/metrics/").await,
        json!(["cpu/usage_rate", "memory/usage"])
    );
    let node = model("nodes/node-1/metrics/cpu/usage_rate").await;
    let sample = |time: &str, value: i64| json!({"timestamp": time, "value": value});
    let samples = [
        sample("2016-03-02T00:00:55Z", 1250),
        sample("2016-03-02T00:01:55Z", 1250),
    ];
    assert_eq!(
        node,
        json!({"metrics": samples, "latestTimestamp": "2016-03-02T00:01:55Z"})
    );
    let list = model("namespaces/default/pod-list/a,b/metrics/cpu-usage?start=2016-03-02T00:01:00Z").await;
    assert_eq!(
        list["items"][0]["metrics"],
        json!([sample("2016-03-02T00:01:55Z", 250)])
    );
    assert_eq!(
        list["items"][1]["metrics"],
        json!([sample("2016-03-02T00:01:55Z", 1000)])
    );
    assert_eq!(
        cluster
            .get("heapster", "/api/v1/model/nodes/none/metrics/cpu/usage_rate")
            .await
            .0,
        404
    );
    assert_eq!(cluster.get("heapster", "/healthz").await, (200, "ok".to_owned()));

    let query = async |query: &str| {
        let path = format!("/query?db=k8s&q={}", query.replace(' ', "%20").replace('"', "%22"));
        let (status, body) = cluster.get("monitoring-influxdb:api", &path).await;
        (status, serde_json::from_str::<Value>(&body).unwrap())
    };
    let (status, found) =
        query("SELECT sum(value) FROM \"cpu/usage_rate\" WHERE time > now() - 1h GROUP BY time(1m), nodename").await;
    assert_eq!(status, 200, "{found}");
    let series = json!({
        "name": "cpu/usage_rate",
        "columns": ["time", "sum"],
        "values": [["2016-03-02T00:00:00Z", 1250], ["2016-03-02T00:01:00Z", 1250]],
        "tags": {"nodename": "node-1"},
    });
    assert_eq!(found["results"][0]["series"], json!([series]));
    let (_, found) =
        query("SELECT mean(value) FROM \"memory/usage\" WHERE pod_name = 'a' AND time > now() - 30s").await;
    assert_eq!(found["results"][0]["series"][0]["values"][0][1], 67_108_864.0);
    let (_, found) =
        query("SELECT value FROM \"cpu/usage_rate\" WHERE pod_name = 'a' ORDER BY time DESC LIMIT 1").await;
    assert_eq!(
        found["results"][0]["series"][0]["values"],
        json!([["2016-03-02T00:01:55Z", 250]])
    );
    let (_, found) = query("SHOW DATABASES").await;
    assert_eq!(found["results"][0]["series"][0]["values"], json!([["k8s"]]));
    let (status, found) = query("DROP DATABASE k8s").await;
    assert_eq!(status, 400, "{found}");
    assert_eq!(cluster.get("monitoring-influxdb:api", "/ping").await.0, 204);
    let (status, page) = cluster.get("monitoring-grafana", "/").await;
    assert!(status == 200 && page.contains("<title>Metrics</title>"));
}

/// The script writes 3 MB in half a minute; a log keeps 1 MiB.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_log_loses_its_oldest_lines_when_the_collector_has_read_them() {
    let cluster = Cluster::start(Addons::all()).await;
    let text = "x".repeat(1000);
    let script = format!(
        "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo $i {text}; [ $((i % 100)) = 0 ] && sleep 1; done; sleep 100000"
    );
    cluster.start_pod("long", "node-1", &script).await;
    cluster.advance(40).await;
    let url = format!("{}/api/v1/namespaces/default/pods/long/log", cluster.0.url());
    let log = client().get(url).send().await.unwrap().text().await.unwrap();
    let numbers: Vec<usize> = log
        .lines()
        .map(|line| line.split(' ').next().unwrap().parse().unwrap())
        .collect();
    assert!(
        log.len() <= 1 << 20 && numbers[0] > 1000,
        "{} bytes from {}",
        log.len(),
        numbers[0]
    );
    assert_eq!(*numbers.last().unwrap(), 3000);
    let found = cluster.lines("kubernetes.long_default_main").await;
    assert_eq!(found.len(), 3000);
}
