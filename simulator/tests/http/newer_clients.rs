//! Features for clients newer than v1.2: present under the documented profile, absent under `kubernetes-1.2`.

use stuntdouble_simulator::{Profile, Simulator};

use crate::{MAPS, ask, get, start, wire::Wire};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

#[tokio::test]
async fn health_checks_and_access_reviews() {
    let review = r#"{"kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": {"verb": "get"}}}"#;
    let documented = start(Profile::Documented).await;
    for path in ["/readyz", "/livez"] {
        let answer = get(&documented, path).await;
        assert_eq!((answer.code, answer.text().as_str()), (200, "ok"));
    }
    let answer = ask(&documented, "POST", REVIEWS, "", review).await;
    assert_eq!((answer.code, &answer.json()["status"]["allowed"]), (200, &true.into()));
    let recorded = start(Profile::Kubernetes12).await;
    for path in ["/readyz", "/livez", REVIEWS] {
        assert_eq!(get(&recorded, path).await.code, 404, "{path}");
    }
    assert_eq!(ask(&recorded, "POST", REVIEWS, "", review).await.code, 404);
}

/// Returns the code of a watch, and its body until the end.
async fn watched(simulator: &Simulator, path: &str) -> (u16, String) {
    let mut wire = Wire::open(simulator.address()).await;
    wire.request("GET", path, "", "").await;
    let head = wire.head().await.unwrap();
    let chunks = wire.until(b"0\r\n\r\n").await.unwrap();
    (head.code, String::from_utf8(chunks).unwrap())
}

#[tokio::test]
async fn initial_events_require_a_version_match() {
    let documented = start(Profile::Documented).await;
    let path = format!("{MAPS}?watch=true&timeoutSeconds=1&sendInitialEvents=true");
    let answer = get(&documented, &path).await;
    assert_eq!((answer.code, &answer.json()["reason"]), (422, &"Invalid".into()));
    let (code, frames) = watched(&documented, &format!("{path}&resourceVersionMatch=NotOlderThan")).await;
    assert_eq!(code, 200);
    assert!(frames.contains("k8s.io/initial-events-end"), "{frames}");
    let recorded = start(Profile::Kubernetes12).await;
    let (code, frames) = watched(&recorded, &path).await;
    assert_eq!((code, frames.contains("BOOKMARK")), (200, false));
}

#[tokio::test]
async fn an_expired_watch_with_bookmarks_ends_with_an_error_event() {
    let cluster = Simulator::builder().bare(true).history(1).start().await.unwrap();
    for name in ["one", "two", "three"] {
        ask(&cluster, "POST", MAPS, "", &crate::config_map(name)).await;
    }
    let path = format!("{MAPS}?watch=true&timeoutSeconds=1&resourceVersion=1");
    assert_eq!(get(&cluster, &path).await.code, 410);
    let answer = get(&cluster, &format!("{path}&allowWatchBookmarks=true")).await;
    let event = answer.json();
    assert_eq!((answer.code, &event["type"]), (200, &"ERROR".into()));
    assert_eq!(event["object"]["code"], 410);
}

#[tokio::test]
async fn a_limit_is_ignored_under_kubernetes_1_2() {
    for (profile, items) in [(Profile::Documented, 1), (Profile::Kubernetes12, 2)] {
        let simulator = start(profile).await;
        for name in ["one", "two"] {
            ask(&simulator, "POST", MAPS, "", &crate::config_map(name)).await;
        }
        let list = get(&simulator, &format!("{MAPS}?limit=1")).await.json();
        assert_eq!(list["items"].as_array().unwrap().len(), items, "{profile}");
        let list = get(&simulator, &format!("{MAPS}?limit=x")).await.json();
        assert_eq!(list["items"].as_array().unwrap().len(), 2, "{profile}");
    }
}

#[tokio::test]
async fn protobuf_bodies_are_decoded_or_unsupported() {
    // A ConfigMap whose metadata has the name `a`.
    let body = "k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x05\x0a\x03\x0a\x01a";
    let media_type = "Content-Type: application/vnd.kubernetes.protobuf\r\n";
    for (profile, code) in [(Profile::Documented, 200), (Profile::Kubernetes12, 415)] {
        let simulator = start(profile).await;
        let answer = ask(&simulator, "POST", MAPS, media_type, body).await;
        assert_eq!(answer.code, code, "{profile}: {}", answer.text());
    }
}

#[tokio::test]
async fn an_empty_list_of_config_maps_has_items() {
    for (profile, has_items) in [(Profile::Documented, true), (Profile::Kubernetes12, false)] {
        let list = get(&start(profile).await, MAPS).await.json();
        assert_eq!(list["items"].is_array(), has_items, "{list}");
    }
}

#[tokio::test]
async fn a_grace_period_in_the_query_applies_without_a_body() {
    const PODS: &str = "/api/v1/namespaces/default/pods";
    let pod = r#"{"metadata": {"name": "a"}, "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}}"#;
    for (profile, gone) in [(Profile::Documented, true), (Profile::Kubernetes12, false)] {
        let simulator = start(profile).await;
        ask(&simulator, "POST", PODS, "Content-Type: application/json\r\n", pod).await;
        let path = format!("{PODS}/a");
        let malformed = ask(&simulator, "DELETE", &format!("{path}?gracePeriodSeconds=soon"), "", "").await;
        assert_eq!(malformed.code, if gone { 400 } else { 200 });
        ask(&simulator, "DELETE", &format!("{path}?gracePeriodSeconds=0"), "", "").await;
        let left = get(&simulator, &path).await;
        assert_eq!(left.code, if gone { 404 } else { 200 }, "{}", left.text());
    }
}
