//! Why the environment of a trial could not be set up or used.

use serde_json::Value;

use crate::check::{Answer, shown_body};
use crate::request::{Request, UnboundName};
use crate::target::{Target, TargetError};

/// Why an environment could not be set up or used.
#[derive(Debug, thiserror::Error)]
pub(super) enum EnvironmentError {
    /// The target did not answer.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The target refused a request that must succeed.
    #[error("{request} returned {status}, expected 200: {body}\n{curl}")]
    Refused {
        request: String,
        status: u16,
        body: String,
        curl: String,
    },
    /// The target returned something other than an object.
    #[error("{request} returned no object: {body}\n{curl}")]
    NoObject {
        request: String,
        body: String,
        curl: String,
    },
    /// The cluster did not come to the state that the trial needs.
    #[error("{0}: waited {1}")]
    Late(String, String),
    /// The case uses a name that is not bound.
    #[error(transparent)]
    Unbound(#[from] UnboundName),
    /// The case cannot be played.
    #[error("the case cannot be played: {0}")]
    Case(String),
}

impl EnvironmentError {
    /// The object that an answer of success holds.
    pub(super) fn object(target: &Target, request: &Request, answer: &Answer) -> Result<Value, Self> {
        if !(200..300).contains(&answer.status) {
            return Err(Self::Refused {
                request: format!("{} {}", request.method, request.target()),
                status: answer.status,
                body: shown_body(answer),
                curl: target.curl(request),
            });
        }
        match serde_json::from_slice(&answer.body) {
            Ok(Value::Object(fields)) => Ok(Value::Object(fields)),
            _ => Err(Self::not_an_object(target, request, answer)),
        }
    }

    /// The error of an answer that is not the expected object.
    pub(super) fn not_an_object(target: &Target, request: &Request, answer: &Answer) -> Self {
        Self::NoObject {
            request: format!("{} {}", request.method, request.target()),
            body: shown_body(answer),
            curl: target.curl(request),
        }
    }
}
