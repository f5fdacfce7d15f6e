//! The proxy: it forwards requests to services, pods and nodes.
//!
//! - Requests and responses stream in both directions.
//! - Links in HTML and in Location are rewritten, including in compressed pages.
//! - WebSocket and other upgrades are supported.
//! - A server inside this process ([`Backends`](crate::cluster::network::Backends)) is reached without a connection.
//! - Limits: [`dial::TIMEOUT`] to connect. A response has no time limit while the client is connected.
//!
//! Source: the API documentation, the recorded proxy sessions, and otherwise the proxy of Kubernetes v1.2.

mod backend;
mod call;
mod coding;
mod dial;
mod forward;
mod headers;
mod html;
pub(super) mod link;
mod objects;
pub(super) mod path;
mod resolve;
#[cfg(test)]
mod tests;

pub use self::dial::DialOverride;
pub(crate) use self::{
    forward::{Proxy, Settings},
    objects::Objects,
};
pub(crate) use crate::cluster::network::{Body, BodyError};
