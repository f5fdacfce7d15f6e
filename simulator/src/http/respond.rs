//! Responses: objects, statuses and plain texts, in the format that the client accepts.
//!
//! - The format of an error is negotiated as that of an object. A client that accepts no format gets a 406 as
//!   indented JSON (`discovery.har`).
//! - Compact JSON is sent without a copy; indented JSON and YAML are generated on demand.

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

/// Media type of plain text.
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// An error response.
#[derive(Debug)]
pub(crate) enum ErrorResponse {
    /// A Status.
    Status(Status),
    /// The client accepts no offered media type.
    NotAcceptable(NotAcceptable),
}

impl From<Status> for ErrorResponse {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

impl From<NotAcceptable> for ErrorResponse {
    fn from(error: NotAcceptable) -> Self {
        Self::NotAcceptable(error)
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

/// Returns a 200 with a media type other than JSON or YAML.
pub(crate) fn with_media_type(media_type: &'static str, bytes: Bytes) -> Response<Body> {
    response(200, media_type, Body::full(bytes))
}

/// Returns an object, given as compact JSON, in `format`.
pub(crate) fn object(code: u16, json: Bytes, format: Format) -> Response<Body> {
    let body = match format {
        Format::Compact => Body::line(json),
        Format::Pretty => Body::full(json_write::indented(&json)),
        Format::Yaml => Body::full(yaml::from_value(
            &serde_json::from_slice::<Value>(&json).unwrap_or_default(),
        )),
    };
    response(code, format.media_type(), body)
}

/// Returns JSON that is sent unchanged.
pub(crate) fn json(code: u16, json: Bytes) -> Response<Body> {
    response(code, JSON, Body::full(json))
}

/// Returns plain text.
pub(crate) fn text(code: u16, text: impl Into<Bytes>) -> Response<Body> {
    response(code, TEXT, Body::full(text))
}

/// Returns an HTML page.
pub(crate) fn html(code: u16, page: impl Into<Bytes>) -> Response<Body> {
    response(code, HTML, Body::full(page))
}

/// Returns a response without a body.
pub(crate) fn empty(code: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = code;
    response
}

/// Returns the response to an error, in the format negotiated by `headers` and `query`.
pub(crate) fn error(error: ErrorResponse, headers: &HeaderMap, query: Query<'_>) -> Response<Body> {
    let status = match error {
        ErrorResponse::NotAcceptable(error) => return not_acceptable(&error),
        ErrorResponse::Status(status) => status,
    };
    match Format::negotiate(headers, query, OBJECTS) {
        Ok(format) => object(status.code, Bytes::from(status.to_value().to_string()), format),
        Err(error) => not_acceptable(&error),
    }
}

fn not_acceptable(error: &NotAcceptable) -> Response<Body> {
    let body = json!({"metadata": {}, "status": "Failure", "message": error.message(), "reason": "NotAcceptable",
        "code": 406});
    json(406, Bytes::from(format!("{body:#}")))
}

/// Returns a redirect to the path `location` with `query`. For GET and HEAD the body is an HTML page.
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
