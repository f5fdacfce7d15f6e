//! Responses to well-formed requests.

use rstest::rstest;
use serde_json::json;
use stuntdouble_simulator::Profile;

use super::{MAPS, Wire, ask, config_map, get, start};

#[rstest]
#[case("/healthz", 200, "text/plain; charset=utf-8", "ok")]
#[case("/healthz/ping", 200, "text/plain; charset=utf-8", "ok")]
#[case("/api", 200, "application/json", r#""versions":["v1"]"#)]
#[case("/apis", 200, "application/json", r#""serverAddress":"10.99.0.1:443""#)]
#[case("/apis/batch", 200, "application/json", r#""serverAddressByClientCIDRs":null"#)]
#[case(
    "/apis/batch/v1",
    200,
    "application/json",
    r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"batch/v1","resources":["#
)]
#[case(
    "/api/v1",
    200,
    "application/json",
    r#"{"kind":"APIResourceList","groupVersion":"v1","resources":["#
)]
#[case(
    "/api/v1",
    200,
    "application/json",
    r#"{"name":"pods/attach","namespaced":true,"kind":"Pod"}"#
)]
#[case("/version", 200, "application/json", "\"gitVersion\": \"v1.2.0-beta.1")]
#[case("/", 200, "application/json", "    \"/apis/batch/v1\",\n")]
#[case("/nope", 404, "application/json", "    \"/apis/batch/v1\",\n")]
#[case("/metrics", 200, "text/plain; charset=utf-8", "apiserver_request_count")]
#[case(
    "/api/v1/nope",
    404,
    "application/json",
    "the server could not find the requested resource"
)]
#[case(
    "/swaggerapi/nope",
    404,
    "application/json",
    "the server could not find the requested resource"
)]
#[case("/logs/x", 404, "text/plain; charset=utf-8", "404 page not found")]
#[tokio::test]
async fn paths_return_their_documents(
    #[case] path: &str,
    #[case] code: u16,
    #[case] media_type: &str,
    #[case] part: &str,
) {
    let answer = get(&start(Profile::Documented).await, path).await;
    assert_eq!(
        (answer.code, answer.header("content-type")),
        (code, Some(media_type)),
        "{answer:?}"
    );
    assert!(answer.text().contains(part), "{}", answer.text());
}

#[rstest]
#[case("/api//v1?pretty=1", 301, "/api/v1?pretty=1")]
#[case("/api/v1/../v1/%2e/pods/", 301, "/api/v1/pods/")]
#[case("/ui", 301, "/ui/")]
#[case("/ui/", 307, "/api/v1/proxy/namespaces/kube-system/services/kubernetes-dashboard")]
#[tokio::test]
async fn some_paths_redirect(#[case] path: &str, #[case] code: u16, #[case] location: &str) {
    let answer = get(&start(Profile::Documented).await, path).await;
    assert_eq!((answer.code, answer.header("location")), (code, Some(location)));
}

#[rstest]
#[case("PATCH", "/api/v1/pods", 405)]
#[case("POST", "/api/v1/pods", 405)]
#[case("PUT", MAPS, 405)]
#[case("DELETE", "/api/v1", 405)]
#[case("OPTIONS", MAPS, 405)]
#[case("BREW", MAPS, 405)]
#[case("GET", "/api/v1/namespaces/default/finalize", 405)]
#[case("DELETE", "/api/v1/namespaces/default/services", 405)]
#[case("PATCH", "/api/v1/nope", 404)]
#[tokio::test]
async fn an_unsupported_method_is_rejected(#[case] method: &str, #[case] path: &str, #[case] code: u16) {
    let answer = ask(
        &start(Profile::Documented).await,
        method,
        path,
        "content-type: application/json\r\n",
        "{}",
    )
    .await;
    assert_eq!((answer.code, answer.json()["code"].clone()), (code, json!(code)));
}

#[tokio::test]
async fn head_has_no_body_and_is_not_a_method_of_objects() {
    let simulator = start(Profile::Documented).await;
    let mut wire = Wire::open(simulator.address()).await;
    for (path, code) in [("/healthz", 200), ("/api/v1/pods", 405)] {
        wire.send(format!("HEAD {path} HTTP/1.1\r\nhost: localhost\r\n\r\n"))
            .await;
        assert_eq!(wire.head().await.unwrap().code, code);
    }
    assert_eq!(wire.ask("GET", "/healthz", "", "").await.text(), "ok");
}

#[tokio::test]
async fn an_object_is_returned_in_the_accepted_format() {
    let simulator = start(Profile::Documented).await;
    let mut wire = Wire::open(simulator.address()).await;
    let path = "/api/v1/namespaces/default";
    let compact = wire.ask("GET", path, "", "").await;
    assert!(
        compact
            .text()
            .starts_with(r#"{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"default","#),
        "{compact:?}"
    );
    assert!(compact.text().ends_with("}\n"));
    let pretty = wire.ask("GET", path, "user-agent: curl/7.1\r\n", "").await;
    assert!(
        pretty.text().starts_with("{\n  \"kind\": \"Namespace\",\n"),
        "{pretty:?}"
    );
    assert_eq!(pretty.json(), compact.json());
    let yaml = wire.ask("GET", path, "accept: application/yaml\r\n", "").await;
    assert_eq!(yaml.header("content-type"), Some("application/yaml"));
    assert!(
        yaml.text().starts_with("apiVersion: v1\nkind: Namespace\nmetadata:\n"),
        "{yaml:?}"
    );
    let missing = wire
        .ask("GET", "/api/v1/namespaces/nope", "accept: application/yaml\r\n", "")
        .await;
    assert!(
        missing.code == 404 && missing.text().contains("\nreason: NotFound\n"),
        "{missing:?}"
    );
    let neither = wire.ask("GET", path, "accept: text/html\r\n", "").await;
    let text = "only the following media types are accepted: application/json, application/yaml";
    let refusal = json!({"metadata": {}, "status": "Failure", "message": text, "reason": "NotAcceptable", "code": 406});
    assert_eq!((neither.code, neither.json()), (406, refusal));
}

#[rstest]
#[case(Profile::Documented, "text/plain", 200)]
#[case(Profile::Kubernetes12, "text/plain", 415)]
#[case(Profile::Kubernetes12, "application/json; charset=utf-8", 201)]
#[tokio::test]
async fn the_media_type_of_a_body_matters_by_profile(
    #[case] profile: Profile,
    #[case] media_type: &str,
    #[case] code: u16,
) {
    let answer = ask(
        &start(profile).await,
        "POST",
        MAPS,
        &format!("content-type: {media_type}\r\n"),
        &config_map("a"),
    )
    .await;
    assert_eq!(answer.code, code, "{answer:?}");
}

#[rstest]
#[case("application/json", 415)]
#[case("", 415)]
#[case("application/merge-patch+json", 200)]
#[tokio::test]
async fn a_patch_has_one_of_three_types_in_both_profiles(#[case] media_type: &str, #[case] code: u16) {
    for profile in Profile::ALL {
        let simulator = start(profile).await;
        ask(&simulator, "POST", MAPS, "", &config_map("a")).await;
        let answer = ask(
            &simulator,
            "PATCH",
            &format!("{MAPS}/a"),
            &format!("content-type: {media_type}\r\n"),
            r#"{"data":{"key":"other"}}"#,
        )
        .await;
        assert_eq!(answer.code, code, "{answer:?}");
    }
}

#[rstest]
#[case(Profile::Documented, "watch=maybe", 400)]
#[case(Profile::Documented, "timeoutSeconds=x", 400)]
#[case(Profile::Kubernetes12, "timeoutSeconds=x", 500)]
#[case(Profile::Kubernetes12, "watch=false", 200)]
#[tokio::test]
async fn a_malformed_query_is_rejected_by_profile(#[case] profile: Profile, #[case] query: &str, #[case] code: u16) {
    let answer = get(&start(profile).await, &format!("{MAPS}?{query}")).await;
    assert_eq!(answer.code, code, "{answer:?}");
}

#[rstest]
#[case(Profile::Documented, Some("application/json"))]
#[case(Profile::Kubernetes12, None)]
#[tokio::test]
async fn a_watch_sends_each_frame_immediately(#[case] profile: Profile, #[case] media_type: Option<&str>) {
    let simulator = start(profile).await;
    let mut watch = Wire::open(simulator.address()).await;
    watch
        .request("GET", "/api/v1/watch/configmaps?timeoutSeconds=600", "", "")
        .await;
    let head = watch.head().await.unwrap();
    assert_eq!(
        (head.code, head.header("content-type"), head.header("transfer-encoding")),
        (200, media_type, Some("chunked"))
    );
    for name in ["a", "b"] {
        ask(&simulator, "POST", MAPS, "", &config_map(name)).await;
        let chunk = watch.until(b"\n\r\n").await.unwrap();
        let line = chunk.split(|b| *b == b'\n').nth(1).unwrap();
        let frame: serde_json::Value = serde_json::from_slice(line).unwrap();
        assert_eq!(
            (&frame["type"], &frame["object"]["metadata"]["name"]),
            (&json!("ADDED"), &json!(name))
        );
    }
}

#[tokio::test]
async fn a_watch_is_never_yaml() {
    let simulator = start(Profile::Kubernetes12).await;
    for path in ["/api/v1/watch/pods", "/api/v1/pods?watch=true"] {
        let answer = ask(&simulator, "GET", path, "accept: application/yaml\r\n", "").await;
        assert_eq!(answer.code, 406, "{answer:?}");
    }
}

#[tokio::test]
async fn an_http_1_0_connection_is_closed_after_the_response() {
    let simulator = start(Profile::Documented).await;
    let mut wire = Wire::open(simulator.address()).await;
    wire.send("GET /healthz HTTP/1.0\r\n\r\n").await;
    assert_eq!(wire.answer().await.text(), "ok");
    assert!(wire.is_closed().await);
}
