//! The Rust client (`kube`) against both listeners of a server: objects of several kinds, and streams of a container.

use std::fmt::Debug;
use std::process::Command;
use std::time::Duration;

use crate::server::{PROGRAM, Server};
use futures::StreamExt;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Pod, ReplicationController, Service};
use kube::api::{
    Api, AttachParams, DeleteParams, ListParams, LogParams, Patch, PatchParams, PostParams, Resource, WatchEvent,
    WatchParams,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A server with both listeners, and the folder of its kubeconfig.
struct Cluster {
    server: Server,
    folder: tempfile::TempDir,
}

impl Cluster {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::of(
            Command::new(PROGRAM)
                .args([
                    "serve",
                    "--bare",
                    "--listen",
                    "127.0.0.1:0",
                    "--secure-listen",
                    "127.0.0.1:0",
                ])
                .arg("--write-kubeconfig")
                .arg(folder.path().join("config")),
        );
        Self { server, folder }
    }

    fn plain(&self) -> Client {
        Client::try_from(Config::new(
            format!("http://{}", self.server.address()).parse().unwrap(),
        ))
        .unwrap()
    }

    async fn secure(&self) -> Client {
        let config = Kubeconfig::read_from(self.folder.path().join("config")).unwrap();
        Client::try_from(
            Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
                .await
                .unwrap(),
        )
        .unwrap()
    }
}

/// Creates, reads, lists, patches, replaces, watches and deletes an object.
async fn exercise<K>(api: Api<K>, fields: Value)
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize,
{
    let mut object = json!({"kind": K::kind(&()), "apiVersion": K::api_version(&()), "metadata": {"name": "one"}});
    object
        .as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    let created = api
        .create(&PostParams::default(), &serde_json::from_value(object).unwrap())
        .await
        .unwrap();
    assert!(created.uid().is_some());
    let version = created.resource_version().unwrap();
    assert_eq!(api.get("one").await.unwrap().name_any(), "one");
    assert_eq!(
        api.list(&ListParams::default().fields("metadata.name=one"))
            .await
            .unwrap()
            .items
            .len(),
        1
    );
    let patch = Patch::Strategic(json!({"metadata": {"labels": {"patched": "yes"}}}));
    let mut patched = api.patch("one", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(patched.labels()["patched"], "yes");
    patched.labels_mut().insert("replaced".to_owned(), "yes".to_owned());
    assert_eq!(
        api.replace("one", &PostParams::default(), &patched)
            .await
            .unwrap()
            .labels()["replaced"],
        "yes"
    );
    api.delete("one", &DeleteParams::default().grace_period(0))
        .await
        .unwrap();
    assert!(matches!(api.get("one").await, Err(kube::Error::Api(status)) if status.code == 404));

    let params = WatchParams::default().fields("metadata.name=one").disable_bookmarks();
    let mut events = std::pin::pin!(api.watch(&params, &version).await.unwrap());
    let mut seen = Vec::new();
    while seen.last() != Some(&"deleted") {
        seen.push(
            match tokio::time::timeout(Duration::from_secs(20), events.next())
                .await
                .unwrap()
                .unwrap()
                .unwrap()
            {
                WatchEvent::Added(_) => "added",
                WatchEvent::Modified(_) => "modified",
                WatchEvent::Deleted(_) => "deleted",
                other => panic!("{other:?}"),
            },
        );
    }
    // A pod is marked for deletion before it is removed.
    let expected: &[&str] = if K::kind(&()) == "Pod" {
        &["modified"; 3]
    } else {
        &["modified"; 2]
    };
    assert_eq!(seen.split_last(), Some((&"deleted", expected)), "{}", K::kind(&()));
}

async fn exercise_all(client: Client, namespace: &str) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let space = serde_json::from_value(json!({"metadata": {"name": namespace}})).unwrap();
    namespaces.create(&PostParams::default(), &space).await.unwrap();
    let template =
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}});
    let mut once = template.clone();
    once["spec"]["restartPolicy"] = "Never".into();
    fn within<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(
        client: &Client,
        namespace: &str,
    ) -> Api<K> {
        Api::namespaced(client.clone(), namespace)
    }
    exercise::<Pod>(within(&client, namespace), json!({"spec": template["spec"]})).await;
    exercise::<Service>(within(&client, namespace), json!({"spec": {"ports": [{"port": 80}]}})).await;
    exercise::<ReplicationController>(
        within(&client, namespace),
        json!({"spec": {"replicas": 1, "selector": {"app": "web"}, "template": template}}),
    )
    .await;
    exercise::<Job>(within(&client, namespace), json!({"spec": {"template": once}})).await;
    exercise::<ConfigMap>(within(&client, namespace), json!({"data": {"key": "value"}})).await;
    let labels = Patch::Merge(json!({"metadata": {"labels": {"patched": "yes"}}}));
    assert_eq!(
        namespaces
            .patch(namespace, &PatchParams::default(), &labels)
            .await
            .unwrap()
            .labels()["patched"],
        "yes"
    );
    namespaces.delete(namespace, &DeleteParams::default()).await.unwrap();
}

#[tokio::test]
async fn objects_live_over_the_listener_without_credentials() {
    let cluster = Cluster::start();
    exercise_all(cluster.plain(), "plain").await;
}

#[tokio::test]
async fn objects_live_over_the_secure_listener() {
    let cluster = Cluster::start();
    exercise_all(cluster.secure().await, "secure").await;
}

#[tokio::test]
async fn exec_attach_and_logs_reach_a_container() {
    let cluster = Cluster::start();
    let client = cluster.secure().await;
    let nodes: Api<Node> = Api::all(client.clone());
    nodes
        .create(
            &PostParams::default(),
            &serde_json::from_value(json!({"metadata": {"name": "n"}})).unwrap(),
        )
        .await
        .unwrap();
    let pods: Api<Pod> = Api::namespaced(client, "default");
    let containers = json!([{"name": "main", "image": "nginx"}]);
    let pod = json!({"metadata": {"name": "one"}, "spec": {"nodeName": "n", "containers": containers}});
    let mut pod: Pod = pods
        .create(&PostParams::default(), &serde_json::from_value(pod).unwrap())
        .await
        .unwrap();
    pod.status = serde_json::from_value(json!({"phase": "Running"})).unwrap();
    pods.replace_status("one", &PostParams::default(), &pod).await.unwrap();

    let mut process = pods
        .exec("one", ["cat"], &AttachParams::default().stdin(true).stderr(false))
        .await
        .unwrap();
    let (mut stdin, mut stdout) = (process.stdin().unwrap(), process.stdout().unwrap());
    stdin.write_all(b"hello").await.unwrap();
    let mut received = [0; 5];
    tokio::time::timeout(Duration::from_secs(20), stdout.read_exact(&mut received))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(&received, b"hello");

    let failed = pods
        .exec("one", ["false"], &AttachParams::default().stderr(false))
        .await
        .unwrap()
        .take_status()
        .unwrap()
        .await
        .unwrap();
    assert_eq!(failed.reason.as_deref(), Some("NonZeroExitCode"));

    let mut attached = pods
        .attach("one", &AttachParams::default().stdin(true).stderr(false))
        .await
        .unwrap();
    attached.stdin().unwrap().write_all(b"marco\n").await.unwrap();
    let (mut stdout, mut received) = (attached.stdout().unwrap(), String::new());
    while !received.contains("marco\n") {
        let mut piece = [0; 256];
        let read = tokio::time::timeout(Duration::from_secs(20), stdout.read(&mut piece))
            .await
            .unwrap()
            .unwrap();
        received.push_str(std::str::from_utf8(&piece[..read]).unwrap());
    }
    assert!(
        pods.logs("one", &LogParams::default())
            .await
            .unwrap()
            .contains("marco\n")
    );
}
