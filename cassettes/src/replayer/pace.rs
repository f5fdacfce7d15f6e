//! The times at which recorded streams are sent.

use super::Speed;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// When what a stream carries is due.
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

    /// Waits until what came at this time is due.
    pub(super) async fn due(&self, at: Duration) {
        if let Speed::Factor(factor) = self.speed
            && let Ok(after) = Duration::try_from_secs_f64(at.as_secs_f64() / factor)
        {
            sleep_until(self.begun + after).await;
        }
    }

    /// Whether time passes at all.
    pub(super) fn is_instant(&self) -> bool {
        self.speed == Speed::Instant
    }
}
