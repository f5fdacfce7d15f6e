//! Kinds that are added and removed at run time, over HTTP.

use crate::client::client;
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};
use stuntdouble_simulator::{Conversion, Kinds, Profile, Simulator};

const VERBS: [&str; 8] = [
    "create",
    "get",
    "list",
    "watch",
    "update",
    "patch",
    "delete",
    "deletecollection",
];

/// A client of a simulator, which takes paths.
struct Api {
    simulator: Simulator,
    client: Client,
}

impl Api {
    async fn start(profile: Profile) -> Self {
        let simulator = Simulator::builder().bare(true).profile(profile).start().await.unwrap();
        Self {
            simulator,
            client: client(),
        }
    }

    async fn send(&self, method: Method, path: &str, media_type: &str, body: &Value) -> Response {
        let request = self.client.request(method, self.simulator.url() + path);
        let request = if body.is_null() {
            request
        } else {
            request.header("Content-Type", media_type).body(body.to_string())
        };
        request.send().await.unwrap()
    }

    /// Returns the code and body of a response.
    async fn ask(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let response = self.send(method, path, "application/json", &body).await;
        (response.status().as_u16(), response.json().await.unwrap())
    }

    async fn get(&self, path: &str) -> Value {
        let (code, body) = self.ask(Method::GET, path, Value::Null).await;
        assert_eq!(code, 200, "{path}: {body}");
        body
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let (code, body) = self.ask(Method::POST, path, body).await;
        assert!([200, 201].contains(&code), "{path}: {code} {body}");
        body
    }

    async fn patch(&self, path: &str, language: &str, patch: Value) -> Value {
        let media_type = format!("application/{language}+json");
        let response = self.send(Method::PATCH, path, &media_type, &patch).await;
        assert_eq!(response.status(), 200, "{patch}");
        response.json().await.unwrap()
    }
}

/// Reads the frames of a watch.
struct Frames {
    response: Response,
    rest: Vec<u8>,
}

impl Frames {
    async fn of(api: &Api, path: &str) -> Self {
        let response = api.send(Method::GET, path, "", &Value::Null).await;
        assert_eq!(response.status(), 200, "{path}");
        Self {
            response,
            rest: Vec::new(),
        }
    }

    /// Reads the next frame; `None` at the end.
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.rest.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            self.rest.extend_from_slice(&self.response.chunk().await.unwrap()?);
        }
    }

    async fn expect(&mut self, kind: &str, name: &str) -> Value {
        let frame = self.next().await.unwrap();
        assert_eq!(
            (&frame["type"], &frame["object"]["metadata"]["name"]),
            (&json!(kind), &json!(name)),
            "{frame}"
        );
        frame["object"].clone()
    }
}

/// Widget: `v1`, the storage version, has a size; `v2` has width and height, which replace the size if they differ.
fn widgets() -> Kinds {
    let kind = |version: &str, spec: Value, more: Value| {
        let mut file = json!({
            "kind": "Widget", "group": "example.com", "version": version, "plural": "widgets",
            "namespaced": true, "verbs": VERBS, "subresources": {"status": "Widget"},
            "fields": {"metadata": "ObjectMeta?", "spec": "WidgetSpec", "status": "WidgetStatus?"},
            "types": {"WidgetSpec": spec, "WidgetStatus": {"ready": "bool?"},
                "WidgetPart": {"name": "string", "parts": "[]WidgetPart? by name"}},
        });
        file.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        file.to_string()
    };
    let parts = "[]WidgetPart? by name";
    Kinds::default()
        .file(
            "widget-v1.json",
            kind(
                "v1",
                json!({"size": "string", "color": "string? = red", "parts": parts}),
                json!({}),
            ),
        )
        .file(
            "widget-v2.json",
            kind(
                "v2",
                json!({"width": "int32", "height": "int32", "color": "string? = red", "parts": parts}),
                json!({"storage": "example.com/v1", "conversion": "widget"}),
            ),
        )
        .conversion(
            "widget",
            Conversion::new(
                |widget| {
                    let spec = widget["spec"].as_object_mut().unwrap();
                    let side = |name: &str| spec.get(name).and_then(Value::as_i64).unwrap_or(0);
                    let size = format!("{}x{}", side("width"), side("height"));
                    spec.insert("size".to_owned(), size.into());
                },
                |widget| {
                    let spec = widget["spec"].as_object_mut().unwrap();
                    let size = spec.get("size").and_then(Value::as_str).unwrap_or_default().to_owned();
                    let (width, height) = size.split_once('x').unwrap_or(("0", "0"));
                    for (name, side) in [("width", width), ("height", height)] {
                        spec.insert(name.to_owned(), side.parse().unwrap_or(0).into());
                    }
                },
            ),
        )
}

const V1: &str = "/apis/example.com/v1/namespaces/default/widgets";
const V2: &str = "/apis/example.com/v2/namespaces/default/widgets";

#[tokio::test]
async fn an_added_kind_has_every_verb_in_both_versions() {
    for profile in [Profile::Documented, Profile::Kubernetes12] {
        let api = Api::start(profile).await;
        api.simulator.add_kinds(&widgets()).unwrap();

        let made = api
            .post(
                V1,
                json!({"metadata": {"name": "a", "labels": {"l": "1"}}, "spec": {"size": "2x3"}}),
            )
            .await;
        assert_eq!(
            (&made["kind"], &made["apiVersion"]),
            (&json!("Widget"), &json!("example.com/v1"))
        );
        assert_eq!(made["spec"], json!({"size": "2x3", "color": "red"}));
        let mut watch = [
            Frames::of(&api, &format!("{V1}?watch=1")).await,
            Frames::of(&api, &format!("{V2}?watch=1")).await,
        ];
        for (watch, side) in watch.iter_mut().zip(["size", "width"]) {
            assert!(!watch.expect("ADDED", "a").await["spec"][side].is_null());
        }

        let other = json!({"kind": "Widget", "apiVersion": "example.com/v2", "metadata": {"name": "b"},
            "spec": {"width": 4, "height": 5}});
        let spec = json!({"width": 4, "height": 5, "color": "red"});
        assert_eq!(api.post(V2, other).await["spec"], spec);
        assert_eq!(api.get(&format!("{V1}/b")).await["spec"]["size"], "4x5");
        let shown = api.get(&format!("{V2}/a")).await;
        assert_eq!(shown["spec"], json!({"width": 2, "height": 3, "color": "red"}));
        assert_eq!(shown["metadata"]["selfLink"], format!("{V2}/a"));

        for (path, version) in [(V1, "v1"), (V2, "v2")] {
            let list = api.get(path).await;
            assert_eq!(
                (&list["kind"], &list["apiVersion"]),
                (&json!("WidgetList"), &json!(format!("example.com/{version}")))
            );
            assert_eq!(list["items"].as_array().unwrap().len(), 2);
        }
        let everywhere = api
            .get("/apis/example.com/v2/widgets?labelSelector=l%3D1&fieldSelector=metadata.name%3Da")
            .await;
        assert_eq!(everywhere["items"][0]["spec"]["width"], 2);
        assert_eq!(
            api.ask(Method::GET, &format!("{V1}?fieldSelector=spec.size%3D1"), Value::Null)
                .await
                .0,
            400
        );

        let mut object = api.get(&format!("{V2}/a")).await;
        object["spec"]["width"] = 7.into();
        let (code, updated) = api.ask(Method::PUT, &format!("{V2}/a"), object.clone()).await;
        assert_eq!((code, &updated["spec"]["width"]), (200, &json!(7)));
        let (code, _) = api.ask(Method::PUT, &format!("{V1}/a"), object.clone()).await;
        assert_eq!(code, 400, "of another version");
        let (code, _) = api.ask(Method::PUT, &format!("{V2}/a"), object).await;
        assert_eq!(code, 409, "of an older revision");
        let (code, _) = api
            .ask(
                Method::PUT,
                &format!("{V1}/a/status"),
                json!({"metadata": {"name": "a"}, "spec": {"size": "0x0"}, "status": {"ready": true}}),
            )
            .await;
        assert_eq!(code, 200);
        let a = api.get(&format!("{V1}/a")).await;
        assert_eq!(
            (&a["spec"]["size"], &a["status"]["ready"]),
            (&json!("7x3"), &json!(true))
        );

        let part = |name: &str| json!({"spec": {"parts": [{"name": name, "parts": [{"name": "inner"}]}]}});
        api.patch(&format!("{V2}/a"), "merge-patch", part("one")).await;
        let merged = api
            .patch(&format!("{V1}/a"), "strategic-merge-patch", part("two"))
            .await;
        let names: Vec<&Value> = merged["spec"]["parts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| &p["name"])
            .collect();
        assert_eq!(names, ["one", "two"]);
        let patch = json!([{"op": "replace", "path": "/spec/height", "value": 9}]);
        assert_eq!(
            api.patch(&format!("{V2}/a"), "json-patch", patch).await["spec"]["height"],
            9
        );
        assert_eq!(api.get(&format!("{V1}/a")).await["spec"]["size"], "7x9");

        let (code, _) = api.ask(Method::DELETE, &format!("{V2}/a"), Value::Null).await;
        assert_eq!(
            (code, api.ask(Method::GET, &format!("{V1}/a"), Value::Null).await.0),
            (200, 404)
        );
        assert_eq!(api.ask(Method::DELETE, V1, Value::Null).await.0, 200);
        assert_eq!(api.get(V2).await["items"], json!([]));
        for (watch, size) in watch.iter_mut().zip(["size", "height"]) {
            watch.expect("ADDED", "b").await;
            for _ in 0..5 {
                assert!(!watch.expect("MODIFIED", "a").await["spec"][size].is_null());
            }
            watch.expect("DELETED", "a").await;
            watch.expect("DELETED", "b").await;
        }
    }
}

#[tokio::test]
async fn discovery_and_descriptions_have_an_added_kind_until_it_is_removed() {
    let api = Api::start(Profile::Documented).await;
    let before = api.get("/apis").await;
    assert_eq!(api.ask(Method::GET, V1, Value::Null).await.0, 404);
    api.simulator.add_kinds(&widgets()).unwrap();

    let group = api.get("/apis/example.com").await;
    let versions: Vec<&Value> = group["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| &v["version"])
        .collect();
    assert_eq!(versions, ["v1", "v2"]);
    let resources = api.get("/apis/example.com/v2").await["resources"].clone();
    assert_eq!(
        (&resources[0]["name"], &resources[1]["name"]),
        (&json!("widgets"), &json!("widgets/status"))
    );
    let swagger = api.get("/swaggerapi/apis/example.com/v2").await;
    assert!(swagger["models"]["v2.WidgetPart"]["properties"]["parts"].is_object());
    assert!(
        api.get("/").await["paths"]
            .as_array()
            .unwrap()
            .contains(&json!("/apis/example.com/v1"))
    );
    assert!(api.get("/openapi/v3").await["paths"]["apis/example.com/v1"].is_object());

    api.post(V1, json!({"metadata": {"name": "a"}, "spec": {"size": "1x1"}}))
        .await;
    let mut watch = Frames::of(&api, &format!("{V2}?watch=1")).await;
    let revision = watch.expect("ADDED", "a").await["metadata"]["resourceVersion"].clone();
    api.simulator.remove_kind("example.com", "widgets").await.unwrap();
    watch.expect("DELETED", "a").await;
    assert_eq!(watch.next().await, None);
    assert_eq!(api.get("/apis").await, before);
    for path in [
        V1,
        V2,
        "/apis/example.com",
        "/apis/example.com/v1",
        "/swaggerapi/apis/example.com/v1",
    ] {
        assert_eq!(api.ask(Method::GET, path, Value::Null).await.0, 404, "{path}");
    }
    assert_eq!(
        api.simulator
            .remove_kind("example.com", "widgets")
            .await
            .unwrap_err()
            .code,
        404
    );

    api.simulator.add_kinds(&widgets()).unwrap();
    assert_eq!(api.get(V1).await["items"], json!([]), "its objects were removed");
    let old = format!("{V1}?watch=1&resourceVersion={}", revision.as_str().unwrap());
    assert_eq!(api.ask(Method::GET, &old, Value::Null).await.0, 410, "and its history");
}

#[tokio::test]
async fn a_resource_that_is_added_again_starts_with_empty_lists() {
    let api = Api::start(Profile::Documented).await;
    for kind in ["Widget", "Gadget"] {
        let file = json!({"kind": kind, "group": "example.com", "version": "v1", "plural": "widgets",
            "namespaced": true, "verbs": VERBS, "fields": {"metadata": "ObjectMeta?"}});
        api.simulator
            .add_kinds(&Kinds::default().file("widget.json", file.to_string()))
            .unwrap();
        assert_eq!(api.get(V1).await["kind"], format!("{kind}List"));
        api.simulator.remove_kind("example.com", "widgets").await.unwrap();
    }
}

#[tokio::test]
async fn a_cluster_wide_kind_has_no_namespace() {
    let api = Api::start(Profile::Documented).await;
    let planet = json!({"kind": "Planet", "group": "example.com", "version": "v1", "plural": "planets",
        "verbs": VERBS, "fields": {"metadata": "ObjectMeta?", "rings": "bool?"}});
    api.simulator
        .add_kinds(&Kinds::default().file("planet.json", planet.to_string()))
        .unwrap();
    let made = api
        .post(
            "/apis/example.com/v1/planets",
            json!({"metadata": {"name": "saturn"}, "rings": true}),
        )
        .await;
    assert_eq!(made["metadata"]["selfLink"], "/apis/example.com/v1/planets/saturn");
    assert_eq!(made["metadata"]["namespace"], Value::Null);
}

#[tokio::test]
async fn kinds_named_pods_and_services_in_another_group_are_independent() {
    let api = Api::start(Profile::Kubernetes12).await;
    let kind = |kind: &str, plural: &str| {
        json!({
            "kind": kind, "group": "example.com", "version": "v1", "plural": plural, "namespaced": true, "verbs": VERBS,
            "fields": {"metadata": "ObjectMeta?", "spec": "Spec?"},
            "types": {"Spec": {"clusterIP": "string?", "nodeName": "string?", "type": "string?"}},
        })
        .to_string()
    };
    let kinds = Kinds::default()
        .file("pod.json", kind("Pod", "pods"))
        .file("service.json", kind("Service", "services"));
    api.simulator.add_kinds(&kinds).unwrap();
    let core = |plural: &str| format!("/api/v1/namespaces/default/{plural}");
    let other = |plural: &str| format!("/apis/example.com/v1/namespaces/default/{plural}");

    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1", "services": "2"}}});
    let mut quota = api.post(&core("resourcequotas"), quota).await;
    quota["status"] = json!({"hard": {"pods": "1", "services": "2"}, "used": {"pods": "0", "services": "1"}});
    assert_eq!(
        api.ask(Method::PUT, &core("resourcequotas/q/status"), quota).await.0,
        200
    );
    let limits = json!({"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}});
    api.post(&core("limitranges"), limits).await;

    for name in ["a", "b", "c"] {
        let made = api
            .post(
                &other("pods"),
                json!({"metadata": {"name": name}, "spec": {"nodeName": "n"}}),
            )
            .await;
        assert_eq!(
            (&made["apiVersion"], &made["status"]),
            (&json!("example.com/v1"), &Value::Null)
        );
        assert_eq!(
            made["metadata"]["annotations"],
            Value::Null,
            "limit ranges apply to the core group's pods"
        );
        let made = api
            .post(
                &other("services"),
                json!({"metadata": {"name": name}, "spec": {"type": "NodePort"}}),
            )
            .await;
        assert_eq!(
            made["spec"],
            json!({"type": "NodePort"}),
            "addresses are allocated to the core group's services"
        );
    }
    let used = api.get(&core("resourcequotas/q")).await["status"]["used"].clone();
    assert_eq!(used, json!({"pods": "0", "services": "1"}));
    assert_eq!(api.get(&core("pods")).await["items"], json!([]));
    assert_eq!(api.get(&core("services")).await["items"].as_array().unwrap().len(), 1);
    assert_eq!(api.get(&other("pods")).await["items"].as_array().unwrap().len(), 3);

    let mut watch = Frames::of(&api, &format!("{}?watch=1", core("pods"))).await;
    let containers = json!([{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}]);
    let pod = json!({"metadata": {"name": "a"}, "spec": {"nodeName": "n", "containers": containers}});
    api.post(&core("pods"), pod).await;
    assert_eq!(watch.expect("ADDED", "a").await["apiVersion"], "v1");
    let service = api
        .post(
            &core("services"),
            json!({"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}}),
        )
        .await;
    assert!(service["spec"]["clusterIP"].is_string());

    let by_node = "?fieldSelector=spec.nodeName%3Dn";
    assert_eq!(
        api.get(&(core("pods") + by_node)).await["items"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        api.ask(Method::GET, &(other("pods") + by_node), Value::Null).await.0,
        400
    );

    assert_eq!(api.ask(Method::DELETE, &other("services/a"), Value::Null).await.0, 200);
    let endpoints = json!({"metadata": {"name": "b"}, "subsets": []});
    api.post(&core("endpoints"), endpoints).await;
    assert_eq!(api.ask(Method::DELETE, &other("services/b"), Value::Null).await.0, 200);
    api.get(&core("endpoints/b")).await;
    let (code, gone) = api.ask(Method::DELETE, &other("pods/a"), Value::Null).await;
    assert_eq!(
        (code, &gone["kind"], &gone["status"]),
        (200, &json!("Status"), &json!("Success"))
    );
    assert_eq!(
        api.ask(Method::GET, &other("pods/a"), Value::Null).await.0,
        404,
        "no grace period"
    );
    api.get(&core("pods/a")).await;
    api.get(&core("services/a")).await;
    let used = api.get(&core("resourcequotas/q")).await["status"]["used"].clone();
    assert_eq!(used, json!({"pods": "1", "services": "2"}));

    let path = "/apis/example.com/v1/proxy/namespaces/default/pods/b/";
    assert_eq!(api.ask(Method::GET, path, Value::Null).await.0, 404);
    api.simulator.remove_kind("example.com", "pods").await.unwrap();
    watch_is_open(&api, &mut watch, &core("pods/a")).await;
}

/// Checks that `watch` still receives changes.
async fn watch_is_open(api: &Api, watch: &mut Frames, path: &str) {
    api.patch(path, "merge-patch", json!({"metadata": {"labels": {"l": "1"}}}))
        .await;
    watch.expect("MODIFIED", "a").await;
}
