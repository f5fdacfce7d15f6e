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
use stuntdouble_server::Limits;

use super::{
    body::{self, Body},
    respond,
};
use crate::{
    api::{Reason, Status},
    clock::Clock,
};

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

/// Reads or steps a clock.
pub(super) async fn control(
    clock: &Clock,
    limits: &Limits,
    parts: &Parts,
    body: Incoming,
) -> Result<Response<Body>, Status> {
    match parts.method {
        Method::GET => {}
        Method::POST => step(clock, limits, body).await?,
        _ => return Err(Status::method_not_allowed()),
    }
    let now = json!({"now": clock.stamp()});
    Ok(respond::json(200, now.to_string().into()))
}

async fn step(clock: &Clock, limits: &Limits, body: Incoming) -> Result<(), Status> {
    let bytes = body::read(body, limits.body, limits.body_timeout).await?;
    let step: Step = serde_json::from_slice(&bytes)
        .map_err(|error| Status::bad_request(format!("expected {{\"advance\": DURATION}}: {error}")))?;
    let duration = step.duration()?;
    if !clock.is_frozen() {
        return Err(Status::new(
            Reason::Conflict,
            "the clock runs by itself; one that is stepped is started with --clock frozen:TIME",
        ));
    }
    clock.advance(duration).await;
    clock.settle().await;
    Ok(())
}
