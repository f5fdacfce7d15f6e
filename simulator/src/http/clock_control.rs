//! `/_stuntdouble/clock`: the time of the cluster.
//!
//! - GET returns `{"now": "2015-06-26T12:00:00Z"}`.
//! - POST of `{"advance": "10m"}` steps a frozen clock from one deadline to the next, waits until nothing is left to do, and returns the same.
//! - Limits: a clock that runs is not stepped (409); at most [`LONGEST`] at a time (400).

use std::time::Duration;

use http::{Method, Response, request::Parts};
use hyper::body::Incoming;
use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::json;

use super::{
    body::{self, Body},
    respond,
    service::Service,
};
use crate::api::{Reason, Status};

/// The path.
pub(super) const PATH: &str = "/_stuntdouble/clock";

/// The most that a clock is stepped at a time.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    advance: String,
}

impl Step {
    fn duration(&self) -> Result<Duration, Status> {
        let text = &self.advance;
        let duration: SignedDuration = text
            .parse()
            .map_err(|error| Status::bad_request(format!("advance: {text:?} is no duration: {error}")))?;
        Duration::try_from(duration)
            .ok()
            .filter(|duration| *duration <= LONGEST)
            .ok_or_else(|| Status::bad_request(format!("advance: {text:?} is not between 0 and 24h")))
    }
}

impl Service {
    /// Reads or steps the clock.
    pub(super) async fn control_clock(&self, parts: &Parts, body: Incoming) -> Result<Response<Body>, Status> {
        match parts.method {
            Method::GET => {}
            Method::POST => self.step_clock(body).await?,
            _ => return Err(Status::method_not_allowed()),
        }
        let now = json!({"now": self.clock.stamp()});
        Ok(respond::json(200, now.to_string().into()))
    }

    async fn step_clock(&self, body: Incoming) -> Result<(), Status> {
        let bytes = body::read(body, self.limits.body, self.limits.body_timeout).await?;
        let step: Step = serde_json::from_slice(&bytes)
            .map_err(|error| Status::bad_request(format!("expected {{\"advance\": DURATION}}: {error}")))?;
        let duration = step.duration()?;
        if !self.clock.is_frozen() {
            return Err(Status::new(
                Reason::Conflict,
                "the clock runs by itself; one that is stepped is started with --clock frozen:TIME",
            ));
        }
        self.clock.advance(duration).await;
        self.clock.settle().await;
        Ok(())
    }
}
