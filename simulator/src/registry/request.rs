//! Requests and responses of the registry.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;

use crate::{
    api::Status,
    scheme::{Resource, Syntax},
};

/// Target of a request: a resource and, if given, a namespace, an object's name and a subresource.
#[derive(Clone, Debug)]
pub(crate) struct RequestInfo {
    /// Resource in its group and version.
    pub resource: Arc<Resource>,
    /// Namespace. `None` for cluster-scoped kinds and for all namespaces.
    pub namespace: Option<String>,
    /// Name of the object. `None` for the collection.
    pub name: Option<String>,
    /// Subresource: `status`, `scale`, `binding` and so on.
    pub subresource: Option<String>,
}

impl RequestInfo {
    /// Name of the object, or an empty text for a collection.
    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// Namespace, or an empty text without one.
    pub(super) fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }

    /// Returns the same request for an object of another name.
    pub(super) fn with_name(&self, name: &str) -> Self {
        Self {
            name: Some(name.to_owned()),
            subresource: None,
            ..self.clone()
        }
    }
}

/// Body of a request.
#[derive(Clone, Debug)]
pub(crate) struct RequestBody {
    /// Encoded object.
    pub bytes: Bytes,
    /// Syntax of the bytes.
    pub syntax: Syntax,
}

/// Response of a verb.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    /// HTTP status code.
    pub code: u16,
    /// Object, list or `Status` as compact JSON.
    pub body: Bytes,
}

impl Response {
    /// Response 200 with an object or a list.
    pub(super) fn ok(body: Bytes) -> Self {
        Self { code: 200, body }
    }

    /// Response with a `Status`.
    pub(super) fn status(status: &Status) -> Self {
        Self {
            code: status.code,
            body: status.to_value().to_string().into(),
        }
    }
}

/// Options of a GET of one object.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GetOptions {
    /// Removes the fields that a user cannot set.
    pub export: bool,
    /// With `export`: keeps the fields that are specific to this cluster, such as the namespace.
    pub exact: bool,
}

/// Options of a list, a watch, or a delete of a collection. Selectors and versions are unparsed query parameters.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// Label selector. Empty selects everything.
    pub label_selector: String,
    /// Field selector. Empty selects everything.
    pub field_selector: String,
    /// Resource version to watch from, or the minimum version of a list. Empty for none.
    pub resource_version: String,
    /// Timeout of a watch. Default: none.
    pub timeout: Option<Duration>,
    /// Maximum number of objects in a list. 0 for all.
    pub limit: usize,
    /// Continue token of the previous page. Empty for the first page.
    pub continue_token: String,
    /// Whether a watch sends BOOKMARK events.
    pub bookmarks: bool,
    /// Whether a watch starts with the existing objects and a BOOKMARK.
    pub send_initial_events: bool,
}

/// Part of an object that an update changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subresource {
    /// Everything but the status.
    Main,
    /// Status.
    Status,
    /// Finalizers.
    Finalize,
}

impl Subresource {
    pub(super) fn of(request: &RequestInfo) -> Result<Self, Status> {
        match request.subresource.as_deref() {
            None => Ok(Self::Main),
            Some("status") => Ok(Self::Status),
            Some("finalize") => Ok(Self::Finalize),
            Some(_) => Err(Status::method_not_allowed()),
        }
    }
}
