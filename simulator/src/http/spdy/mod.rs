//! SPDY/3.1, server side: many streams over one upgraded connection.
//!
//! - Data is delivered in pieces; a stream that is not read blocks its connection and does not use memory.
//! - A malformed frame closes the connection with GOAWAY.
//! - Limits: [`state::MAX_STREAMS`] open streams, [`frame::MAX_CONTROL_BYTES`] bytes per control frame,
//!   [`headers::MAX_BLOCK_BYTES`] bytes per decompressed header block. Flow control applies only to a peer that uses
//!   it; the library of kubectl does not.
//!
//! Source: the draft "SPDY Protocol - Draft 3.1". No maintained crate has the server side.

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
