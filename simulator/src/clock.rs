//! Injected clock.
//!
//! - Nothing else in the crate reads the system's time.
//! - Everything in the cluster that waits for a time waits on this clock, so that stepping it drives the whole cluster.

mod activity;
mod stepped;

use std::{str::FromStr, sync::Arc, time::Duration};

use jiff::{Timestamp, Unit};

pub(crate) use activity::{Activity, Busy};
use stepped::Stepped;

/// Clock of a cluster. Clones share their time. Default: the system's time.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// use std::time::Duration;
/// use stuntdouble_simulator::Clock;
///
/// let clock: Clock = "frozen:2015-06-26T12:00:00Z".parse()?;
/// clock.advance(Duration::from_secs(600)).await;
/// assert_eq!(clock.stamp(), "2015-06-26T12:10:00Z");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Clock {
    source: Source,
    activity: Activity,
}

#[derive(Clone, Debug, Default)]
enum Source {
    #[default]
    Real,
    At {
        start: Timestamp,
        since: Timestamp,
    },
    Frozen(Arc<Stepped>),
}

impl Clock {
    /// Returns a clock with the system's time.
    pub fn real() -> Self {
        Self::default()
    }

    /// Returns a running clock that starts at `start`.
    pub fn at(start: Timestamp) -> Self {
        Self::from(Source::At {
            start,
            since: Timestamp::now(),
        })
    }

    /// Returns a clock that stays at `at` until it is stepped.
    pub fn frozen(at: Timestamp) -> Self {
        Self::from(Source::Frozen(Arc::new(Stepped::new(at))))
    }

    /// Current time.
    pub fn now(&self) -> Timestamp {
        match &self.source {
            Source::Real => Timestamp::now(),
            Source::At { start, since } => later(*start, Timestamp::now().duration_since(*since)),
            Source::Frozen(clock) => clock.now(),
        }
    }

    /// Waits until `deadline`. A frozen clock must be stepped to it.
    pub async fn sleep_until(&self, deadline: Timestamp) {
        match &self.source {
            Source::Frozen(clock) => clock.sleep_until(deadline).await,
            Source::Real | Source::At { .. } => {
                let left = Duration::try_from(deadline.duration_since(self.now())).unwrap_or_default();
                tokio::time::sleep(left).await;
            }
        }
    }

    /// Waits for `duration`.
    pub async fn sleep(&self, duration: Duration) {
        self.sleep_until(later(self.now(), duration)).await;
    }

    /// Advances a frozen clock in one step. No effect on a running clock.
    pub fn step(&self, by: Duration) {
        if let Source::Frozen(clock) = &self.source {
            clock.move_to(later(clock.now(), by));
        }
    }

    /// Advances a frozen clock from one deadline to the next, and waits at each until the cluster is idle.
    /// No effect on a running clock.
    pub async fn advance(&self, by: Duration) {
        let Source::Frozen(clock) = &self.source else { return };
        let end = later(clock.now(), by);
        self.settle().await;
        while let Some(next) = clock.next_until(end) {
            clock.move_to(next);
            self.settle().await;
        }
        clock.move_to(end);
    }

    /// Returns an independent clock with the same time.
    pub(crate) fn fork(&self) -> Self {
        Self::from(match &self.source {
            Source::Frozen(clock) => Source::Frozen(Arc::new(Stepped::new(clock.now()))),
            running => running.clone(),
        })
    }

    /// Waits until the cluster is idle: nothing is left to do at the current time.
    pub async fn settle(&self) {
        self.activity.idle().await;
    }

    /// Whether the clock advances only when it is stepped.
    pub fn is_frozen(&self) -> bool {
        matches!(self.source, Source::Frozen(_))
    }

    /// Counter of the work that [`Clock::settle`] waits for.
    pub(crate) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Current time in the format of the API: RFC 3339 in UTC, whole seconds.
    pub fn stamp(&self) -> String {
        stamp(self.now())
    }
}

impl From<Source> for Clock {
    fn from(source: Source) -> Self {
        Self {
            source,
            activity: Activity::default(),
        }
    }
}

/// Returns `from` plus `by`, or the maximum timestamp on overflow.
fn later(from: Timestamp, by: impl Into<jiff::TimestampArithmetic>) -> Timestamp {
    from.saturating_add(by).unwrap_or(Timestamp::MAX)
}

/// A time as the API writes it: RFC 3339 in UTC, whole seconds.
pub(crate) fn stamp(at: Timestamp) -> String {
    let whole = Timestamp::from_second(at.as_second()).unwrap_or(at);
    whole.round(Unit::Second).unwrap_or(whole).to_string()
}

impl FromStr for Clock {
    type Err = String;

    /// `real`, `at:TIME` or `frozen:TIME`, with an RFC 3339 time.
    fn from_str(text: &str) -> Result<Self, String> {
        let parse = |time: &str| {
            time.parse::<Timestamp>()
                .map_err(|e| format!("{time:?} is no RFC 3339 time: {e}"))
        };
        match text.split_once(':') {
            None if text == "real" => Ok(Self::real()),
            Some(("at", time)) => Ok(Self::at(parse(time)?)),
            Some(("frozen", time)) => Ok(Self::frozen(parse(time)?)),
            _ => Err(format!("{text:?} is no clock: real, at:TIME or frozen:TIME")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frozen_clock_changes_only_when_stepped() {
        let clock: Clock = "frozen:2015-06-26T12:00:00Z".parse().unwrap();
        assert_eq!(clock.stamp(), "2015-06-26T12:00:00Z");
        clock.step(Duration::from_secs(90));
        assert_eq!(clock.stamp(), "2015-06-26T12:01:30Z");
        assert!("noon".parse::<Clock>().is_err());
    }

    #[tokio::test]
    async fn advancing_wakes_each_sleeper_at_its_time() {
        let clock = Clock::frozen("2015-06-26T12:00:00Z".parse().unwrap());
        let (woken, mut times) = tokio::sync::mpsc::unbounded_channel();
        let sleeper = clock.clone();
        tokio::spawn(clock.activity().track(async move {
            for seconds in [60, 30, 3600] {
                sleeper.sleep(Duration::from_secs(seconds)).await;
                woken.send(sleeper.stamp()).unwrap();
            }
        }));
        clock.advance(Duration::from_secs(600)).await;
        assert_eq!(clock.stamp(), "2015-06-26T12:10:00Z");
        assert_eq!(times.try_recv().unwrap(), "2015-06-26T12:01:00Z");
        assert_eq!(times.try_recv().unwrap(), "2015-06-26T12:01:30Z");
        assert!(times.try_recv().is_err());
    }
}
