//! HAR 1.2 in and out.
//!
//! Promises: a cassette that is exported and imported again is equal; what a browser saved is taken, with its streams
//! in `_stream` and its WebSocket messages in `_webSocketMessages` as Chrome writes them.
//! Limits: of what a browser adds (pages, cookies as lists, details of the timing, caches, the protocol's version)
//! nothing is kept; a body that it left out is empty.
//! Source: HAR 1.2; what Chrome writes.
//!
//! | in a cassette | in HAR |
//! |---|---|
//! | header | `log.creator`, `log.comment`, and `log._cassette` for the rest |
//! | `note`, `only`, `unjudged`, `text_varies` | `_note`, `_only`, `_unjudged`, `_text_varies` |
//! | a stream | `_stream`: `at_ms` and `text` without its line break (`newline: false` where it had none) |
//! | messages | `_webSocketMessages`: `type`, `time`, `opcode` (1 text, 2 binary, 8 close, 9 ping, 10 pong), `data` |
//! | no response | status 0 and `_error` |
//! | cut short, not ended | `_cut`, `_ended: false` |

mod export;
mod import;

pub(crate) use export::export;
pub(crate) use import::import;

/// Stands for the server of a cassette that does not say which it was.
const NOWHERE: &str = "http://cassette.invalid";

/// Why a HAR could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum HarError {
    /// It is no JSON.
    #[error("this is no HAR: {0}")]
    Json(#[from] serde_json::Error),
    /// It lacks what a HAR has.
    #[error("this is no HAR 1.2: {0}")]
    Shape(String),
    /// An entry cannot be read.
    #[error("entry {number} of the HAR: {what}")]
    Entry {
        /// Its number, from 0.
        number: usize,
        /// What is wrong with it.
        what: String,
    },
}
