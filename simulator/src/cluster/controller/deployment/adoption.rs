//! Adoption of existing replica sets by a deployment.
//!
//! A replica set without the `pod-template-hash` label gets it in steps, so that none of its pods is orphaned: first
//! its template, then its
//! pods, then, when its controller has observed all of them, the set itself and its selector.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    Deployments, pods,
    replica_sets::{TEMPLATE_HASH_LABEL, hash, without_hash},
    replicas,
};
use crate::{
    api::{Object, Status, meta},
    cluster::runtime::ignore_not_found,
};

impl Deployments {
    /// Takes the next step for each replica set to adopt. Returns true if there was none to take.
    pub(super) async fn adopt(&self, deployment: &Object) -> Result<bool, Status> {
        let Some(selector) = pods::selector(deployment) else {
            return Ok(true);
        };
        let mut foreign = self.sets.list_in(meta::text(deployment, "metadata.namespace"));
        foreign.retain(|set| pods::matches(&selector, set) && label(set, "spec.selector.matchLabels").is_none());
        for set in &foreign {
            self.label(set).await?;
        }
        Ok(foreign.is_empty())
    }

    /// Labels the next of: the template, the pods, the replica set.
    async fn label(&self, set: &Arc<Object>) -> Result<(), Status> {
        let namespace = meta::text(set, "metadata.namespace");
        let hash = hash(&without_hash(set));
        if label(set, "spec.template.metadata.labels") != Some(&hash) {
            return self.change(set, &["/spec/template/metadata/labels"], &hash).await;
        }
        if pods::number(set, "metadata.generation") > pods::number(set, "status.observedGeneration") {
            return Ok(());
        }
        let Some(selector) = pods::selector(set) else {
            return Ok(());
        };
        let api = self.pod_api.in_namespace(namespace);
        for pod in pods::selected(&self.pods, namespace, &selector) {
            if label(&pod, "metadata.labels") != Some(&hash) {
                let patch = json!({"metadata": {"labels": {TEMPLATE_HASH_LABEL: hash}}});
                ignore_not_found(api.patch(meta::text(&pod, "metadata.name"), &patch).await)?;
            }
        }
        if pods::number(set, "status.fullyLabeledReplicas") != replicas(set) {
            return Ok(());
        }
        self.change(set, &["/metadata/labels", "/spec/selector/matchLabels"], &hash)
            .await
    }

    /// Adds the label to the maps at these dotted paths of a replica set.
    async fn change(&self, set: &Object, places: &[&str], hash: &str) -> Result<(), Status> {
        let mut changed = Value::Object(set.clone());
        for place in places {
            if let Some((parent, field)) = place.rsplit_once('/')
                && let Some(parent) = changed.pointer_mut(parent)
            {
                parent[field][TEMPLATE_HASH_LABEL] = hash.into();
            }
        }
        let Value::Object(changed) = changed else {
            return Ok(());
        };
        let api = self.set_api.in_namespace(meta::text(set, "metadata.namespace"));
        api.update(changed).await.map(drop)
    }
}

/// Returns the template's label in the map at a dotted path.
fn label<'a>(object: &'a Object, path: &str) -> Option<&'a str> {
    meta::lookup(object, path)?.get(TEMPLATE_HASH_LABEL)?.as_str()
}
