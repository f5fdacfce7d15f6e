//! The clock of a recording, and durations with the resolution of a cassette.

use jiff::Timestamp;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A source of times. A fixed one makes a recording reproducible byte for byte.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The system clock.
    pub fn system() -> Self {
        Self::new(Timestamp::now)
    }

    /// A clock that returns the times of `now`.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The current time, in microseconds, the resolution of a cassette.
    pub fn now(&self) -> Timestamp {
        let now = (self.0)();
        Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// Converts milliseconds to a duration in microseconds. Returns none if the value is negative or not finite.
pub(crate) fn millis(value: f64) -> Option<Duration> {
    let micros = (value * 1000.0).round();
    (micros.is_finite() && (0.0..9.0e15).contains(&micros)).then(|| Duration::from_micros(micros as u64))
}

/// Converts a duration to milliseconds.
pub(crate) fn to_millis(value: Duration) -> f64 {
    value.as_micros() as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_survive_the_round_trip() {
        for value in [0.0, 0.001, 3.7, 303.7, 1208.4, 3003.6, 86_400_000.123] {
            assert_eq!(millis(value).map(to_millis), Some(value));
        }
        assert_eq!(millis(-1.0), None);
        assert_eq!(millis(f64::NAN), None);
    }
}
