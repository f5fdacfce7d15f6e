//! SPDY/3.1, the server's side: many streams over one upgraded connection.
//!
//! - Data passes piece by piece as it comes; a stream that is not read holds its connection back, not memory.
//! - Malformed frames end the connection with GOAWAY, never the server.
//! - Limits: [`session::STREAMS`] at once, [`frame::CONTROL`] bytes for a control frame, [`headers::BLOCK`] for a block of headers once unpacked. A peer
//!   that never speaks of windows is sent data without regard to them: the client tools' library keeps none.
//!
//! Source: the draft "SPDY Protocol - Draft 3.1"; no maintained crate speaks the server's side.

mod frame;
mod headers;
#[cfg(test)]
pub(crate) mod peer;
mod session;
#[cfg(test)]
mod tests;

pub(crate) use session::{Reader, Session, Stream, Writer};
