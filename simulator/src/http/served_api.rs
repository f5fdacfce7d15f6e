//! What is served for one scheme: routes, discovery documents and descriptions.

use std::sync::Arc;

use super::{description::Descriptions, discovery::Discovery, route::Table};
use crate::scheme::Scheme;

/// Everything that is made of a scheme. It is replaced as a whole when kinds are added or removed.
pub(crate) struct ServedApi {
    /// Paths.
    pub(crate) table: Table,
    /// Discovery documents.
    pub(crate) discovery: Discovery,
    /// Swagger and OpenAPI, made when first asked for.
    pub(crate) descriptions: Descriptions,
}

impl ServedApi {
    /// What a server that is reached at `address`, which is `HOST:PORT`, serves for `scheme`.
    pub(crate) fn new(scheme: Arc<Scheme>, address: &str) -> Self {
        let table = Table::new(scheme);
        Self {
            discovery: Discovery::new(&table, address),
            descriptions: Descriptions::new(address),
            table,
        }
    }
}
