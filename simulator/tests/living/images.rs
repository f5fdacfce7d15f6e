//! The images of the end-to-end tests and examples of Kubernetes v1.2.

use serde_json::{Value, json};

use crate::cluster::Cluster;

async fn run(cluster: &Cluster, name: &str, image: &str, command: Value) -> Value {
    let mut container = json!({"name": "main", "image": image});
    if !command.is_null() {
        container["command"] = command;
    }
    let metadata = json!({"name": name, "labels": {"name": name}});
    let spec = json!({"containers": [container], "restartPolicy": "Never"});
    cluster
        .create("pods", json!({"metadata": metadata, "spec": spec}))
        .await;
    cluster.advance(1).await;
    cluster.get("pods", name).await
}

async fn service(cluster: &Cluster, name: &str, port: u16, headless: bool) {
    let mut spec = json!({"ports": [{"name": "http", "port": port}], "selector": {"name": name}});
    if headless {
        spec["clusterIP"] = "None".into();
    }
    cluster
        .create("services", json!({"metadata": {"name": name}, "spec": spec}))
        .await;
}

#[tokio::test]
async fn the_network_tester_counts_what_it_receives_by_source() {
    let cluster = Cluster::start().await;
    let server = run(&cluster, "server", "gcr.io/google_containers/nettest:1.7", Value::Null).await;
    let read = async || {
        let (_, body) = cluster
            .request("GET", "/api/v1/namespaces/default/pods/server:8080/proxy/read")
            .await;
        serde_json::from_str::<Value>(&body).unwrap()["Received"].clone()
    };
    assert_eq!(read().await, json!({}));
    let address = server["status"]["podIP"].as_str().unwrap();
    for (name, source) in [("a", "prestop"), ("b", "prestop"), ("c", "peer")] {
        let script = format!("wget -O- --post-data='{{\"Source\": \"{source}\"}}' http://{address}:8080/write");
        run(&cluster, name, "busybox", json!(["sh", "-c", script])).await;
    }
    assert_eq!(read().await, json!({"peer": 1, "prestop": 2}));
}

#[tokio::test]
async fn the_guestbook_keeps_its_entries_in_redis() {
    let cluster = Cluster::start().await;
    service(&cluster, "redis-master", 6379, false).await;
    run(
        &cluster,
        "redis-master",
        "gcr.io/google_containers/redis:e2e",
        Value::Null,
    )
    .await;
    run(
        &cluster,
        "frontend",
        "gcr.io/google_samples/gb-frontend:v4",
        Value::Null,
    )
    .await;
    let ask = async |command: &str, value: &str| {
        let query = format!("cmd={command}&key=messages&value={value}");
        let path = format!("/api/v1/namespaces/default/pods/frontend:80/proxy/guestbook.php?{query}");
        cluster.request("GET", &path).await.1
    };
    assert_eq!(ask("get", "").await, "{\"data\": \"\"}");
    assert_eq!(ask("set", "TestEntry").await, "{\"message\": \"Updated\"}");
    assert_eq!(ask("get", "").await, "{\"data\": \"TestEntry\"}");
}

#[tokio::test]
async fn dig_and_getent_look_up_names() {
    let cluster = Cluster::start().await;
    service(&cluster, "db", 80, true).await;
    service(&cluster, "web", 80, false).await;
    let annotations = json!({"pod.beta.kubernetes.io/hostname": "first", "pod.beta.kubernetes.io/subdomain": "db"});
    let server = json!({
        "metadata": {"name": "server", "labels": {"name": "db"}, "annotations": annotations},
        "spec": {"containers": [{"name": "main", "image": "busybox", "command": ["sh", "-c",
            "hostname -f; hostname -i; getent hosts first"]},
            {"name": "stays", "image": "gcr.io/google_containers/pause:2.0"}]},
    });
    cluster.create("pods", server).await;
    cluster.advance(1).await;
    let address = cluster.get("pods", "server").await["status"]["podIP"]
        .as_str()
        .unwrap()
        .to_owned();
    let (_, own) = cluster
        .request("GET", "/api/v1/namespaces/default/pods/server/log?container=main")
        .await;
    assert_eq!(
        own,
        format!("first.db.default.svc.cluster.local\n{address}\n{address:<15} first\n")
    );
    let script = "d='dig +notcp +noall +answer +search'; \
        $d db A; $d first.db.default.svc; $d _http._tcp.db.default.svc SRV; \
        dig +short _http._tcp.web.default.svc.cluster.local SRV; dig +noall +answer db; \
        dig absent | grep -c NXDOMAIN; dig example.com | grep -c REFUSED; getent hosts first.db absent; echo $?; \
        hostname -i | awk -F. '{print $1\"-\"$2\"-\"$3\"-\"$4\".default.pod.cluster.local\"}' > /tmp/own; \
        [ $(dig +tcp +short $(cat /tmp/own)) = $(hostname -i) ] && echo own";
    run(
        &cluster,
        "querier",
        "gcr.io/google_containers/dnsutils:e2e",
        json!(["sh", "-c", script]),
    )
    .await;
    let expected = [
        format!("db.default.svc.cluster.local.\t30\tIN\tA\t{address}"),
        format!("first.db.default.svc.cluster.local.\t30\tIN\tA\t{address}"),
        "_http._tcp.db.default.svc.cluster.local.\t30\tIN\tSRV\t10 100 80 first.db.default.svc.cluster.local."
            .to_owned(),
        "10 100 80 web.default.svc.cluster.local.".to_owned(),
        "0".to_owned(),
        "1".to_owned(),
        format!("{address:<15} first.db"),
        "2".to_owned(),
        "own".to_owned(),
    ];
    let log = cluster.log("querier").await;
    assert_eq!(log.lines().collect::<Vec<_>>(), expected, "{log}");
}

#[tokio::test]
async fn files_of_secrets_can_be_read_only() {
    let cluster = Cluster::start().await;
    cluster
        .create(
            "secrets",
            json!({"metadata": {"name": "s"}, "data": {"key": "dmFsdWU="}}),
        )
        .await;
    cluster
        .create(
            "configmaps",
            json!({"metadata": {"name": "c"}, "data": {"key": "value"}}),
        )
        .await;
    let mounts = json!([{"name": "s", "mountPath": "/s"}, {"name": "c", "mountPath": "/c"}]);
    let arguments = json!(["--file_mode=/s/key", "--file_mode=/c/key"]);
    let container = json!({"name": "main", "image": "gcr.io/google_containers/mounttest:0.2", "args": arguments,
        "volumeMounts": mounts});
    let volumes = json!([{"name": "s", "secret": {"secretName": "s"}}, {"name": "c", "configMap": {"name": "c"}}]);
    let spec = json!({"containers": [container], "volumes": volumes, "restartPolicy": "Never"});
    cluster
        .create("pods", json!({"metadata": {"name": "p"}, "spec": spec}))
        .await;
    cluster.advance(1).await;
    let expected = "mode of file \"/s/key\": -r--r--r--\nmode of file \"/c/key\": -rw-r--r--\n";
    assert_eq!(cluster.log("p").await, expected);
}
