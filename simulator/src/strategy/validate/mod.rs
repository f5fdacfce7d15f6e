//! Rules that several kinds share: names, metadata, containers, volumes, selectors, quantities.
//!
//! - Objects are decoded, pruned to the fields of their kind, and defaulted. Absent values read as zero.
//! - Guarantees: every error of an object is reported at once, in v1.2's order, with v1.2's fields and texts,
//!   including its mistakes; entries of maps, which v1.2 visits in random order, are visited in the order of their
//!   keys; no object causes a panic; at most 10,000 errors are reported.
//! - Source: `api/validation` and `apis/extensions/validation` of Kubernetes v1.2.

pub(crate) mod affinity;
pub(crate) mod container;
pub(crate) mod cursor;
pub(crate) mod go_json;
pub(crate) mod internal_form;
pub(crate) mod internal_types;
pub(crate) mod metadata;
pub(crate) mod name;
pub(crate) mod pod_field;
pub(crate) mod pod_spec;
pub(crate) mod posix_regex;
pub(crate) mod resources;
pub(crate) mod selector;
pub(crate) mod volumes;
