//! Volumes and claims.

use serde_json::{Value, json};

use crate::cluster::Cluster;

#[tokio::test]
async fn a_claim_is_bound_to_the_smallest_volume_that_fits() {
    let cluster = Cluster::start().await;
    for (name, size, policy) in [
        ("small", "1Gi", "Retain"),
        ("large", "9Gi", "Retain"),
        ("middle", "5Gi", "Recycle"),
    ] {
        let spec = json!({
            "capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/tmp/v"}, "persistentVolumeReclaimPolicy": policy,
        });
        cluster
            .create("persistentvolumes", json!({"metadata": {"name": name}, "spec": spec}))
            .await;
    }
    let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}});
    cluster
        .create(
            "persistentvolumeclaims",
            json!({"metadata": {"name": "c"}, "spec": spec}),
        )
        .await;
    let claim = cluster.get("persistentvolumeclaims", "c").await;
    assert_eq!(
        (&claim["spec"]["volumeName"], &claim["status"]["phase"]),
        (&json!("middle"), &json!("Bound"))
    );
    assert_eq!(
        cluster.get("persistentvolumes", "middle").await["status"]["phase"],
        "Bound"
    );
    cluster.delete("persistentvolumeclaims", "c").await;
    assert_eq!(phase(&cluster, "middle").await, "Released");
    assert!(cluster.api("pods").get("recycler-for-middle").await.is_ok());
    cluster.advance(5).await;
    assert!(cluster.api("pods").get("recycler-for-middle").await.is_err());
    let volume = cluster.get("persistentvolumes", "middle").await;
    assert_eq!(
        (&volume["status"]["phase"], volume["spec"].get("claimRef")),
        (&json!("Available"), None)
    );
}

async fn phase(cluster: &Cluster, volume: &str) -> Value {
    cluster.get("persistentvolumes", volume).await["status"]["phase"].clone()
}

fn volume(name: &str, policy: &str, source: Value) -> Value {
    let mut spec = json!({
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "persistentVolumeReclaimPolicy": policy,
    });
    spec.as_object_mut()
        .unwrap()
        .extend(source.as_object().unwrap().clone());
    json!({"metadata": {"name": name}, "spec": spec})
}

#[tokio::test]
async fn a_released_volume_is_reclaimed_by_its_policy() {
    for (name, policy, source, phase, message) in [
        (
            "kept",
            "Retain",
            json!({"hostPath": {"path": "/tmp/a"}}),
            "Released",
            Value::Null,
        ),
        (
            "elsewhere",
            "Delete",
            json!({"hostPath": {"path": "/srv/a"}}),
            "Failed",
            "Deletion error: host_path deleter only supports /tmp/.+ but received provided /srv/a".into(),
        ),
        (
            "remote",
            "Delete",
            json!({"nfs": {"server": "s", "path": "/"}}),
            "Failed",
            "no deletable volume plugin matched".into(),
        ),
        (
            "disk",
            "Recycle",
            json!({"gcePersistentDisk": {"pdName": "d", "fsType": "ext4"}}),
            "Failed",
            "no recyclable volume plugin matched".into(),
        ),
    ] {
        let cluster = Cluster::start().await;
        cluster.create("persistentvolumes", volume(name, policy, source)).await;
        cluster.create("persistentvolumeclaims", claim("c")).await;
        cluster.delete("persistentvolumeclaims", "c").await;
        let status = cluster.get("persistentvolumes", name).await["status"].clone();
        assert_eq!(
            (&status["phase"], &status["message"]),
            (&phase.into(), &message),
            "{name}"
        );
    }
    let cluster = Cluster::start().await;
    let doomed = volume("doomed", "Delete", json!({"hostPath": {"path": "/tmp/a"}}));
    cluster.create("persistentvolumes", doomed).await;
    cluster.create("persistentvolumeclaims", claim("c")).await;
    cluster.delete("persistentvolumeclaims", "c").await;
    assert!(cluster.api("persistentvolumes").get("doomed").await.is_err());
}

fn claim(name: &str) -> Value {
    let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    json!({"metadata": {"name": name}, "spec": spec})
}

#[tokio::test]
async fn a_volume_that_names_a_claim_without_its_uid_is_released() {
    let cluster = Cluster::start().await;
    let mut reserved = volume("v", "Retain", json!({"hostPath": {"path": "/tmp/a"}}));
    reserved["spec"]["claimRef"] = json!({"namespace": "default", "name": "c"});
    cluster.create("persistentvolumes", reserved).await;
    assert_eq!(phase(&cluster, "v").await, "Released");
    cluster.create("persistentvolumeclaims", claim("c")).await;
    assert_eq!(
        cluster.get("persistentvolumeclaims", "c").await["status"]["phase"],
        "Pending"
    );
}
