//! Volumes of pods.
//!
//! - Volumes of claims and host paths outlive their pods; the others are deleted with them.
//! - Limits: a volume of any other kind is an empty directory; a git repository is not cloned.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use parking_lot::Mutex;
use serde_json::Value;
use stuntdouble_shell::{Files, LIMITS};

use super::{environment::field_value, sources::Sources};
use crate::api::{Object, meta};

/// Mode of the root directory of a pod's own volume.
const OPEN: u32 = 0o777;
/// Mode of the root directory of a host path; that of `/tmp`.
const STICKY: u32 = 0o1777;
/// Mode of the files of config maps and the downward API.
const FILE: u32 = 0o644;
/// Mode of the files of secrets.
const SECRET_FILE: u32 = 0o444;

/// Volumes of a pod, by name.
pub(super) type Volumes = BTreeMap<String, Arc<Files>>;

/// Volumes that outlive pods.
#[derive(Default)]
pub(super) struct LastingVolumes(Mutex<HashMap<String, Arc<Files>>>);

impl LastingVolumes {
    fn get(&self, key: String, mode: u32) -> Arc<Files> {
        let mut volumes = self.0.lock();
        volumes
            .entry(key)
            .or_insert_with(|| Arc::new(directory("ext4", mode)))
            .clone()
    }
}

fn directory(filesystem: &'static str, mode: u32) -> Files {
    let files = Files::volume(LIMITS.files).of_filesystem(filesystem);
    // The root of a volume always exists.
    let _ = files.set_mode("/", mode);
    files
}

/// Creates the volumes of a pod.
///
/// # Errors
/// Describes a missing object or key.
pub(super) fn mount(
    pod: &Object,
    address: &str,
    sources: &Sources,
    lasting: &LastingVolumes,
) -> Result<Volumes, String> {
    let mut volumes = Volumes::new();
    for volume in specs(pod) {
        let name = volume["name"].as_str().unwrap_or_default();
        let files = if let Some(path) = volume["hostPath"]["path"].as_str() {
            let node = meta::text(pod, "spec.nodeName");
            lasting.get(format!("node {node} {path}"), STICKY)
        } else if let Some(claim) = volume["persistentVolumeClaim"]["claimName"].as_str() {
            let volume = sources.volume_of_claim(meta::text(pod, "metadata.namespace"), claim)?;
            lasting.get(format!("volume {volume}"), OPEN)
        } else if let Some(files) = projected(pod, volume, address, sources)? {
            let directory = Arc::new(directory("tmpfs", OPEN));
            directory.replace(&files).map_err(|why| format!("{name}: {why}"))?;
            directory
        } else {
            let memory = volume["emptyDir"]["medium"] == "Memory";
            Arc::new(directory(if memory { "tmpfs" } else { "ext4" }, OPEN))
        };
        volumes.insert(name.to_owned(), files);
    }
    Ok(volumes)
}

/// Updates the files of config maps, secrets and the downward API. Volumes whose object is gone do not change.
pub(super) fn refresh(pod: &Object, address: &str, sources: &Sources, volumes: &Volumes) {
    for volume in specs(pod) {
        let name = volume["name"].as_str().unwrap_or_default();
        if let (Some(directory), Ok(Some(files))) = (volumes.get(name), projected(pod, volume, address, sources)) {
            // A volume that would become too large does not change.
            let _ = directory.replace(&files);
        }
    }
}

/// Whether the pod has a volume of the config map or secret of this name.
pub(super) fn refers_to(pod: &Object, name: &str) -> bool {
    specs(pod).any(|volume| volume["configMap"]["name"] == name || volume["secret"]["secretName"] == name)
}

fn specs(pod: &Object) -> impl Iterator<Item = &Value> {
    let volumes = meta::lookup(pod, "spec.volumes").and_then(Value::as_array);
    volumes.into_iter().flatten()
}

type ProjectedFiles = BTreeMap<String, (Vec<u8>, u32)>;

/// Returns the files of a volume projected from objects, or `None` if it is of another kind.
fn projected(pod: &Object, volume: &Value, address: &str, sources: &Sources) -> Result<Option<ProjectedFiles>, String> {
    let namespace = meta::text(pod, "metadata.namespace");
    let files = if let Some(secret) = volume["secret"]["secretName"].as_str() {
        chosen(sources.secret(namespace, secret)?, &volume["secret"]["items"])?
    } else if let Some(map) = volume["configMap"]["name"].as_str() {
        chosen(sources.config_map(namespace, map)?, &volume["configMap"]["items"])?
    } else if let Some(items) = volume["downwardAPI"].get("items") {
        let mut files = BTreeMap::new();
        for item in items.as_array().into_iter().flatten() {
            let field = item["fieldRef"]["fieldPath"].as_str().unwrap_or_default();
            let text = field_value(pod, field, address)?;
            files.insert(item["path"].as_str().unwrap_or_default().to_owned(), text.into_bytes());
        }
        files
    } else {
        return Ok(None);
    };
    let mode = if volume["secret"].is_object() {
        SECRET_FILE
    } else {
        FILE
    };
    let with_mode = |(path, content)| (format!("/{path}"), (content, mode));
    Ok(Some(files.into_iter().map(with_mode).collect()))
}

/// Returns the selected keys at their paths; all keys if `items` is empty.
fn chosen(data: BTreeMap<String, Vec<u8>>, items: &Value) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let Some(items) = items.as_array().filter(|items| !items.is_empty()) else {
        return Ok(data);
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let chosen = items.iter().map(|item| {
        let content = data.get(item["key"].as_str().unwrap_or_default()).cloned();
        let content = content.ok_or("references non-existent config key")?;
        Ok((text(&item["path"]), content))
    });
    chosen.collect()
}
