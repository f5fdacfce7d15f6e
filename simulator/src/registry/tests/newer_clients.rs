//! Features of newer clients: paged lists, initial events, bookmarks.

use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Rig, request_info};
use crate::{profile::Profile, registry::ListOptions};

async fn rig() -> Rig {
    let rig = Rig::of(Profile::Documented).await;
    for name in ["a", "b", "c", "d", "e"] {
        rig.expect_ok(
            "POST",
            "ns/configmaps",
            json!({"metadata": {"name": name, "labels": {"odd": "no"}}}),
        )
        .await;
    }
    rig
}

async fn list(rig: &Rig, options: &ListOptions) -> Value {
    let list = rig.0.list(&request_info("ns/configmaps"), options).await.unwrap();
    serde_json::from_slice(&list.body).unwrap()
}

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn pages_of_a_list_have_the_version_of_the_first_page() {
    let rig = rig().await;
    let page = |continue_token: &Value| ListOptions {
        limit: 2,
        continue_token: continue_token.as_str().unwrap_or_default().to_owned(),
        ..ListOptions::default()
    };
    let first = list(&rig, &page(&Value::Null)).await;
    assert_eq!(names(&first), ["a", "b"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 3);
    rig.expect_ok("POST", "ns/configmaps", json!({"metadata": {"name": "cc"}}))
        .await;
    let second = list(&rig, &page(&first["metadata"]["continue"])).await;
    assert_eq!(names(&second), ["c", "cc"]);
    assert_eq!(
        second["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
    let third = list(&rig, &page(&second["metadata"]["continue"])).await;
    assert_eq!(names(&third), ["d", "e"]);
    assert_eq!(third["metadata"].get("continue"), None);
    let selected = ListOptions {
        label_selector: "odd=no".to_owned(),
        ..page(&Value::Null)
    };
    let selected = list(&rig, &selected).await;
    assert!(selected["metadata"]["continue"].is_string());
    assert_eq!(selected["metadata"].get("remainingItemCount"), None);
    assert_eq!(
        list(&rig, &ListOptions::default()).await["metadata"].get("continue"),
        None
    );
}

async fn frames(rig: &Rig, options: &ListOptions, count: usize) -> Vec<Value> {
    let request = request_info("ns/configmaps");
    let watch = rig.0.watch(&request, options, CancellationToken::new());
    let mut stream = watch.await.unwrap();
    let mut frames = Vec::new();
    while frames.len() < count
        && let Some(frame) = stream.next().await
    {
        frames.push(serde_json::from_slice(&frame).unwrap());
    }
    frames
}

#[tokio::test]
async fn initial_events_are_the_existing_objects_and_a_bookmark() {
    let rig = rig().await;
    rig.expect_ok("DELETE", "ns/configmaps/b", Value::Null).await;
    let options = ListOptions {
        send_initial_events: true,
        ..ListOptions::default()
    };
    let frames = frames(&rig, &options, 5).await;
    let names: Vec<&Value> = frames[..4]
        .iter()
        .map(|frame| &frame["object"]["metadata"]["name"])
        .collect();
    assert_eq!(names, ["a", "c", "d", "e"]);
    assert!(frames[..4].iter().all(|frame| frame["type"] == "ADDED"));
    let (bookmark, metadata) = (&frames[4], &frames[4]["object"]["metadata"]);
    assert_eq!(
        (&bookmark["type"], &bookmark["object"]["kind"]),
        (&json!("BOOKMARK"), &json!("ConfigMap"))
    );
    assert_eq!(metadata["annotations"]["k8s.io/initial-events-end"], "true");
    let listed = list(&rig, &ListOptions::default()).await;
    assert_eq!(metadata["resourceVersion"], listed["metadata"]["resourceVersion"]);
}

#[tokio::test]
async fn a_watch_with_bookmarks_ends_with_one_at_the_last_change() {
    let rig = rig().await;
    let listed = list(&rig, &ListOptions::default()).await;
    let version = listed["metadata"]["resourceVersion"].as_str().unwrap();
    let made = rig
        .expect_ok("POST", "ns/configmaps", json!({"metadata": {"name": "new"}}))
        .await;
    let options = ListOptions {
        resource_version: version.to_owned(),
        timeout: Some(Duration::from_millis(200)),
        bookmarks: true,
        ..ListOptions::default()
    };
    let frames = frames(&rig, &options, 9).await;
    let types: Vec<&Value> = frames.iter().map(|frame| &frame["type"]).collect();
    assert_eq!(types, ["ADDED", "BOOKMARK"]);
    assert_eq!(
        frames[1]["object"]["metadata"]["resourceVersion"],
        made["metadata"]["resourceVersion"]
    );
}
