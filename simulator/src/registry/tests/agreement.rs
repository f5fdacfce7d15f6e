//! After any sequence of operations, list, get and watches agree.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use futures::FutureExt;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    clock::Clock,
    patch::Language,
    profile::Profile,
    registry::{GetOptions, ListOptions, Registry, RequestBody, RequestInfo, Settings, WatchStream},
    rng::Rng,
    scheme::{Scheme, Syntax},
};

/// Operation on one of a few config maps.
#[derive(Clone, Debug)]
enum Operation {
    Create(usize, u8),
    Replace(usize, u8),
    Patch(usize, u8),
    Delete(usize),
    DeleteLabelled(u8),
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        3 => (0..4usize, 0..3u8).prop_map(|(n, v)| Operation::Create(n, v)),
        3 => (0..4usize, 0..3u8).prop_map(|(n, v)| Operation::Replace(n, v)),
        2 => (0..4usize, 0..3u8).prop_map(|(n, v)| Operation::Patch(n, v)),
        2 => (0..4usize).prop_map(Operation::Delete),
        1 => (0..3u8).prop_map(Operation::DeleteLabelled),
    ]
}

struct Rig {
    registry: Registry,
}

impl Rig {
    async fn new(profile: Profile) -> Self {
        let settings = Settings::for_tests(profile);
        let registry = Registry::in_memory(
            settings,
            Clock::frozen("2016-03-01T00:00:00Z".parse().unwrap()),
            Arc::new(Rng::seeded(7)),
        );
        registry.bootstrap().await.unwrap();
        Self { registry }
    }

    fn at(name: Option<usize>) -> RequestInfo {
        let resource = Scheme::builtin().resource("", "v1", "configmaps").unwrap().clone();
        RequestInfo {
            resource,
            namespace: Some("default".to_owned()),
            name: name.map(|n| format!("m{n}")),
            subresource: None,
        }
    }

    fn body(name: usize, value: u8) -> RequestBody {
        let object = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": format!("m{name}"),
            "labels": {"l": value.to_string()}}, "data": {"v": value.to_string()}});
        RequestBody {
            bytes: Bytes::from(object.to_string()),
            syntax: Syntax::Json,
        }
    }

    async fn run(&self, operation: &Operation) {
        // Errors (creating an object that exists, deleting one that does not) are not the subject of this test.
        let _ = match operation {
            Operation::Create(n, v) => self.registry.create(&Self::at(None), &Self::body(*n, *v)).await,
            Operation::Replace(n, v) => self.registry.update(&Self::at(Some(*n)), &Self::body(*n, *v)).await,
            Operation::Patch(n, v) => {
                let patch = json!({"metadata": {"labels": {"l": v.to_string()}}}).to_string();
                self.registry
                    .patch(&Self::at(Some(*n)), Language::Merge, patch.as_bytes())
                    .await
            }
            Operation::Delete(n) => self.registry.delete(&Self::at(Some(*n)), None).await,
            Operation::DeleteLabelled(v) => {
                self.registry
                    .delete_collection(&Self::at(None), &selecting(&format!("l={v}"), ""), None)
                    .await
            }
        };
    }

    async fn watch(&self, options: ListOptions) -> WatchStream {
        self.registry
            .watch(&Self::at(None), &options, CancellationToken::new())
            .await
            .unwrap()
    }

    async fn list(&self, selector: &str) -> (u64, BTreeMap<String, Value>) {
        let reply = self
            .registry
            .list(&Self::at(None), &selecting(selector, ""))
            .await
            .unwrap();
        let list: Value = serde_json::from_slice(&reply.body).unwrap();
        let items = list["items"].as_array().cloned().unwrap_or_default();
        (
            version(&list),
            items
                .into_iter()
                .map(|i| (i["metadata"]["name"].as_str().unwrap().to_owned(), i))
                .collect(),
        )
    }
}

fn selecting(labels: &str, version: &str) -> ListOptions {
    ListOptions {
        label_selector: labels.to_owned(),
        resource_version: version.to_owned(),
        ..ListOptions::default()
    }
}

fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

/// Applies the frames that are ready to `start`. After the first `settled` frames, versions must increase strictly.
fn fold(mut stream: WatchStream, start: BTreeMap<String, Value>, settled: usize) -> BTreeMap<String, Value> {
    let (mut there, mut last, mut seen) = (start, 0, 0);
    while let Some(frame) = stream.next().now_or_never().flatten() {
        let frame: Value = serde_json::from_slice(&frame).unwrap();
        let mut object = frame["object"].clone();
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        seen += 1;
        if seen > settled {
            assert!(version(&object) > last, "version {} after {last}", version(&object));
        }
        last = last.max(version(&object));
        object
            .as_object_mut()
            .unwrap()
            .retain(|k, _| k != "kind" && k != "apiVersion");
        match frame["type"].as_str().unwrap() {
            "ADDED" => assert!(seen <= settled || !there.contains_key(&name), "{name} was added twice"),
            "MODIFIED" => assert!(there.contains_key(&name), "{name} was modified before it was added"),
            "DELETED" => {
                assert!(there.remove(&name).is_some(), "{name} was deleted before it was added");
                continue;
            }
            other => panic!("a frame of type {other}"),
        }
        there.insert(name, object);
    }
    there
}

async fn check(profile: Profile, before: &[Operation], after: &[Operation]) {
    let rig = Rig::new(profile).await;
    let empty = rig.watch(selecting("", "")).await;
    for operation in before {
        rig.run(operation).await;
    }
    let (middle, present) = rig.list("").await;
    let halfway = rig.watch(selecting("", "")).await;
    // Under kubernetes-1.2 a watch from a version starts with the change of that version, or with the kind's first
    // change if that is later.
    let from_list = if profile == Profile::Documented {
        Some(rig.watch(selecting("", &middle.to_string())).await)
    } else {
        None
    };
    let labelled = rig.watch(selecting("l=1", "")).await;
    for operation in after {
        rig.run(operation).await;
    }
    let (_, now) = rig.list("").await;
    for name in 0..4 {
        let got = rig.registry.get(&Rig::at(Some(name)), &GetOptions::default()).ok();
        let got = got.map(|r| serde_json::from_slice::<Value>(&r.body).unwrap()["metadata"]["resourceVersion"].clone());
        assert_eq!(
            got,
            now.get(&format!("m{name}"))
                .map(|i| i["metadata"]["resourceVersion"].clone())
        );
    }
    assert_eq!(fold(empty, BTreeMap::new(), 0), now);
    let settled = if profile == Profile::Documented {
        0
    } else {
        present.len()
    };
    assert_eq!(fold(halfway, BTreeMap::new(), settled), now);
    if let Some(stream) = from_list {
        assert_eq!(fold(stream, present.clone(), 0), now);
    }
    let marked = present.values().filter(|i| i["metadata"]["labels"]["l"] == "1").count();
    assert_eq!(
        fold(labelled, BTreeMap::new(), settled.min(marked)),
        rig.list("l=1").await.1
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn list_get_and_watches_agree(
        before in prop::collection::vec(operation(), 0..20),
        after in prop::collection::vec(operation(), 0..20),
        recorded in any::<bool>(),
    ) {
        let profile = if recorded { Profile::Kubernetes12 } else { Profile::Documented };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(check(profile, &before, &after));
    }
}
