//! Service account of a pod: token volume and image pull secrets.
//!
//! Source: `plugin/pkg/admission/serviceaccount` of Kubernetes v1.2.

use serde_json::{Value, json};

use crate::api::{Object, meta};

/// Mount path of the account's token in containers.
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Sets the service account of a pod: its name, its image pull secrets, and its token in every container that has no
/// other mount at that path.
pub(super) fn run_as(pod: &mut Object, name: &str, account: &Object, token: Option<&str>) {
    let spec = meta::child(pod, "spec");
    spec.insert("serviceAccountName".to_owned(), name.into());
    spec.insert("serviceAccount".to_owned(), name.into());
    let has_own = spec
        .get("imagePullSecrets")
        .and_then(Value::as_array)
        .is_some_and(|secrets| !secrets.is_empty());
    if let (false, Some(secrets)) = (has_own, account.get("imagePullSecrets")) {
        spec.insert("imagePullSecrets".to_owned(), secrets.clone());
    }
    if let Some(token) = token {
        mount(spec, token);
    }
}

fn mount(spec: &mut Object, token: &str) {
    let volumes = spec.get("volumes").and_then(Value::as_array);
    let volume = volumes
        .into_iter()
        .flatten()
        .find(|volume| volume["secret"]["secretName"] == token)
        .map(|volume| volume["name"].clone());
    let mount = json!({
        "name": volume.clone().unwrap_or_else(|| token.into()),
        "readOnly": true,
        "mountPath": MOUNT_PATH,
    });
    let mut is_mounted = false;
    let containers = spec.get_mut("containers").and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
        let mounts = list(container, "volumeMounts");
        if mounts.iter().all(|mount| mount["mountPath"] != MOUNT_PATH) {
            mounts.push(mount.clone());
            is_mounted = true;
        }
    }
    if is_mounted && volume.is_none() {
        list(spec, "volumes").push(json!({"name": token, "secret": {"secretName": token}}));
    }
}

/// Returns the list of this name. Creates it if it is missing.
fn list<'a>(object: &'a mut Object, name: &str) -> &'a mut Vec<Value> {
    let value = object.entry(name).or_insert(Value::Null);
    if !value.is_array() {
        *value = Value::Array(Vec::new());
    }
    match value {
        Value::Array(list) => list,
        _ => unreachable!("made a list above"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(spec: Value) -> Object {
        json!({"spec": spec}).as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn every_container_without_a_mount_there_gets_the_token() {
        let own = json!({"name": "mine", "mountPath": MOUNT_PATH});
        let mut pod = pod(json!({"containers": [{"name": "a"}, {"name": "b", "volumeMounts": [own]}]}));
        run_as(&mut pod, "default", &Object::new(), Some("default-token-x"));
        let token = json!({"name": "default-token-x", "readOnly": true, "mountPath": MOUNT_PATH});
        let spec = &pod["spec"];
        assert_eq!(spec["containers"][0]["volumeMounts"], json!([token]));
        assert_eq!(spec["containers"][1]["volumeMounts"], json!([own]));
        let volume = json!({"name": "default-token-x", "secret": {"secretName": "default-token-x"}});
        assert_eq!(spec["volumes"], json!([volume]));
        assert_eq!(spec["serviceAccountName"], "default");
    }

    #[test]
    fn a_volume_of_the_token_is_mounted_rather_than_another() {
        let volume = json!({"name": "mine", "secret": {"secretName": "t"}});
        let mut pod = pod(json!({"containers": [{"name": "a"}], "volumes": [volume]}));
        run_as(&mut pod, "default", &Object::new(), Some("t"));
        assert_eq!(pod["spec"]["containers"][0]["volumeMounts"][0]["name"], "mine");
        assert_eq!(pod["spec"]["volumes"], json!([volume]));
    }

    #[test]
    fn a_pod_gets_the_image_pull_secrets_of_its_account() {
        let mut account = Object::new();
        account.insert("imagePullSecrets".to_owned(), json!([{"name": "registry"}]));
        let mut without = pod(json!({"containers": []}));
        run_as(&mut without, "robot", &account, None);
        assert_eq!(without["spec"]["imagePullSecrets"], json!([{"name": "registry"}]));
        let mut with = pod(json!({"containers": [], "imagePullSecrets": [{"name": "own"}]}));
        run_as(&mut with, "robot", &account, None);
        assert_eq!(with["spec"]["imagePullSecrets"], json!([{"name": "own"}]));
    }
}
