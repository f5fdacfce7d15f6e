//! Limits on what a peer can use.

use std::time::Duration;

/// Limits on what a peer can use, in bytes, number and time.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Size of a request body in bytes. A larger body is answered with 413. Default: 3 MiB.
    pub body: usize,
    /// Size of a request line with its headers in bytes. A larger head is answered with 431 or 414. Default: 64 KiB.
    pub head: usize,
    /// Number of open connections. Further connections wait to be accepted. Default: 16,384.
    pub connections: usize,
    /// Time for a request head to arrive. The connection is closed after it. Default: 60 s.
    pub head_timeout: Duration,
    /// Time for a request body to arrive. The request is answered with 408 after it. Default: 60 s.
    pub body_timeout: Duration,
    /// Time for which a write may make no progress. The connection is closed after it. Default: 30 s.
    pub write_timeout: Duration,
    /// Time that pending requests have at shutdown. Default: 2 s.
    pub grace: Duration,
    /// Whether a request target may have bytes that a URI may not have, such as `"`, `<` and `{`. They are percent-encoded. Default: no.
    pub raw_targets: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 3 << 20,
            head: 64 << 10,
            connections: 16_384,
            head_timeout: Duration::from_secs(60),
            body_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(30),
            grace: Duration::from_secs(2),
            raw_targets: false,
        }
    }
}
