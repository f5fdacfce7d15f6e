//! Parsing of documents into interactions.

use super::json::Layout;
use super::node::Node;
use super::{FormatError, VERSION};
use crate::interaction::{
    Data, Failure, FailureKind, Frame, Header, Headers, Interaction, Marks, Message, Outcome, Payload, Program,
    Request, Response, Sender, millis,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use jiff::Timestamp;
use std::time::Duration;

/// Error message for a document.
type Wrong = String;

/// A document after the header.
pub(super) enum Document {
    /// A new interaction, and the earlier interaction that has its body, if it is not in the document.
    Interaction(Box<Interaction>, Option<u64>),
    /// Continuation of an earlier one.
    Continuation(Continuation),
}

/// Continuation of an interaction whose document ended before it.
pub(super) struct Continuation {
    pub(super) of: u64,
    pub(super) payload: Option<Payload>,
    pub(super) took: Option<Duration>,
    pub(super) trailers: Headers,
    pub(super) cut: Option<String>,
}

pub(super) fn header(node: &Node<'_>) -> Result<Header, FormatError> {
    let not = |what: &str| FormatError::NotACassette(what.to_owned());
    let Some(version) = node.get("cassette").and_then(Node::number) else {
        return Err(not("its first document has no `cassette: VERSION`"));
    };
    if version < 1.0 || version.fract() != 0.0 {
        return Err(not("its version is not an integer of at least 1"));
    }
    if version > VERSION as f64 {
        return Err(FormatError::too_new(version as u64, optional(node, "read_by")));
    }
    let recorded = text(node, "recorded")
        .and_then(|text| timestamp(&text))
        .map_err(|what| not(&what))?;
    let program = node.get("recorder");
    let part = |key| {
        program
            .and_then(|program| optional(program, key))
            .unwrap_or_default()
            .to_owned()
    };
    let redactions = match node.get("redactions") {
        Some(Node::List(rules)) => rules.iter().filter_map(|rule| rule.text().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    let owned = |key| optional(node, key).map(str::to_owned);
    Ok(Header {
        recorded,
        recorder: Program {
            name: part("name"),
            version: part("version"),
        },
        upstream: owned("upstream"),
        upstream_version: owned("upstream_version"),
        profile: owned("profile"),
        comment: owned("comment"),
        redactions,
    })
}

pub(super) fn document(node: &Node<'_>) -> Result<Document, Wrong> {
    let took = node.get("took_ms").map(duration).transpose()?;
    let cut = optional(node, "cut").map(str::to_owned);
    let payload = streamed(node)?;
    let trailers = fields(node, "trailers")?;
    if let Some(of) = node.get("stream_of") {
        let of = whole(of).ok_or("`stream_of` is no number of an interaction")?;
        return Ok(Document::Continuation(Continuation {
            of,
            payload,
            took,
            trailers,
            cut,
        }));
    }
    let id = node.get("id").and_then(whole).ok_or("an interaction has no `id`")?;
    let wait = match node.get("wait_ms") {
        Some(wait) => duration(wait)?,
        None => took.unwrap_or_default(),
    };
    let outcome = match (node.get("response"), node.get("error")) {
        (Some(response), None) => Outcome::Response(Response {
            trailers,
            cut,
            ..parse_response(response, payload)?
        }),
        (None, Some(error)) => {
            let name = text(error, "kind")?;
            let kind = FailureKind::named(&name).ok_or_else(|| format!("`{name}` is no kind of error"))?;
            Outcome::Failure(Failure {
                kind,
                text: text(error, "text")?,
            })
        }
        _ => return Err("an interaction has either a `response` or an `error`".into()),
    };
    let body_of = node
        .get("response")
        .and_then(|response| response.get("body_of"))
        .map(|of| whole(of).ok_or("`body_of` is no number of an interaction"))
        .transpose()?;
    let interaction = Interaction {
        id,
        note: optional(node, "note").map(str::to_owned),
        started: timestamp(&text(node, "started")?)?,
        wait,
        took,
        request: request(node.get("request").ok_or("an interaction has no `request`")?)?,
        outcome,
        marks: Marks {
            unjudged: optional(node, "unjudged").map(str::to_owned),
            only: optional(node, "only").map(str::to_owned),
            text_varies: node.get("text_varies") == Some(&Node::Bool(true)),
        },
    };
    Ok(Document::Interaction(Box::new(interaction), body_of))
}

fn request(node: &Node<'_>) -> Result<Request, Wrong> {
    Ok(Request {
        method: text(node, "method")?,
        url: text(node, "url")?,
        headers: fields(node, "headers")?,
        body: body(node, false)?,
        omitted: node.get("omitted_bytes").and_then(whole).unwrap_or_default(),
    })
}

fn parse_response(node: &Node<'_>, payload: Option<Payload>) -> Result<Response, Wrong> {
    let status = node
        .get("status")
        .and_then(whole)
        .and_then(|status| u16::try_from(status).ok());
    let status = status
        .filter(|status| (100..1000).contains(status))
        .ok_or("a response has no `status`")?;
    let payload = match payload {
        Some(payload) => payload,
        None => Payload::Body(body(node, false)?.unwrap_or_default()),
    };
    Ok(Response {
        status,
        headers: fields(node, "headers")?,
        payload,
        trailers: Headers::default(),
        cut: None,
    })
}

fn fields(node: &Node<'_>, key: &str) -> Result<Headers, Wrong> {
    let mut found = Headers::default();
    match node.get(key) {
        None | Some(Node::Null) => {}
        Some(Node::List(fields)) => {
            for field in fields {
                match field {
                    Node::Map(pairs) if pairs.len() == 1 => {
                        for (name, value) in pairs {
                            let value = scalar(value).ok_or("a header is not text")?;
                            found.0.push((name.clone().into_owned(), value));
                        }
                    }
                    _ => return Err("a header is one `Name: value`".into()),
                }
            }
        }
        Some(_) => return Err(format!("`{key}` is a list of `Name: value`")),
    }
    Ok(found)
}

/// Parses the frames, pieces or messages of a document.
fn streamed(node: &Node<'_>) -> Result<Option<Payload>, Wrong> {
    let list = |key: &str| match node.get(key) {
        None => Ok(None),
        Some(Node::Null) => Ok(Some(&[][..])),
        Some(Node::List(items)) => Ok(Some(items.as_slice())),
        Some(_) => Err(format!("`{key}` is a list")),
    };
    if let Some(items) = list("stream")? {
        return Ok(Some(Payload::Stream(
            items.iter().map(frame).collect::<Result<_, _>>()?,
        )));
    }
    if let Some(items) = list("pieces")? {
        let pieces = items.iter().map(frame).collect::<Result<Vec<_>, _>>()?;
        return Ok(Some(Payload::Body(Payload::Stream(pieces).bytes())));
    }
    if let Some(items) = list("messages")? {
        return Ok(Some(Payload::Messages(
            items.iter().map(message).collect::<Result<_, _>>()?,
        )));
    }
    Ok(None)
}

fn frame(node: &Node<'_>) -> Result<Frame, Wrong> {
    let at = duration(node.get("at_ms").ok_or("a frame has no `at_ms`")?)?;
    Ok(Frame {
        at,
        data: body(node, true)?.unwrap_or_default(),
    })
}

fn message(node: &Node<'_>) -> Result<Message, Wrong> {
    let at = duration(node.get("at_ms").ok_or("a message has no `at_ms`")?)?;
    let from = match optional(node, "from") {
        Some("client") => Sender::Client,
        Some("server") => Sender::Server,
        _ => return Err("a message is `from: client` or `from: server`".into()),
    };
    let bytes = |key| node.get(key).map(decode).transpose();
    let data = if let Some(bytes) = bytes("base64")? {
        Data::Binary(bytes)
    } else if let Some(bytes) = bytes("ping")? {
        Data::Ping(bytes)
    } else if let Some(bytes) = bytes("pong")? {
        Data::Pong(bytes)
    } else if let Some(close) = node.get("close") {
        let code = close
            .get("code")
            .and_then(whole)
            .and_then(|code| u16::try_from(code).ok());
        Data::Close(code.map(|code| (code, optional(close, "reason").unwrap_or_default().to_owned())))
    } else {
        let bytes = body(node, false)?.ok_or("a message has no content")?;
        Data::Text(String::from_utf8(bytes.into()).map_err(|_| "a text message is not UTF-8")?)
    };
    Ok(Message { at, from, data })
}

/// Parses a body. `newline` is as for `text_body` in [`super::document`].
fn body(node: &Node<'_>, newline: bool) -> Result<Option<Bytes>, Wrong> {
    if let Some(tree) = node.get("json") {
        let layout = match optional(node, "layout") {
            None => Layout::compact(newline),
            Some(words) => Layout::from_words(words).ok_or_else(|| format!("`{words}` is no layout"))?,
        };
        return Ok(Some(layout.text(tree).into()));
    }
    if let Some(text) = node.get("text") {
        return Ok(Some(scalar(text).ok_or("`text` is no text")?.into()));
    }
    node.get("base64").map(decode).transpose()
}

fn decode(node: &Node<'_>) -> Result<Bytes, Wrong> {
    let text: String = scalar(node).ok_or("base64 is text")?.split_whitespace().collect();
    STANDARD
        .decode(text)
        .map(Bytes::from)
        .map_err(|error| format!("invalid base64: {error}"))
}

/// The text of a scalar, also of an unquoted boolean, number or null.
fn scalar(node: &Node<'_>) -> Option<String> {
    match node {
        Node::String(text) | Node::Number(text) => Some(text.clone().into_owned()),
        Node::Bool(value) => Some(value.to_string()),
        Node::Null => Some(String::new()),
        Node::List(_) | Node::Map(_) => None,
    }
}

fn optional<'a>(node: &'a Node<'_>, key: &str) -> Option<&'a str> {
    node.get(key).and_then(Node::text)
}

fn text(node: &Node<'_>, key: &str) -> Result<String, Wrong> {
    node.get(key)
        .and_then(scalar)
        .ok_or_else(|| format!("there is no `{key}`"))
}

fn timestamp(text: &str) -> Result<Timestamp, Wrong> {
    text.parse().map_err(|_| format!("`{text}` is no time"))
}

fn duration(node: &Node<'_>) -> Result<Duration, Wrong> {
    node.number()
        .and_then(millis)
        .ok_or_else(|| "a time is a number of milliseconds".into())
}

fn whole(node: &Node<'_>) -> Option<u64> {
    match node {
        Node::Number(text) => text.parse().ok(),
        _ => None,
    }
}
