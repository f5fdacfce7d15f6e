//! Start and end of a watch.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{ListOptions, Profile, Rig, request_info};

#[rstest]
#[case(Profile::Kubernetes12, "ns/configmaps", "a")]
#[case(Profile::Kubernetes12, "ns/events", "b")]
#[case(Profile::Documented, "ns/configmaps", "b")]
#[case(Profile::Documented, "ns/events", "b")]
#[tokio::test]
async fn a_watch_from_a_version_starts_with_its_change_or_after_it(
    #[case] profile: Profile,
    #[case] path: &str,
    #[case] first: &str,
) {
    let rig = Rig::of(profile).await;
    let named = |name: &str| json!({"metadata": {"name": name}, "involvedObject": {"namespace": "ns"}});
    let made = rig.expect_ok("POST", path, named("a")).await;
    rig.expect_ok("POST", path, named("b")).await;
    let resource_version = made["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let options = ListOptions {
        resource_version,
        ..ListOptions::default()
    };
    let mut stream = rig
        .0
        .watch(&request_info(path), &options, CancellationToken::new())
        .await
        .unwrap();
    let frame: Value = serde_json::from_slice(&stream.next().await.unwrap()).unwrap();
    assert_eq!(
        (&frame["type"], &frame["object"]["metadata"]["name"]),
        (&json!("ADDED"), &json!(first))
    );
}

#[tokio::test]
async fn a_watch_of_one_object_rejects_a_field_selector() {
    let rig = Rig::new().await;
    let options = ListOptions {
        field_selector: "metadata.name=a".to_owned(),
        ..ListOptions::default()
    };
    let refusal = rig
        .0
        .watch(&request_info("ns/pods/a"), &options, CancellationToken::new())
        .await
        .err()
        .map(|status| (status.code, status.message));
    assert_eq!(
        refusal,
        Some((
            400,
            "both a name and a field selector provided; please provide one or the other.".to_owned()
        ))
    );
}

#[tokio::test]
async fn a_timeout_that_overflows_is_no_timeout() {
    let rig = Rig::new().await;
    let options = ListOptions {
        timeout: Some(Duration::from_secs(i64::MAX.unsigned_abs())),
        ..ListOptions::default()
    };
    let mut stream = rig
        .0
        .watch(&request_info("ns/configmaps"), &options, CancellationToken::new())
        .await
        .unwrap();
    rig.expect_ok("POST", "ns/configmaps", json!({"metadata": {"name": "a"}}))
        .await;
    assert!(stream.next().await.is_some());
}

#[tokio::test]
async fn a_watch_ends_with_its_timeout_even_if_frames_are_left() {
    let rig = Rig::new().await;
    rig.expect_ok("POST", "ns/configmaps", json!({"metadata": {"name": "a"}}))
        .await;
    let options = ListOptions {
        timeout: Some(Duration::ZERO),
        ..ListOptions::default()
    };
    let mut stream = rig
        .0
        .watch(&request_info("ns/configmaps"), &options, CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(stream.next().await, None);
}
