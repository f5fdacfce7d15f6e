//! Resource limits for peers.

use std::time::Duration;

/// Resource limits for peers: sizes, numbers and timeouts.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Maximum size of a request body in bytes. A larger body is rejected with 413. Default: 3 MiB.
    pub body: usize,
    /// Maximum size of a request line with its headers in bytes. A larger head is rejected with 431 or 414. Default:
    /// 64 KiB.
    pub head: usize,
    /// Maximum number of open connections. Further connections wait to be accepted. Default: 16,384.
    pub connections: usize,
    /// Timeout of a request head, after which the connection is closed. Default: 60 s.
    pub head_timeout: Duration,
    /// Timeout of a request body, after which the response is 408. Default: 60 s.
    pub body_timeout: Duration,
    /// Time without progress after which a write fails and the connection is closed. Default: 30 s.
    pub write_timeout: Duration,
    /// Grace period of pending requests at shutdown. Default: 2 s.
    pub grace: Duration,
    /// Whether request targets may contain characters that are invalid in a URI, such as `"`, `<` and `{`. They are
    /// percent-encoded. Default: false.
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
