//! A replay answers only recorded requests.

use http::Request;
use http_body_util::BodyExt;
use proptest::prelude::*;
use serde_json::json;
use stuntdouble_cassettes::transport::{Client, Credentials, full};
use stuntdouble_cassettes::{Cassette, Replayer, ReplayerOptions};

/// A request: method, target, JSON body.
type Asked = (&'static str, String, Option<String>);

/// A cassette of these requests, with their numbers as responses.
fn recorded(all: &[(Asked, String)]) -> Cassette {
    let entries: Vec<serde_json::Value> = all
        .iter()
        .map(|((method, target, body), answer)| {
            let post = body
                .as_ref()
                .map(|text| json!({"mimeType": "application/json", "text": text}));
            let mut request = json!({"method": method, "url": format!("http://h{target}"), "headers": []});
            if let (Some(post), Some(request)) = (post, request.as_object_mut()) {
                request.insert("postData".into(), post);
            }
            json!({
                "startedDateTime": "2026-11-21T11:45:16Z", "time": 1, "timings": {}, "request": request,
                "response": {"status": 200, "headers": [], "content": {"text": answer}},
            })
        })
        .collect();
    Cassette::from_har(&json!({"log": {"entries": entries}}).to_string()).expect("a cassette")
}

/// The statuses of the responses to requests, in order.
fn statuses(cassette: Cassette, asked: &[Asked]) -> Vec<u16> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let replayer = Replayer::start(cassette, ReplayerOptions::default())
            .await
            .expect("a replayer");
        let client = Client::new(&replayer.url(), &Credentials::default(), true).expect("a client");
        let mut all = Vec::new();
        for (method, target, body) in asked {
            let request = Request::builder()
                .method(*method)
                .uri(target)
                .header("content-type", "application/json");
            let request = request.body(full(body.clone().unwrap_or_default())).expect("a request");
            let response = client.send(request).await.expect("an answer");
            all.push(response.status().as_u16());
            response.into_body().collect().await.expect("a body");
        }
        all
    })
}

/// Parts of paths that look like volatile values.
fn segment() -> impl Strategy<Value = String> {
    let known = [
        "api",
        "apis",
        "v1",
        "v2",
        "v1beta1",
        "v1beta2",
        "v2alpha1",
        "extensions",
        "extensions2",
        "autoscaling",
        "batch",
        "pods",
        "nodes",
        "node1",
        "node2",
        "web-x8f2a",
        "web-91bbc",
        "web-bcdfg",
        "10.0.0.1",
        "10.0.0.2",
        "a1b2c3",
        "d4e5f6",
        "127.0.0.1:34567",
        "127.0.0.1:34568",
        "0c6b5d1e-6f0a-4a52-9d0e-3f1d1c1a7b11",
        "9d1e5a40-02f8-45b2-8a6a-7f0a0f1d2c22",
        "2026-11-21T11:45:16Z",
    ];
    prop_oneof![
        proptest::sample::select(known.to_vec()).prop_map(str::to_owned),
        "[a-z]{1,4}[0-9]{1,3}[a-z0-9]{0,3}"
    ]
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(segment(), 1..6).prop_map(|segments| format!("/{}", segments.join("/")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_path_is_answered_by_no_other(paths in prop::collection::hash_set(path(), 2..8), method in proptest::sample::select(vec!["GET", "POST", "DELETE", "PUT"])) {
        let mut paths: Vec<String> = paths.into_iter().collect();
        let other = paths.pop().expect("a path");
        let body = (method == "POST" || method == "PUT").then(|| json!({"metadata": {"name": "web-x8f2a"}}).to_string());
        let all: Vec<(Asked, String)> = paths.into_iter().map(|path| ((method, path, body.clone()), "{}".to_owned())).collect();
        let live = body.map(|body| body.replace("x8f2a", "77q7q"));
        prop_assert_eq!(statuses(recorded(&all), &[(method, other, live)]), [501]);
    }

    #[test]
    fn a_value_of_an_earlier_answer_is_the_same_in_a_later_request(uid in "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}", other in "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}") {
        prop_assume!(uid != other);
        let get: Asked = ("GET", "/api/v1/namespaces/a/pods/b".into(), None);
        let delete = |uid: &str| -> Asked { ("DELETE", "/api/v1/namespaces/a/pods/b".into(), Some(json!({"preconditions": {"uid": uid}}).to_string())) };
        let cassette = || recorded(&[(get.clone(), json!({"metadata": {"uid": uid}}).to_string()), (delete(&uid), "{}".into())]);
        prop_assert_eq!(statuses(cassette(), &[get.clone(), delete(&uid)]), [200, 200]);
        prop_assert_eq!(statuses(cassette(), &[get.clone(), delete(&other)]), [200, 501]);
        // A value that the client generated differs each time.
        let alone = recorded(&[(delete(&uid), "{}".into())]);
        prop_assert_eq!(statuses(alone, &[delete(&other)]), [200]);
    }

    #[test]
    fn a_value_that_a_client_made_up_is_bound_by_the_request_that_introduced_it(there in "[a-z]{2}[0-9][a-z]{2}", here in "[a-z]{2}[0-9][a-z]{2}") {
        prop_assume!(there != here);
        let create = |name: &str| -> Asked { ("POST", "/api/v1/namespaces".into(), Some(json!({"metadata": {"name": format!("test-{name}")}}).to_string())) };
        let get = |name: &str| -> Asked { ("GET", format!("/api/v1/namespaces/test-{name}"), None) };
        let cassette = || recorded(&[(create(&there), "{}".into()), (get(&there), "{}".into())]);
        prop_assert_eq!(statuses(cassette(), &[create(&here), get(&here)]), [200, 200]);
        prop_assert_eq!(statuses(cassette(), &[get(&here)]), [501]);
    }
}
