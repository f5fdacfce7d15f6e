//! The HTTP/1.1 listener that the servers of Stuntdouble share.
//!
//! - [`serve`] accepts connections and hands each to a hyper service; with a TLS acceptor it does the handshake first.
//! - Everything that a peer can hold on to is bounded in bytes, number or time: [`Limits`].
//! - [`Origins`] keeps web pages away from a listener without credentials.
//! - After [`Shutdown::gracefully`] nothing is accepted, streams end, pending requests are answered; what is open after the grace
//!   period is closed.
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
