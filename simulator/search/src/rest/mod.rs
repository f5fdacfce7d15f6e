//! REST interface: over a socket, or in process.
//!
//! - Guarantees: bad input has an error response with `error` and `status`; work on the index runs on blocking threads,
//!   never on the async runtime's workers.
//! - Limits: bodies of a bounded size; HTTP/1.1.
//!
//! Source: Elasticsearch 1.5's REST interface.

mod answer;
mod request;
mod route;
mod server;
mod yaml;

pub(crate) use answer::{Answer, Content};
pub(crate) use request::RestRequest;
pub use server::SearchServer;
