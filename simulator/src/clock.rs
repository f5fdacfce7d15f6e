//! Injected time and chance.
//!
//! Nothing else in the crate asks for the time of day or for a random number. Same seed, clock and requests: the same bytes.

use std::{str::FromStr, sync::Arc};

use jiff::{Timestamp, Unit};
use parking_lot::Mutex;
use rand::{RngExt, SeedableRng, rngs::StdRng};

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

/// Seeded chance: uids, generated names, choices.
#[derive(Debug)]
pub struct Chance(Mutex<StdRng>);

impl Chance {
    /// Chance that always comes out the same for the same seed.
    pub fn seeded(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }

    /// A new uid: a version-4 UUID.
    pub fn uid(&self) -> String {
        let bits: u128 = self.0.lock().random();
        let bits = (bits & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
        let hex = format!("{bits:032x}");
        format!(
            "{}-{}-{}-{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[12..16],
            &hex[16..20],
            &hex[20..]
        )
    }

    /// Five characters to append to a generated name.
    pub fn suffix(&self) -> String {
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz0123456789";
        let mut rng = self.0.lock();
        (0..5)
            .map(|_| char::from(ALPHABET[rng.random_range(0..ALPHABET.len())]))
            .collect()
    }

    /// A number below `bound`; 0 where `bound` is 0.
    pub fn below(&self, bound: usize) -> usize {
        if bound == 0 {
            0
        } else {
            self.0.lock().random_range(0..bound)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_uids() {
        let (a, b) = (Chance::seeded(7), Chance::seeded(7));
        let uid = a.uid();
        assert_eq!(uid, b.uid());
        assert_ne!(uid, a.uid());
        assert_eq!(uid.len(), 36);
        assert_eq!(uid.as_bytes()[14], b'4');
    }

    #[test]
    fn a_frozen_clock_stands_until_it_is_stepped() {
        let clock: Clock = "frozen:2015-06-26T12:00:00Z".parse().unwrap();
        assert_eq!(clock.stamp(), "2015-06-26T12:00:00Z");
        clock.step(std::time::Duration::from_secs(90));
        assert_eq!(clock.stamp(), "2015-06-26T12:01:30Z");
        assert!("noon".parse::<Clock>().is_err());
    }
}
