//! `Status`: every refusal, and some of the successes, as a value.
//!
//! One table gives each reason its code. Texts are those of Kubernetes v1.2 (`api/errors`), as recorded.
//! Limits: the recorded server's few free-worded 500s are built by the caller with [`Status::internal`].

use serde_json::{Map, Value, json};

use super::{field::FieldError, go_quote};

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No reason is given; the code says all.
    Unknown,
    /// No valid credentials came with the request.
    Unauthorized,
    /// The action is not allowed.
    Forbidden,
    /// What was asked for is not there.
    NotFound,
    /// An object of that name is there already.
    AlreadyExists,
    /// The object has changed since it was read, or cannot be changed so.
    Conflict,
    /// The asked-for part of history is no longer kept.
    Gone,
    /// The object does not pass validation.
    Invalid,
    /// The request is malformed.
    BadRequest,
    /// The path exists, the method does not.
    MethodNotAllowed,
    /// The body's media type is not understood.
    UnsupportedMediaType,
    /// The body is larger than allowed.
    RequestEntityTooLarge,
    /// The server failed.
    InternalError,
    /// The server did not complete the operation; the client can try again.
    ServerTimeout,
    /// What would answer is not there now.
    ServiceUnavailable,
    /// What would answer did not in time.
    Timeout,
}

impl Reason {
    /// The HTTP status code.
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

    /// The word on the wire; empty for [`Reason::Unknown`].
    pub fn word(self) -> &'static str {
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

/// What a `Status` is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// The object's name.
    pub name: String,
    /// The API group; empty for the core group.
    pub group: String,
    /// The kind, or the resource where the kind is not known.
    pub kind: String,
    /// The single causes.
    pub causes: Vec<Cause>,
    /// Seconds after which to ask again; 0 for none.
    pub retry_after_seconds: u32,
}

/// One cause of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The machine-readable reason.
    pub reason: String,
    /// The text.
    pub message: String,
    /// The field, in dotted form.
    pub field: String,
}

/// An outcome that is no object: `unversioned.Status`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    /// The HTTP status code, repeated in the body.
    pub code: u16,
    /// Why; [`Reason::Unknown`] for a success.
    pub reason: Reason,
    /// The text; empty for a success.
    pub message: String,
    /// What it is about.
    pub details: Option<Box<Details>>,
}

/// A resource in its group, as error texts name it: `pods`, `jobs.extensions`.
fn qualified(resource: &str, group: &str) -> String {
    if group.is_empty() {
        resource.to_owned()
    } else {
        format!("{resource}.{group}")
    }
}

/// The texts of several problems as one: a single one alone, several in brackets.
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
    /// A refusal for `reason` in these words, about nothing in particular.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            code: reason.code(),
            reason,
            message: message.into(),
            details: None,
        }
    }

    /// A success.
    pub fn success() -> Self {
        Self {
            code: 200,
            reason: Reason::Unknown,
            message: String::new(),
            details: None,
        }
    }

    /// The same, with another code.
    pub fn with_code(mut self, code: u16) -> Self {
        self.code = code;
        self
    }

    /// The object `name` of `resource` is not there.
    pub fn not_found(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {} not found", qualified(resource, group), go_quote(name));
        Self {
            details: about(group, resource, name),
            ..Self::new(Reason::NotFound, message)
        }
    }

    /// No such path.
    pub fn no_such_path() -> Self {
        Self {
            details: Some(Box::default()),
            ..Self::new(Reason::NotFound, "the server could not find the requested resource")
        }
    }

    /// An object of that name is there already.
    pub fn already_exists(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {} already exists", qualified(resource, group), go_quote(name));
        Self {
            details: about(group, resource, name),
            ..Self::new(Reason::AlreadyExists, message)
        }
    }

    /// The object cannot be changed as asked: `why`.
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

    /// The action on the object is not allowed: `why`.
    pub fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let message = format!("{} {} is forbidden: {why}", qualified(resource, group), go_quote(name));
        Self {
            details: about(group, resource, name),
            ..Self::new(Reason::Forbidden, message)
        }
    }

    /// The object does not pass validation, for every one of `errors`.
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

    /// The path is there, and this method is not for it.
    pub fn method_not_allowed() -> Self {
        Self {
            details: Some(Box::default()),
            ..Self::new(
                Reason::MethodNotAllowed,
                "the server does not allow this method on the requested resource",
            )
        }
    }

    /// The server did not complete `operation` and asks to try again.
    pub fn server_timeout(group: &str, kind: &str, operation: &str) -> Self {
        let what = qualified(kind, group);
        let message =
            format!("The {operation} operation against {what} could not be completed at this time, please try again.");
        Self {
            details: about(group, kind, operation),
            ..Self::new(Reason::ServerTimeout, message)
        }
    }

    /// A failure with this code that gives no reason.
    pub fn unexplained(code: u16, message: impl Into<String>) -> Self {
        Self {
            code,
            ..Self::new(Reason::Unknown, message)
        }
    }

    /// The server failed, in these words.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Reason::InternalError, message)
    }

    /// The cluster failed at what a client rightly asked, because of `why`.
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

    /// The object on the wire.
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
        if !self.reason.word().is_empty() {
            out.insert("reason".into(), self.reason.word().into());
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
    fn one_problem_stands_alone_and_several_in_brackets() {
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
