//! The proxy: requests for what runs in the cluster, passed to services, pods and nodes.
//!
//! - Requests and responses stream in both directions; nothing is held until it is whole.
//! - Links in HTML and in Location lead back through the proxy; compressed pages too.
//! - WebSocket, and any other upgrade, passes through.
//! - A server inside this process ([`Backends`](crate::cluster::network::Backends)) is reached without a connection.
//! - Limits: a connection has to come about within [`dial::TIMEOUT`]; a server may take its time to answer, as long as the client stays.
//!
//! Source: the two texts, the recorded proxy sessions, and where they are silent the proxy of Kubernetes v1.2.

mod backend;
mod call;
mod coding;
mod dial;
mod forward;
mod headers;
mod html;
mod link;
mod objects;
mod path;
mod resolve;
#[cfg(test)]
mod tests;

pub use self::dial::DialOverride;
pub(crate) use self::{
    forward::{Proxy, Settings, join},
    objects::Objects,
    resolve::Lookup,
};
pub(crate) use crate::cluster::network::{Body, BodyError};
