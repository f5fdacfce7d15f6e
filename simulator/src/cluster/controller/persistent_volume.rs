//! The persistent volume controller: it binds each claim to the smallest volume that fits, and reclaims released
//! volumes.
//!
//! - A volume goes through the phases Pending, Available, Bound and Released, one step per reconciliation. If it
//!   cannot be reclaimed, it is Failed.
//! - As in v1.2, a volume whose claim reference has no UID is never bound.
//! - Limits: no provisioning.
//! - Source: `pkg/controller/persistentvolume` of Kubernetes v1.2.

use std::sync::Arc;

use serde_json::{Value, json};

use super::volume_recycler::{Reclaimed, Recycler, recycled_by};
use crate::{
    api::{Object, Status, meta, quantity::Quantity},
    client::{Api, Informer, ObjectKey, reference},
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
        // A claim may be waiting for a volume that is now available.
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
    let pods = runtime.informer("v1", "pods").await?;
    let keys = queue.clone();
    pods.on_change(move |change| {
        keys.extend(
            change
                .object()
                .and_then(|pod| recycled_by(pod))
                .map(|volume| ObjectKey::new("", volume)),
        );
    });
    let component = Volumes {
        recycler: Recycler {
            volume_api: runtime.api("v1", "persistentvolumes")?,
            pod_api: runtime.api("v1", "pods")?.in_namespace("default"),
            pods,
        },
        volume_api: runtime.api("v1", "persistentvolumes")?,
        claim_api: runtime.api("v1", "persistentvolumeclaims")?,
        volumes,
        claims,
    };
    runtime.work(queue, component);
    Ok(())
}

struct Volumes {
    recycler: Recycler,
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

/// Returns the access modes at a dotted path.
fn modes<'a>(object: &'a Object, path: &str) -> Vec<&'a str> {
    let modes = meta::lookup(object, path).and_then(Value::as_array);
    modes.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn storage(object: &Object, path: &str) -> Option<Quantity> {
    meta::lookup(object, path)?.get("storage")?.as_str()?.parse().ok()
}

impl Volumes {
    /// Advances a volume by one phase.
    async fn volume(&self, volume: &Object) -> Result<(), Status> {
        let reference = meta::lookup(volume, "spec.claimRef");
        let claim = reference.and_then(|reference| {
            let text = |field: &str| reference[field].as_str().unwrap_or_default();
            self.claims.get(&ObjectKey::new(text("namespace"), text("name")))
        });
        match meta::text(volume, "status.phase") {
            "Available" if reference.is_none() => Ok(()),
            "Available" if claim.is_some() => self.set_phase(volume, "Bound").await,
            "Available" => self.set_phase(volume, "Released").await,
            "Bound" => {
                let uid = reference.and_then(|reference| reference["uid"].as_str());
                let is_claimed =
                    claim.is_some_and(|claim| uid.unwrap_or_default() == meta::text(&claim, "metadata.uid"));
                if reference.is_none() || is_claimed {
                    return Ok(());
                }
                self.set_phase(volume, "Released").await
            }
            "Released" if reference.is_some() => match self.recycler.reclaim(volume).await? {
                Reclaimed::Free => self.set_phase(volume, "Pending").await,
                Reclaimed::Failed(why) => self.set_status(volume, "Failed", Some(&why)).await,
                Reclaimed::Kept => Ok(()),
            },
            "Released" | "Failed" => Ok(()),
            _ if reference.is_none() || claim.is_some() => self.set_phase(volume, "Available").await,
            _ if meta::text(volume, "spec.persistentVolumeReclaimPolicy") == "Recycle" => {
                let mut free = volume.clone();
                meta::child(&mut free, "spec").shift_remove("claimRef");
                let free = self.volume_api.update(free).await?;
                self.set_phase(&free, "Available").await
            }
            _ => self.set_phase(volume, "Released").await,
        }
    }

    async fn set_phase(&self, volume: &Object, phase: &str) -> Result<(), Status> {
        self.set_status(volume, phase, None).await
    }

    async fn set_status(&self, volume: &Object, phase: &str, message: Option<&str>) -> Result<(), Status> {
        let mut changed = volume.clone();
        let status = meta::child(&mut changed, "status");
        status.insert("phase".to_owned(), phase.into());
        if let Some(message) = message {
            status.insert("message".to_owned(), message.into());
        }
        self.volume_api.update_status(changed).await.map(drop)
    }

    /// Binds a claim to a volume, if one fits.
    async fn claim(&self, claim: &Object) -> Result<(), Status> {
        let key = ObjectKey::of(claim);
        let api = self.claim_api.in_namespace(&key.namespace);
        if meta::text(claim, "status.phase") == "Bound" {
            return Ok(());
        }
        let Some(volume) = self.find(claim) else {
            if meta::text(claim, "status.phase") == "Pending" {
                return Ok(());
            }
            let mut changed = claim.clone();
            changed.insert("status".into(), json!({"phase": "Pending"}));
            return api.update_status(changed).await.map(drop);
        };
        let volume = match meta::lookup(&volume, "spec.claimRef") {
            Some(_) => volume,
            None => {
                let mut taken = volume.as_ref().clone();
                meta::child(&mut taken, "spec").insert("claimRef".to_owned(), reference(claim));
                self.volume_api.update(taken).await?
            }
        };
        let name = meta::text(&volume, "metadata.name");
        if meta::text(claim, "spec.volumeName") == name {
            return self.bound(claim, &volume).await;
        }
        let mut changed = claim.clone();
        meta::child(&mut changed, "spec").insert("volumeName".to_owned(), name.into());
        match api.update(changed).await {
            Ok(claim) => self.bound(&claim, &volume).await,
            // The claim names another volume, which cannot be changed.
            Err(invalid) if invalid.code == 422 => Ok(()),
            Err(why) => Err(why),
        }
    }

    /// Writes a claim's status: it is bound to this volume.
    async fn bound(&self, claim: &Object, volume: &Object) -> Result<(), Status> {
        let part = |path: &str| meta::lookup(volume, path).cloned().unwrap_or_default();
        let mut changed = claim.clone();
        let status =
            json!({"phase": "Bound", "accessModes": part("spec.accessModes"), "capacity": part("spec.capacity")});
        changed.insert("status".into(), status);
        let api = self.claim_api.in_namespace(meta::text(claim, "metadata.namespace"));
        api.update_status(changed).await.map(drop)
    }

    /// Returns the volume already reserved for a claim, or the smallest available one that satisfies it; volumes with
    /// fewer access modes first.
    fn find(&self, claim: &Object) -> Option<Arc<Object>> {
        let wanted = storage(claim, "spec.resources.requests")?;
        let requested = modes(claim, "spec.accessModes");
        let is_taken = |volume: &Object| {
            let reference = meta::lookup(volume, "spec.claimRef");
            reference.is_some_and(|reference| reference["uid"] == meta::text(claim, "metadata.uid"))
        };
        let fits = |volume: &Arc<Object>| {
            let offered = modes(volume, "spec.accessModes");
            let is_free = meta::lookup(volume, "spec.claimRef").is_none();
            let is_large = storage(volume, "spec.capacity").is_some_and(|has| has >= wanted);
            requested.iter().all(|mode| offered.contains(mode)) && (is_taken(volume) || is_free && is_large)
        };
        let fitting = self.volumes.list().into_iter().filter(fits);
        let key = |volume: &Object| {
            let mut modes = modes(volume, "spec.accessModes");
            modes.sort_unstable();
            let modes: Vec<String> = modes.into_iter().map(str::to_owned).collect();
            (modes.len(), modes, !is_taken(volume), storage(volume, "spec.capacity"))
        };
        fitting.min_by_key(|volume| key(volume))
    }
}
