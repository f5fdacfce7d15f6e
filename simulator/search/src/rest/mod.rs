//! The server: requests in, answers out, over a socket or in process.
//!
//! Promises: bad input gets a refusal with `error` and `status`; work on the index runs beside the reactor, never on it.
//! Limits: bodies of a bounded size; HTTP/1.1.
//! Source: Elasticsearch 1.5's REST interface.

mod answer;
mod request;
mod route;
mod server;

pub(crate) use answer::{Answer, Content};
pub(crate) use request::RestRequest;
pub use server::SearchServer;
