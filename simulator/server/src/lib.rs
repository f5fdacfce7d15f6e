//! The HTTP/1.1 listener shared by the servers of Stuntdouble.
//!
//! - [`serve`] accepts connections and passes each to a hyper service, after the handshake if there is a TLS
//!   acceptor.
//! - Resources that a peer can hold are bounded in bytes, number or time: [`Limits`].
//! - [`Origins`] protects a listener without credentials from web pages.
//! - [`Shutdown::gracefully`] stops accepting, ends streams, and completes pending requests; what is open after the
//!   grace period is closed.
//!
//! Limits: HTTP/1.1 and 1.0 only.
//! Source: RFC 9110, RFC 9112, RFC 6454 (origins), RFC 7468 (PEM), RFC 3986 (percent-encoding).

mod cancelled;
mod connection_origins;
mod content_length;
mod filtered;
mod head_timer;
mod limits;
mod linger;
mod listener;
mod origins;
mod pem;
mod percent;
mod relay;
mod request_log;
mod shutdown;
mod socket;
mod target;

pub use connection_origins::ConnectionOrigins;
pub use content_length::{LengthCheck, Lengths};
pub use filtered::{Filter, Filtered};
pub use limits::Limits;
pub use linger::Linger;
pub use listener::{Peer, bind, serve};
pub use origins::{Accepted, Origin, Origins};
pub use pem::{Identity, PemError, certificates};
pub use percent::percent_decode;
pub use relay::{relay, relay_upgraded};
pub use request_log::RequestLog;
pub use shutdown::Shutdown;
