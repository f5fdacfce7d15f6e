//! Request log.
//!
//! - One event per request, at the start of its response: level INFO, target `stuntdouble::request`, with method,
//!   path, status, milliseconds and client address.
//! - Queries, headers and bodies are omitted, because they may contain secrets.
//!
//! Limits: no response length, because it is unknown when the response begins.

use std::{net::SocketAddr, time::Instant};

use hyper::{Method, Request, Response};
use tracing::{Level, enabled, info};

/// Target of the events.
const TARGET: &str = "stuntdouble::request";

/// A request that is logged when its response begins.
#[derive(Debug)]
pub struct RequestLog(Option<Entry>);

#[derive(Debug)]
struct Entry {
    method: Method,
    path: String,
    client: SocketAddr,
    begun: Instant,
}

impl RequestLog {
    /// Starts with a request of `client`. Does nothing if there is no subscriber to the events.
    pub fn begin<B>(request: &Request<B>, client: SocketAddr) -> Self {
        if !enabled!(target: TARGET, Level::INFO) {
            return Self(None);
        }
        Self(Some(Entry {
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            client,
            begun: Instant::now(),
        }))
    }

    /// Logs the request with its response.
    pub fn end<B>(self, response: &Response<B>) {
        let Some(entry) = self.0 else { return };
        info!(
            target: TARGET,
            method = %entry.method,
            path = entry.path,
            status = response.status().as_u16(),
            milliseconds = entry.begun.elapsed().as_secs_f64() * 1e3,
            client = %entry.client,
            "request"
        );
    }
}
