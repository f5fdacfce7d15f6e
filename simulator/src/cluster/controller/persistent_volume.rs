//! Claims are bound to the smallest volumes that fit; volumes whose claims are gone are released, recycled or deleted.
//!
//! Limits: recycling takes no time and runs no pod.
//! Source: `pkg/controller/persistentvolume` of Kubernetes v1.2.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    api::{Object, Status, meta, quantity::Quantity},
    client::{Api, Informer, ObjectKey},
    cluster::runtime::{Reconcile, Runtime},
};

/// Adds the controller to the runtime.
pub(super) async fn add(runtime: &Arc<Runtime>) -> Result<(), Status> {
    let queue = runtime.queue();
    let volumes = runtime.informer("v1", "persistentvolumes").await?;
    let claims = runtime.informer("v1", "persistentvolumeclaims").await?;
    let (keys, cache) = (queue.clone(), claims.clone());
    volumes.on_change(move |change| {
        keys.extend(change.object().map(|volume| ObjectKey::of(volume)));
        // A volume that is free may be what a claim waits for.
        let waiting = cache
            .list()
            .into_iter()
            .filter(|claim| meta::text(claim, "spec.volumeName").is_empty());
        keys.extend(waiting.map(|claim| ObjectKey::of(&claim)));
    });
    let keys = queue.clone();
    claims.on_change(move |change| {
        for claim in change.old.iter().chain(&change.new) {
            keys.add(ObjectKey::of(claim));
            let volume = meta::text(claim, "spec.volumeName");
            if !volume.is_empty() {
                keys.add(ObjectKey::new("", volume));
            }
        }
    });
    let component = Volumes {
        volume_api: runtime.api("v1", "persistentvolumes")?,
        claim_api: runtime.api("v1", "persistentvolumeclaims")?,
        volumes,
        claims,
    };
    runtime.work(queue, component);
    Ok(())
}

struct Volumes {
    volume_api: Api,
    claim_api: Api,
    volumes: Arc<Informer>,
    claims: Arc<Informer>,
}

impl Reconcile for Volumes {
    async fn reconcile(&self, key: &ObjectKey) -> Result<(), Status> {
        if key.namespace.is_empty() {
            match self.volumes.get(key) {
                Some(volume) => self.volume(&volume).await,
                None => Ok(()),
            }
        } else {
            match self.claims.get(key) {
                Some(claim) => self.claim(&claim).await,
                None => Ok(()),
            }
        }
    }
}

/// The access modes at a dotted path.
fn modes<'a>(object: &'a Object, path: &str) -> Vec<&'a str> {
    let modes = meta::lookup(object, path).and_then(Value::as_array);
    modes.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn storage(object: &Object, path: &str) -> Option<Quantity> {
    meta::lookup(object, path)?.get("storage")?.as_str()?.parse().ok()
}

impl Volumes {
    /// Brings a volume to the phase that its claim gives it.
    async fn volume(&self, volume: &Object) -> Result<(), Status> {
        let Some(reference) = meta::lookup(volume, "spec.claimRef") else {
            return self.set_phase(volume, "Available").await;
        };
        let text = |field: &str| reference[field].as_str().unwrap_or_default();
        let claim = self.claims.get(&ObjectKey::new(text("namespace"), text("name")));
        let bound = claim.is_some_and(|claim| meta::text(&claim, "metadata.uid") == text("uid"));
        if bound {
            return self.set_phase(volume, "Bound").await;
        }
        let name = meta::text(volume, "metadata.name");
        if text("uid").is_empty() {
            return self.set_phase(volume, "Released").await;
        }
        match meta::text(volume, "spec.persistentVolumeReclaimPolicy") {
            "Delete" => match self.volume_api.delete(name, None).await {
                Err(gone) if gone.code == 404 => Ok(()),
                other => other,
            },
            "Recycle" => {
                let mut free = volume.clone();
                meta::child(&mut free, "spec").shift_remove("claimRef");
                let free = self.volume_api.update(free).await?;
                self.set_phase(&free, "Available").await
            }
            _ => self.set_phase(volume, "Released").await,
        }
    }

    async fn set_phase(&self, volume: &Object, phase: &str) -> Result<(), Status> {
        if meta::text(volume, "status.phase") == phase {
            return Ok(());
        }
        let mut changed = volume.clone();
        changed.insert("status".into(), json!({"phase": phase}));
        self.volume_api.update_status(changed).await.map(drop)
    }

    /// Binds a claim to a volume, if one fits.
    async fn claim(&self, claim: &Object) -> Result<(), Status> {
        let key = ObjectKey::of(claim);
        let api = self.claim_api.in_namespace(&key.namespace);
        let name = meta::text(claim, "spec.volumeName");
        if !name.is_empty() {
            let volume = self.volumes.get(&ObjectKey::new("", name));
            return match volume {
                Some(volume) if meta::text(claim, "status.phase") != "Bound" => self.bound(claim, &volume).await,
                _ => Ok(()),
            };
        }
        let Some(volume) = self.find(claim) else {
            if meta::text(claim, "status.phase") == "Pending" {
                return Ok(());
            }
            let mut changed = claim.clone();
            changed.insert("status".into(), json!({"phase": "Pending"}));
            return api.update_status(changed).await.map(drop);
        };
        let text = |path: &str| meta::text(claim, path);
        let mut taken = volume.as_ref().clone();
        let reference = json!({
            "kind": "PersistentVolumeClaim",
            "namespace": key.namespace,
            "name": key.name,
            "uid": text("metadata.uid"),
            "apiVersion": "v1",
            "resourceVersion": text("metadata.resourceVersion"),
        });
        meta::child(&mut taken, "spec").insert("claimRef".to_owned(), reference);
        let volume = self.volume_api.update(taken).await?;
        self.set_phase(&volume, "Bound").await?;
        let mut changed = claim.clone();
        let volume_name = meta::text(&volume, "metadata.name").into();
        meta::child(&mut changed, "spec").insert("volumeName".to_owned(), volume_name);
        let claim = api.update(changed).await?;
        self.bound(&claim, &volume).await
    }

    /// Says in a claim's status what it is bound to.
    async fn bound(&self, claim: &Object, volume: &Object) -> Result<(), Status> {
        let part = |path: &str| meta::lookup(volume, path).cloned().unwrap_or_default();
        let mut changed = claim.clone();
        let status =
            json!({"phase": "Bound", "accessModes": part("spec.accessModes"), "capacity": part("spec.capacity")});
        changed.insert("status".into(), status);
        let api = self.claim_api.in_namespace(meta::text(claim, "metadata.namespace"));
        api.update_status(changed).await.map(drop)
    }

    /// The smallest free volume that has what a claim asks for.
    fn find(&self, claim: &Object) -> Option<Arc<Object>> {
        let wanted = storage(claim, "spec.resources.requests")?;
        let asked = modes(claim, "spec.accessModes");
        let fits = |volume: &Arc<Object>| {
            let offered = modes(volume, "spec.accessModes");
            let free = meta::lookup(volume, "spec.claimRef").is_none();
            free && asked.iter().all(|mode| offered.contains(mode))
                && storage(volume, "spec.capacity").is_some_and(|has| has >= wanted)
        };
        let mut fitting: Vec<_> = self.volumes.list().into_iter().filter(fits).collect();
        // Volumes with fewer access modes come first, as v1.2 looks through them.
        fitting.sort_by_key(|volume| {
            (
                modes(volume, "spec.accessModes").len(),
                storage(volume, "spec.capacity"),
            )
        });
        fitting.into_iter().next()
    }
}
