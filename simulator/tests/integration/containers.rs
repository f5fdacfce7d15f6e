//! Containers and their kubelets, on a frozen clock.

use std::time::Duration;

use crate::client::client;
use serde_json::{Value, json};
use stuntdouble_simulator::{Addons, Api, Builder, Clock, ContainerContext, Simulator};

struct Cluster(Simulator);

impl Cluster {
    async fn start() -> Self {
        Self::with(|builder| builder).await
    }

    async fn with(settings: impl FnOnce(Builder) -> Builder) -> Self {
        let clock: Clock = "frozen:2016-03-01T00:00:00Z".parse().unwrap();
        let builder = Simulator::builder().seed(7).clock(clock).addons(Addons::none());
        let cluster = Self(settings(builder).start().await.unwrap());
        cluster.0.settle().await;
        cluster
    }

    fn api(&self, plural: &str) -> Api {
        self.0.client().api("v1", plural).unwrap().in_namespace("default")
    }

    async fn create(&self, plural: &str, object: Value) {
        self.api(plural).create(object).await.unwrap();
        self.0.settle().await;
    }

    /// Runs a pod with one container.
    async fn run(&self, name: &str, container: Value) {
        self.run_with(name, container, json!({})).await;
    }

    async fn run_with(&self, name: &str, mut container: Value, mut spec: Value) {
        container["name"] = "main".into();
        if container["image"].is_null() {
            container["image"] = "busybox:1".into();
        }
        spec["containers"] = json!([container]);
        if spec["restartPolicy"].is_null() {
            spec["restartPolicy"] = "Never".into();
        }
        let metadata = json!({"name": name, "labels": {"app": name}});
        self.create("pods", json!({"metadata": metadata, "spec": spec})).await;
        self.advance(1).await;
    }

    async fn advance(&self, seconds: u64) {
        self.0.advance(Duration::from_secs(seconds)).await;
        self.0.settle().await;
    }

    async fn pod(&self, name: &str) -> Value {
        Value::Object(self.api("pods").get(name).await.unwrap().as_ref().clone())
    }

    async fn status(&self, name: &str) -> Value {
        self.pod(name).await["status"]["containerStatuses"][0].clone()
    }

    async fn read(&self, path: &str) -> (u16, String) {
        let response = client().get(format!("{}{path}", self.0.url())).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    async fn log(&self, pod: &str, query: &str) -> String {
        self.read(&format!("/api/v1/namespaces/default/pods/{pod}/log{query}"))
            .await
            .1
    }

    /// Returns the messages of the events with this reason.
    async fn messages(&self, pod: &str, reason: &str) -> Vec<String> {
        let events = self.api("events").list(&Default::default()).await.unwrap().items;
        let of_pod = events
            .iter()
            .filter(|event| event["involvedObject"]["name"] == pod && event["reason"] == reason);
        of_pod
            .map(|event| event["message"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn sh(script: &str) -> Value {
    json!({"command": ["sh", "-c", script]})
}

#[tokio::test]
async fn a_script_writes_at_its_times_and_ends_with_its_status() {
    let cluster = Cluster::start().await;
    let script = "i=0; while [ $i -lt 3 ]; do echo \"$i: $(date +%T)\"; i=$((i+1)); sleep 10; done; echo done >&2; \
                  echo 'all counted' > /dev/termination-log; exit 4";
    cluster.run("counter", sh(script)).await;
    assert_eq!(cluster.log("counter", "").await, "0: 00:00:00\n");
    cluster.advance(40).await;
    assert_eq!(
        cluster.log("counter", "").await,
        "0: 00:00:00\n1: 00:00:10\n2: 00:00:20\ndone\n"
    );
    assert_eq!(
        cluster.log("counter", "?tailLines=2&timestamps=true").await,
        "2016-03-01T00:00:20Z 2: 00:00:20\n2016-03-01T00:00:30Z done\n"
    );
    assert_eq!(cluster.log("counter", "?limitBytes=5&sinceSeconds=15").await, "done\n");
    let ended = cluster.status("counter").await["state"]["terminated"].clone();
    assert_eq!(
        (&ended["exitCode"], &ended["message"]),
        (&json!(4), &json!("all counted\n"))
    );
    assert_eq!(ended["finishedAt"], "2016-03-01T00:00:30Z");
}

#[tokio::test]
async fn a_container_has_its_environment_and_command_with_references() {
    let cluster = Cluster::start().await;
    let map = json!({"metadata": {"name": "settings"}, "data": {"color": "red"}});
    cluster.create("configmaps", map).await;
    let secret = json!({"metadata": {"name": "key"}, "data": {"password": "c2VzYW1l"}});
    cluster.create("secrets", secret).await;
    let ports = json!([{"name": "http", "port": 80}]);
    let service = json!({"metadata": {"name": "my-app"}, "spec": {"ports": ports, "clusterIP": "10.0.0.77"}});
    cluster.create("services", service).await;
    let container = json!({
        "command": ["sh", "-c", "echo '$(GREETING)' $0; env | sort", "$(COLOR)-$(NOPE)"],
        "env": [
            {"name": "COLOR", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "color"}}},
            {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "key", "key": "password"}}},
            {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "GREETING", "value": "hi $(NAME), $$(NAME) at $(MY_APP_SERVICE_HOST)"},
        ],
    });
    cluster.run("env", container).await;
    let log = cluster.log("env", "").await;
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines.iter().any(|line| line.starts_with("IP=10.244.")), "{log}");
    assert_eq!(lines[0], "hi env, $(NAME) at 10.0.0.77 red-$(NOPE)");
    for line in [
        "COLOR=red",
        "PASSWORD=sesame",
        "HOSTNAME=env",
        "MY_APP_SERVICE_PORT_HTTP=80",
        "MY_APP_PORT_80_TCP=tcp://10.0.0.77:80",
        "MY_APP_PORT_80_TCP_ADDR=10.0.0.77",
        "KUBERNETES_SERVICE_HOST=10.0.0.1",
    ] {
        assert!(lines.contains(&line), "{line} is not in {log}");
    }
}

#[tokio::test]
async fn containers_of_a_pod_share_volumes_and_read_mounted_objects() {
    let cluster = Cluster::start().await;
    let map = json!({"metadata": {"name": "settings"}, "data": {"color": "red", "size": "9"}});
    cluster.create("configmaps", map).await;
    let volumes = json!([
        {"name": "shared", "emptyDir": {"medium": "Memory"}},
        {"name": "settings", "configMap": {"name": "settings", "items": [{"key": "color", "path": "paint/color"}]}},
        {"name": "labels", "downwardAPI": {"items": [{"path": "labels",
            "fieldRef": {"fieldPath": "metadata.labels"}}]}},
    ]);
    let mounts = json!([
        {"name": "shared", "mountPath": "/data"}, {"name": "settings", "mountPath": "/etc/settings"},
            {"name": "labels", "mountPath": "/etc/pod"},
    ]);
    let writer = json!({"name": "writer", "image": "busybox:1", "volumeMounts": mounts,
        "command": ["sh", "-c", "cat /etc/settings/paint/color /etc/pod/labels > /data/found; sleep 60; cat \
            /etc/settings/paint/color"]});
    let reader = json!({"name": "reader", "image": "busybox:1", "volumeMounts": mounts,
        "command": ["sh", "-c", "sleep 5; cat /data/found; stat -f -c %T /data; stat -c %a /data"]});
    let spec = json!({"containers": [writer, reader], "volumes": volumes, "restartPolicy": "Never"});
    cluster
        .create(
            "pods",
            json!({"metadata": {"name": "two", "labels": {"a": "b"}}, "spec": spec}),
        )
        .await;
    cluster.advance(10).await;
    assert_eq!(
        cluster.log("two", "?container=reader").await,
        "reda=\"b\"\ntmpfs\n777\n"
    );
    let change = json!({"data": {"color": "blue"}});
    cluster.api("configmaps").patch("settings", &change).await.unwrap();
    cluster.advance(60).await;
    assert_eq!(cluster.log("two", "?container=writer").await, "blue");
    assert_eq!(cluster.pod("two").await["status"]["phase"], "Succeeded");
}

#[tokio::test]
async fn an_image_serves_the_proxy_and_other_containers() {
    let cluster = Cluster::start().await;
    cluster
        .run("web", json!({"image": "nginx:1.9", "ports": [{"containerPort": 80}]}))
        .await;
    let service = json!({"metadata": {"name": "front"}, "spec": {"ports": [{"port": 8000, "targetPort": 80}],
        "selector": {"app": "web"}}});
    cluster.create("services", service).await;
    let proxied = "/api/v1/namespaces/default/services/front/proxy/";
    let (status, page) = cluster.read(proxied).await;
    assert!(status == 200 && page.contains("Welcome to nginx!"), "{page}");
    let (status, _) = cluster
        .read("/api/v1/namespaces/default/pods/web:80/proxy/nothing")
        .await;
    assert_eq!(status, 404);
    let (status, why) = cluster.read("/api/v1/namespaces/default/pods/web:81/proxy/").await;
    assert!(status == 503 && why.contains("connection refused"), "{why}");
    cluster
        .run(
            "client",
            sh(
                "wget -q -O - http://front.default:8000/ | grep -c nginx; wget http://front:8000/x; \
            nslookup front | tail -n 1; wget -O- http://absent/",
            ),
        )
        .await;
    let log = cluster.log("client", "").await;
    assert!(
        log.starts_with("2\nwget: server returned error: HTTP/1.1 404 Not Found\nAddress 1: 10.0.0."),
        "{log}"
    );
    assert!(log.ends_with("wget: bad address 'absent'\n"), "{log}");
    assert!(cluster.log("web", "").await.contains("\"GET /x HTTP/1.1\" 404"));
}

#[tokio::test]
async fn probes_check_the_behaviour_of_a_container() {
    let cluster = Cluster::start().await;
    let mut container = sh("echo ok > /tmp/health; sleep 10; rm /tmp/health; sleep 600");
    container["livenessProbe"] = json!({"exec": {"command": ["cat", "/tmp/health"]}, "initialDelaySeconds": 5,
        "periodSeconds": 5, "failureThreshold": 1});
    container["readinessProbe"] = json!({"exec": {"command": ["test", "-f", "/tmp/health"]}, "initialDelaySeconds": 3});
    cluster
        .run_with("sick", container, json!({"restartPolicy": "Always"}))
        .await;
    assert_eq!(cluster.status("sick").await["ready"], false);
    cluster.advance(3).await;
    assert_eq!(cluster.status("sick").await["ready"], true);
    cluster.advance(14).await;
    let status = cluster.status("sick").await;
    assert_eq!(
        (&status["restartCount"], &status["lastState"]["terminated"]["exitCode"]),
        (&json!(1), &json!(143))
    );
    let unhealthy = cluster.messages("sick", "Unhealthy").await;
    assert_eq!(
        unhealthy,
        ["Liveness probe failed: cat: can't open '/tmp/health': No such file or directory\n"]
    );
    let killing = cluster.messages("sick", "Killing").await;
    assert!(
        killing[0].contains("container \"main\" is unhealthy, it will be killed and re-created."),
        "{killing:?}"
    );

    let get = json!({"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 3});
    let container = json!({"image": "gcr.io/google_containers/liveness", "livenessProbe": get});
    cluster
        .run_with("tired", container, json!({"restartPolicy": "Always"}))
        .await;
    cluster.advance(20).await;
    assert_eq!(cluster.status("tired").await["restartCount"], 1);
    let unhealthy = cluster.messages("tired", "Unhealthy").await;
    assert_eq!(
        unhealthy,
        ["Liveness probe failed: HTTP probe failed with statuscode: 500"]
    );
}

#[tokio::test]
async fn a_pod_waits_for_the_objects_of_its_volumes() {
    let cluster = Cluster::start().await;
    let volumes = json!([{"name": "key", "secret": {"secretName": "key"}}]);
    let mut container = sh("cat /key/word");
    container["volumeMounts"] = json!([{"name": "key", "mountPath": "/key"}]);
    cluster
        .run_with("late", container, json!({"volumes": volumes, "restartPolicy": "Never"}))
        .await;
    assert_eq!(
        cluster.status("late").await["state"]["waiting"]["reason"],
        "ContainerCreating"
    );
    let mounting = cluster.messages("late", "FailedMount").await;
    assert!(
        mounting[0].starts_with("Unable to mount volumes for pod \"late_default("),
        "{mounting:?}"
    );
    assert!(mounting[0].ends_with("secrets \"key\" not found"), "{mounting:?}");
    assert_eq!(
        cluster.messages("late", "FailedSync").await,
        ["Error syncing pod, skipping: secrets \"key\" not found"]
    );
    cluster
        .create(
            "secrets",
            json!({"metadata": {"name": "key"}, "data": {"word": "c2VzYW1l"}}),
        )
        .await;
    cluster.advance(10).await;
    assert_eq!(cluster.log("late", "").await, "sesame");
}

#[tokio::test]
async fn a_container_with_a_missing_image_or_program_is_waiting() {
    let cluster = Cluster::with(|builder| builder.images("mine", "[{images: [nosuch], absent: true}]")).await;
    cluster.run("nopull", json!({"image": "nosuch"})).await;
    let waiting = cluster.status("nopull").await["state"]["waiting"].clone();
    assert_eq!(
        waiting,
        json!({"reason": "ErrImagePull", "message": "Error: image library/nosuch:latest not found"})
    );
    cluster.advance(25).await;
    let status = cluster.status("nopull").await;
    assert!(["ErrImagePull", "ImagePullBackOff"].contains(&status["state"]["waiting"]["reason"].as_str().unwrap()));
    assert_eq!(
        cluster.messages("nopull", "BackOff").await,
        ["Back-off pulling image \"nosuch\""]
    );
    assert!(cluster.log("nopull", "").await.contains("pull"));

    cluster.run("norun", json!({"command": ["nothere"]})).await;
    let ended = cluster.status("norun").await["state"]["terminated"].clone();
    assert_eq!(ended["reason"], "ContainerCannotRun");
    let failed = cluster.messages("norun", "Failed").await;
    assert!(
        failed[0].ends_with("[8] System error: exec: \"nothere\": executable file not found in $PATH"),
        "{failed:?}"
    );
    // Inside a script, the shell reports the missing program.
    cluster.run("noscript", sh("nothere")).await;
    assert_eq!(cluster.log("noscript", "").await, "sh: nothere: not found\n");
    assert_eq!(cluster.status("noscript").await["state"]["terminated"]["exitCode"], 127);
}

#[tokio::test]
async fn a_deleted_pod_has_its_grace_period() {
    let cluster = Cluster::start().await;
    let script = "trap 'echo stopping; sleep 5; exit 0' TERM; while :; do sleep 1; done";
    let mut container = sh(script);
    container["lifecycle"] = json!({"preStop": {"exec": {"command": ["sh", "-c", "echo told > /tmp/told"]}}});
    cluster.run("polite", container).await;
    cluster.api("pods").delete("polite", None).await.unwrap();
    cluster.advance(4).await;
    assert_eq!(cluster.log("polite", "").await, "stopping\n");
    cluster.advance(4).await;
    assert!(cluster.api("pods").get("polite").await.is_err());
    cluster
        .run("stubborn", sh("trap '' TERM; while :; do sleep 1; done"))
        .await;
    cluster.api("pods").delete("stubborn", Some(20)).await.unwrap();
    cluster.advance(18).await;
    assert!(cluster.api("pods").get("stubborn").await.is_ok());
    cluster.advance(3).await;
    assert!(cluster.api("pods").get("stubborn").await.is_err());
}

#[tokio::test]
async fn a_pod_past_its_deadline_fails() {
    let cluster = Cluster::start().await;
    cluster
        .run_with("slow", sh("sleep 600"), json!({"activeDeadlineSeconds": 30}))
        .await;
    cluster.advance(31).await;
    let status = cluster.pod("slow").await["status"].clone();
    assert_eq!(
        (&status["phase"], &status["reason"]),
        (&json!("Failed"), &json!("DeadlineExceeded"))
    );
}

#[tokio::test]
async fn a_rust_program_is_the_behaviour_of_an_image() {
    let cluster = Cluster::with(|builder| {
        builder.image("app:1", |mut container: ContainerContext| async move {
            let name = container.env("NAME").unwrap_or_default().to_owned();
            assert!(container.serve(9000, move |request: http::Request<bytes::Bytes>| {
                let body = format!("{name} at {}", request.uri().path());
                async move { http::Response::new(body.into()) }
            }));
            container.print("serving\n").await;
            container.terminated().await;
            container.print("bye\n").await;
            container.sleep(Duration::from_secs(2)).await;
            0
        })
    })
    .await;
    cluster
        .run(
            "app",
            json!({"image": "app:1", "env": [{"name": "NAME", "value": "app"}]}),
        )
        .await;
    let (_, body) = cluster
        .read("/api/v1/namespaces/default/pods/app:9000/proxy/here")
        .await;
    assert_eq!(body, "app at /here");
    cluster.api("pods").delete("app", None).await.unwrap();
    cluster.advance(1).await;
    assert_eq!(cluster.log("app", "").await, "serving\nbye\n");
    cluster.advance(2).await;
    assert!(cluster.api("pods").get("app").await.is_err());
}

#[tokio::test]
async fn the_log_of_the_previous_run_is_kept() {
    let cluster = Cluster::start().await;
    let volumes = json!([{"name": "state", "emptyDir": {}}]);
    let mut container = sh("echo run >> /state/runs; cat /state/runs; sleep 1; exit 1");
    container["volumeMounts"] = json!([{"name": "state", "mountPath": "/state"}]);
    cluster
        .run_with(
            "again",
            container,
            json!({"volumes": volumes, "restartPolicy": "OnFailure"}),
        )
        .await;
    assert_eq!(cluster.log("again", "?previous=true").await, "run\n");
    cluster.advance(2).await;
    // It waits for its next restart: its last run is also the previous one.
    assert_eq!(cluster.log("again", "").await, "run\nrun\n");
    assert_eq!(cluster.log("again", "?previous=true").await, "run\nrun\n");
}

#[tokio::test]
async fn a_container_that_was_never_restarted_has_no_previous_log() {
    let cluster = Cluster::start().await;
    cluster.run("once", sh("echo done")).await;
    cluster.advance(2).await;
    assert_eq!(cluster.log("once", "").await, "done\n");
    let (status, why) = cluster
        .read("/api/v1/namespaces/default/pods/once/log?previous=true")
        .await;
    assert!(
        status == 400 && why.contains("previous terminated container \\\"main\\\" in pod \\\"once\\\" not found"),
        "{status} {why}"
    );
}

#[tokio::test]
async fn a_program_that_is_not_simulated_exits_with_0_on_sigterm() {
    let cluster = Cluster::start().await;
    let container = json!({"name": "main", "image": "nginx-like:1"});
    cluster
        .run_with("server", container, json!({"restartPolicy": "Always"}))
        .await;
    let image = json!({"spec": {"containers": [{"name": "main", "image": "nginx-like:2"}]}});
    cluster.api("pods").patch("server", &image).await.unwrap();
    cluster.advance(2).await;
    let status = cluster.status("server").await;
    let last = &status["lastState"]["terminated"];
    assert_eq!(
        (&status["restartCount"], &last["exitCode"], &last["reason"]),
        (&json!(1), &json!(0), &json!("Completed"))
    );
}
