//! Import of cassettes from HAR.

use super::{HarError, UNKNOWN_ORIGIN};
use crate::interaction::{
    Cassette, Data, Failure, FailureKind, Frame, Header, Headers, Interaction, Marks, Message, Outcome, Payload,
    Program, Request, Response, Sender, millis,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::Value;
use std::time::Duration;

/// Parses a HAR.
///
/// # Errors
/// If the text is not HAR 1.2, or an entry has no method, URL, time or status.
pub(crate) fn import(text: &str) -> Result<Cassette, HarError> {
    let har: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))?;
    let log = har
        .get("log")
        .ok_or_else(|| HarError::Shape("it has no `log`".into()))?;
    let entries = log.get("entries").and_then(Value::as_array);
    let entries = entries.ok_or_else(|| HarError::Shape("it has no `log.entries`".into()))?;
    let own = log.get("_cassette");
    let upstream = match own {
        Some(own) => string(own, "upstream").map(str::to_owned),
        None => entries
            .first()
            .and_then(|entry| origin(string(entry.get("request")?, "url")?)),
    };
    let base = upstream.as_deref().unwrap_or(UNKNOWN_ORIGIN);
    let mut interactions = Vec::with_capacity(entries.len());
    for (number, each) in entries.iter().enumerate() {
        let wrong = |what: String| HarError::Entry { number, what };
        interactions.push(entry(number, each, base).map_err(wrong)?);
    }
    let first = interactions.iter().map(|each| each.started).min();
    let stated = own
        .and_then(|own| string(own, "recorded"))
        .and_then(|text| text.parse().ok());
    let creator = |key| {
        log.get("creator")
            .and_then(|creator| string(creator, key))
            .unwrap_or_default()
            .to_owned()
    };
    let stated_text = |key| own.and_then(|own| string(own, key)).map(str::to_owned);
    let redactions = own.and_then(|own| own.get("redactions")).and_then(Value::as_array);
    Ok(Cassette {
        header: Header {
            recorded: stated.or(first).unwrap_or(Timestamp::UNIX_EPOCH),
            recorder: Program {
                name: creator("name"),
                version: creator("version"),
            },
            upstream,
            upstream_version: stated_text("upstream_version").or_else(|| version(&interactions)),
            profile: stated_text("profile"),
            comment: string(log, "comment").map(str::to_owned),
            redactions: redactions
                .into_iter()
                .flatten()
                .filter_map(|rule| Some(rule.as_str()?.to_owned()))
                .collect(),
        },
        interactions,
    })
}

/// The `gitVersion` of the server, if the HAR has a response with it.
fn version(interactions: &[Interaction]) -> Option<String> {
    let asked = interactions.iter().find(|each| each.request.path() == "/version")?;
    let Payload::Body(body) = &asked.response()?.payload else {
        return None;
    };
    let value: Value = serde_json::from_slice(body).ok()?;
    Some(string(&value, "gitVersion")?.to_owned())
}

fn entry(number: usize, entry: &Value, base: &str) -> Result<Interaction, String> {
    let started = string(entry, "startedDateTime").ok_or("it has no `startedDateTime`")?;
    let started: Timestamp = started.parse().map_err(|_| format!("`{started}` is no time"))?;
    let started = Timestamp::from_microsecond(started.as_microsecond()).map_err(|error| error.to_string())?;
    let took = entry
        .get("time")
        .and_then(Value::as_f64)
        .and_then(millis)
        .unwrap_or_default();
    let ended = entry.get("_ended") != Some(&Value::Bool(false));
    Ok(Interaction {
        id: entry.get("_id").and_then(Value::as_u64).unwrap_or(number as u64 + 1),
        note: string(entry, "_note")
            .or_else(|| string(entry, "comment"))
            .map(str::to_owned),
        started,
        wait: wait(entry).min(took),
        took: ended.then_some(took),
        request: request(entry.get("request").ok_or("it has no `request`")?, base)?,
        outcome: outcome(entry, started)?,
        marks: Marks {
            unjudged: string(entry, "_unjudged").map(str::to_owned),
            only: string(entry, "_only").map(str::to_owned),
            text_varies: entry
                .get("_text_varies")
                .is_some_and(|value| !matches!(value, Value::Bool(false) | Value::Null)),
        },
    })
}

/// Time before the head of the response. `connect` includes `ssl`.
fn wait(entry: &Value) -> Duration {
    let part = |key: &str| {
        entry
            .get("timings")
            .and_then(|timings| timings.get(key))
            .and_then(Value::as_f64)
    };
    let parts = ["blocked", "dns", "connect", "send", "wait"];
    let sum: f64 = parts.into_iter().filter_map(part).filter(|part| *part > 0.0).sum();
    millis(sum).unwrap_or_default()
}

fn request(request: &Value, base: &str) -> Result<Request, String> {
    let url = string(request, "url").ok_or("its request has no `url`")?;
    let url = match url.strip_prefix(base) {
        Some(target) if target.starts_with('/') => target,
        _ => url,
    };
    let data = request.get("postData");
    let body = match data.and_then(|data| string(data, "text")) {
        Some(_) => data.map(|data| bytes(data, "text")).transpose()?,
        None => data
            .and_then(|data| data.get("params"))
            .and_then(Value::as_array)
            .map(|params| form(params)),
    };
    Ok(Request {
        method: string(request, "method")
            .ok_or("its request has no `method`")?
            .to_owned(),
        url: url.to_owned(),
        headers: headers(request, "headers"),
        body,
        omitted: request
            .get("_omitted_bytes")
            .and_then(Value::as_u64)
            .unwrap_or_default(),
    })
}

fn form(params: &[Value]) -> Bytes {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    for param in params {
        form.append_pair(
            string(param, "name").unwrap_or_default(),
            string(param, "value").unwrap_or_default(),
        );
    }
    form.finish().into()
}

fn outcome(entry: &Value, started: Timestamp) -> Result<Outcome, String> {
    let response = entry.get("response").ok_or("it has no `response`")?;
    let status = response
        .get("status")
        .and_then(Value::as_u64)
        .ok_or("its response has no `status`")?;
    if status == 0 {
        return Ok(Outcome::Failure(failure(response)));
    }
    let payload = if let Some(messages) = entry.get("_webSocketMessages").and_then(Value::as_array) {
        Payload::Messages(
            messages
                .iter()
                .map(|each| message(each, started))
                .collect::<Result<_, _>>()?,
        )
    } else if let Some(frames) = entry.get("_stream").and_then(Value::as_array) {
        Payload::Stream(frames.iter().map(frame).collect::<Result<_, _>>()?)
    } else {
        Payload::Body(
            response
                .get("content")
                .map(|content| bytes(content, "text"))
                .transpose()?
                .unwrap_or_default(),
        )
    };
    Ok(Outcome::Response(Response {
        status: u16::try_from(status)
            .ok()
            .filter(|status| (100..1000).contains(status))
            .ok_or("no status")?,
        headers: headers(response, "headers"),
        payload,
        trailers: headers(response, "_trailers"),
        cut: string(response, "_cut").map(str::to_owned),
    }))
}

/// Parses `_error`: an object in our files, a code such as `net::ERR_CONNECTION_REFUSED` in those of Chrome.
fn failure(response: &Value) -> Failure {
    let error = response.get("_error");
    if let Some(kind) = error
        .and_then(|error| string(error, "kind"))
        .and_then(FailureKind::named)
    {
        let text = error.and_then(|error| string(error, "text")).unwrap_or_default();
        return Failure {
            kind,
            text: text.to_owned(),
        };
    }
    let text = error.and_then(Value::as_str).unwrap_or("no response was recorded");
    let kinds = [
        ("REFUSED", FailureKind::Refused),
        ("NAME_NOT_RESOLVED", FailureKind::Unresolved),
        ("CERT", FailureKind::Tls),
        ("SSL", FailureKind::Tls),
        ("TIMED_OUT", FailureKind::Timeout),
        ("ABORTED", FailureKind::Abandoned),
        ("INVALID", FailureKind::Protocol),
    ];
    let kind = kinds
        .into_iter()
        .find(|(part, _)| text.contains(part))
        .map_or(FailureKind::Closed, |(_, kind)| kind);
    Failure {
        kind,
        text: text.to_owned(),
    }
}

/// Parses header fields, without the HTTP/2 pseudo-header fields that browsers include.
fn headers(of: &Value, key: &str) -> Headers {
    let fields = of.get(key).and_then(Value::as_array).into_iter().flatten();
    let pair = |field: &Value| Some((string(field, "name")?.to_owned(), string(field, "value")?.to_owned()));
    Headers(
        fields
            .filter_map(pair)
            .filter(|(name, _)| !name.starts_with(':'))
            .collect(),
    )
}

fn frame(frame: &Value) -> Result<Frame, String> {
    let at = frame
        .get("at_ms")
        .and_then(Value::as_f64)
        .and_then(millis)
        .ok_or("a frame has no `at_ms`")?;
    let mut data = bytes(frame, "text")?.to_vec();
    if frame.get("newline") != Some(&Value::Bool(false)) {
        data.push(b'\n');
    }
    Ok(Frame { at, data: data.into() })
}

fn message(message: &Value, started: Timestamp) -> Result<Message, String> {
    let time = message
        .get("time")
        .and_then(Value::as_f64)
        .ok_or("a message has no `time`")?;
    let at = (time * 1e6).round() - started.as_microsecond() as f64;
    let from = match string(message, "type") {
        Some("send") => Sender::Client,
        Some("receive") => Sender::Server,
        _ => return Err("a message is of type `send` or `receive`".into()),
    };
    let text = string(message, "data").unwrap_or_default();
    let binary = || {
        STANDARD
            .decode(text)
            .map(Bytes::from)
            .map_err(|error| format!("a message: {error}"))
    };
    let data = match message.get("opcode").and_then(Value::as_u64) {
        Some(2) => Data::Binary(binary()?),
        Some(8) => {
            let payload = binary()?;
            let code = payload.first_chunk().map(|code| u16::from_be_bytes(*code));
            let reason = String::from_utf8_lossy(payload.get(2..).unwrap_or_default()).into_owned();
            Data::Close(code.map(|code| (code, reason)))
        }
        Some(9) => Data::Ping(binary()?),
        Some(10) => Data::Pong(binary()?),
        _ => Data::Text(text.to_owned()),
    };
    Ok(Message {
        at: millis(at.max(0.0) / 1000.0).unwrap_or_default(),
        from,
        data,
    })
}

fn bytes(of: &Value, key: &str) -> Result<Bytes, String> {
    let text = string(of, key).unwrap_or_default();
    match string(of, "encoding") {
        Some("base64") => STANDARD
            .decode(text)
            .map(Bytes::from)
            .map_err(|error| format!("base64: {error}")),
        _ => Ok(Bytes::copy_from_slice(text.as_bytes())),
    }
}

fn string<'a>(of: &'a Value, key: &str) -> Option<&'a str> {
    of.get(key).and_then(Value::as_str)
}

fn origin(url: &str) -> Option<String> {
    let scheme = url.find("://")?;
    let end = url
        .get(scheme + 3..)?
        .find(['/', '?', '#'])
        .map_or(url.len(), |at| scheme + 3 + at);
    Some(url.get(..end)?.to_owned())
}
