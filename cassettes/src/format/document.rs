//! Formatting of interactions as YAML documents.

use super::json::Layout;
use super::node::Node;
use super::yaml::{entry, is_plain_ascii, is_plain_line, literal, literal_header, pad, text_entry};
use super::{READ_BY, VERSION};
use crate::interaction::{
    Data, Frame, Header, Headers, Marks, Message, Outcome, Payload, Request, Response, Sender, to_millis,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use std::borrow::Cow;
use std::time::Duration;

/// Number of bytes per line of base64.
const BASE64_LINE: usize = 90;

pub(super) fn header(out: &mut String, header: &Header) {
    entry(out, 0, "cassette", &Node::Number(VERSION.to_string().into()));
    text_entry(out, 0, "read_by", &format!("stuntdouble {READ_BY}"));
    text_entry(out, 0, "recorded", &header.recorded.to_string());
    let program = vec![
        (Cow::Borrowed("name"), string(&header.recorder.name)),
        (Cow::Borrowed("version"), string(&header.recorder.version)),
    ];
    entry(out, 0, "recorder", &Node::Map(program));
    let optional = [
        ("upstream", &header.upstream),
        ("upstream_version", &header.upstream_version),
        ("profile", &header.profile),
        ("comment", &header.comment),
    ];
    for (key, value) in optional {
        if let Some(text) = value {
            text_entry(out, 0, key, text);
        }
    }
    if !header.redactions.is_empty() {
        entry(
            out,
            0,
            "redactions",
            &Node::List(header.redactions.iter().map(|rule| string(rule)).collect()),
        );
    }
}

/// Appends the beginning of an interaction's document, up to the end of the request.
pub(super) fn opening(out: &mut String, id: u64, started: Timestamp, note: Option<&str>, marks: &Marks, of: &Request) {
    entry(out, 0, "id", &Node::Number(id.to_string().into()));
    if let Some(note) = note {
        text_entry(out, 0, "note", note);
    }
    text_entry(out, 0, "started", &started.to_string());
    if let Some(profile) = &marks.only {
        text_entry(out, 0, "only", profile);
    }
    if let Some(reason) = &marks.unjudged {
        text_entry(out, 0, "unjudged", reason);
    }
    if marks.text_varies {
        entry(out, 0, "text_varies", &Node::Bool(true));
    }
    out.push_str("request:\n");
    request(out, of);
}

/// Appends the outcome, without frames, messages and the end. `body_of` is the earlier interaction with the same body,
/// which is written in place of the body.
pub(super) fn outcome(out: &mut String, wait: Duration, took: Option<Duration>, of: &Outcome, body_of: Option<u64>) {
    if took != Some(wait) {
        entry(out, 0, "wait_ms", &time(wait));
    }
    match of {
        Outcome::Response(response) => write_response(out, response, body_of),
        Outcome::Failure(failure) => {
            out.push_str("error:\n");
            text_entry(out, 2, "kind", failure.kind.name());
            text_entry(out, 2, "text", &failure.text);
        }
    }
}

fn request(out: &mut String, request: &Request) {
    text_entry(out, 2, "method", &request.method);
    text_entry(out, 2, "url", &request.url);
    fields(out, 2, "headers", &request.headers);
    if let Some(bytes) = &request.body {
        if bytes.is_empty() {
            text_entry(out, 2, "text", "");
        } else {
            body(out, 2, bytes, false);
        }
    }
    if request.omitted > 0 {
        entry(
            out,
            2,
            "omitted_bytes",
            &Node::Number(request.omitted.to_string().into()),
        );
    }
}

fn write_response(out: &mut String, response: &Response, body_of: Option<u64>) {
    out.push_str("response:\n");
    entry(out, 2, "status", &Node::Number(response.status.to_string().into()));
    fields(out, 2, "headers", &response.headers);
    if let Some(id) = body_of {
        entry(out, 2, "body_of", &Node::Number(id.to_string().into()));
        return;
    }
    match &response.payload {
        Payload::Body(bytes) if bytes.is_empty() => {}
        Payload::Body(bytes) => body(out, 2, bytes, false),
        Payload::Stream(_) => out.push_str("stream:\n"),
        Payload::Messages(_) => out.push_str("messages:\n"),
    }
}

fn fields(out: &mut String, indentation: usize, key: &str, fields: &Headers) {
    if fields.0.is_empty() {
        return;
    }
    out.push_str(&format!("{:indentation$}{key}:\n", ""));
    for (name, value) in &fields.0 {
        out.push_str(&format!("{:indentation$}  - ", ""));
        super::yaml::scalar_entry(out, name, value);
    }
}

pub(super) fn frame(out: &mut String, frame: &Frame) {
    listed(out, |out| body(out, 4, &frame.data, true));
    entry(out, 4, "at_ms", &time(frame.at));
}

/// Appends a piece of a long body. Plain ASCII, the most frequent, is copied only once.
pub(super) fn piece(out: &mut Vec<u8>, at: Duration, data: &[u8]) {
    if is_plain_ascii(data) {
        out.reserve(data.len() + data.len() / 16 + 100);
        out.extend_from_slice(b"  - text: ");
        literal(out, 6, data);
        out.extend_from_slice(format!("    at_ms: {}\n", to_millis(at)).as_bytes());
        return;
    }
    let mut text = String::new();
    listed(&mut text, |text| match std::str::from_utf8(data) {
        Ok(data) => text_entry(text, 4, "text", data),
        Err(_) => base64(text, 4, "base64", data),
    });
    entry(&mut text, 4, "at_ms", &time(at));
    out.extend_from_slice(text.as_bytes());
}

/// Formats a piece without copying most of it. Returns the text to write before, the line within `rest`, and the text
/// to write after it. Returns none if the piece has characters other than printable ASCII and tabs, or a line break
/// before its end.
pub(super) fn piece_around_line<'a>(
    begin: &[u8],
    rest: &'a [u8],
    at: Duration,
) -> Option<(Vec<u8>, &'a [u8], Vec<u8>)> {
    let line = rest.strip_suffix(b"\n").unwrap_or(rest);
    if line.is_empty() || !is_plain_line(begin) || !is_plain_line(line) {
        return None;
    }
    let mut before = Vec::with_capacity(begin.len() + 32);
    before.extend_from_slice(b"  - text: ");
    let first = begin.first().or(line.first());
    literal_header(&mut before, first.copied(), rest.ends_with(b"\n").then_some(line));
    before.extend_from_slice(b"      ");
    before.extend_from_slice(begin);
    Some((before, line, format!("\n    at_ms: {}\n", to_millis(at)).into_bytes()))
}

pub(super) fn message(out: &mut String, message: &Message) {
    let from = match message.from {
        Sender::Client => "client",
        Sender::Server => "server",
    };
    listed(out, |out| text_entry(out, 4, "from", from));
    match &message.data {
        Data::Text(text) => text_body(out, 4, text, false),
        Data::Binary(bytes) => base64(out, 4, "base64", bytes),
        Data::Ping(bytes) => base64(out, 4, "ping", bytes),
        Data::Pong(bytes) => base64(out, 4, "pong", bytes),
        Data::Close(None) => out.push_str("    close: {}\n"),
        Data::Close(Some((code, reason))) => {
            let code = (Cow::Borrowed("code"), Node::Number(code.to_string().into()));
            entry(
                out,
                4,
                "close",
                &Node::Map(vec![code, (Cow::Borrowed("reason"), string(reason))]),
            );
        }
    }
    entry(out, 4, "at_ms", &time(message.at));
}

/// Appends the end of a response: trailers, reason of an incomplete response, and time.
pub(super) fn tail(out: &mut String, took: Option<Duration>, trailers: &Headers, cut: Option<&str>) {
    fields(out, 0, "trailers", trailers);
    if let Some(cut) = cut {
        text_entry(out, 0, "cut", cut);
    }
    if let Some(took) = took {
        entry(out, 0, "took_ms", &time(took));
    }
}

/// Runs `write`, which appends lines indented by 4, and turns them into an item of a list.
fn listed(out: &mut String, write: impl FnOnce(&mut String)) {
    let start = out.len();
    write(out);
    if out.get(start..start + 4) == Some("    ") {
        out.replace_range(start..start + 4, "  - ");
    }
}

fn body(out: &mut String, indent: usize, bytes: &[u8], newline: bool) {
    match std::str::from_utf8(bytes) {
        Ok(text) => text_body(out, indent, text, newline),
        Err(_) => base64(out, indent, "base64", bytes),
    }
}

/// Appends a text. `newline` is whether a final line break after JSON is the default, which needs no `layout`.
fn text_body(out: &mut String, indent: usize, text: &str, newline: bool) {
    match Layout::of(text) {
        Some((layout, node)) => {
            entry(out, indent, "json", &node);
            if layout != Layout::compact(newline) {
                text_entry(out, indent, "layout", &layout.words());
            }
        }
        None => text_entry(out, indent, "text", text),
    }
}

fn base64(out: &mut String, indent: usize, key: &str, bytes: &[u8]) {
    if bytes.len() <= BASE64_LINE {
        return text_entry(out, indent, key, &STANDARD.encode(bytes));
    }
    pad(out, indent);
    out.push_str(key);
    out.push_str(": |-\n");
    out.reserve(bytes.len() / BASE64_LINE * (BASE64_LINE / 3 * 4 + indent + 3));
    for chunk in bytes.chunks(BASE64_LINE) {
        pad(out, indent + 2);
        STANDARD.encode_string(chunk, out);
        out.push('\n');
    }
}

fn string(text: &str) -> Node<'_> {
    Node::String(Cow::Borrowed(text))
}

fn time(value: Duration) -> Node<'static> {
    Node::Number(to_millis(value).to_string().into())
}
