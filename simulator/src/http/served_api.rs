//! The API served for one scheme: routes, discovery documents and descriptions.

use std::sync::Arc;

use super::{description::Descriptions, discovery::Discovery, route::Table};
use crate::scheme::Scheme;

/// The data derived from a scheme. It is replaced as a unit when kinds are added or removed.
pub(crate) struct ServedApi {
    /// Routes.
    pub(crate) table: Table,
    /// Discovery documents.
    pub(crate) discovery: Discovery,
    /// Swagger and OpenAPI, generated at the first request.
    pub(crate) descriptions: Descriptions,
}

impl ServedApi {
    /// Creates the API of a server at `address` (`HOST:PORT`) for `scheme`.
    pub(crate) fn new(scheme: Arc<Scheme>, address: &str) -> Self {
        let table = Table::new(scheme);
        Self {
            discovery: Discovery::new(&table, address),
            descriptions: Descriptions::new(address),
            table,
        }
    }
}
