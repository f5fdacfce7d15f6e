//! Responses: objects, statuses and plain texts, in the format that the client takes.
//!
//! - A refusal is negotiated like any object; a client that takes no format of it gets the 406 instead, as indented JSON (`discovery.har`).
//! - Compact bodies are sent from the bytes they are kept in; indented JSON and YAML are made on demand.

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Response, StatusCode,
    header::{CONTENT_TYPE, LOCATION},
};
use serde_json::{Value, json};

use super::{
    body::Body,
    negotiation::{Format, JSON, NotAcceptable, OBJECTS},
    query::Query,
};
use crate::{
    api::Status,
    compat::{json_write, yaml},
};

/// The media type of plain texts.
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// Why a request gets no object.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// For the reason in this status.
    Status(Status),
    /// It takes no format that is on offer.
    NotAcceptable(NotAcceptable),
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

impl From<NotAcceptable> for Refusal {
    fn from(refusal: NotAcceptable) -> Self {
        Self::NotAcceptable(refusal)
    }
}

fn response(code: u16, media_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// A success, in a media type of its own.
pub(crate) fn of(media_type: &'static str, bytes: Bytes) -> Response<Body> {
    response(200, media_type, Body::whole(bytes))
}

/// An object, given as compact JSON.
pub(crate) fn object(code: u16, json: Bytes, format: Format) -> Response<Body> {
    let value = || serde_json::from_slice::<Value>(&json).unwrap_or_default();
    let body = match format {
        Format::Compact => Body::line(json),
        Format::Pretty => Body::whole(json_write::pretty(&value())),
        Format::Yaml => Body::whole(yaml::from_value(&value())),
    };
    response(code, format.media_type(), body)
}

/// JSON that is already as it is to be sent.
pub(crate) fn json(code: u16, json: Bytes) -> Response<Body> {
    response(code, JSON, Body::whole(json))
}

/// A plain text.
pub(crate) fn text(code: u16, text: impl Into<Bytes>) -> Response<Body> {
    response(code, TEXT, Body::whole(text))
}

/// A page.
pub(crate) fn html(code: u16, page: impl Into<Bytes>) -> Response<Body> {
    response(code, HTML, Body::whole(page))
}

/// A response of which the code is all.
pub(crate) fn empty(code: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = code;
    response
}

/// A refusal, for a client that sends `headers` and `query`.
pub(crate) fn refuse(refusal: Refusal, headers: &HeaderMap, query: Query<'_>) -> Response<Body> {
    let status = match refusal {
        Refusal::NotAcceptable(refusal) => return not_acceptable(&refusal),
        Refusal::Status(status) => status,
    };
    match Format::negotiate(headers, query, OBJECTS) {
        Ok(format) => object(status.code, Bytes::from(status.to_value().to_string()), format),
        Err(refusal) => not_acceptable(&refusal),
    }
}

fn not_acceptable(refusal: &NotAcceptable) -> Response<Body> {
    let body = json!({"metadata": {}, "status": "Failure", "message": refusal.message(), "reason": "NotAcceptable", "code": 406});
    json(406, Bytes::from(format!("{body:#}")))
}

/// A path's refusal for want of a media type: the code, and nothing more to say.
pub(crate) fn generic(code: u16) -> Status {
    let text = format!("the server responded with the status code {code} but did not return more information");
    Status {
        details: Some(Box::default()),
        ..Status::unexplained(code, text)
    }
}

/// A redirect of a request with `method` to `location`, which is a path, with `query`; it has a page for those who read it.
pub(crate) fn redirect(method: &Method, code: u16, location: &str, query: Option<&str>) -> Response<Body> {
    let location = query.map_or_else(|| location.to_owned(), |query| format!("{location}?{query}"));
    let code = StatusCode::from_u16(code).unwrap_or(StatusCode::MOVED_PERMANENTLY);
    let mut response = match *method {
        Method::GET | Method::HEAD => {
            let shown = location
                .replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('>', "&gt;")
                .replace('"', "&#34;")
                .replace('\'', "&#39;");
            html(
                code.as_u16(),
                format!(
                    "<a href=\"{shown}\">{}</a>.\n\n",
                    code.canonical_reason().unwrap_or_default()
                ),
            )
        }
        _ => Response::new(Body::empty()),
    };
    *response.status_mut() = code;
    if let Ok(location) = HeaderValue::from_str(&location) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}
