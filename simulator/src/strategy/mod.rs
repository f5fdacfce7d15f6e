//! Strategies: the behaviour that is special to a kind, in one file per kind, named like it.
//!
//! - A [`Strategy`] overrides the generic behaviour, which its default methods implement. The data file of a kind
//!   names its strategy.
//! - Strategies change and validate objects. They do not store anything and do not use the registry.
//! - `validate/` contains the rules that several kinds share; `table.rs` the table of strategies by name.
//!
//! Source of the semantics: the strategies of Kubernetes v1.2 (`pkg/registry/*/strategy.go`) and its validation, as
//! recorded.

mod action;
pub(crate) mod allocation;
mod binding;
mod bootstrap;
mod component;
mod componentstatus;
mod configmap;
mod context;
mod daemonset;
mod deletion;
mod deployment;
mod endpoints;
mod event;
mod generic;
mod horizontalpodautoscaler;
mod ingress;
mod job;
pub(crate) mod limitrange;
mod limits;
mod location;
pub(crate) mod namespace;
mod node;
mod object;
mod persistentvolume;
mod persistentvolumeclaim;
mod pod;
mod pod_usage;
mod podtemplate;
mod replicaset;
mod replicationcontroller;
mod replicationcontrollerdummy;
mod resource_name;
pub(crate) mod resourcequota;
pub(crate) mod scale;
pub(crate) mod secret;
mod service;
pub(crate) mod serviceaccount;
pub(crate) mod subsets;
mod table;
mod token_mount;
mod usage;
pub(crate) mod validate;
pub(crate) mod validation;

#[cfg(test)]
mod tests;

pub use allocation::Cidr;
pub(crate) use component::Component;

pub(crate) use action::Action;
pub(crate) use allocation::{Allocation, Claims};
pub(crate) use bootstrap::initial_objects;
pub(crate) use context::Context;
pub(crate) use deletion::{DELETE_OPTIONS, Deletion};
pub(crate) use generic::Strategy;
pub(crate) use location::{Location, Lookup, ObjectId};
pub(crate) use node::NODES;
pub(crate) use resource_name::ResourceName;
pub(crate) use scale::Scale;
pub(crate) use table::{counted_as, of};
pub(crate) use usage::Usage;
