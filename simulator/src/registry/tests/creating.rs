//! Names that exist already.

use rstest::rstest;
use serde_json::json;

use super::{Profile, Rig};

#[rstest]
#[case(
    Profile::Kubernetes12,
    500,
    "ServerTimeout",
    "The POST operation against ConfigMap could not be completed at this time, please try again."
)]
#[case(Profile::Documented, 409, "AlreadyExists", "configmaps \"a\" already exists")]
#[tokio::test]
async fn an_existing_name_with_a_generate_name(
    #[case] profile: Profile,
    #[case] code: u16,
    #[case] reason: &str,
    #[case] message: &str,
) {
    let rig = Rig::of(profile).await;
    let map = json!({"metadata": {"name": "a", "generateName": "a-"}});
    rig.expect_ok("POST", "ns/configmaps", map.clone()).await;
    let (given, answer) = rig.send("POST", "ns/configmaps", map).await;
    assert_eq!(
        (given, &answer["reason"], &answer["message"]),
        (code, &json!(reason), &json!(message))
    );
}
