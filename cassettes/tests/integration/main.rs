//! Tests of recording, replaying and comparing through the public interface.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

mod child;
mod crash;
mod differences;
mod faulty_proxy;
mod format;
mod full_disk;
#[path = "../../../fuzz/properties/cassettes.rs"]
mod fuzzed;
mod guesses;
mod origin;
mod pieces;
mod properties;
mod recording;
mod repeated_bodies;
mod secrets;
mod secure;
mod sessions;
mod terminal;
mod thaw;
mod verdicts;
