//! Server metrics in the Prometheus text format.
//!
//! Limits: requests by method and code, open connections, open watches; no durations.

use std::{
    fmt::Write,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use http::Method;

const METHODS: [(&str, Method); 7] = [
    ("GET", Method::GET),
    ("PUT", Method::PUT),
    ("POST", Method::POST),
    ("PATCH", Method::PATCH),
    ("DELETE", Method::DELETE),
    ("HEAD", Method::HEAD),
    ("OPTIONS", Method::OPTIONS),
];
const CODES: usize = 600;

/// The counters of a method, by status code.
type Codes = [AtomicU64; CODES];

/// The counters of one server.
pub(crate) struct Metrics {
    /// By method; the last entry is for unknown methods. Unused methods are not allocated, because a process may have
    /// thousands of clusters.
    requests: [OnceLock<Box<Codes>>; METHODS.len() + 1],
    connections: Arc<AtomicU64>,
    watches: Arc<AtomicU64>,
}

/// Increments a gauge until it is dropped.
pub(crate) struct OpenGauge(Arc<AtomicU64>);

impl Drop for OpenGauge {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn open(gauge: &Arc<AtomicU64>) -> OpenGauge {
    gauge.fetch_add(1, Ordering::Relaxed);
    OpenGauge(gauge.clone())
}

impl Metrics {
    /// Creates counters at zero.
    pub(crate) fn new() -> Self {
        Self {
            requests: std::array::from_fn(|_| OnceLock::new()),
            connections: Arc::default(),
            watches: Arc::default(),
        }
    }

    /// Counts a request with this status code.
    pub(crate) fn count(&self, method: &Method, code: u16) {
        let row = METHODS
            .iter()
            .position(|(_, known)| known == method)
            .unwrap_or(METHODS.len());
        if let Some(codes) = self.requests.get(row) {
            let codes = codes.get_or_init(|| Box::new(std::array::from_fn(|_| AtomicU64::new(0))));
            codes[usize::from(code).min(CODES - 1)].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a connection until the returned value is dropped.
    pub(crate) fn connection(&self) -> OpenGauge {
        open(&self.connections)
    }

    /// Counts a watch until the returned value is dropped.
    pub(crate) fn watch(&self) -> OpenGauge {
        open(&self.watches)
    }

    /// Resets the request counters.
    pub(crate) fn reset(&self) {
        let codes = self.requests.iter().filter_map(OnceLock::get);
        codes
            .flat_map(|codes| codes.iter())
            .for_each(|counter| counter.store(0, Ordering::Relaxed));
    }

    /// Formats all metrics as text.
    pub(crate) fn text(&self) -> String {
        let mut out = String::from(
            "# HELP apiserver_request_count Requests by method and status code.\n# TYPE apiserver_request_count \
                counter\n",
        );
        for (row, codes) in self.requests.iter().enumerate() {
            let verb = METHODS.get(row).map_or("other", |(name, _)| name);
            for (code, counter) in codes.get().into_iter().flat_map(|codes| codes.iter()).enumerate() {
                let count = counter.load(Ordering::Relaxed);
                if count > 0 {
                    let _ = writeln!(
                        out,
                        "apiserver_request_count{{verb=\"{verb}\",code=\"{code}\"}} {count}"
                    );
                }
            }
        }
        for (name, what, gauge) in [
            ("connections", "Open connections.", &self.connections),
            ("watches", "Open watches.", &self.watches),
        ] {
            let _ = writeln!(
                out,
                "# HELP apiserver_{name} {what}\n# TYPE apiserver_{name} gauge\napiserver_{name} {}",
                gauge.load(Ordering::Relaxed)
            );
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_and_open_connections_and_watches_are_gauged() {
        let metrics = Metrics::new();
        metrics.count(&Method::GET, 200);
        metrics.count(&Method::GET, 200);
        metrics.count(&Method::from_bytes(b"BREW").unwrap(), 405);
        assert_eq!(
            metrics.requests.iter().filter(|codes| codes.get().is_some()).count(),
            2,
            "unused methods are not allocated"
        );
        let watch = metrics.watch();
        let text = metrics.text();
        assert!(
            text.contains("apiserver_request_count{verb=\"GET\",code=\"200\"} 2\n"),
            "{text}"
        );
        assert!(
            text.contains("apiserver_request_count{verb=\"other\",code=\"405\"} 1\n"),
            "{text}"
        );
        assert!(text.contains("apiserver_watches 1\n"), "{text}");
        drop(watch);
        metrics.reset();
        let text = metrics.text();
        assert!(
            !text.contains("code=") && text.contains("apiserver_watches 0\n"),
            "{text}"
        );
    }
}
