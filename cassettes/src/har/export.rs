//! Export of cassettes as HAR.

use super::UNKNOWN_ORIGIN;
use crate::interaction::{
    Cassette, Data, Frame, Interaction, Message, Outcome, Payload, Request, Response, Sender, to_millis,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// Formats a cassette as indented HAR.
pub(crate) fn export(cassette: &Cassette) -> String {
    let header = &cassette.header;
    let base = header.upstream.as_deref().unwrap_or(UNKNOWN_ORIGIN);
    let entries: Vec<Value> = cassette
        .interactions
        .iter()
        .enumerate()
        .map(|(n, each)| entry(n, each, base))
        .collect();
    let mut log = Map::new();
    log.insert("version".into(), "1.2".into());
    log.insert(
        "creator".into(),
        json!({"name": header.recorder.name, "version": header.recorder.version}),
    );
    if let Some(comment) = &header.comment {
        log.insert("comment".into(), comment.as_str().into());
    }
    let own = json!({
        "recorded": header.recorded.to_string(),
        "upstream": header.upstream,
        "upstream_version": header.upstream_version,
        "profile": header.profile,
        "redactions": header.redactions,
    });
    log.insert("_cassette".into(), own);
    log.insert("pages".into(), json!([]));
    log.insert("entries".into(), entries.into());
    format!("{:#}\n", json!({ "log": log }))
}

fn entry(number: usize, interaction: &Interaction, base: &str) -> Value {
    let mut entry = Map::new();
    if interaction.id != number as u64 + 1 {
        entry.insert("_id".into(), interaction.id.into());
    }
    if let Some(note) = &interaction.note {
        entry.insert("_note".into(), note.as_str().into());
    }
    let took = interaction.took.unwrap_or(interaction.wait);
    entry.insert("startedDateTime".into(), interaction.started.to_string().into());
    entry.insert("time".into(), to_millis(took).into());
    entry.insert("request".into(), request(&interaction.request, base));
    entry.insert("cache".into(), json!({}));
    let receive = to_millis(took.saturating_sub(interaction.wait));
    entry.insert(
        "timings".into(),
        json!({"send": 0, "wait": to_millis(interaction.wait), "receive": receive}),
    );
    if interaction.took.is_none() {
        entry.insert("_ended".into(), false.into());
    }
    match interaction.response().map(|response| &response.payload) {
        Some(Payload::Stream(frames)) => {
            entry.insert("_stream".into(), frames.iter().map(frame).collect());
        }
        Some(Payload::Messages(messages)) => {
            if interaction.is_websocket() {
                entry.insert("_resourceType".into(), "websocket".into());
            }
            let all = messages.iter().map(|each| message(interaction, each)).collect();
            entry.insert("_webSocketMessages".into(), all);
        }
        Some(Payload::Body(_)) | None => {}
    }
    entry.insert("response".into(), response(&interaction.outcome));
    let marks = &interaction.marks;
    if marks.text_varies {
        entry.insert("_text_varies".into(), true.into());
    }
    if let Some(reason) = &marks.unjudged {
        entry.insert("_unjudged".into(), reason.as_str().into());
    }
    if let Some(profile) = &marks.only {
        entry.insert("_only".into(), profile.as_str().into());
    }
    entry.into()
}

fn request(request: &Request, base: &str) -> Value {
    let url = if request.url.starts_with('/') {
        format!("{base}{}", request.url)
    } else {
        request.url.clone()
    };
    let query: Vec<Value> = url::form_urlencoded::parse(request.query().as_bytes())
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    let mut out = json!({
        "method": request.method,
        "url": url,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": headers(&request.headers.0),
        "queryString": query,
        "headersSize": -1,
        "bodySize": request.body.as_ref().map_or(0, |body| body.len()),
    });
    if let Some(body) = &request.body {
        let mut data = Map::new();
        data.insert(
            "mimeType".into(),
            request.headers.get("content-type").unwrap_or_default().into(),
        );
        put_text(&mut data, "text", body);
        out["postData"] = data.into();
    }
    if request.omitted > 0 {
        out["_omitted_bytes"] = request.omitted.into();
    }
    out
}

fn response(outcome: &Outcome) -> Value {
    let (response, error) = match outcome {
        Outcome::Response(response) => (response.clone(), None),
        Outcome::Failure(failure) => {
            let none = Response {
                status: 0,
                headers: Default::default(),
                payload: Payload::Body(Default::default()),
                trailers: Default::default(),
                cut: None,
            };
            (none, Some(json!({"kind": failure.kind.name(), "text": failure.text})))
        }
    };
    let reason = http::StatusCode::from_u16(response.status)
        .ok()
        .and_then(|status| status.canonical_reason());
    let bytes = response.payload.bytes();
    let mut content = Map::new();
    content.insert("size".into(), bytes.len().into());
    content.insert(
        "mimeType".into(),
        response.headers.get("content-type").unwrap_or_default().into(),
    );
    put_text(&mut content, "text", &bytes);
    let mut out = json!({
        "status": response.status,
        "statusText": reason.unwrap_or_default(),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": headers(&response.headers.0),
        "content": content,
        "redirectURL": response.headers.get("location").unwrap_or_default(),
        "headersSize": -1,
        "bodySize": bytes.len(),
    });
    if let Some(error) = error {
        out["_error"] = error;
    }
    if !response.trailers.0.is_empty() {
        out["_trailers"] = headers(&response.trailers.0);
    }
    if let Some(cut) = response.cut {
        out["_cut"] = cut.into();
    }
    out
}

fn headers(fields: &[(String, String)]) -> Value {
    fields
        .iter()
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect()
}

fn frame(frame: &Frame) -> Value {
    let mut out = Map::new();
    out.insert("at_ms".into(), to_millis(frame.at).into());
    match frame.data.strip_suffix(b"\n") {
        Some(line) => put_text(&mut out, "text", line),
        None => {
            put_text(&mut out, "text", &frame.data);
            out.insert("newline".into(), false.into());
        }
    }
    out.into()
}

fn message(interaction: &Interaction, message: &Message) -> Value {
    let micros = interaction.started.as_microsecond() as f64 + message.at.as_micros() as f64;
    let kind = match message.from {
        Sender::Client => "send",
        Sender::Server => "receive",
    };
    let (opcode, data) = match &message.data {
        Data::Text(text) => (1, text.clone()),
        Data::Binary(bytes) => (2, STANDARD.encode(bytes)),
        Data::Ping(bytes) => (9, STANDARD.encode(bytes)),
        Data::Pong(bytes) => (10, STANDARD.encode(bytes)),
        Data::Close(None) => (8, String::new()),
        Data::Close(Some((code, reason))) => (
            8,
            STANDARD.encode([&code.to_be_bytes()[..], reason.as_bytes()].concat()),
        ),
    };
    json!({"type": kind, "time": micros / 1e6, "opcode": opcode, "data": data})
}

fn put_text(into: &mut Map<String, Value>, key: &str, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => into.insert(key.into(), text.into()),
        Err(_) => {
            into.insert(key.into(), STANDARD.encode(bytes).into());
            into.insert("encoding".into(), "base64".into())
        }
    };
}
