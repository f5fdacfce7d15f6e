//! The generic verbs over every kind: create, read, list, replace, patch, delete, watch.
//!
//! Promises: an object is validated before it is stored, stored before it is answered, and encoded once. Two writers never overwrite each
//! other unseen. Limits: everything is one process's; nothing here knows of HTTP.
//! Source of the semantics: Kubernetes v1.2's generic registry and the strategies of its kinds, as recorded.

use std::time::Duration;

use bytes::Bytes;

use crate::scheme::{Resource, Syntax};

/// What a path names: a resource, perhaps in a namespace, perhaps one object of it, perhaps a part of that.
#[derive(Clone, Debug)]
pub struct Address {
    /// The resource in its group and version.
    pub resource: &'static Resource,
    /// The namespace; `None` for cluster-wide kinds and for all namespaces.
    pub namespace: Option<String>,
    /// The object's name; `None` for the whole collection.
    pub name: Option<String>,
    /// The sub-resource: `status`, `scale`, `binding` and so on.
    pub subresource: Option<String>,
}

/// The body of a request, as it came.
#[derive(Clone, Debug)]
pub struct Body {
    /// The bytes.
    pub bytes: Bytes,
    /// What they are written in.
    pub syntax: Syntax,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The HTTP status code.
    pub code: u16,
    /// The object, the list or the `Status`, as compact JSON.
    pub body: Bytes,
}

/// How to read one object.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions {
    /// Strip what a user cannot set.
    pub export: bool,
    /// With `export`: keep what belongs to this cluster, such as the namespace.
    pub exact: bool,
}

/// What to list, to watch, or to delete of a collection. The texts are as they came in the query.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// The label selector; empty selects everything.
    pub label_selector: String,
    /// The field selector; empty selects everything.
    pub field_selector: String,
    /// The version to watch from; empty for none.
    pub resource_version: String,
    /// When a watch ends by itself.
    pub timeout: Option<Duration>,
}

/// The three kinds of patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// `application/json-patch+json`, RFC 6902.
    Json,
    /// `application/merge-patch+json`, RFC 7386.
    Merge,
    /// `application/strategic-merge-patch+json`.
    Strategic,
}
