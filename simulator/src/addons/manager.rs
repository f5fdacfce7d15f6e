//! The add-on manager: it creates the add-ons' objects, and creates deleted ones again.
//!
//! Source: the add-on manager of Kubernetes v1.2 (`cluster/saltbase/salt/kube-addons`), which acts at intervals; this
//! one acts at once.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use crate::{
    api::{Object, Status, meta},
    client::{Api, ObjectKey},
    cluster::{Reconcile, Runtime, SYSTEM_NAMESPACE},
};

/// The API versions and resources of add-on objects, by the kind in the manifest.
const RESOURCES: [(&str, &str); 2] = [
    ("ReplicationController", "replicationcontrollers"),
    ("Service", "services"),
];

/// Adds the manager of these objects to the runtime.
pub(super) async fn add(runtime: &Arc<Runtime>, objects: Vec<Object>) -> Result<(), Status> {
    let namespaces = runtime.api("v1", "namespaces")?;
    ensure_namespace(&namespaces).await?;
    for (kind, plural) in RESOURCES {
        let wanted: BTreeMap<String, Object> = objects
            .iter()
            .filter(|object| object.get("kind").is_some_and(|of| of == kind))
            .map(|object| (meta::text(object, "metadata.name").to_owned(), object.clone()))
            .collect();
        let queue = runtime.queue();
        queue.extend(
            wanted
                .keys()
                .map(|name| ObjectKey::new(SYSTEM_NAMESPACE, name.as_str())),
        );
        let keys = queue.clone();
        runtime.informer("v1", plural).await?.on_change(move |change| {
            if change.new.is_none() {
                keys.extend(change.old.iter().map(|object| ObjectKey::of(object)));
            }
        });
        let manager = Manager {
            api: runtime.api("v1", plural)?.in_namespace(SYSTEM_NAMESPACE),
            namespaces: namespaces.clone(),
            wanted,
        };
        runtime.work(queue, manager);
    }
    Ok(())
}

/// Creates the system namespace, if it does not exist.
async fn ensure_namespace(namespaces: &Api) -> Result<(), Status> {
    match namespaces.create(json!({"metadata": {"name": SYSTEM_NAMESPACE}})).await {
        Err(refused) if refused.code != 409 => Err(refused),
        _ => Ok(()),
    }
}

/// The manager of the objects of one resource.
struct Manager {
    api: Api,
    namespaces: Api,
    wanted: BTreeMap<String, Object>,
}

impl Manager {
    /// Creates an object. A service whose address is taken gets another one.
    async fn create(&self, object: &Object) -> Result<(), Status> {
        match self.api.create(Value::Object(object.clone())).await {
            Err(invalid) if invalid.code == 422 && meta::lookup(object, "spec.clusterIP").is_some() => {
                let mut elsewhere = object.clone();
                meta::child(&mut elsewhere, "spec").shift_remove("clusterIP");
                self.api.create(Value::Object(elsewhere)).await.map(drop)
            }
            created => created.map(drop),
        }
    }
}

impl Reconcile for Manager {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        let wanted = (key.namespace == SYSTEM_NAMESPACE).then(|| self.wanted.get(&key.name));
        let Some(object) = wanted.flatten() else {
            return Ok(());
        };
        match self.create(object).await {
            // The object already exists.
            Err(exists) if exists.code == 409 && exists.reason == crate::api::Reason::AlreadyExists => Ok(()),
            Err(missing) if missing.code == 404 => {
                ensure_namespace(&self.namespaces).await?;
                Err(missing)
            }
            other => other,
        }
    }
}
