//! Rollout of a deployment from its old replica sets to the new one.

use std::sync::Arc;

use serde_json::Value;

use super::{Deployments, pods, replica_sets::ReplicaSets, replicas};
use crate::api::{Object, Status, meta};

/// Returns a field that is a number or a percentage of the replicas, as a number.
fn int_or_percent(deployment: &Object, field: &str, round_up: bool) -> i64 {
    let value = meta::lookup(deployment, &format!("spec.strategy.rollingUpdate.{field}"));
    let Some(text) = value.and_then(Value::as_str) else {
        return value.and_then(Value::as_i64).unwrap_or(1);
    };
    let percent: i64 = text.trim_end_matches('%').parse().unwrap_or_default();
    let hundredths = percent.saturating_mul(replicas(deployment));
    if round_up {
        hundredths.saturating_add(99) / 100
    } else {
        hundredths / 100
    }
}

/// Returns the maximum number of unavailable pods: at least 1 if `maxSurge` is 0.
fn max_unavailable(deployment: &Object) -> i64 {
    match int_or_percent(deployment, "maxUnavailable", false) {
        0 if int_or_percent(deployment, "maxSurge", true) == 0 => 1,
        count => count,
    }
}

/// Returns the next number of replicas of the new replica set, which has `current` now.
pub(super) fn new_replicas(deployment: &Object, sets: &ReplicaSets, current: i64) -> i64 {
    let wanted = replicas(deployment);
    if meta::text(deployment, "spec.strategy.type") == "Recreate" {
        return wanted;
    }
    let max_pods = wanted.saturating_add(int_or_percent(deployment, "maxSurge", true));
    let total = sets.replicas();
    if total >= max_pods {
        return current;
    }
    current + (max_pods - total).min(wanted - current)
}

impl Deployments {
    /// Deletes all old pods before it creates new ones.
    pub(super) async fn recreate(&self, deployment: &Object, mut sets: ReplicaSets) -> Result<(), Status> {
        let mut scaled = false;
        for set in &mut sets.old {
            scaled |= self.scale(deployment, set, 0).await?;
        }
        if scaled {
            return self.report(deployment, &sets).await;
        }
        if self.ensure_new(deployment, &mut sets).await? {
            // The deployment's change enqueues it again.
            return Ok(());
        }
        if let Some(new) = &mut sets.new
            && self.scale(deployment, new, replicas(deployment)).await?
        {
            return self.report(deployment, &sets).await;
        }
        self.clean_up(deployment, &sets).await?;
        self.report(deployment, &sets).await
    }

    /// Creates new pods and deletes old ones, within the limits of the strategy.
    pub(super) async fn roll(&self, deployment: &Object, mut sets: ReplicaSets) -> Result<(), Status> {
        if self.ensure_new(deployment, &mut sets).await? {
            // The deployment's change enqueues it again.
            return Ok(());
        }
        let current = sets.new.as_ref().map(|new| replicas(new)).unwrap_or_default();
        let wanted = replicas(deployment);
        let count = if current > wanted {
            wanted
        } else {
            new_replicas(deployment, &sets, current)
        };
        if let Some(new) = &mut sets.new
            && self.scale(deployment, new, count).await?
        {
            return self.report(deployment, &sets).await;
        }
        if self.scale_down_old(deployment, &mut sets).await? {
            return self.report(deployment, &sets).await;
        }
        self.clean_up(deployment, &sets).await?;
        self.report(deployment, &sets).await
    }

    /// Scales the old replica sets down as far as availability allows. Returns whether anything changed.
    async fn scale_down_old(&self, deployment: &Object, sets: &mut ReplicaSets) -> Result<bool, Status> {
        if sets.old.iter().all(|set| replicas(set) == 0) {
            return Ok(false);
        }
        let min_ready = pods::number(deployment, "spec.minReadySeconds");
        let least = replicas(deployment) - max_unavailable(deployment);
        let new: Vec<&Arc<Object>> = sets.new.iter().collect();
        let unavailable =
            new.iter().map(|set| replicas(set)).sum::<i64>() - self.available(deployment, &new, min_ready);
        let surplus = sets.replicas() - least - unavailable;
        if surplus <= 0 {
            return Ok(false);
        }
        let unhealthy = self.scale_down_unready(deployment, sets, surplus).await?;
        let available = self.available(deployment, &sets.active(), min_ready);
        let mut left = available - least;
        let mut scaled = false;
        for set in &mut sets.old {
            let count = left.min(replicas(set));
            if count <= 0 {
                continue;
            }
            let to = replicas(set) - count;
            scaled |= self.scale(deployment, set, to).await?;
            left -= count;
        }
        Ok(unhealthy || scaled)
    }

    /// Scales the old replica sets down by their pods that are not ready, at most `surplus`. Returns whether anything
    /// changed.
    async fn scale_down_unready(
        &self,
        deployment: &Object,
        sets: &mut ReplicaSets,
        mut surplus: i64,
    ) -> Result<bool, Status> {
        let mut scaled = false;
        for set in &mut sets.old {
            let unready = replicas(set) - self.available(deployment, &[&*set], 0);
            let count = surplus.min(unready);
            if replicas(set) == 0 || count <= 0 {
                continue;
            }
            let to = replicas(set) - count;
            scaled |= self.scale(deployment, set, to).await?;
            surplus -= count;
        }
        Ok(scaled)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!(2), 4, true, 2)]
    #[case(json!("50%"), 5, true, 3)]
    #[case(json!("50%"), 5, false, 2)]
    #[case(json!("0%"), 5, true, 0)]
    fn a_limit_is_a_count_or_a_percentage(
        #[case] value: Value,
        #[case] replicas: i64,
        #[case] round_up: bool,
        #[case] count: i64,
    ) {
        let deployment = json!({"spec": {"replicas": replicas, "strategy": {"rollingUpdate": {"maxSurge": value}}}});
        assert_eq!(
            int_or_percent(deployment.as_object().unwrap(), "maxSurge", round_up),
            count
        );
    }

    #[rstest]
    #[case(json!({"maxSurge": 0, "maxUnavailable": "25%"}), 1)]
    #[case(json!({"maxSurge": 1, "maxUnavailable": "25%"}), 0)]
    #[case(json!({"maxSurge": 0, "maxUnavailable": 2}), 2)]
    fn a_rollout_can_always_make_progress(#[case] limits: Value, #[case] count: i64) {
        let deployment = json!({"spec": {"replicas": 3, "strategy": {"rollingUpdate": limits}}});
        assert_eq!(max_unavailable(deployment.as_object().unwrap()), count);
    }
}
