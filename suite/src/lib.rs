//! The conformance suite: sends every documented operation to a server and checks the responses.
//!
//! Guarantees:
//! - The suite shares no code with the simulator; only [`target`] and [`cli`] name it.
//! - Every trial creates its own environment and removes it.
//! - Every check can fail. A failure shows the request, what was expected and what came.
//!
//! Limits:
//! - The suite sends only the requests that `fixtures/operations` describes.
//!
//! Layers, each importing only those to its left: `catalog < request, check < target < trial < report < cli`.

pub mod catalog;
pub mod check;
pub mod cli;
pub mod report;
pub mod request;
pub mod target;
pub mod trial;
