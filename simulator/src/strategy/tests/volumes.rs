//! Volumes of pods and persistent volumes.

use rstest::rstest;
use serde_json::{Value, json};

use super::{changed, container, created, metadata, pod_spec};

fn with_volumes(volumes: Value) -> Vec<String> {
    created(
        "Pod",
        &json!({"metadata": metadata(), "spec": changed(pod_spec(), json!({"volumes": volumes}))}),
    )
}

fn persistent(source: Value) -> Vec<String> {
    let spec = json!({"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]});
    created(
        "PersistentVolume",
        &json!({"metadata": changed(metadata(), json!({"namespace": null})), "spec": changed(spec, source)}),
    )
}

/// Every type of volume without content, and the errors of its required fields.
#[rstest]
#[case("hostPath", &["hostPath.path: Required value"])]
#[case("emptyDir", &[])]
#[case("gcePersistentDisk", &["persistentDisk.pdName: Required value"])]
#[case("awsElasticBlockStore", &["awsElasticBlockStore.volumeID: Required value"])]
#[case("gitRepo", &["gitRepo.repository: Required value"])]
#[case("secret", &["secret.secretName: Required value"])]
#[case("nfs", &["nfs.server: Required value", "nfs.path: Required value",
    "nfs.path: Invalid value: \"\": must be an absolute path"])]
#[case("iscsi", &["iscsi.targetPortal: Required value", "iscsi.iqn: Required value"])]
#[case("glusterfs", &["glusterfs.endpoints: Required value", "glusterfs.path: Required value"])]
#[case("flocker", &["flocker.datasetName: Required value"])]
#[case("persistentVolumeClaim", &["persistentVolumeClaim.claimName: Required value"])]
#[case("rbd", &["rbd.monitors: Required value", "rbd.image: Required value"])]
#[case("cinder", &["cinder.volumeID: Required value"])]
#[case("cephfs", &["cephfs.monitors: Required value"])]
#[case("downwardAPI", &[])]
#[case("fc", &["fc.targetWWNs: Required value", "fc.lun: Required value"])]
#[case("flexVolume", &["flexVolume.driver: Required value"])]
#[case("configMap", &["configMap.name: Required value"])]
#[case("azureFile", &["azureFile.secretName: Required value", "azureFile.shareName: Required value"])]
fn an_empty_source(#[case] kind: &str, #[case] want: &[&str]) {
    let prefixed = |prefix: &str| want.iter().map(|line| format!("{prefix}.{line}")).collect::<Vec<_>>();
    assert_eq!(
        with_volumes(json!([{"name": "v", kind: {}}])),
        prefixed("spec.volumes[0]")
    );
    let not_persistent = [
        "emptyDir",
        "gitRepo",
        "secret",
        "persistentVolumeClaim",
        "downwardAPI",
        "configMap",
    ];
    if not_persistent.contains(&kind) {
        assert_eq!(
            persistent(json!({kind: {}})),
            ["spec: Required value: must specify a volume type"]
        );
    } else {
        assert_eq!(persistent(json!({kind: {}})), prefixed("spec"));
    }
}

#[rstest]
#[case(json!({"gcePersistentDisk": {"pdName": "x", "partition": 256}}),
    "persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive")]
#[case(json!({"awsElasticBlockStore": {"volumeID": "x", "partition": -1}}),
    "awsElasticBlockStore.partition: Invalid value: -1: must be between 1 and 255, inclusive")]
#[case(json!({"iscsi": {"targetPortal": "x", "iqn": "x", "lun": 300}}),
    "iscsi.lun: Invalid value: 300: must be between 0 and 255, inclusive")]
#[case(json!({"fc": {"targetWWNs": ["x"], "lun": -1}}),
    "fc.lun: Invalid value: -1: must be between 0 and 255, inclusive")]
#[case(json!({"flocker": {"datasetName": "a/b"}}), "flocker.datasetName: Invalid value: \"a/b\": must not contain '/'")]
#[case(json!({"gitRepo": {"repository": "x", "directory": "/a"}}),
    "gitRepo.directory: Invalid value: \"/a\": must be a relative path")]
#[case(json!({"gitRepo": {"repository": "x", "directory": "a/../b"}}),
    "gitRepo.directory: Invalid value: \"a/../b\": must not contain '..'")]
#[case(json!({"gitRepo": {"repository": "x", "directory": "..a"}}),
    "gitRepo.directory: Invalid value: \"..a\": must not start with '..'")]
#[case(json!({"downwardAPI": {"items": [{"path": "a",
    "fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}]}}),
    "downwardAPI.fieldRef.fieldPath: Unsupported value: \"status.podIP\": supported values: metadata.annotations, \
        metadata.labels, metadata.name, metadata.namespace")]
fn a_source_out_of_bounds(#[case] source: Value, #[case] want: &str) {
    let volume = changed(json!({"name": "v"}), source);
    assert_eq!(with_volumes(json!([volume])), [format!("spec.volumes[0].{want}")]);
}

#[test]
fn a_volume_has_one_source() {
    let both = json!({"name": "v", "hostPath": {"path": "/"}, "emptyDir": {}, "cephfs": {}, "downwardAPI": {},
        "configMap": {}, "azureFile": {"secretName": "s", "shareName": "s"}});
    let want = [
        "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type",
        "spec.volumes[0].cephFS: Forbidden: may not specify more than 1 volume type",
        "spec.volumes[0].downwarAPI: Forbidden: may not specify more than 1 volume type",
        "spec.volumes[0].configMap: Forbidden: may not specifiy more than 1 volume type",
    ];
    assert_eq!(with_volumes(json!([both])), want);
    assert_eq!(
        with_volumes(json!([{"name": "v"}])),
        ["spec.volumes[0]: Required value: must specify a volume type"]
    );
    let flexible = json!({"hostPath": {"path": "/"}, "flexVolume": {"driver": "d"}, "cinder": {"volumeID": "c"}});
    assert_eq!(
        persistent(flexible),
        ["spec.cinder: Forbidden: may not specify more than 1 volume type"]
    );
}

#[test]
fn an_invalid_volume_cannot_be_mounted() {
    let spec = json!({
        "volumes": [{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}, {"name": "b", "secret": {}},
            {"name": "C", "emptyDir": {}}, {"emptyDir": {}}],
        "containers": [changed(container(),
            json!({"volumeMounts": [{"name": "a", "mountPath": "/a"}, {"name": "b", "mountPath": "/b"}]}))],
    });
    let want = [
        "spec.volumes[1].name: Duplicate value: \"a\"",
        "spec.volumes[2].secret.secretName: Required value",
        "spec.volumes[3].name: Invalid value: \"C\": must be a DNS label (at most 63 characters, matching regex \
            [a-z0-9]([-a-z0-9]*[a-z0-9])?): e.g. \"my-name\"",
        "spec.volumes[4].name: Required value",
        "spec.containers[0].volumeMounts[1].name: Not found: \"b\"",
    ];
    assert_eq!(
        created(
            "Pod",
            &json!({"metadata": metadata(), "spec": changed(pod_spec(), spec)})
        ),
        want
    );
}

#[rstest]
#[case(json!({"capacity": {"storage": "-1Gi"}}),
    &["spec.capacity[storage]: Invalid value: -1073741824: must be a valid resource quantity"])]
#[case(json!({"capacity": {"storage": "1024Mi", "cpu": "1"}}),
    &["spec.capacity: Unsupported value: {\"cpu\":\"1\",\"storage\":\"1Gi\"}: supported values: storage"])]
#[case(json!({"accessModes": ["ReadWriteOnce", "Write"]}),
    &["spec.accessModes: Unsupported value: \"Write\": supported values: ReadOnlyMany, ReadWriteMany, ReadWriteOnce"])]
fn a_persistent_volume(#[case] change: Value, #[case] want: &[&str]) {
    assert_eq!(persistent(changed(json!({"hostPath": {"path": "/x"}}), change)), want);
}
