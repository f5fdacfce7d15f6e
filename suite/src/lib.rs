//! The conformance suite: asks a server every documented operation and judges what it answers.
//!
//! Promises: the judge shares no code with the judged (only [`target`] and [`cli`] name the simulator); every trial
//! owns its environment and removes it; every check can fail, and says what was expected and what came, beside the request.
//!
//! Limits: what it asks is what `fixtures/operations` says, no more.
//!
//! Layers, each importing only those to its left: `catalog < request, check < target < trial < report < cli`.

pub mod catalog;
pub mod check;
pub mod cli;
pub mod report;
pub mod request;
pub mod target;
pub mod trial;
