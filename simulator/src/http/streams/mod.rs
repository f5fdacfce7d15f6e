//! Streams into containers: attach, exec, log, port forwarding.
//!
//! - Spoken over WebSocket (`channel.k8s.io` and its kin) and over SPDY/3.1; the client says which, and which version.
//! - Where a peer is slow the container waits for it; nothing piles up.
//! - Limits: [`websocket::MESSAGE`] bytes a message, [`QUEUE`](crate::cluster::container::QUEUE) pieces under way.
//!
//! Source: Kubernetes v1.2 (`pkg/kubelet/server`, `pkg/util/wsstream`, `remotecommand`), and the newer versions of its protocols, which clients of
//! today speak.

mod log;
mod options;
mod outcome;
mod portforward;
mod protocol;
mod remote;
mod websocket;

pub(crate) use self::{
    log::{LogOptions, text},
    options::{Ask, container},
    portforward::{Connect, Duplex, forward_ports},
    protocol::Upgrade,
    remote::run,
};
