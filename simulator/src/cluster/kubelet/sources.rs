//! Objects that pods refer to: services, config maps, secrets, claims.

use std::{collections::BTreeMap, sync::Arc};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;

use crate::{
    api::{Object, Status, meta},
    client::{Informer, ObjectKey},
    cluster::runtime::Runtime,
};

/// The namespace of the service `kubernetes`, which every pod sees.
const MASTER_NAMESPACE: &str = "default";

/// Caches of the objects that pods refer to.
pub(super) struct Sources {
    pub(super) services: Arc<Informer>,
    pub(super) config_maps: Arc<Informer>,
    pub(super) secrets: Arc<Informer>,
    claims: Arc<Informer>,
    volumes: Arc<Informer>,
}

impl Sources {
    pub(super) async fn new(runtime: &Runtime) -> Result<Self, Status> {
        Ok(Self {
            services: runtime.informer("v1", "services").await?,
            config_maps: runtime.informer("v1", "configmaps").await?,
            secrets: runtime.informer("v1", "secrets").await?,
            claims: runtime.informer("v1", "persistentvolumeclaims").await?,
            volumes: runtime.informer("v1", "persistentvolumes").await?,
        })
    }

    /// Returns the services that pods of a namespace see.
    pub(super) fn services(&self, namespace: &str) -> Vec<Arc<Object>> {
        let mut services = self.services.list_in(namespace);
        if namespace != MASTER_NAMESPACE {
            services.extend(self.services.get(&ObjectKey::new(MASTER_NAMESPACE, "kubernetes")));
        }
        services
    }

    /// Returns the data of a config map.
    pub(super) fn config_map(&self, namespace: &str, name: &str) -> Result<BTreeMap<String, Vec<u8>>, String> {
        let map = self.config_maps.get(&ObjectKey::new(namespace, name));
        let map = map.ok_or_else(|| format!("configmaps {name:?} not found"))?;
        Ok(data(&map, |text| Some(text.as_bytes().to_vec())))
    }

    /// Returns the data of a secret.
    pub(super) fn secret(&self, namespace: &str, name: &str) -> Result<BTreeMap<String, Vec<u8>>, String> {
        let secret = self.secrets.get(&ObjectKey::new(namespace, name));
        let secret = secret.ok_or_else(|| format!("secrets {name:?} not found"))?;
        Ok(data(&secret, |text| BASE64_STANDARD.decode(text).ok()))
    }

    /// Returns the name of the volume bound to a claim.
    pub(super) fn volume_of_claim(&self, namespace: &str, name: &str) -> Result<String, String> {
        let claim = self.claims.get(&ObjectKey::new(namespace, name));
        let claim = claim.ok_or_else(|| format!("persistentvolumeclaims {name:?} not found"))?;
        let volume = meta::text(&claim, "spec.volumeName");
        if volume.is_empty() {
            return Err(format!("The claim {name} is not yet bound to a volume"));
        }
        if self.volumes.get(&ObjectKey::new("", volume)).is_none() {
            return Err(format!("persistentvolumes {volume:?} not found"));
        }
        Ok(volume.to_owned())
    }
}

fn data(object: &Object, decode: impl Fn(&str) -> Option<Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    let data = object.get("data").and_then(Value::as_object);
    data.into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), decode(value.as_str()?)?)))
        .collect()
}
