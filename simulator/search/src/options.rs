//! How a search server is set up: names, clock, limits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use stuntdouble_server::Origins;

/// Gives the time that is stamped, reported, and meant by `now` in a query.
pub type Clock = Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>;

/// Gives the time since some beginning, for refresh intervals and scrolls that end.
pub type Ticks = Arc<dyn Fn() -> Duration + Send + Sync>;

/// What a search server refuses to go beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest body of a request, in bytes.
    pub body: usize,
    /// The longest query string, in bytes.
    pub query: usize,
    /// How deep the queries and filters of a body nest.
    pub depth: usize,
    /// Most clauses of a boolean query.
    pub clauses: usize,
    /// Most hits that `from` and `size` reach.
    pub window: usize,
    /// Most buckets of one answer.
    pub buckets: usize,
    /// Most indices.
    pub indices: usize,
    /// Most fields of an index.
    pub fields: usize,
    /// Most open scrolls.
    pub scrolls: usize,
    /// Most hits that all open scrolls keep together.
    pub scroll_hits: usize,
    /// Most searches of one `_msearch`.
    pub searches: usize,
    /// The longest text in the body of a query, in bytes.
    pub text: usize,
    /// Most terms that the patterns of one request visit.
    pub terms: usize,
    /// Most elements of one request: aggregations, patterns, fields.
    pub elements: usize,
    /// Longest time that one request may take.
    pub time: Duration,
    /// Longest time in which a body must arrive.
    pub body_time: Duration,
    /// Most bytes of the bodies of all pending requests.
    pub uploads: usize,
    /// Most open connections. Further connections wait to be accepted.
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

/// Which indices are removed, the oldest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Pattern of the names of the indices that may be removed, such as `logstash-*`.
    pub pattern: String,
    /// Age from which on an index is removed. Default: any age.
    pub age: Option<Duration>,
    /// Most bytes of all these indices together; the newest index stays however large it is. Default: any number.
    pub bytes: Option<u64>,
}

/// How a search server is set up.
#[derive(Clone)]
pub struct Options {
    /// The cluster's name.
    pub cluster_name: String,
    /// The names of its nodes, the one that answers first.
    pub nodes: Vec<String>,
    /// What time it is.
    pub clock: Clock,
    /// How time passes.
    pub ticks: Ticks,
    /// How long a change can stay unseen by searches, unless an index has a setting of its own.
    pub refresh_interval: Duration,
    /// The number of shards that an index reports, unless it has a setting of its own.
    pub shards: u32,
    /// The number of copies of each shard that an index reports, unless it has a setting of its own.
    pub replicas: u32,
    /// What it refuses to go beyond.
    pub limits: Limits,
    /// Whether a thread refreshes and merges, so that no request waits for it. Without, requests do; `ticks` then decides when. Default: true.
    pub background: bool,
    /// Which indices are removed when they are old or large. Default: none.
    pub retention: Option<Retention>,
    /// Hosts and origins whose requests the listener accepts. Default: its own only.
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
