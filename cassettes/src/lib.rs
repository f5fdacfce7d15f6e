//! Cassettes: HTTP sessions that are recorded once and can be replayed, verified, compared and read.
//!
//! | to | use |
//! |---|---|
//! | record a session | [`Recorder`] |
//! | replay a recorded session | [`Replayer`] |
//! | record in the first run, replay in every later one | [`Once`] |
//! | check a server against a recorded session | [`Verifier`] |
//! | open, save, compare, import and export sessions | [`Cassette`] |
//! | define what is secret | [`Redaction`] |
//!
//! Layers, each importing only those to its left (checked by `ci/architecture`):
//! `interaction < format < matcher, bindings, redactor < differ, har, transport < recorder, replayer, verifier < once,
//! cassette`.

mod bindings;
mod cassette;
mod differ;
mod format;
mod har;
mod interaction;
mod matcher;
mod once;
mod recorder;
mod redactor;
mod replayer;
pub mod transport;
mod verifier;

pub use differ::{Diff, Finding, Grade, Row, Side};
pub use format::FormatError;
pub use har::HarError;
pub use interaction::{
    Cassette, Clock, Data, Failure, FailureKind, Frame, Header, Headers, Interaction, Marks, Message, Outcome, Payload,
    Program, Request, Response, Sender, terminal,
};
pub use once::{Once, OnceError};
#[cfg(any(test, fuzzing))]
pub use recorder::fuzzing;
pub use recorder::{Recorder, RecorderError, RecorderOptions};
pub use redactor::{Redaction, RedactionError};
pub use replayer::{Object, OnMiss, Replayer, ReplayerOptions, Speed, State, Thaw, Thawed};
pub use verifier::{DOCUMENTED, RECORDED, Report, Tally, Verdict, Verifier};
