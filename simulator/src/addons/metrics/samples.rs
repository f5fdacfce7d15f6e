//! Samples of the pods' usage.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use parking_lot::RwLock;

use crate::api::{Object, meta, quantity::Quantity};

/// Interval of the samples.
pub(super) const SAMPLE_PERIOD: Duration = Duration::from_secs(60);
/// Retention time of samples.
const RETENTION: SignedDuration = SignedDuration::from_hours(6);
/// Maximum number of pods with samples.
const MAX_PODS: usize = 5000;
/// The annotation with a pod's memory usage.
const MEMORY_USAGE: &str = "stuntdouble/memory-usage";

/// A metric of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::addons) enum Metric {
    /// CPU usage in millicores.
    Cpu,
    /// Memory usage in bytes.
    Memory,
}

impl Metric {
    /// All metrics.
    pub(super) const ALL: [Self; 2] = [Self::Cpu, Self::Memory];

    /// Returns the name of its series.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu/usage_rate",
            Self::Memory => "memory/usage",
        }
    }

    /// Returns the metric of this name; the model API also has older names.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "cpu/usage_rate" | "cpu-usage" => Some(Self::Cpu),
            "memory/usage" | "memory-usage" => Some(Self::Memory),
            _ => None,
        }
    }
}

/// A pod with samples.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Source {
    pub(super) namespace: String,
    pub(super) pod: String,
    pub(super) node: String,
}

/// Samples of one metric, oldest first.
pub(super) type Points = Vec<(Timestamp, i64)>;

/// Samples by pod and metric.
#[derive(Debug, Default)]
pub(in crate::addons) struct Samples(RwLock<BTreeMap<(Source, Metric), Series>>);

type Series = VecDeque<(Timestamp, i64)>;

impl Samples {
    /// Adds a sample of a pod with this CPU usage.
    pub(super) fn add(&self, pod: &Object, cpu: Option<i64>, now: Timestamp) {
        let text = |path: &str| meta::text(pod, path).to_owned();
        let source = Source {
            namespace: text("metadata.namespace"),
            pod: text("metadata.name"),
            node: text("spec.nodeName"),
        };
        let memory = meta::lookup(pod, "metadata.annotations").and_then(|all| all.get(MEMORY_USAGE)?.as_str());
        let memory = memory
            .and_then(|text| text.parse::<Quantity>().ok())
            .map(|memory| memory.milli_value() / 1000);
        let mut all = self.0.write();
        for (metric, value) in [(Metric::Cpu, cpu), (Metric::Memory, memory)] {
            let Some(value) = value else { continue };
            let key = (source.clone(), metric);
            if all.contains_key(&key) || all.len() < MAX_PODS * Metric::ALL.len() {
                all.entry(key).or_default().push_back((now, value));
            }
        }
    }

    /// Removes the samples that are too old at `now`.
    pub(super) fn remove_expired(&self, now: Timestamp) {
        let oldest = now.saturating_sub(RETENTION).unwrap_or(Timestamp::MIN);
        self.0.write().retain(|_, points| {
            while points.front().is_some_and(|(at, _)| *at < oldest) {
                points.pop_front();
            }
            !points.is_empty()
        });
    }

    /// Returns the pods with samples of any metric.
    pub(super) fn sources(&self) -> Vec<Source> {
        let mut sources: Vec<Source> = self.0.read().keys().map(|(source, _)| source.clone()).collect();
        sources.dedup();
        sources
    }

    /// Returns the samples of a metric of the pods that `wanted` accepts.
    pub(super) fn of(&self, metric: Metric, wanted: impl Fn(&Source) -> bool) -> Vec<(Source, Points)> {
        let all = self.0.read();
        let found = all.iter().filter(|((source, of), _)| *of == metric && wanted(source));
        found
            .map(|((source, _), points)| (source.clone(), points.iter().copied().collect()))
            .collect()
    }
}

/// Returns the sums of several series, by time.
pub(super) fn sum(all: Vec<(Source, Points)>) -> Points {
    let mut sums: BTreeMap<Timestamp, i64> = BTreeMap::new();
    for (at, value) in all.into_iter().flat_map(|(_, points)| points) {
        *sums.entry(at).or_default() += value;
    }
    sums.into_iter().collect()
}
