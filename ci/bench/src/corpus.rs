//! Log lines from a seed.

use rand::RngExt;
use rand::rngs::StdRng;

const WORDS: [&str; 48] = [
    "request",
    "served",
    "upstream",
    "timeout",
    "connection",
    "refused",
    "retry",
    "backend",
    "queue",
    "worker",
    "session",
    "commit",
    "replica",
    "leader",
    "election",
    "heartbeat",
    "cache",
    "miss",
    "flush",
    "cluster",
    "node",
    "container",
    "restart",
    "volume",
    "mount",
    "image",
    "pull",
    "schedule",
    "evict",
    "limit",
    "memory",
    "handler",
    "panic",
    "recover",
    "trace",
    "span",
    "sample",
    "metric",
    "gauge",
    "counter",
    "histogram",
    "export",
    "import",
    "socket",
    "listen",
    "accept",
    "close",
    "token",
];

/// Returns a random word. The first ones are more frequent.
pub(crate) fn word(random: &mut StdRng) -> &'static str {
    let share: f64 = random.random();
    WORDS[((share * share * WORDS.len() as f64) as usize).min(WORDS.len() - 1)]
}

/// A log line of one of seven days.
pub(crate) struct Line {
    pub(crate) number: usize,
    /// Name of the index of the day.
    pub(crate) index: String,
    pub(crate) source: String,
}

impl Line {
    pub(crate) fn new(number: usize, of: usize, random: &mut StdRng) -> Line {
        let day = number * 7 / of.max(1);
        let within = (number * 7 % of.max(1)) as i64 * 86_400_000 / of.max(1) as i64;
        let millis = 1_434_931_200_000 + day as i64 * 86_400_000 + within;
        let time = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
        let words: Vec<&str> = (0..18).map(|_| word(random)).collect();
        let level = ["INFO", "WARN", "ERROR"][random.random_range(0..3)];
        let pod = random.random_range(0..200);
        let log = format!(
            "{level} [worker-{}] {} user_id={} took {}ms",
            random.random_range(0..16),
            words.join(" "),
            random.random_range(0..20_000),
            random.random_range(0..5_000)
        );
        let stream = if random.random_bool(0.25) { "stderr" } else { "stdout" };
        let source = format!(
            "{{\"log\":\"{log}\\n\",\"stream\":\"{stream}\",\"tag\":\"kubernetes.pod-{pod}_default_main\",\
             \"@timestamp\":\"{time}\"}}"
        );
        Line {
            number,
            index: format!("logstash-2015.06.{}", 22 + day),
            source,
        }
    }

    /// Returns the line as part of a bulk request.
    pub(crate) fn bulk(&self) -> String {
        format!(
            "{{\"index\":{{\"_index\":\"{}\",\"_type\":\"fluentd\",\"_id\":\"{}\"}}}}\n{}\n",
            self.index,
            self.id(),
            self.source
        )
    }

    pub(crate) fn id(&self) -> String {
        format!("AU{:018}", self.number)
    }
}
