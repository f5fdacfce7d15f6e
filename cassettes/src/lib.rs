//! Cassettes: sessions that were recorded once and can be replayed, verified, compared and read.
//!
//! Layers, each importing only what stands to its left (`tests/layers.rs` holds them to it):
//! `interaction < format < matcher, bindings, redactor < differ, har, transport < recorder, replayer, verifier`.
//!
//! | to | call |
//! |---|---|
//! | record | [`recorder::Recorder::start`] |
//! | replay | [`replayer::Replayer::start`] |
//! | verify | [`verifier::verify`] |
//! | diff | [`differ::diff`], then its `to_text`, `to_json`, `to_html` |
//! | import, export | [`har::import`], [`har::export`] |
//! | scrub | [`redactor::scrub`] |
//! | show | [`format::contents`] |
//! | open, save | [`format::read`], [`format::write`] |

pub mod bindings;
pub mod differ;
pub mod format;
pub mod har;
pub mod interaction;
pub mod matcher;
pub mod once;
pub mod recorder;
pub mod redactor;
pub mod replayer;
pub mod transport;
pub mod verifier;
