//! `/_stuntdouble/clock`: the clock of the cluster.
//!
//! - GET returns `{"now": "2015-06-26T12:00:00Z"}`.
//! - POST of `{"advance": "10m"}` steps a frozen clock from one deadline to the next, waits until the cluster is
//!   idle, and returns the new time.
//! - Errors: 409 if the clock is not frozen, 400 for more than [`MAX_STEP`].

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

/// Path of the endpoint.
pub(super) const PATH: &str = "/_stuntdouble/clock";

/// Maximum duration of a step.
const MAX_STEP: Duration = Duration::from_secs(24 * 3600);

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
            .map_err(|error| Status::bad_request(format!("advance: invalid duration {text:?}: {error}")))?;
        Duration::try_from(duration)
            .ok()
            .filter(|duration| *duration <= MAX_STEP)
            .ok_or_else(|| Status::bad_request(format!("advance: {text:?} is not between 0 and 24h")))
    }
}

/// Responds to a request that reads or steps a clock.
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
            "the clock is not frozen: start the simulator with --clock frozen:TIME to step it",
        ));
    }
    clock.advance(duration).await;
    clock.settle().await;
    Ok(())
}
