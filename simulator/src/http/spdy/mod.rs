//! SPDY/3.1, the server's side: many streams over one upgraded connection.
//!
//! - Data is passed on piece by piece; a stream that is not read delays its connection and does not use memory.
//! - A malformed frame closes the connection with GOAWAY.
//! - Limits: [`state::STREAMS`] open streams, [`frame::CONTROL`] bytes for a control frame, [`headers::BLOCK`] for a block of headers once unpacked. Flow
//!   control applies only to a peer that uses it: the client tools' library does not.
//!
//! Source: the draft "SPDY Protocol - Draft 3.1"; no maintained crate has the server side.

mod frame;
mod headers;
#[cfg(test)]
pub(crate) mod peer;
mod receiver;
mod session;
mod state;
mod stream;
#[cfg(test)]
mod tests;

pub(crate) use self::{
    session::Session,
    stream::{Reader, Stream, Writer},
};
