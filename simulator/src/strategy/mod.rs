//! What is special about each kind: one file per kind, named like it.
//!
//! Source of the semantics: the strategies of Kubernetes v1.2 (`pkg/registry/*/strategy.go`) and its validation, as recorded.

pub(crate) mod allocation;
pub(crate) mod configmap;
pub(crate) mod daemonset;
pub(crate) mod deployment;
pub(crate) mod endpoints;
pub(crate) mod event;
pub(crate) mod horizontalpodautoscaler;
pub(crate) mod ingress;
pub(crate) mod job;
pub(crate) mod limitrange;
pub(crate) mod namespace;
pub(crate) mod node;
pub(crate) mod persistentvolume;
pub(crate) mod persistentvolumeclaim;
pub(crate) mod pod;
pub(crate) mod podtemplate;
pub(crate) mod replicaset;
pub(crate) mod replicationcontroller;
pub(crate) mod resourcequota;
pub(crate) mod secret;
pub(crate) mod service;
pub(crate) mod serviceaccount;
pub(crate) mod subsets;
pub(crate) mod validate;
