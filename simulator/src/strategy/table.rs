//! Table of strategies by name.

use super::{
    binding::BindingStrategy,
    componentstatus::ComponentStatusStrategy,
    configmap::ConfigMapStrategy,
    daemonset::DaemonSetStrategy,
    deployment::DeploymentStrategy,
    endpoints::EndpointsStrategy,
    event::EventStrategy,
    generic::{Generic, Strategy},
    horizontalpodautoscaler::HorizontalPodAutoscalerStrategy,
    ingress::IngressStrategy,
    job::JobStrategy,
    limitrange::LimitRangeStrategy,
    namespace::NamespaceStrategy,
    node::NodeStrategy,
    persistentvolume::PersistentVolumeStrategy,
    persistentvolumeclaim::PersistentVolumeClaimStrategy,
    pod::PodStrategy,
    podtemplate::PodTemplateStrategy,
    replicaset::ReplicaSetStrategy,
    replicationcontroller::ReplicationControllerStrategy,
    replicationcontrollerdummy::ReplicationControllerDummyStrategy,
    resourcequota::ResourceQuotaStrategy,
    secret::SecretStrategy,
    service::ServiceStrategy,
    serviceaccount::ServiceAccountStrategy,
};
use crate::scheme::Resource;

/// Strategies of the kinds that quotas count.
const COUNTED: [&str; 7] = [
    "configmap",
    "persistentvolumeclaim",
    "pod",
    "replicationcontroller",
    "resourcequota",
    "secret",
    "service",
];

/// Returns the strategy that the data file of the resource's kind names. Default: the generic one.
pub(crate) fn of(resource: &Resource) -> &'static dyn Strategy {
    named(&resource.strategy.name).unwrap_or(&Generic)
}

/// Returns a strategy by name.
pub(super) fn named(name: &str) -> Option<&'static dyn Strategy> {
    Some(match name {
        "binding" => &BindingStrategy,
        "componentstatus" => &ComponentStatusStrategy,
        "configmap" => &ConfigMapStrategy,
        "daemonset" => &DaemonSetStrategy,
        "deployment" => &DeploymentStrategy,
        "endpoints" => &EndpointsStrategy,
        "event" => &EventStrategy,
        "horizontalpodautoscaler" => &HorizontalPodAutoscalerStrategy,
        "ingress" => &IngressStrategy,
        "job" => &JobStrategy,
        "limitrange" => &LimitRangeStrategy,
        "namespace" => &NamespaceStrategy,
        "node" => &NodeStrategy,
        "persistentvolume" => &PersistentVolumeStrategy,
        "persistentvolumeclaim" => &PersistentVolumeClaimStrategy,
        "pod" => &PodStrategy,
        "podtemplate" => &PodTemplateStrategy,
        "replicaset" => &ReplicaSetStrategy,
        "replicationcontroller" => &ReplicationControllerStrategy,
        "replicationcontrollerdummy" => &ReplicationControllerDummyStrategy,
        "resourcequota" => &ResourceQuotaStrategy,
        "secret" => &SecretStrategy,
        "service" => &ServiceStrategy,
        "serviceaccount" => &ServiceAccountStrategy,
        _ => return None,
    })
}

/// Returns the strategy of the kind that quotas count as `name`.
pub(crate) fn counted_as(name: &str) -> Option<&'static dyn Strategy> {
    COUNTED
        .iter()
        .filter_map(|counted| named(counted))
        .find(|strategy| strategy.quota_resources().contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::Scheme;

    #[test]
    fn every_kind_with_a_path_names_a_strategy_that_exists() {
        for resource in Scheme::builtin().resources() {
            let name = &resource.strategy.name;
            assert!(named(name).is_some(), "{}: no strategy {name:?}", resource.kind);
        }
    }
}
