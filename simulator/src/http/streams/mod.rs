//! Streams into containers: attach, exec, log, port forwarding.
//!
//! - Protocols: WebSocket (`channel.k8s.io` and its versions) and SPDY/3.1, as the client requests.
//! - A slow peer blocks its container.
//! - Limits: [`websocket::MAX_MESSAGE_BYTES`] bytes per message,
//!   [`STREAM_CAPACITY`](crate::cluster::container::STREAM_CAPACITY) queued pieces.
//!
//! Source: Kubernetes v1.2 (`pkg/kubelet/server`, `pkg/util/wsstream`, `remotecommand`), and the newer versions of its
//! protocols, which current clients use.

mod log;
mod options;
mod outcome;
mod portforward;
mod protocol;
mod remote;
mod websocket;

#[cfg(any(test, fuzzing))]
pub(super) use self::websocket::run as run_websocket;
pub(crate) use self::{
    log::{LogOptions, text},
    options::{ContainerRequest, container},
    portforward::{Connect, Duplex, forward_ports},
    protocol::Upgrade,
    remote::run,
};
