//! Request handlers of the REST API, one module per group of endpoints.
//!
//! Source: Elasticsearch 1.5's REST actions.

pub(crate) mod aliases;
pub(crate) mod analyze;
pub(crate) mod cat;
pub(crate) mod cluster;
pub(crate) mod cluster_settings;
pub(crate) mod deletion;
pub(crate) mod documents;
mod field_vector;
mod human;
pub(crate) mod indices;
pub(crate) mod mappings;
pub(crate) mod multi_get;
pub(crate) mod nodes;
mod process;
pub(crate) mod query;
pub(crate) mod scroll;
pub(crate) mod search;
pub(crate) mod similar;
pub(crate) mod snapshots;
pub(crate) mod state;
pub(crate) mod stats;
pub(crate) mod suggest;
pub(crate) mod templates;
pub(crate) mod vectors;
pub(crate) mod warmers;

use std::sync::Arc;

use crate::cluster::{Block, Expand, Index};
use crate::error::Result;
use crate::rest::RestRequest;
use crate::shared::Shared;

/// Resolves the indices of a request that reads metadata.
///
/// # Errors
/// As those of [`Cluster::allowed`](crate::cluster::Cluster::allowed).
fn described(shared: &Shared, request: &RestRequest, indices: &str) -> Result<Vec<Arc<Index>>> {
    let expand = request.expand_or(Expand::METADATA)?;
    shared.cluster.allowed(indices, expand, Block::Metadata)
}
