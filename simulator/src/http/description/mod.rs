//! The API described in the forms that clients read: Swagger 1.2, OpenAPI 2 (JSON and protobuf), OpenAPI 3, aggregated discovery.
//!
//! - Generated from the scheme, when first asked for, and kept.
//! - What is described is what is served: each operation's path leads somewhere ([`Table`]).
//!
//! Source: Swagger 1.2, OpenAPI 2.0 and 3.0; names of operations and models as Kubernetes v1.2 has them in its Swagger.

mod aggregated;
mod openapi;
mod operation;
mod protobuf;
mod schema;
mod swagger;

use std::{collections::HashMap, sync::OnceLock};

use bytes::Bytes;

use super::route::Table;

/// The media type of OpenAPI 2 in protobuf.
pub(crate) const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Its older name, which clients still ask by, though it is no media type by the grammar of such.
pub(crate) const OLDER_PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// The media type of aggregated discovery.
pub(crate) const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The documents, by path.
#[derive(Default)]
pub(crate) struct Descriptions {
    json: OnceLock<HashMap<String, Bytes>>,
    protobuf: OnceLock<Bytes>,
}

impl Descriptions {
    /// The document at a clean path, as JSON.
    pub(crate) fn json(&self, table: &Table, path: &str) -> Option<Bytes> {
        let all = self.json.get_or_init(|| {
            let mut all = HashMap::new();
            all.extend(swagger::documents(table));
            all.extend(openapi::documents(table));
            all.insert(format!("/api {AGGREGATED}"), aggregated::document(table, true));
            all.insert(format!("/apis {AGGREGATED}"), aggregated::document(table, false));
            all.into_iter()
                .map(|(path, document)| (path, Bytes::from(document.to_string())))
                .collect()
        });
        all.get(path.trim_end_matches('/')).cloned()
    }

    /// Aggregated discovery: `/api` or `/apis`.
    pub(crate) fn aggregated(&self, table: &Table, path: &str) -> Option<Bytes> {
        self.json(table, &format!("{path} {AGGREGATED}"))
    }

    /// OpenAPI 2, as protobuf.
    pub(crate) fn protobuf(&self, table: &Table) -> Bytes {
        self.protobuf
            .get_or_init(|| protobuf::encode(&openapi::second(table)))
            .clone()
    }
}
