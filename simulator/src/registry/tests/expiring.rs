//! Expiration of events.

use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{ListOptions, Rig, request_info};

fn event(name: &str) -> Value {
    json!({"metadata": {"name": name}, "involvedObject": {"namespace": "ns"}})
}

#[tokio::test]
async fn an_event_is_removed_an_hour_after_its_last_change() {
    let rig = Rig::new().await;
    for name in ["a", "b"] {
        rig.expect_ok("POST", "ns/events", event(name)).await;
    }
    rig.1.advance(Duration::from_secs(1800)).await;
    let mut changed = event("b");
    changed["reason"] = "Again".into();
    let changed = rig.expect_ok("PUT", "ns/events/b", changed).await;
    let options = ListOptions {
        resource_version: changed["metadata"]["resourceVersion"].as_str().unwrap().to_owned(),
        ..ListOptions::default()
    };
    let events = request_info("ns/events");
    let watch = rig.0.watch(&events, &options, CancellationToken::new());
    let mut watch = watch.await.unwrap();
    rig.1.advance(Duration::from_secs(1799)).await;
    assert_eq!(rig.send("GET", "ns/events/a", Value::Null).await.0, 200);
    rig.1.advance(Duration::from_secs(1)).await;
    assert_eq!(rig.send("GET", "ns/events/a", Value::Null).await.0, 404);
    let frame: Value = serde_json::from_slice(&watch.next().await.unwrap()).unwrap();
    assert_eq!(
        (&frame["type"], &frame["object"]["metadata"]["name"]),
        (&json!("DELETED"), &json!("a"))
    );
    assert_eq!(rig.send("GET", "ns/events/b", Value::Null).await.0, 200);
    rig.1.advance(Duration::from_secs(1800)).await;
    assert_eq!(rig.send("GET", "ns/events/b", Value::Null).await.0, 404);
}
