//! Rollback of a deployment to an earlier template.

use super::{Deployments, replica_sets, replica_sets::ReplicaSets, revision};
use crate::{
    api::{Object, Status, meta},
    client::EventType,
};

impl Deployments {
    /// Restores the template of revision `to`; 0 is the one before the current.
    pub(super) async fn roll_back(&self, deployment: &Object, sets: &ReplicaSets, to: i64) -> Result<(), Status> {
        const NOT_FOUND: &str = "DeploymentRollbackRevisionNotFound";
        let all = sets.all();
        let mut revisions: Vec<i64> = all.iter().map(|set| revision(set)).collect();
        revisions.sort_unstable();
        let last = revisions.iter().rev().nth(1).copied().unwrap_or_default();
        let to = if to == 0 { last } else { to };
        let mut changed = deployment.clone();
        meta::child(&mut changed, "spec").shift_remove("rollbackTo");
        match all.iter().find(|set| revision(set) == to) {
            _ if to == 0 => {
                self.event(
                    deployment,
                    EventType::Warning,
                    NOT_FOUND,
                    "Unable to find last revision.",
                )
                .await;
            }
            None => {
                let message = "Unable to find the revision to rollback to.";
                self.event(deployment, EventType::Warning, NOT_FOUND, message).await;
            }
            Some(set) => {
                let name = meta::text(deployment, "metadata.name");
                let template = replica_sets::without_hash(set);
                if meta::lookup(deployment, "spec.template") == Some(&template) {
                    let message =
                        format!("The rollback revision contains the same template as current deployment {name:?}");
                    let reason = "DeploymentRollbackTemplateUnchanged";
                    self.event(deployment, EventType::Warning, reason, &message).await;
                } else {
                    meta::child(&mut changed, "spec").insert("template".to_owned(), template);
                    let message = format!("Rolled back deployment {name:?} to revision {to}");
                    self.event(deployment, EventType::Normal, "DeploymentRollback", &message)
                        .await;
                }
            }
        }
        let api = self.api.in_namespace(meta::text(deployment, "metadata.namespace"));
        api.update(changed).await.map(drop)
    }
}
