//! `Status`: every error response, and some responses of success.
//!
//! - One table maps each reason to its code. Texts are those of Kubernetes v1.2 (`api/errors`), as recorded.
//! - Limit: a few 500s of the recorded server have other texts; callers create them with [`Status::internal`].

use serde_json::{Map, Value, json};

use super::{field::FieldError, go_quote};

/// Reason of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No reason: only the code is known.
    Unknown,
    /// The request has no valid credentials.
    Unauthorized,
    /// The action is not allowed.
    Forbidden,
    /// The requested object or path does not exist.
    NotFound,
    /// An object of that name exists.
    AlreadyExists,
    /// The object has changed since it was read, or the change is not possible.
    Conflict,
    /// The requested history is no longer kept.
    Gone,
    /// The object is invalid.
    Invalid,
    /// The request is malformed.
    BadRequest,
    /// The path does not support the method.
    MethodNotAllowed,
    /// The media type of the body is not supported.
    UnsupportedMediaType,
    /// The body is larger than allowed.
    RequestEntityTooLarge,
    /// The server failed.
    InternalError,
    /// The server did not complete the operation. The client may retry.
    ServerTimeout,
    /// The service is not available.
    ServiceUnavailable,
    /// The operation timed out.
    Timeout,
}

impl Reason {
    /// HTTP status code.
    pub fn code(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::AlreadyExists | Self::Conflict => 409,
            Self::Gone => 410,
            Self::RequestEntityTooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::Invalid => 422,
            Self::InternalError | Self::ServerTimeout | Self::Unknown => 500,
            Self::ServiceUnavailable => 503,
            Self::Timeout => 504,
        }
    }

    /// Reason on the wire. Empty for [`Reason::Unknown`].
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "",
            Self::Unauthorized => "Unauthorized",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
            Self::AlreadyExists => "AlreadyExists",
            Self::Conflict => "Conflict",
            Self::Gone => "Gone",
            Self::Invalid => "Invalid",
            Self::BadRequest => "BadRequest",
            Self::MethodNotAllowed => "MethodNotAllowed",
            Self::UnsupportedMediaType => "UnsupportedMediaType",
            Self::RequestEntityTooLarge => "RequestEntityTooLarge",
            Self::InternalError => "InternalError",
            Self::ServerTimeout => "ServerTimeout",
            Self::ServiceUnavailable => "ServiceUnavailable",
            Self::Timeout => "Timeout",
        }
    }
}

/// Details of a `Status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Name of the object.
    pub name: String,
    /// API group. Empty for the core group.
    pub group: String,
    /// Kind, or resource if the kind is not known.
    pub kind: String,
    /// Causes of the error.
    pub causes: Vec<Cause>,
    /// Seconds after which to retry. 0 for none.
    pub retry_after_seconds: u32,
}

/// Cause of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Machine-readable reason.
    pub reason: String,
    /// Text of the cause.
    pub message: String,
    /// Dotted path of the field.
    pub field: String,
}

/// Result of a request that is not an object: `unversioned.Status`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    /// HTTP status code, repeated in the body.
    pub code: u16,
    /// Reason. [`Reason::Unknown`] for a success.
    pub reason: Reason,
    /// Text. Empty for a success.
    pub message: String,
    /// Object that the status is about.
    pub details: Option<Box<Details>>,
}

/// Resource and group in error texts: `pods`, `jobs.extensions`.
fn qualified(resource: &str, group: &str) -> String {
    if group.is_empty() {
        resource.to_owned()
    } else {
        format!("{resource}.{group}")
    }
}

/// Joins the texts of several errors: a single one alone, several in brackets.
pub(crate) fn texts(problems: &[impl ToString]) -> String {
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    if texts.len() == 1 {
        texts.concat()
    } else {
        format!("[{}]", texts.join(", "))
    }
}

fn about(group: &str, kind: &str, name: &str) -> Option<Box<Details>> {
    Some(Box::new(Details {
        name: name.to_owned(),
        group: group.to_owned(),
        kind: kind.to_owned(),
        ..Details::default()
    }))
}

impl Status {
    /// Returns an error with this reason and text, without details.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            code: reason.code(),
            reason,
            message: message.into(),
            details: None,
        }
    }

    /// Returns a success.
    pub fn success() -> Self {
        Self {
            code: 200,
            reason: Reason::Unknown,
            message: String::new(),
            details: None,
        }
    }

    /// Returns the same status with another code.
    pub fn with_code(mut self, code: u16) -> Self {
        self.code = code;
        self
    }

    /// The object `name` of `resource` does not exist.
    pub fn not_found(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {} not found", qualified(resource, group), go_quote(name));
        Self {
            details: about(group, resource, name),
            ..Self::new(Reason::NotFound, message)
        }
    }

    /// The path does not exist.
    pub fn no_such_path() -> Self {
        Self {
            details: Some(Box::default()),
            ..Self::new(Reason::NotFound, "the server could not find the requested resource")
        }
    }

    /// An object of that name exists.
    pub fn already_exists(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {} already exists", qualified(resource, group), go_quote(name));
        Self {
            details: about(group, resource, name),
            ..Self::new(Reason::AlreadyExists, message)
        }
    }

    /// The object cannot be changed as requested. `why` is the cause.
    pub fn conflict(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let message = format!(
            "{} {} cannot be updated: {why}",
            qualified(resource, group),
            go_quote(name)
        );
        Self {
            details: about(group, resource, name),
            ..Self::new(Reason::Conflict, message)
        }
    }

    /// The action on the object is not allowed. `why` is the cause.
    pub fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let message = format!("{} {} is forbidden: {why}", qualified(resource, group), go_quote(name));
        Self {
            details: about(group, resource, name),
            ..Self::new(Reason::Forbidden, message)
        }
    }

    /// The object is invalid. `errors` are the causes.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let list = texts(errors);
        let causes = errors
            .iter()
            .map(|e| Cause {
                reason: e.kind.reason().to_owned(),
                message: e.body(),
                field: e.field.to_string(),
            })
            .collect();
        Self {
            details: Some(Box::new(Details {
                name: name.to_owned(),
                group: group.to_owned(),
                kind: kind.to_owned(),
                causes,
                retry_after_seconds: 0,
            })),
            ..Self::new(
                Reason::Invalid,
                format!("{} {} is invalid: {list}", qualified(kind, group), go_quote(name)),
            )
        }
    }

    /// The request is malformed.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(Reason::BadRequest, message)
    }

    /// The path does not support the method.
    pub fn method_not_allowed() -> Self {
        Self {
            details: Some(Box::default()),
            ..Self::new(
                Reason::MethodNotAllowed,
                "the server does not allow this method on the requested resource",
            )
        }
    }

    /// The server did not complete `operation`; the client should retry.
    pub fn server_timeout(group: &str, kind: &str, operation: &str) -> Self {
        let what = qualified(kind, group);
        let message =
            format!("The {operation} operation against {what} could not be completed at this time, please try again.");
        Self {
            details: about(group, kind, operation),
            ..Self::new(Reason::ServerTimeout, message)
        }
    }

    /// An error with this code and without a reason.
    pub fn unexplained(code: u16, message: impl Into<String>) -> Self {
        Self {
            code,
            ..Self::new(Reason::Unknown, message)
        }
    }

    /// An internal error with this text.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Reason::InternalError, message)
    }

    /// The cluster failed to handle a valid request. `why` is the cause.
    pub fn internal_error(why: impl Into<String>) -> Self {
        let why = why.into();
        let mut status = Self::internal(format!("Internal error occurred: {why}"));
        let cause = Cause {
            reason: String::new(),
            message: why,
            field: String::new(),
        };
        status.details = Some(Box::new(Details {
            causes: vec![cause],
            ..Details::default()
        }));
        status
    }

    /// Whether this is a success.
    pub fn is_success(&self) -> bool {
        self.code < 400
    }

    /// Encodes the status as an object.
    pub fn to_value(&self) -> Value {
        let mut out = Map::new();
        out.insert("kind".into(), "Status".into());
        out.insert("apiVersion".into(), "v1".into());
        out.insert("metadata".into(), json!({}));
        out.insert(
            "status".into(),
            if self.is_success() { "Success" } else { "Failure" }.into(),
        );
        if !self.message.is_empty() {
            out.insert("message".into(), self.message.clone().into());
        }
        if !self.reason.as_str().is_empty() {
            out.insert("reason".into(), self.reason.as_str().into());
        }
        if let Some(details) = &self.details {
            out.insert("details".into(), details.to_value());
        }
        out.insert("code".into(), self.code.into());
        Value::Object(out)
    }
}

impl Details {
    fn to_value(&self) -> Value {
        let mut out = Map::new();
        for (key, value) in [("name", &self.name), ("group", &self.group), ("kind", &self.kind)] {
            if !value.is_empty() {
                out.insert(key.into(), value.clone().into());
            }
        }
        if !self.causes.is_empty() {
            let causes = self.causes.iter().map(|c| {
                let fields = [("reason", &c.reason), ("message", &c.message), ("field", &c.field)];
                Value::Object(
                    fields
                        .into_iter()
                        .filter(|(_, v)| !v.is_empty())
                        .map(|(k, v)| (k.to_owned(), v.clone().into()))
                        .collect(),
                )
            });
            out.insert("causes".into(), causes.collect());
        }
        if self.retry_after_seconds > 0 {
            out.insert("retryAfterSeconds".into(), self.retry_after_seconds.into());
        }
        Value::Object(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Path;

    #[test]
    fn several_texts_are_in_brackets() {
        let one = FieldError::required(&Path::new("spec.containers"), "");
        let single = Status::invalid("", "Pod", "a", std::slice::from_ref(&one));
        assert_eq!(single.message, "Pod \"a\" is invalid: spec.containers: Required value");
        let double = Status::invalid("extensions", "Job", "a", &[one.clone(), one]);
        assert_eq!(
            double.message,
            "Job.extensions \"a\" is invalid: [spec.containers: Required value, spec.containers: Required value]"
        );
        assert_eq!(double.to_value()["details"]["causes"][1]["field"], "spec.containers");
    }

    #[test]
    fn the_code_is_repeated_in_the_body() {
        let status = Status::not_found("", "pods", "x");
        assert_eq!(
            status.to_value().to_string(),
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods \"x\" not found","reason":"NotFound","details":{"name":"x","kind":"pods"},"code":404}"#
        );
    }
}
