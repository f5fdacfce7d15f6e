//! The HTTP API: listener, content negotiation, routes, discovery, watches as chunks or WebSocket messages.
//!
//! - The response to a well-formed request is an object, a `Status`, or the recorded response. A malformed request
//!   gets a 400, and its connection is closed.
//! - Routing and reading from the store copy no object.
//! - Resources that a peer can hold are bounded: [`Limits`].
//!
//! Limits: HTTP/1.1 and 1.0.
//! Source: the API documentation; Kubernetes v1.2 (`pkg/apiserver`, go-restful, Go's `net/http`) as recorded.

mod access_review;
mod blocking;
mod body;
mod clock_control;
mod clusters;
mod connect;
mod credentials;
mod description;
mod discovery;
mod documents;
mod elected;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod kubeconfig;
mod listener;
mod metrics;
mod negotiation;
mod path;
mod protobuf;
pub(crate) mod proxy;
mod query;
mod resource;
mod respond;
mod route;
mod served_api;
mod service;
mod spdy;
mod streams;
mod strict;
mod tls;
mod watch;
mod websocket;

pub(crate) use crate::cluster::network::Backends;
pub(crate) use clusters::Clusters;
pub use credentials::{Credentials, CredentialsError, Secret, User};
pub(crate) use elected::Elected;
pub(crate) use listener::{Authenticator, serve};
pub use proxy::DialOverride;
pub(crate) use service::{Copy, Service, Setup};
pub use stuntdouble_server::Limits;
pub use tls::{ClientCertificate, Identity, Tls, TlsError};
