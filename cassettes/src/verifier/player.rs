//! Sends recorded requests with live values, and receives the responses.

use crate::bindings::{Bindings, Kind};
use crate::interaction::{Data, Headers, Interaction, Message, Payload, Sender};
use crate::transport::{self, Body, Client, Coding};
use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use http::{HeaderName, HeaderValue, Request, Response, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use regex::Regex;
use serde_json::{Map, Value};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::protocol::{Message as Wire, Role};

/// Prefix of a redacted credential, which is replaced with that of the verifier.
const PLACEHOLDER: &str = "redacted-";

/// Maximum wait for a WebSocket message.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(3);

/// A live response.
#[derive(Debug, Default)]
pub(super) struct LiveResponse {
    /// The status. 0 if there was no response.
    pub(super) status: u16,
    pub(super) media_type: String,
    pub(super) text: String,
    pub(super) headers: Headers,
    /// Time from the head of the response to its first line.
    pub(super) first: Option<Duration>,
    /// Time from the head of the response to its end.
    pub(super) took: Duration,
    pub(super) messages: Vec<Message>,
}

impl LiveResponse {
    pub(super) fn nothing(why: impl Into<String>) -> Self {
        Self {
            text: why.into(),
            ..Self::default()
        }
    }
}

/// A request to send.
pub(super) struct PreparedRequest {
    request: Request<Body>,
    streams: bool,
    /// The recorded messages, for a WebSocket.
    messages: Option<Vec<Message>>,
}

/// Sends requests.
#[derive(Clone)]
pub(super) struct Player {
    client: Client,
    patience: Duration,
}

impl Player {
    pub(super) fn new(client: Client, patience: Duration) -> Self {
        Self { client, patience }
    }

    /// Builds the request of an interaction with live values.
    ///
    /// # Errors
    /// If it cannot be built.
    pub(super) fn call(&self, interaction: &Interaction, bound: &Bindings) -> Result<PreparedRequest, String> {
        let recorded = &interaction.request;
        let query = match recorded.query() {
            "" => String::new(),
            query => format!("?{}", version_in(query, bound)),
        };
        let target = format!("{}{query}", bound.text(recorded.path()));
        let body = recorded.body.as_ref().map(|body| rewritten(body, bound));
        let mut request = Request::builder().method(recorded.method.as_str()).uri(target);
        let upgrades = interaction.messages().is_some();
        for (name, value) in &recorded.headers.0 {
            if let Some((name, value)) = field(name, value, upgrades) {
                request = request.header(name, value);
            }
        }
        if interaction.is_websocket() {
            request = request.header(header::SEC_WEBSOCKET_KEY, generate_key());
        }
        if recorded.headers.get("accept-encoding").is_none() {
            request = request.header(header::ACCEPT_ENCODING, "identity");
        }
        let empty = body.is_none();
        let mut request = request
            .body(transport::full(body.unwrap_or_default()))
            .map_err(|error| error.to_string())?;
        if empty && matches!(recorded.method.as_str(), "POST" | "PUT" | "PATCH") {
            request
                .headers_mut()
                .insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        let messages = interaction
            .is_websocket()
            .then(|| interaction.messages().unwrap_or_default().to_vec());
        let streams = matches!(
            interaction.response().map(|response| &response.payload),
            Some(Payload::Stream(_))
        );
        Ok(PreparedRequest {
            request,
            streams,
            messages,
        })
    }

    /// Sends a request and receives the whole response. `opened` is notified when the head arrives.
    pub(super) async fn play(&self, call: PreparedRequest, opened: Arc<Notify>) -> LiveResponse {
        let response = timeout(self.patience, self.client.send(call.request)).await;
        opened.notify_one();
        let response = match response {
            Ok(Ok(response)) => response,
            Ok(Err(failure)) => return LiveResponse::nothing(failure.text),
            Err(_) => return LiveResponse::nothing("the response timed out"),
        };
        let got = LiveResponse {
            status: response.status().as_u16(),
            headers: Headers::from(response.headers()),
            ..LiveResponse::default()
        };
        match call.messages {
            Some(recorded) if got.status == 101 => self.exchange_messages(got, response, recorded).await,
            _ if got.status == 101 => got,
            _ => self.read(got, response, call.streams).await,
        }
    }

    async fn read(&self, mut got: LiveResponse, response: Response<Incoming>, streams: bool) -> LiveResponse {
        let begun = Instant::now();
        let mut bytes: Vec<u8> = Vec::new();
        let mut incoming = response.into_body();
        loop {
            let frame = match timeout(self.patience, incoming.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(error))) => return LiveResponse::nothing(error.to_string()),
                Ok(None) => break,
                Err(_) => return LiveResponse::nothing("the response stopped"),
            };
            let Ok(data) = frame.into_data() else {
                continue;
            };
            if streams && got.first.is_none() && data.contains(&b'\n') {
                got.first = Some(begun.elapsed());
            }
            bytes.extend_from_slice(&data);
        }
        got.took = begun.elapsed();
        if got.headers.get("content-encoding") == Some("gzip") {
            match transport::decode(Coding::Gzip, &bytes) {
                Ok(decoded) => bytes = decoded,
                Err(error) => return LiveResponse::nothing(error.to_string()),
            }
        }
        got.media_type = got.headers.media_type().to_owned();
        got.text = String::from_utf8_lossy(&bytes).into_owned();
        got
    }

    /// Sends the client's messages, each after the server's messages before it. Receives as many messages as were
    /// recorded.
    async fn exchange_messages(
        &self,
        mut got: LiveResponse,
        response: Response<Incoming>,
        recorded: Vec<Message>,
    ) -> LiveResponse {
        let begun = Instant::now();
        let upgraded = match hyper::upgrade::on(response).await {
            Ok(upgraded) => upgraded,
            Err(error) => return LiveResponse::nothing(error.to_string()),
        };
        let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Client, None).await;
        for message in recorded {
            let at = begun.elapsed();
            match message.from {
                Sender::Client => {
                    if socket.send(wire(message.data)).await.is_err() {
                        break;
                    }
                }
                Sender::Server => {
                    let limit = MESSAGE_TIMEOUT.max(self.patience.min(message.at + MESSAGE_TIMEOUT).saturating_sub(at));
                    match timeout(limit, socket.next()).await {
                        Ok(Some(Ok(heard))) => {
                            let data = data_of(heard);
                            got.messages.extend(data.map(|data| Message {
                                at,
                                from: Sender::Server,
                                data,
                            }));
                        }
                        Ok(Some(Err(_)) | None) | Err(_) => break,
                    }
                }
            }
        }
        got.took = begun.elapsed();
        let _ = timeout(MESSAGE_TIMEOUT, socket.close(None)).await;
        got
    }
}

/// The header fields to send: all except hop-by-hop fields and redacted credentials.
fn field(name: &str, value: &str, upgrades: bool) -> Option<(HeaderName, HeaderValue)> {
    let lower = name.to_ascii_lowercase();
    let dropped = match lower.as_str() {
        "host" | "content-length" | "transfer-encoding" | "keep-alive" | "proxy-connection" | "sec-websocket-key" => {
            true
        }
        "connection" | "upgrade" => !upgrades,
        "authorization" => value.contains(PLACEHOLDER),
        _ => false,
    };
    if dropped {
        return None;
    }
    Some((
        HeaderName::from_bytes(lower.as_bytes()).ok()?,
        HeaderValue::from_str(value).ok()?,
    ))
}

fn version_in(query: &str, bound: &Bindings) -> String {
    static VERSION: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(^|&)(resourceVersion=)([0-9]+)").ok());
    let Some(version) = VERSION.as_ref() else {
        return query.to_owned();
    };
    let replaced = version.replace_all(query, |found: &regex::Captures<'_>| {
        let part = |n| found.get(n).map_or("", |part| part.as_str());
        format!("{}{}{}", part(1), part(2), bound.live_version(part(3)))
    });
    replaced.into_owned()
}

fn rewritten(body: &Bytes, bound: &Bindings) -> Bytes {
    let Ok(value) = serde_json::from_slice::<Value>(body) else {
        return body.clone();
    };
    let changed = rewrite(&value, bound);
    if changed == value {
        body.clone()
    } else {
        changed.to_string().into()
    }
}

fn rewrite(value: &Value, bound: &Bindings) -> Value {
    match value {
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| {
                let value = match (key.as_str(), value) {
                    ("resourceVersion", Value::String(version)) => bound.live_version(version).into(),
                    ("clusterIP", Value::String(address)) => {
                        bound.live(Kind::ClusterIp, address).unwrap_or(address).into()
                    }
                    ("nodePort", Value::Number(port)) => bound
                        .live(Kind::NodePort, &port.to_string())
                        .and_then(|port| port.parse::<u64>().ok())
                        .map_or_else(|| value.clone(), Value::from),
                    _ => rewrite(value, bound),
                };
                (key.clone(), value)
            };
            Value::Object(entries.iter().map(entry).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(|item| rewrite(item, bound)).collect(),
        Value::String(text) => bound.text(text).into(),
        other => other.clone(),
    }
}

fn wire(data: Data) -> Wire {
    match data {
        Data::Text(text) => Wire::text(text),
        Data::Binary(bytes) => Wire::binary(bytes),
        Data::Ping(bytes) => Wire::Ping(bytes),
        Data::Pong(bytes) => Wire::Pong(bytes),
        Data::Close(_) => Wire::Close(None),
    }
}

fn data_of(message: Wire) -> Option<Data> {
    match message {
        Wire::Text(text) => Some(Data::Text(text.to_string())),
        Wire::Binary(bytes) => Some(Data::Binary(bytes)),
        Wire::Ping(_) | Wire::Pong(_) | Wire::Close(_) | Wire::Frame(_) => None,
    }
}
