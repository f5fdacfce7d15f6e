//! Options of a search server: names, clock, limits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use stuntdouble_server::Origins;

/// Wall clock: used for timestamps, reports, and `now` in queries.
pub type Clock = Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>;

/// Monotonic clock: time since an arbitrary start, for refresh intervals and the expiry of scrolls.
pub type Ticks = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Limits of a search server. A request that exceeds one fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum size of a request body, in bytes. Default: 100 MiB.
    pub body: usize,
    /// Maximum length of a query string, in bytes. Default: 64 KiB.
    pub query: usize,
    /// Maximum nesting depth of the queries and filters of a body. Default: 40.
    pub depth: usize,
    /// Maximum number of clauses of a boolean query. Default: 1,024.
    pub clauses: usize,
    /// Maximum of `from` plus `size`. Default: 1,000,000.
    pub window: usize,
    /// Maximum number of buckets in one response. Default: 1,000,000.
    pub buckets: usize,
    /// Maximum number of indices. Default: 1,000.
    pub indices: usize,
    /// Maximum number of fields of an index. Default: 5,000.
    pub fields: usize,
    /// Maximum number of open scrolls. Default: 500.
    pub scrolls: usize,
    /// Maximum number of hits that all open scrolls buffer together. Default: 2,000,000.
    pub scroll_hits: usize,
    /// Maximum number of searches in one `_msearch`. Default: 1,000.
    pub searches: usize,
    /// Maximum length of a text in the body of a query, in bytes. Default: 1 MiB.
    pub text: usize,
    /// Maximum number of terms that the patterns of one request visit. Default: 10,000,000.
    pub terms: usize,
    /// Maximum number of elements of one request: aggregations, patterns, fields. Default: 5,000.
    pub elements: usize,
    /// Maximum duration of one request. Default: 30 s.
    pub time: Duration,
    /// Maximum time for receiving a body. Default: 60 s.
    pub body_time: Duration,
    /// Maximum size of the bodies of all pending requests together, in bytes. Default: 512 MiB.
    pub uploads: usize,
    /// Maximum number of open connections. Further connections wait to be accepted. Default: 4,096.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body: 100 << 20,
            query: 64 << 10,
            depth: 40,
            clauses: 1_024,
            window: 1_000_000,
            buckets: 1_000_000,
            indices: 1_000,
            fields: 5_000,
            scrolls: 500,
            scroll_hits: 2_000_000,
            searches: 1_000,
            text: 1 << 20,
            terms: 10_000_000,
            elements: 5_000,
            time: Duration::from_secs(30),
            body_time: Duration::from_secs(60),
            uploads: 512 << 20,
            connections: 4_096,
        }
    }
}

/// Removal of old indices, the oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Name pattern of the indices that may be removed, such as `logstash-*`.
    pub pattern: String,
    /// Age at which an index is removed. Default: no limit.
    pub age: Option<Duration>,
    /// Maximum size of these indices together, in bytes. The newest index is never removed for its size. Default: no
    /// limit.
    pub bytes: Option<u64>,
}

/// Options of a search server.
#[derive(Clone)]
pub struct Options {
    /// Cluster name. Default: `kubernetes-logging`.
    pub cluster_name: String,
    /// Node names. The first is the node that responds.
    pub nodes: Vec<String>,
    /// Wall clock. Default: the system's.
    pub clock: Clock,
    /// Monotonic clock. Default: the system's.
    pub ticks: Ticks,
    /// Default of `index.refresh_interval`: maximum delay until a write is visible to searches. Default: 1 s.
    pub refresh_interval: Duration,
    /// Default of `index.number_of_shards`. Default: 5.
    pub shards: u32,
    /// Default of `index.number_of_replicas`. Replicas are reported only. Default: 1.
    pub replicas: u32,
    /// Limits.
    pub limits: Limits,
    /// Whether a background thread refreshes and merges. If false, requests do both when `ticks` says that they are
    /// due. Default: true.
    pub background: bool,
    /// Removal of old indices. Default: none are removed.
    pub retention: Option<Retention>,
    /// Hosts and origins from which the listener accepts requests. Default: its own only.
    pub origins: Origins,
}

impl Default for Options {
    fn default() -> Options {
        let started = std::time::Instant::now();
        Options {
            cluster_name: "kubernetes-logging".to_owned(),
            nodes: vec![
                "elasticsearch-logging-v1-0".to_owned(),
                "elasticsearch-logging-v1-1".to_owned(),
            ],
            clock: Arc::new(jiff::Timestamp::now),
            ticks: Arc::new(move || started.elapsed()),
            refresh_interval: Duration::from_secs(1),
            shards: 5,
            replicas: 1,
            limits: Limits::default(),
            background: true,
            retention: None,
            origins: Origins::default(),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Options")
            .field("cluster_name", &self.cluster_name)
            .field("nodes", &self.nodes)
            .field("refresh_interval", &self.refresh_interval)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
