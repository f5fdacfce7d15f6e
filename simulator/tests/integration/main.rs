//! Tests of the simulator through its public interface.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a panic fails the test")]

mod client;
mod containers;
mod dns;
mod durable;
mod fork;
mod kinds;
mod logging;
mod restarts;
mod search_upstream;
mod watch_lag;
