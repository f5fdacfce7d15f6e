//! Responses and their serialization.

use bytes::Bytes;
use http::{Method, Response, StatusCode, header};
use http_body_util::Full;
use serde_json::{Value, json};

use super::RestRequest;
use super::yaml::yaml_of;
use crate::error::{Result, SearchError};
use crate::json;

/// Content of a response.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    Json(Value),
    /// Serialized JSON.
    Written(Vec<u8>),
    /// Source of a document: JSON that is never indented.
    Source(Vec<u8>),
    Text(String),
    None,
}

/// A response: status and content.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content: Content,
}

impl Answer {
    pub(crate) fn ok(value: Value) -> Answer {
        Answer::json(200, value)
    }

    pub(crate) fn json(status: u16, value: Value) -> Answer {
        Answer {
            status,
            content: Content::Json(value),
        }
    }

    pub(crate) fn text(text: String) -> Answer {
        Answer {
            status: 200,
            content: Content::Text(text),
        }
    }

    /// A response to a HEAD request: a status without content.
    pub(crate) fn exists(exists: bool) -> Answer {
        Answer {
            status: if exists { 200 } else { 404 },
            content: Content::None,
        }
    }

    /// A response to a HEAD request, for which what is missing is no error.
    pub(crate) fn found(exists: Result<bool>) -> Result<Answer> {
        match exists {
            Err(error) if error.status != 404 => Err(error),
            exists => Ok(Answer::exists(exists.unwrap_or(false))),
        }
    }

    pub(crate) fn acknowledged(by_all: bool) -> Answer {
        Answer::ok(json!({"acknowledged": by_all}))
    }

    pub(crate) fn error(error: &SearchError) -> Answer {
        let status = if error.is_java() { 500 } else { error.status };
        Answer::json(status, json!({"error": error.to_string(), "status": status}))
    }

    /// Converts to an HTTP response in a format.
    pub(super) fn into_http(self, format: Format, head: bool) -> Response<Full<Bytes>> {
        let Format { pretty, yaml, .. } = format;
        let (mime, body) = match self.content {
            Content::None => ("text/plain; charset=UTF-8", Vec::new()),
            Content::Text(text) => ("text/plain; charset=UTF-8", text.into_bytes()),
            Content::Json(mut value) if format.camel_case => {
                camel_case(&mut value);
                let format = Format {
                    camel_case: false,
                    ..format
                };
                return Answer::json(self.status, value).into_http(format, head);
            }
            Content::Written(body) if format.is_plain() || body.is_empty() => ("application/json; charset=UTF-8", body),
            Content::Source(mut body) if !yaml => {
                body.extend(pretty.then_some(b'\n'));
                ("application/json; charset=UTF-8", body)
            }
            Content::Written(body) | Content::Source(body) => {
                let value: Value = serde_json::from_slice(&body).unwrap_or_default();
                return Answer::json(self.status, value).into_http(format, head);
            }
            Content::Json(value) if yaml => ("application/yaml", yaml_of(&value).into_bytes()),
            Content::Json(value) if pretty => ("application/json; charset=UTF-8", pretty_of(&value).into_bytes()),
            Content::Json(value) => (
                "application/json; charset=UTF-8",
                serde_json::to_vec(&value).unwrap_or_default(),
            ),
        };
        // The response to a HEAD request has no body, and a text type.
        let mime = if head { "text/plain; charset=UTF-8" } else { mime };
        let length = body.len();
        let mut response = Response::new(Full::new(Bytes::from(if head { Vec::new() } else { body })));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, header::HeaderValue::from_static(mime));
        if !head || length == 0 {
            response
                .headers_mut()
                .insert(header::CONTENT_LENGTH, header::HeaderValue::from(length));
        }
        response
    }
}

/// Prints JSON with an indent of two spaces, inline arrays and a final line end.
fn pretty_of(value: &Value) -> String {
    let mut text = String::new();
    write_pretty(value, 0, &mut text);
    text.push('\n');
    text
}

fn write_pretty(value: &Value, level: usize, text: &mut String) {
    match value {
        Value::Object(object) if object.is_empty() => text.push_str("{ }"),
        Value::Object(object) => {
            text.push('{');
            for (at, (key, value)) in object.iter().enumerate() {
                text.push_str(if at == 0 { "\n" } else { ",\n" });
                text.extend(std::iter::repeat_n("  ", level + 1));
                text.push_str(&Value::String(key.clone()).to_string());
                text.push_str(" : ");
                write_pretty(value, level + 1, text);
            }
            text.push('\n');
            text.extend(std::iter::repeat_n("  ", level));
            text.push('}');
        }
        Value::Array(items) if items.is_empty() => text.push_str("[ ]"),
        Value::Array(items) => {
            text.push_str("[ ");
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push_str(", ");
                }
                write_pretty(item, level, text);
            }
            text.push_str(" ]");
        }
        leaf => text.push_str(&leaf.to_string()),
    }
}

/// Format of a response.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Format {
    pretty: bool,
    yaml: bool,
    camel_case: bool,
}

impl Format {
    /// Returns the format of a request: parameter `format`, else the media type of its body.
    pub(super) fn of(request: &RestRequest) -> Format {
        let wanted = request
            .param("format")
            .unwrap_or(&request.media_type)
            .to_ascii_lowercase();
        Format {
            yaml: matches!(wanted.as_str(), "yaml" | "application/yaml"),
            // The root page is pretty-printed by default.
            pretty: request.flag_or("pretty", request.path.is_empty() && request.method == http::Method::GET),
            camel_case: request.param("case") == Some("camelCase"),
        }
    }

    fn is_plain(self) -> bool {
        !(self.pretty || self.yaml || self.camel_case)
    }
}

/// Converts the names of members to camel case, except in `_source`.
fn camel_case(value: &mut Value) {
    match value {
        Value::Object(members) => {
            *members = std::mem::take(members)
                .into_iter()
                .map(|(name, mut value)| {
                    if name == "_source" {
                        return (name, value);
                    }
                    camel_case(&mut value);
                    (json::camel_case(&name), value)
                })
                .collect();
        }
        Value::Array(items) => items.iter_mut().for_each(camel_case),
        _ => {}
    }
}

/// Response to a request for the site of a plugin, of which there are none.
pub(super) fn plugin_site(method: &Method, path: &str) -> Option<Response<Full<Bytes>>> {
    let below = path.strip_prefix("/_plugin/").filter(|_| method != Method::OPTIONS)?;
    // A quote would end the attribute of the page.
    let is_site = method == Method::GET && !below.contains(['/', '"']);
    let (status, body) = match is_site {
        // The quote at the end is missing there, too.
        true => (
            StatusCode::MOVED_PERMANENTLY,
            format!("<head><meta http-equiv=\"refresh\" content=\"0; URL={path}/></head>"),
        ),
        false if method == Method::GET => (StatusCode::NOT_FOUND, String::new()),
        false => (StatusCode::FORBIDDEN, String::new()),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let kind = if is_site {
        "text/html"
    } else {
        "text/plain; charset=UTF-8"
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    if is_site {
        let location = header::HeaderValue::try_from(format!("{path}/")).ok()?;
        headers.insert(header::LOCATION, location);
    }
    Some(response)
}

/// Error response to a JSONP request.
pub(super) fn jsonp_disabled(callback: &str, format: Format) -> Response<Full<Bytes>> {
    let error = json!({"error": "JSONP is disabled."});
    let error = match format {
        Format { yaml: true, .. } => yaml_of(&error),
        Format { pretty: true, .. } => pretty_of(&error),
        _ => error.to_string(),
    };
    let body = format!("{callback}({error});");
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = StatusCode::FORBIDDEN;
    for _ in 0..2 {
        let script = header::HeaderValue::from_static("application/javascript");
        response.headers_mut().append(header::CONTENT_TYPE, script);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pretty_json_has_inline_arrays() {
        let value = json!({"took": 5, "hits": {"hits": [{"_id": "1"}, {}], "max": null}, "none": []});
        let expected = "{\n  \"took\" : 5,\n  \"hits\" : {\n    \
                        \"hits\" : [ {\n      \"_id\" : \"1\"\n    }, { } ],\n    \
                        \"max\" : null\n  },\n  \"none\" : [ ]\n}\n";
        assert_eq!(pretty_of(&value), expected);
    }

    #[test]
    fn camel_case_does_not_change_the_source() {
        let mut value = json!({"_id": "1", "max_score": 1, "_source": {"a_b": 1}, "hits": [{"_index": "a"}]});
        camel_case(&mut value);
        let expected = json!({"Id": "1", "maxScore": 1, "_source": {"a_b": 1}, "hits": [{"Index": "a"}]});
        assert_eq!(value, expected);
    }
}
