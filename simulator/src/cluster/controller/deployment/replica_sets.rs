//! The replica sets of a deployment.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Deployments, REVISION_ANNOTATION, pods, replicas, revision, rollout};
use crate::{
    api::{Object, Status, meta},
    client::EventType,
    cluster::{names::fnv1a, runtime::ignore_not_found},
};

/// The label with the hash of a pod's template.
pub(super) const TEMPLATE_HASH_LABEL: &str = "pod-template-hash";

/// The replica sets of a deployment: the one with the current template, if it exists, and the others, oldest first.
pub(super) struct ReplicaSets {
    pub(super) new: Option<Arc<Object>>,
    pub(super) old: Vec<Arc<Object>>,
}

impl ReplicaSets {
    pub(super) fn all(&self) -> Vec<&Arc<Object>> {
        self.old.iter().chain(&self.new).collect()
    }

    /// Returns the replica sets with replicas, and the new one.
    pub(super) fn active(&self) -> Vec<&Arc<Object>> {
        let old = self.old.iter().filter(|set| replicas(set) > 0);
        old.chain(&self.new).collect()
    }

    /// Returns the sum of `spec.replicas`.
    pub(super) fn replicas(&self) -> i64 {
        self.all().iter().map(|set| replicas(set)).sum()
    }

    /// Returns the revision that follows those of the old replica sets.
    fn next_revision(&self) -> i64 {
        self.old.iter().map(|set| revision(set)).max().unwrap_or_default() + 1
    }
}

/// Returns the template of a replica set without the label added by its deployment.
pub(super) fn without_hash(set: &Object) -> Value {
    let mut template = meta::lookup(set, "spec.template").cloned().unwrap_or_default();
    if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.shift_remove(TEMPLATE_HASH_LABEL);
    }
    template
}

/// Returns the FNV-1a hash of a template's JSON text.
pub(super) fn hash(template: &Value) -> String {
    fnv1a(&template.to_string()).to_string()
}

impl Deployments {
    /// Returns the replica sets selected by a deployment.
    pub(super) fn replica_sets(&self, deployment: &Object) -> ReplicaSets {
        let namespace = meta::text(deployment, "metadata.namespace");
        let selector = pods::selector(deployment);
        let mut sets = self.sets.list_in(namespace);
        sets.retain(|set| selector.as_ref().is_some_and(|selector| pods::matches(selector, set)));
        let text = |set: &Object, path: &str| meta::text(set, path).to_owned();
        sets.sort_by_key(|set| {
            let created = text(set, "metadata.creationTimestamp");
            (created, revision(set), text(set, "metadata.name"))
        });
        let template = meta::lookup(deployment, "spec.template");
        let new = sets.iter().position(|set| template == Some(&without_hash(set)));
        let new = new.map(|at| sets.remove(at));
        ReplicaSets { new, old: sets }
    }

    /// Ensures that a replica set with the deployment's template exists and has the highest revision. Returns true if
    /// it was just created.
    pub(super) async fn ensure_new(&self, deployment: &Object, sets: &mut ReplicaSets) -> Result<bool, Status> {
        if sets.new.is_some() {
            self.annotate_new(deployment, sets).await?;
            return Ok(false);
        }
        let next = sets.next_revision();
        let set = self.create(deployment, sets, next).await?;
        sets.new = Some(set);
        self.set_revision(deployment, next).await?;
        Ok(true)
    }

    /// Sets the deployment's annotations and the highest revision on the replica set with its template, if it exists.
    pub(super) async fn annotate_new(&self, deployment: &Object, sets: &mut ReplicaSets) -> Result<(), Status> {
        let Some(new) = &sets.new else { return Ok(()) };
        let annotations = annotations(deployment, new, sets.next_revision().max(revision(new)));
        let mut number = revision(new);
        if meta::lookup(new, "metadata.annotations").and_then(Value::as_object) != Some(&annotations) {
            let mut changed = new.as_ref().clone();
            meta::metadata(&mut changed).insert("annotations".to_owned(), Value::Object(annotations));
            let api = self.set_api.in_namespace(meta::text(deployment, "metadata.namespace"));
            let updated = api.update(changed).await?;
            number = revision(&updated);
            sets.new = Some(updated);
        }
        if number != revision(deployment) {
            self.set_revision(deployment, number).await?;
        }
        Ok(())
    }

    async fn create(&self, deployment: &Object, sets: &ReplicaSets, number: i64) -> Result<Arc<Object>, Status> {
        let mut template = meta::lookup(deployment, "spec.template").cloned().unwrap_or_default();
        let hash = hash(&template);
        let name = format!("{}-{hash}", meta::text(deployment, "metadata.name"));
        template["metadata"]["labels"][TEMPLATE_HASH_LABEL] = hash.as_str().into();
        let mut selector = meta::lookup(deployment, "spec.selector").cloned().unwrap_or_default();
        selector["matchLabels"][TEMPLATE_HASH_LABEL] = hash.into();
        let count = rollout::new_replicas(deployment, sets, 0);
        let set = json!({
            "metadata": {
                "name": name,
                "labels": template["metadata"]["labels"],
                "annotations": annotations(deployment, &Map::new(), number),
            },
            "spec": {"replicas": count, "selector": selector, "template": template},
        });
        let api = self.set_api.in_namespace(meta::text(deployment, "metadata.namespace"));
        let set = api.create(set).await?;
        if count > 0 {
            let message = format!("Scaled up replica set {name} to {count}");
            self.event(deployment, EventType::Normal, "ScalingReplicaSet", &message)
                .await;
        }
        Ok(set)
    }

    /// Scales a replica set. Returns false if it already has this number of replicas.
    pub(super) async fn scale(&self, deployment: &Object, set: &mut Arc<Object>, to: i64) -> Result<bool, Status> {
        let from = replicas(set);
        if from == to {
            return Ok(false);
        }
        let mut changed = set.as_ref().clone();
        meta::child(&mut changed, "spec").insert("replicas".to_owned(), to.into());
        let api = self.set_api.in_namespace(meta::text(deployment, "metadata.namespace"));
        *set = api.update(changed).await?;
        let direction = if to > from { "up" } else { "down" };
        let message = format!(
            "Scaled {direction} replica set {} to {to}",
            meta::text(set, "metadata.name")
        );
        self.event(deployment, EventType::Normal, "ScalingReplicaSet", &message)
            .await;
        Ok(true)
    }

    /// Deletes the oldest replica sets without pods beyond `revisionHistoryLimit`.
    pub(super) async fn clean_up(&self, deployment: &Object, sets: &ReplicaSets) -> Result<(), Status> {
        let Some(kept) = meta::lookup(deployment, "spec.revisionHistoryLimit").and_then(Value::as_u64) else {
            return Ok(());
        };
        let surplus = sets
            .old
            .len()
            .saturating_sub(usize::try_from(kept).unwrap_or(usize::MAX));
        let api = self.set_api.in_namespace(meta::text(deployment, "metadata.namespace"));
        for set in sets.old.iter().take(surplus) {
            let number = |path: &str| pods::number(set, path);
            let observed = number("metadata.generation") <= number("status.observedGeneration");
            if number("status.replicas") == 0 && replicas(set) == 0 && observed {
                ignore_not_found(api.delete(meta::text(set, "metadata.name"), None).await)?;
            }
        }
        Ok(())
    }
}

/// Returns the annotations of a replica set: its own, those of the deployment, and its revision.
fn annotations(deployment: &Object, set: &Object, number: i64) -> Map<String, Value> {
    let of = |object: &Object| match meta::lookup(object, "metadata.annotations") {
        Some(Value::Object(annotations)) => annotations.clone(),
        _ => Map::new(),
    };
    let mut annotations = of(set);
    for (name, value) in of(deployment) {
        if name != REVISION_ANNOTATION && name != "kubectl.kubernetes.io/last-applied-configuration" {
            annotations.insert(name, value);
        }
    }
    annotations.insert(REVISION_ANNOTATION.to_owned(), number.to_string().into());
    annotations
}
