//! Concurrent writes between the read and the write of an update.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};
use parking_lot::{Mutex, RwLock};
use rstest::rstest;
use serde_json::{Value, json};

use super::{Profile, Rig};
use crate::{
    store::{Change, Draft, Expected, Key, Memory, Store, StoreError, Tables, Write},
    strategy::Claims,
    watch::Hub,
};

/// Store that makes another writer's change right before the next commit to an object.
struct Interleaved {
    store: Memory,
    /// Name of the object, and the other writer's change of its JSON.
    change: Mutex<Option<Interleave>>,
}

type Interleave = (&'static str, fn(&mut Value));

impl Store for Interleaved {
    fn tables(&self) -> &RwLock<Tables> {
        self.store.tables()
    }

    fn commit_claiming<'a>(
        &'a self,
        key: &'a Key,
        expected: Expected,
        write: Write,
        _: &'a Claims,
    ) -> BoxFuture<'a, Result<Change, StoreError>> {
        let mut pending = self.change.lock();
        let change = match *pending {
            Some((name, change)) if *name == *key.name => pending.take().map(|_| change),
            _ => None,
        };
        drop(pending);
        async move {
            if let Some(change) = change {
                let old = self.store.get(key).unwrap();
                let mut object: Value = serde_json::from_slice(old.bytes()).unwrap();
                change(&mut object);
                object["metadata"]["resourceVersion"] = "0".into();
                let draft = Draft::new(
                    object.to_string(),
                    old.sent_self_link().into(),
                    old.labels().clone(),
                    old.fields().clone(),
                );
                let (expected, write) = (Expected::At(old.revision()), Write::Put(draft.unwrap()));
                self.store.commit(key, expected, write).await?;
            }
            self.store.commit(key, expected, write).await
        }
        .boxed()
    }
}

/// Cluster over an [`Interleaved`] store. A test sets its `change`.
async fn rig(profile: Profile) -> (Rig, Arc<Interleaved>) {
    let kept = Arc::new(Mutex::new(None));
    let keep = kept.clone();
    let open = move |hub: Arc<Hub>| {
        let store = Arc::new(Interleaved {
            store: Memory::new(hub),
            change: Mutex::default(),
        });
        *keep.lock() = Some(store.clone());
        store as Arc<dyn Store>
    };
    let rig = Rig::with_store(profile, open).await;
    let store = kept.lock().take().unwrap();
    (rig, store)
}

#[tokio::test]
async fn one_of_two_scales_at_the_same_version_conflicts() {
    let (rig, store) = rig(Profile::Kubernetes12).await;
    let template = json!({"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}});
    let controller = json!({"metadata": {"name": "a"}, "spec": {"replicas": 1, "template": template}});
    rig.expect_ok("POST", "ns/replicationcontrollers", controller).await;
    let path = "ns/replicationcontrollers/a/scale";
    let mut scale = rig.expect_ok("GET", path, Value::Null).await;
    scale["spec"]["replicas"] = 2.into();
    *store.change.lock() = Some(("a", |object| object["spec"]["replicas"] = 3.into()));
    assert_eq!(rig.send("PUT", path, scale).await.0, 409);
    assert_eq!(rig.expect_ok("GET", path, Value::Null).await["spec"]["replicas"], 3);
}

#[rstest]
#[case::another_field(|object: &mut Value| object["data"]["b"] = "2".into(), 200, json!({"a": "2", "b": "2"}))]
#[case::the_same_value(|object: &mut Value| object["data"]["a"] = "2".into(), 200, json!({"a": "2", "b": "1"}))]
#[case::another_value(|object: &mut Value| object["data"]["a"] = "3".into(), 409, json!({"a": "3", "b": "1"}))]
#[tokio::test]
async fn a_patch_is_reapplied_unless_it_overlaps(
    #[values(Profile::Documented, Profile::Kubernetes12)] profile: Profile,
    #[case] change: fn(&mut Value),
    #[case] code: u16,
    #[case] data: Value,
) {
    let (rig, store) = rig(profile).await;
    let map = json!({"metadata": {"name": "a"}, "data": {"a": "1", "b": "1"}});
    rig.expect_ok("POST", "ns/configmaps", map).await;
    *store.change.lock() = Some(("a", change));
    let patch = json!({"data": {"a": "2"}});
    assert_eq!(rig.send("PATCH", "ns/configmaps/a", patch).await.0, code);
    assert_eq!(rig.expect_ok("GET", "ns/configmaps/a", Value::Null).await["data"], data);
}

#[rstest]
#[case::of_the_other_group("/autoscaling/v1/ns/horizontalpodautoscalers/a", Profile::Kubernetes12, 500)]
#[case::of_the_stored_group("/extensions/v1beta1/ns/horizontalpodautoscalers/a", Profile::Kubernetes12, 409)]
#[case::documented("/autoscaling/v1/ns/horizontalpodautoscalers/a", Profile::Documented, 409)]
#[tokio::test]
async fn v1_2_cannot_compare_conflicting_versions_of_another_group(
    #[case] path: &str,
    #[case] profile: Profile,
    #[case] code: u16,
) {
    let (rig, _) = rig(profile).await;
    let target = json!({"kind": "ReplicationController", "name": "web"});
    let autoscaler = json!({"metadata": {"name": "a"}, "spec": {"maxReplicas": 2, "scaleTargetRef": target}});
    rig.expect_ok("POST", "/autoscaling/v1/ns/horizontalpodautoscalers", autoscaler)
        .await;
    let patch = json!({"metadata": {"resourceVersion": "1"}, "spec": {"maxReplicas": 3}});
    let (answered, text) = rig.expect_error("PATCH", path, patch).await;
    assert_eq!(answered, code, "{text}");
    let missing =
        "unable to find api field in struct HorizontalPodAutoscalerSpec for the json field \"scaleTargetRef\"";
    assert_eq!(text == missing, code == 500, "{text}");
}
