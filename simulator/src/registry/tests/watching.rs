//! Where a watch starts.

use rstest::rstest;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{ListOptions, Profile, Rig, address};

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
    let made = rig.done("POST", path, named("a")).await;
    rig.done("POST", path, named("b")).await;
    let resource_version = made["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let options = ListOptions {
        resource_version,
        ..ListOptions::default()
    };
    let mut stream = rig
        .0
        .watch(&address(path), &options, CancellationToken::new())
        .await
        .unwrap();
    let frame: Value = serde_json::from_slice(&stream.next().await.unwrap()).unwrap();
    assert_eq!(
        (&frame["type"], &frame["object"]["metadata"]["name"]),
        (&json!("ADDED"), &json!(first))
    );
}

#[tokio::test]
async fn a_watch_of_one_object_takes_no_field_selector() {
    let rig = Rig::new().await;
    let options = ListOptions {
        field_selector: "metadata.name=a".to_owned(),
        ..ListOptions::default()
    };
    let refusal = rig
        .0
        .watch(&address("ns/pods/a"), &options, CancellationToken::new())
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
