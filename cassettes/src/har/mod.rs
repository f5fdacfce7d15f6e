//! Import and export of HAR 1.2.
//!
//! Guarantees:
//! - A cassette that is exported and imported again is equal.
//! - HAR files saved by browsers can be imported, with streams in `_stream`, and WebSocket messages in
//!   `_webSocketMessages` as Chrome writes them.
//!
//! Limits:
//! - Other data of browsers is dropped: pages, lists of cookies, timing details, caches, the protocol version.
//! - A body that the browser did not save is empty.
//!
//! Source: HAR 1.2; files saved by Chrome.
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

/// Origin of requests in a cassette without an upstream.
const UNKNOWN_ORIGIN: &str = "http://cassette.invalid";

/// Errors of importing HAR.
#[derive(Debug, thiserror::Error)]
pub enum HarError {
    /// The text is not JSON.
    #[error("not a HAR: {0}")]
    Json(#[from] serde_json::Error),
    /// A required part of HAR is missing.
    #[error("not HAR 1.2: {0}")]
    Shape(String),
    /// An entry is malformed.
    #[error("entry {number} of the HAR: {what}")]
    Entry {
        /// Number of the entry, from 0.
        number: usize,
        /// The error.
        what: String,
    },
}
