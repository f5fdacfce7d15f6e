//! Injected time. Nothing else in the crate reads the time of day.

use std::{str::FromStr, sync::Arc};

use jiff::{Timestamp, Unit};
use parking_lot::Mutex;

/// The time that is stamped and reported.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The system's.
    #[default]
    Real,
    /// Starts at a time and runs.
    At {
        /// The time at the start.
        start: Timestamp,
        /// The system's time at the start.
        since: Timestamp,
    },
    /// Stands until it is stepped.
    Frozen(Arc<Mutex<Timestamp>>),
}

impl Clock {
    /// A clock that starts at `start` and runs.
    pub fn at(start: Timestamp) -> Self {
        Self::At {
            start,
            since: Timestamp::now(),
        }
    }

    /// A clock that stands at `at`.
    pub fn frozen(at: Timestamp) -> Self {
        Self::Frozen(Arc::new(Mutex::new(at)))
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        match self {
            Self::Real => Timestamp::now(),
            Self::At { start, since } => start
                .saturating_add(Timestamp::now().duration_since(*since))
                .unwrap_or(Timestamp::MAX),
            Self::Frozen(at) => *at.lock(),
        }
    }

    /// Moves a frozen clock on; the others run by themselves and are left alone.
    pub fn step(&self, by: std::time::Duration) {
        if let Self::Frozen(at) = self {
            let mut at = at.lock();
            *at = at.saturating_add(by).unwrap_or(Timestamp::MAX);
        }
    }

    /// The time now as the API writes it: RFC 3339 in UTC, whole seconds.
    pub fn stamp(&self) -> String {
        stamp(self.now())
    }
}

/// A time as the API writes it: RFC 3339 in UTC, whole seconds.
pub fn stamp(at: Timestamp) -> String {
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
            None if text == "real" => Ok(Self::Real),
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
    fn a_frozen_clock_stands_until_it_is_stepped() {
        let clock: Clock = "frozen:2015-06-26T12:00:00Z".parse().unwrap();
        assert_eq!(clock.stamp(), "2015-06-26T12:00:00Z");
        clock.step(std::time::Duration::from_secs(90));
        assert_eq!(clock.stamp(), "2015-06-26T12:01:30Z");
        assert!("noon".parse::<Clock>().is_err());
    }
}
