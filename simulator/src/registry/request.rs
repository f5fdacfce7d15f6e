//! Requests and responses of the registry.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;

use crate::{
    api::Status,
    scheme::{Resource, Syntax},
};

/// The target of a request: a resource, and perhaps its namespace, the object's name and a subresource.
#[derive(Clone, Debug)]
pub(crate) struct RequestInfo {
    /// The resource in its group and version.
    pub resource: Arc<Resource>,
    /// The namespace; `None` for cluster-wide kinds and for all namespaces.
    pub namespace: Option<String>,
    /// The object's name; `None` for the whole collection.
    pub name: Option<String>,
    /// The subresource: `status`, `scale`, `binding` and so on.
    pub subresource: Option<String>,
}

impl RequestInfo {
    /// The name; empty for a collection.
    pub(super) fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// The namespace; empty for none.
    pub(super) fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }

    /// The same request for the object of another name.
    pub(super) fn with_name(&self, name: &str) -> Self {
        Self {
            name: Some(name.to_owned()),
            subresource: None,
            ..self.clone()
        }
    }
}

/// The body of a request.
#[derive(Clone, Debug)]
pub(crate) struct RequestBody {
    /// The bytes.
    pub bytes: Bytes,
    /// Their syntax.
    pub syntax: Syntax,
}

/// A response.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    /// HTTP status code.
    pub code: u16,
    /// The object, the list or the `Status`, as compact JSON.
    pub body: Bytes,
}

impl Response {
    /// A response with an object or a list.
    pub(super) fn ok(body: Bytes) -> Self {
        Self { code: 200, body }
    }

    /// A response with a `Status`.
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
    /// Strip the fields that a user cannot set.
    pub export: bool,
    /// With `export`: keep the fields that belong to this cluster, such as the namespace.
    pub exact: bool,
}

/// Options of a list, a watch, or a delete of a collection. Selectors and version are texts of the query.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// Label selector; empty selects everything.
    pub label_selector: String,
    /// Field selector; empty selects everything.
    pub field_selector: String,
    /// Version to watch from; empty for none.
    pub resource_version: String,
    /// Timeout of a watch.
    pub timeout: Option<Duration>,
    /// Most objects in a list; 0 for all.
    pub limit: usize,
    /// The continue token of the page before; empty for the first page.
    pub continue_token: String,
    /// Whether a watch sends BOOKMARK events.
    pub bookmarks: bool,
    /// Whether a watch begins with the present objects and a BOOKMARK.
    pub send_initial_events: bool,
}

/// What an update changes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subresource {
    /// Everything but the status.
    Main,
    /// The status.
    Status,
    /// The finalizers.
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
