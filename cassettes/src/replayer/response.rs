//! Conversion of recorded responses to live ones.

use super::pace::Pace;
use super::playback::{Causes, Playback, SelectedInteraction};
use crate::interaction::{CLIENT_CLOSED, Headers, Payload, Request, Response as RecordedResponse};
use crate::transport::{self, Body, BodyError, Coding, strip_hop_by_hop};
use bytes::Bytes;
use futures::stream;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use std::sync::Arc;
use std::time::Duration;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// A response with a whole body.
pub(super) fn plain(recorded: &RecordedResponse, body: &Bytes, method: &str, playback: &Playback) -> Response<Body> {
    let coding = Coding::named(recorded.headers.get("content-encoding"));
    let bytes = live(body, is_json(recorded), playback);
    let bytes = match coding {
        Some(coding) if coding != Coding::Identity && !bytes.is_empty() => {
            coding.encode(&bytes).map_or(bytes, Bytes::from)
        }
        _ => bytes,
    };
    let trailers = fields(&recorded.trailers, playback);
    let body = match trailers.is_empty() {
        true => transport::full(bytes),
        // Trailers require a chunked body, without a known length.
        false => {
            let frames = [Ok(Frame::data(bytes)), Ok(Frame::trailers(trailers))];
            StreamBody::new(stream::iter(frames)).boxed_unsync()
        }
    };
    let mut response = head(recorded, playback, body);
    if method == "HEAD"
        && let Some(length) = recorded
            .headers
            .get("content-length")
            .and_then(|value| value.parse::<u64>().ok())
    {
        response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
    }
    response
}

/// The response to a request to upgrade the connection.
pub(super) fn switching(recorded: &RecordedResponse, asked: &Request, playback: &Playback) -> Response<Body> {
    let protocol = recorded.headers.get("upgrade").or_else(|| asked.headers.get("upgrade"));
    let protocol = protocol.and_then(|value| HeaderValue::from_str(value).ok());
    let mut response = head(recorded, playback, transport::full(Bytes::new()));
    let headers = response.headers_mut();
    transport::restore(headers, protocol);
    if let Some(key) = asked.headers.get("sec-websocket-key") {
        let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes()));
        headers.extend(accept.ok().map(|accept| (header::SEC_WEBSOCKET_ACCEPT, accept)));
    }
    response
}

/// A response whose frames are sent at their recorded times.
pub(super) fn stream(selected: SelectedInteraction, playback: Arc<Playback>, pace: Pace) -> Response<Body> {
    let Some(recorded) = selected.interaction.response().cloned() else {
        return Response::new(transport::full(Bytes::new()));
    };
    let mut response = head(&recorded, &playback, transport::full(Bytes::new()));
    response.headers_mut().remove(header::CONTENT_ENCODING);
    let frames = stream::unfold(
        Streaming {
            causes: playback.causes(&selected),
            selected,
            playback,
            pace,
            next: 0,
        },
        Streaming::step,
    );
    response.map(|_| StreamBody::new(frames).boxed_unsync())
}

struct Streaming {
    selected: SelectedInteraction,
    playback: Arc<Playback>,
    pace: Pace,
    causes: Causes,
    next: usize,
}

impl Streaming {
    async fn step(mut self) -> Option<(Result<Frame<Bytes>, BodyError>, Self)> {
        let interaction = self.selected.interaction.clone();
        let recorded = interaction.response()?;
        let Payload::Stream(frames) = &recorded.payload else {
            return None;
        };
        // A watch that is opened again does not repeat events.
        let frame = frames
            .get(self.next)
            .filter(|_| !(self.selected.again && interaction.request.asks_for_stream()));
        if let Some(frame) = frame {
            self.next += 1;
            self.pace.due(frame.at).await;
            // Only frames of a stream wait for changes. A slow body was complete at the start.
            if interaction.request.asks_for_stream() {
                let hold = self.pace.hold;
                self.playback
                    .wait_for_causes(&self.selected, frame.at, &mut self.causes, hold)
                    .await;
            }
            let data = live(&frame.data, is_json(recorded), &self.playback);
            return Some((Ok(Frame::data(data)), self));
        }
        let left = recorded.cut.as_deref() == Some(CLIENT_CLOSED);
        match interaction.took {
            Some(took) if !left => self.pace.due(took).await,
            // The recording stopped or the client closed the connection, so the end of the stream is unknown.
            _ if !self.pace.is_instant() => std::future::pending::<()>().await,
            _ => {}
        }
        if self.selected.again && self.pace.is_instant() {
            tokio::time::sleep(interaction.took.unwrap_or_default().min(Duration::from_secs(1))).await;
        }
        if self.next > frames.len() {
            return None;
        }
        self.next = frames.len() + 1;
        if let Some(cut) = recorded.cut.clone() {
            return Some((Err(cut.into()), self));
        }
        let trailers = fields(&recorded.trailers, &self.playback);
        (!trailers.is_empty()).then(|| (Ok(Frame::trailers(trailers)), self))
    }
}

fn head(recorded: &RecordedResponse, playback: &Playback, body: Body) -> Response<Body> {
    let mut headers = fields(&recorded.headers, playback);
    strip_hop_by_hop(&mut headers);
    headers.remove(header::CONTENT_LENGTH);
    headers.remove(header::SEC_WEBSOCKET_ACCEPT);
    // HTTP/1.1 sends only announced trailers.
    let names: Vec<&str> = recorded.trailers.0.iter().map(|(name, _)| name.as_str()).collect();
    if !names.is_empty() && !headers.contains_key(header::TRAILER) {
        headers.extend(HeaderValue::from_str(&names.join(", ")).map(|names| (header::TRAILER, names)));
    }
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(recorded.status).unwrap_or(StatusCode::BAD_GATEWAY);
    *response.headers_mut() = headers;
    response
}

/// Converts recorded fields to live ones.
fn fields(recorded: &Headers, playback: &Playback) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for (name, value) in &recorded.0 {
        let pair = (
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_bytes(playback.live(value).as_bytes()),
        );
        if let (Ok(name), Ok(value)) = pair {
            fields.append(name, value);
        }
    }
    fields
}

fn is_json(recorded: &RecordedResponse) -> bool {
    recorded.headers.media_type().contains("json")
}

/// Converts recorded bytes to live ones.
pub(super) fn live(bytes: &Bytes, is_json: bool, playback: &Playback) -> Bytes {
    if playback.is_verbatim() {
        return bytes.clone();
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => playback.live_body(text, is_json).into_owned().into(),
        Err(_) => bytes.clone(),
    }
}
