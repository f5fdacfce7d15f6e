//! Several `stuntdouble serve --etcd` over one etcd cluster, while servers and etcd members are killed, paused and
//! restarted.
//!
//! Each test is skipped, with a message, if the program `etcd` is not installed.

use std::{
    collections::BTreeSet,
    process::{Command, Stdio},
    time::Duration,
};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use stuntdouble_etcd::{Cluster, Fault, FaultyLink};
use tokio::time::timeout;

use crate::replica::{Replica, config_map, revision};
use crate::server::{PROGRAM, client};

const OBJECTS: &str = "/api/v1/namespaces/default/configmaps";
const SERVICES: &str = "/api/v1/namespaces/default/services";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// Time limit for another process to take over controllers, nodes and add-ons. It takes three seconds on an idle
/// machine.
const TAKEOVER_TIMEOUT: Duration = Duration::from_secs(60);

fn pair(etcd: &Cluster) -> (Replica, Replica) {
    let start = || Replica::start(&etcd.urls(), &["--bare"]);
    (start(), start())
}

async fn version(server: &Replica) -> u64 {
    revision(&server.get(OBJECTS).await)
}

#[tokio::test]
async fn an_acknowledged_write_is_visible_on_all_processes_at_once() {
    let Some(etcd) = Cluster::start(1) else { return };
    let (one, two) = pair(&etcd);
    let mut watch = two.watch(OBJECTS, version(&two).await).await;
    let mut revisions = Vec::new();
    for n in 0..20 {
        let made = one.create(OBJECTS, config_map(&format!("m{n}"), "first")).await;
        let name = format!("{OBJECTS}/m{n}");
        assert_eq!(two.get(&name).await, made);
        assert!(revision(&two.get(OBJECTS).await) >= revision(&made));
        let mut changed = made.clone();
        changed["data"]["value"] = "second".into();
        let changed = two.expect(Method::PUT, &name, Some(changed)).await;
        assert_eq!(one.get(&name).await, changed);
        revisions.extend([revision(&made), revision(&changed)]);
    }
    assert_eq!(watch.revisions(revisions[39]).await, revisions);
    // A watch on the other process, resumed from a version of the first.
    let mut resumed = one.watch(OBJECTS, revisions[9]).await;
    assert_eq!(resumed.revisions(revisions[39]).await, revisions[10..]);
    // A process that starts now serves the history before its start.
    let three = Replica::start(&etcd.urls(), &["--bare"]);
    let mut resumed = three.watch(OBJECTS, revisions[9]).await;
    assert_eq!(resumed.revisions(revisions[39]).await, revisions[10..]);
}

#[tokio::test]
async fn one_of_two_writers_on_two_processes_wins() {
    let Some(etcd) = Cluster::start(1) else { return };
    let (one, two) = pair(&etcd);
    let mut object = one.create(OBJECTS, config_map("contested", "0")).await;
    let path = format!("{OBJECTS}/contested");
    for n in 0..30 {
        let with = |value: String| {
            let mut changed = object.clone();
            changed["data"]["value"] = value.into();
            Some(changed)
        };
        let (a, b) = tokio::join!(
            one.send(Method::PUT, &path, with(format!("one-{n}"))),
            two.send(Method::PUT, &path, with(format!("two-{n}"))),
        );
        let mut codes = [a.status(), b.status()];
        codes.sort();
        assert_eq!(codes, [StatusCode::OK, StatusCode::CONFLICT], "round {n}");
        let winner: Value = if a.status() == StatusCode::OK { a } else { b }.json().await.unwrap();
        object = one.get(&path).await;
        assert_eq!(object, winner);
        assert_eq!(two.get(&path).await, winner);
    }
}

#[tokio::test]
async fn no_address_or_port_is_allocated_twice() {
    let Some(etcd) = Cluster::start(1) else { return };
    let (one, two) = pair(&etcd);
    let service =
        |name: String| json!({"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}});
    let (mut addresses, mut ports) = (BTreeSet::new(), BTreeSet::new());
    for n in 0..15 {
        let (a, b) = tokio::join!(
            one.create(SERVICES, service(format!("a{n}"))),
            two.create(SERVICES, service(format!("b{n}"))),
        );
        for made in [a, b] {
            assert!(addresses.insert(made["spec"]["clusterIP"].to_string()), "{made}");
            assert!(ports.insert(made["spec"]["ports"][0]["nodePort"].as_u64()), "{made}");
        }
    }
    let with_node_port = |name: &str| {
        let ports = json!([{"port": 80, "nodePort": 30_999}]);
        json!({"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": ports}})
    };
    one.create(SERVICES, with_node_port("first")).await;
    let refused = two.send(Method::POST, SERVICES, Some(with_node_port("second"))).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let why: Value = refused.json().await.unwrap();
    assert!(why["message"].as_str().unwrap().contains("already allocated"), "{why}");
    two.expect(Method::DELETE, &format!("{SERVICES}/first"), None).await;
    one.create(SERVICES, with_node_port("second")).await;
}

#[tokio::test]
async fn a_killed_process_loses_nothing_and_its_watches_resume_on_another() {
    let Some(etcd) = Cluster::start(1) else { return };
    let (one, two) = pair(&etcd);
    let start = version(&one).await;
    let mut revisions = Vec::new();
    for n in 0..10 {
        revisions.push(revision(&one.create(OBJECTS, config_map(&format!("a{n}"), "")).await));
    }
    let mut watch = one.watch(OBJECTS, start).await;
    let seen = watch.revisions(revisions[4]).await;
    drop(one);
    for n in 0..10 {
        revisions.push(revision(&two.create(OBJECTS, config_map(&format!("b{n}"), "")).await));
    }
    let mut resumed = two.watch(OBJECTS, seen[4]).await;
    assert_eq!(resumed.revisions(revisions[19]).await, revisions[5..]);
    let again = Replica::start(&etcd.urls(), &["--bare"]);
    let mut resumed = again.watch(OBJECTS, seen[4]).await;
    assert_eq!(resumed.revisions(revisions[19]).await, revisions[5..]);
}

#[tokio::test]
async fn a_watch_survives_a_restart_of_etcd() {
    let Some(mut etcd) = Cluster::start(1) else { return };
    let (one, two) = pair(&etcd);
    let mut watch = two.watch(OBJECTS, version(&two).await).await;
    let mut revisions = Vec::new();
    for round in 0..3 {
        for n in 0..5 {
            let name = format!("m{round}-{n}");
            revisions.push(revision(&one.create(OBJECTS, config_map(&name, "")).await));
        }
        etcd.kill(0);
        let refused = one.send(Method::POST, OBJECTS, Some(config_map("while-etcd-is-down", "")));
        let (response, ()) = tokio::join!(refused, async { etcd.restart(0) });
        // The server waits for etcd, and may time out.
        if response.status().is_success() {
            revisions.push(revision(&response.json().await.unwrap()));
            let path = format!("{OBJECTS}/while-etcd-is-down");
            one.expect(Method::DELETE, &path, None).await;
            revisions.push(0);
        }
    }
    let last = revision(&two.create(OBJECTS, config_map("last", "")).await);
    revisions.push(last);
    let seen = watch.revisions(last).await;
    assert!(seen.is_sorted_by(|a, b| a < b), "{seen:?}");
    let written: Vec<u64> = revisions.iter().copied().filter(|revision| *revision > 0).collect();
    let removals = revisions.len() - written.len();
    assert!(written.iter().all(|revision| seen.contains(revision)), "{seen:?}");
    assert_eq!(seen.len(), written.len() + removals);
}

async fn compact(etcd: &Cluster, revision: u64) {
    let compaction = client()
        .post(format!("{}/v3/kv/compaction", etcd.urls()[0]))
        .json(&json!({"revision": revision.to_string()}));
    assert!(compaction.send().await.unwrap().status().is_success());
}

#[tokio::test]
async fn a_process_that_missed_compacted_changes_restarts_its_watches() {
    let Some(mut etcd) = Cluster::start(1) else { return };
    let (one, two) = pair(&etcd);
    let first = revision(&one.create(OBJECTS, config_map("first", "")).await);
    let mut watch = two.watch(OBJECTS, first).await;
    two.signal("-STOP");
    etcd.kill(0);
    etcd.restart(0);
    one.create(OBJECTS, config_map("second", "")).await;
    let third = revision(&one.create(OBJECTS, config_map("third", "")).await);
    compact(&etcd, third).await;
    two.signal("-CONT");
    assert_eq!(watch.next().await, None);
    assert_eq!(
        two.get(&format!("{OBJECTS}/second")).await,
        one.get(&format!("{OBJECTS}/second")).await
    );
    let path = format!("{OBJECTS}?watch=true&resourceVersion={first}");
    assert_eq!(two.send(Method::GET, &path, None).await.status(), StatusCode::GONE);
    let fourth = revision(&one.create(OBJECTS, config_map("fourth", "")).await);
    assert_eq!(two.watch(OBJECTS, third).await.revisions(fourth).await, [fourth]);
}

#[tokio::test]
async fn a_watch_from_before_a_compaction_is_gone() {
    let Some(etcd) = Cluster::start(1) else { return };
    let one = Replica::start(&etcd.urls(), &["--bare"]);
    let first = revision(&one.create(OBJECTS, config_map("first", "")).await);
    let second = revision(&one.create(OBJECTS, config_map("second", "")).await);
    let third = revision(&one.create(OBJECTS, config_map("third", "")).await);
    compact(&etcd, second).await;
    let two = Replica::start(&etcd.urls(), &["--bare"]);
    let path = format!("{OBJECTS}?watch=true&resourceVersion={first}");
    assert_eq!(two.send(Method::GET, &path, None).await.status(), StatusCode::GONE);
    assert_eq!(two.watch(OBJECTS, second).await.revisions(third).await, [third]);
    assert_eq!(one.watch(OBJECTS, first).await.revisions(third).await, [second, third]);
}

#[tokio::test]
async fn a_cluster_of_three_survives_the_loss_of_one_member() {
    let Some(mut etcd) = Cluster::start(3) else { return };
    let servers: Vec<Replica> = (0..3).map(|_| Replica::start(&etcd.urls(), &["--bare"])).collect();
    let start = version(&servers[0]).await;
    let mut revisions = Vec::new();
    for member in 0..3 {
        for paused in [false, true] {
            if paused {
                etcd.pause(member);
            } else {
                etcd.kill(member);
            }
            for (n, server) in servers.iter().enumerate() {
                let name = format!("m{member}-{paused}-{n}");
                let made = server.create(OBJECTS, config_map(&name, "")).await;
                revisions.push(revision(&made));
                for other in &servers {
                    assert_eq!(other.get(&format!("{OBJECTS}/{name}")).await, made);
                }
            }
            if paused {
                etcd.resume(member);
            } else {
                etcd.restart(member);
            }
        }
    }
    for server in &servers {
        let mut watch = server.watch(OBJECTS, start).await;
        assert_eq!(watch.revisions(revisions[17]).await, revisions);
    }
}

#[tokio::test]
async fn a_closed_or_silent_connection_loses_and_repeats_no_write() {
    let Some(etcd) = Cluster::start(1) else { return };
    let link = FaultyLink::to(&etcd.urls()[0]);
    let one = Replica::start(&etcd.urls(), &["--bare"]);
    let two = Replica::start(&[link.url().to_owned()], &["--bare"]);
    let mut watch = two.watch(OBJECTS, version(&two).await).await;
    let mut revisions = BTreeSet::new();
    for (n, fault) in [Fault::Closed, Fault::Silent, Fault::Closed].into_iter().enumerate() {
        revisions.insert(revision(
            &two.create(OBJECTS, config_map(&format!("before-{n}"), "")).await,
        ));
        link.set(Some(fault));
        revisions.insert(revision(
            &one.create(OBJECTS, config_map(&format!("during-{n}"), "")).await,
        ));
        // The write waits for the connection and is made once. An attempt without a response ends after two seconds.
        let mut waiting = Box::pin(two.create(OBJECTS, config_map(&format!("over-{n}"), "")));
        let early = timeout(Duration::from_millis(2_500), &mut waiting).await;
        assert!(early.is_err(), "acknowledged without a connection: {early:?}");
        link.set(None);
        revisions.insert(revision(&waiting.await));
    }
    let last = revision(&one.create(OBJECTS, config_map("last", "")).await);
    revisions.insert(last);
    let seen = watch.revisions(last).await;
    assert_eq!(seen, Vec::from_iter(revisions));
    assert_eq!(two.get(OBJECTS).await["items"], one.get(OBJECTS).await["items"]);
}

#[tokio::test]
async fn servers_over_etcd_with_tls_show_a_certificate() {
    let Some(etcd) = Cluster::start_secure(1) else { return };
    let files = etcd.certificates().unwrap();
    let [authority, certificate, key] = [&files.authority, &files.client, &files.client_key];
    let [authority, certificate, key] = [authority, certificate, key].map(|file| file.to_str().unwrap());
    let arguments = [
        "--bare",
        "--etcd-ca",
        authority,
        "--etcd-cert",
        certificate,
        "--etcd-key",
        key,
    ];
    let start = || Replica::start(&etcd.urls(), &arguments);
    let (one, two) = (start(), start());
    let mut watch = two.watch(OBJECTS, version(&two).await).await;
    let made = one.create(OBJECTS, config_map("secured", "")).await;
    assert_eq!(two.get(&format!("{OBJECTS}/secured")).await, made);
    assert_eq!(watch.revisions(revision(&made)).await, [revision(&made)]);

    let urls = etcd.urls().join(",");
    for (arguments, why) in [
        (&["--etcd-ca", authority][..], "etcd does not answer"),
        (&[][..], "an https URL needs the authority"),
    ] {
        let refused = Command::new(PROGRAM)
            .args(["serve", "--bare", "--listen", "127.0.0.1:0", "--etcd", &urls])
            .args(arguments)
            .stdout(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8(refused.stderr).unwrap();
        assert!(!refused.status.success() && text.contains(why), "{text}");
    }
}

/// Waits until a pod of the replication controller `of` runs, and returns its name.
async fn running_pod(server: &Replica, of: &str) -> String {
    let pods = server.get(PODS).await;
    let runs = |pod: &Value| pod["metadata"]["labels"]["app"] == of && pod["status"]["phase"] == "Running";
    let present = pods["items"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|pod| runs(pod))
        .cloned();
    let pod = match present {
        Some(pod) => pod,
        None => server.watch(PODS, revision(&pods)).await.until(runs).await,
    };
    pod["metadata"]["name"].as_str().unwrap().to_owned()
}

fn controller(name: &str) -> Value {
    let containers = json!([{"name": "main", "image": "nginx:1.9"}]);
    let template = json!({"metadata": {"labels": {"app": name}}, "spec": {"containers": containers}});
    json!({"metadata": {"name": name}, "spec": {"replicas": 1, "selector": {"app": name}, "template": template}})
}

#[tokio::test]
async fn another_process_takes_over_the_controllers() {
    let Some(etcd) = Cluster::start(1) else { return };
    let controllers = "/api/v1/namespaces/default/replicationcontrollers";
    let start = || Replica::start(&etcd.urls(), &["--addons", "none", "--nodes", "1"]);
    let (one, two) = (start(), start());
    two.create(controllers, controller("first")).await;
    let pod = running_pod(&two, "first").await;
    // A server forwards the request to the one that runs the pod.
    for server in [&one, &two] {
        let log = server.send(Method::GET, &format!("{PODS}/{pod}/log"), None).await;
        assert_eq!(log.status(), StatusCode::OK, "{}", log.text().await.unwrap());
    }
    drop(one);
    two.create(controllers, controller("second")).await;
    let taken_over = timeout(TAKEOVER_TIMEOUT, running_pod(&two, "second"));
    taken_over.await.expect("no other process took over");
}

#[tokio::test]
async fn a_paused_process_gives_up_the_controllers() {
    let Some(etcd) = Cluster::start(1) else { return };
    let controllers = "/api/v1/namespaces/default/replicationcontrollers";
    let start = || Replica::start(&etcd.urls(), &["--addons", "none", "--nodes", "1"]);
    let (one, two) = (start(), start());
    one.create(controllers, controller("first")).await;
    running_pod(&one, "first").await;
    one.signal("-STOP");
    two.create(controllers, controller("second")).await;
    let taken_over = timeout(TAKEOVER_TIMEOUT, running_pod(&two, "second"));
    let pod = taken_over.await.expect("no other process took over");
    one.signal("-CONT");
    // The resumed process finds that its lease has expired, and forwards requests to the one that runs the pod.
    let path = format!("{PODS}/{pod}/log");
    let forwarded = async { while one.send(Method::GET, &path, None).await.status() != StatusCode::OK {} };
    timeout(TAKEOVER_TIMEOUT, forwarded)
        .await
        .expect("the resumed process did not give up");
}
