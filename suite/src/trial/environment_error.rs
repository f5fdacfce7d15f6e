//! Errors of the environment of a trial.

use serde_json::Value;

use crate::check::{Answer, shown_body};
use crate::request::{Request, UnboundName};
use crate::target::{Target, TargetError};

/// Error of setting up or using an environment.
#[derive(Debug, thiserror::Error)]
pub(super) enum EnvironmentError {
    /// The target did not respond.
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
    /// The response of the target has no JSON object with a name.
    #[error("{request} returned {body}, expected an object with a name\n{curl}")]
    NoObject {
        request: String,
        body: String,
        curl: String,
    },
    /// The cluster did not reach the state that the trial needs in time.
    #[error("{0}: no success after {1}")]
    Late(String, String),
    /// The case uses a name that is not bound.
    #[error(transparent)]
    Unbound(#[from] UnboundName),
    /// The case is invalid.
    #[error("the case is invalid: {0}")]
    Case(String),
}

impl EnvironmentError {
    /// Returns the object of a successful response.
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

    /// Returns the error of a response that is not the expected object.
    pub(super) fn not_an_object(target: &Target, request: &Request, answer: &Answer) -> Self {
        Self::NoObject {
            request: format!("{} {}", request.method, request.target()),
            body: shown_body(answer),
            curl: target.curl(request),
        }
    }
}
