//! Answers, and how they are written.

use bytes::Bytes;
use http::{Response, StatusCode, header};
use http_body_util::Full;
use serde_json::{Value, json};

use super::RestRequest;
use crate::error::SearchError;

/// What an answer says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    Json(Value),
    /// JSON that has been written already.
    Written(Vec<u8>),
    Text(String),
    None,
}

/// An answer: its status and what it says.
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

    /// Nothing but a status, as a HEAD is answered.
    pub(crate) fn exists(exists: bool) -> Answer {
        Answer {
            status: if exists { 200 } else { 404 },
            content: Content::None,
        }
    }

    pub(crate) fn acknowledged() -> Answer {
        Answer::ok(json!({"acknowledged": true}))
    }

    pub(crate) fn refusal(error: &SearchError) -> Answer {
        Answer::json(
            error.status,
            json!({"error": error.to_string(), "status": error.status}),
        )
    }

    /// The answer as HTTP, in the format that the request asks for.
    pub(super) fn into_http(self, pretty: bool, yaml: bool, head: bool) -> Response<Full<Bytes>> {
        let (mime, body) = match self.content {
            Content::None => ("text/plain; charset=UTF-8", Vec::new()),
            Content::Text(text) => ("text/plain; charset=UTF-8", text.into_bytes()),
            Content::Written(body) if !yaml && !pretty => ("application/json; charset=UTF-8", body),
            Content::Written(body) => {
                let value: Value = serde_json::from_slice(&body).unwrap_or_default();
                return Answer::json(self.status, value).into_http(pretty, yaml, head);
            }
            Content::Json(value) if yaml => ("application/yaml", yaml_of(&value).into_bytes()),
            Content::Json(value) if pretty => ("application/json; charset=UTF-8", pretty_of(&value).into_bytes()),
            Content::Json(value) => (
                "application/json; charset=UTF-8",
                serde_json::to_vec(&value).unwrap_or_default(),
            ),
        };
        // A HEAD is answered without a body, as text.
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

/// JSON as it is written for people: two spaces a level, arrays in line, a line end at the end.
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

/// JSON as YAML, block style.
fn yaml_of(value: &Value) -> String {
    let mut text = String::from("---\n");
    write_yaml(value, 0, &mut text);
    text
}

fn write_yaml(value: &Value, level: usize, text: &mut String) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            for (key, value) in object {
                text.extend(std::iter::repeat_n("  ", level));
                text.push_str(key);
                text.push(':');
                write_yaml_below(value, level, text);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                text.extend(std::iter::repeat_n("  ", level));
                text.push('-');
                let start = text.len();
                write_yaml_below(item, level, text);
                // The first entry of an object stands in the line of its dash.
                if item.as_object().is_some_and(|object| !object.is_empty()) {
                    let indent = 1 + 2 * (level + 1);
                    text.replace_range(start..start + indent, " ");
                }
            }
        }
        leaf => {
            text.extend(std::iter::repeat_n("  ", level));
            text.push_str(&leaf.to_string());
            text.push('\n');
        }
    }
}

fn write_yaml_below(value: &Value, level: usize, text: &mut String) {
    let branch = match value {
        Value::Object(object) => !object.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    if branch {
        text.push('\n');
        // A list is not set in below its name.
        let inner = if value.is_array() { level } else { level + 1 };
        write_yaml(value, inner, text);
    } else {
        text.push(' ');
        text.push_str(&value.to_string());
        text.push('\n');
    }
}

/// What a request asks of the format of its answer.
pub(super) fn format_of(request: &RestRequest) -> (bool, bool) {
    let yaml = request.params.get("format").is_some_and(|format| format == "yaml");
    // The status page is always for people.
    let pretty = request.flag_or("pretty", request.path.is_empty() && request.method == http::Method::GET);
    (pretty, yaml)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_for_people_has_its_arrays_in_line() {
        let value = json!({"took": 5, "hits": {"hits": [{"_id": "1"}, {}], "max": null}, "none": []});
        let expected = "{\n  \"took\" : 5,\n  \"hits\" : {\n    \"hits\" : [ {\n      \"_id\" : \"1\"\n    }, { } ],\n    \"max\" : null\n  },\n  \"none\" : [ ]\n}\n";
        assert_eq!(pretty_of(&value), expected);
    }
}
