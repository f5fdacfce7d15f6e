//! Times of replayed streams.

use super::Speed;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// The time base of a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    begun: Instant,
    speed: Speed,
    pub(super) hold: Duration,
}

impl Pace {
    pub(super) fn new(speed: Speed, hold: Duration) -> Self {
        Self {
            begun: Instant::now(),
            speed,
            hold,
        }
    }

    /// Waits until a frame that was recorded at this time is due.
    pub(super) async fn due(&self, at: Duration) {
        if let Speed::Factor(factor) = self.speed
            && let Ok(after) = Duration::try_from_secs_f64(at.as_secs_f64() / factor)
        {
            sleep_until(self.begun + after).await;
        }
    }

    /// Whether there are delays.
    pub(super) fn is_instant(&self) -> bool {
        self.speed == Speed::Instant
    }
}
