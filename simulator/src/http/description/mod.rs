//! Descriptions of the API: Swagger 1.2, OpenAPI 2 (JSON and protobuf), OpenAPI 3, aggregated discovery.
//!
//! - Generated from the scheme at the first request, then cached.
//! - Every described operation is served: its path is in the routing [`Table`].
//!
//! Source: Swagger 1.2, OpenAPI 2.0 and 3.0; names of operations and models are those of Kubernetes v1.2's Swagger.

mod aggregated;
mod model;
mod openapi;
mod operation;
mod parameter;
mod protobuf;
mod swagger;

use std::{collections::HashMap, sync::OnceLock};

use bytes::Bytes;

use super::route::Table;

/// The media type of OpenAPI 2 in protobuf.
pub(crate) const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Older name of [`PROTOBUF`], which clients still send although it is not a valid media type.
pub(crate) const OLDER_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// The media type of aggregated discovery.
pub(crate) const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The documents, by path.
pub(crate) struct Descriptions {
    address: String,
    json: OnceLock<HashMap<String, Bytes>>,
    protobuf: OnceLock<Bytes>,
}

impl Descriptions {
    /// Creates the descriptions of a server at `address`, `HOST:PORT`.
    pub(crate) fn new(address: &str) -> Self {
        Self {
            address: address.to_owned(),
            json: OnceLock::new(),
            protobuf: OnceLock::new(),
        }
    }

    /// Returns the document at a normalized path, as JSON.
    pub(crate) fn json(&self, table: &Table, path: &str) -> Option<Bytes> {
        let all = self.json.get_or_init(|| {
            let mut all = HashMap::new();
            all.extend(swagger::documents(table, &self.address));
            all.extend(openapi::documents(table));
            all.insert(format!("/api {AGGREGATED}"), aggregated::document(table, true));
            all.insert(format!("/apis {AGGREGATED}"), aggregated::document(table, false));
            all.into_iter()
                .map(|(path, document)| (path, Bytes::from(document.to_string())))
                .collect()
        });
        all.get(path.trim_end_matches('/')).cloned()
    }

    /// Returns the aggregated discovery of `/api` or `/apis`.
    pub(crate) fn aggregated(&self, table: &Table, path: &str) -> Option<Bytes> {
        self.json(table, &format!("{path} {AGGREGATED}"))
    }

    /// Returns OpenAPI 2 as protobuf.
    pub(crate) fn protobuf(&self, table: &Table) -> Bytes {
        self.protobuf
            .get_or_init(|| protobuf::encode(&openapi::openapi2(table)))
            .clone()
    }
}
