//! A server to record, with responses of every kind: counters, streams, long bodies, compression, echoes, upgrades.

use bytes::Bytes;
use futures::{SinkExt, StreamExt, stream};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::TokioIo;
use serde_json::json;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stuntdouble_cassettes::transport::{self, Body, Coding, ConnectionClosed, Handler, Server, Tasks};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Message, Role};

/// The server.
#[derive(Default)]
pub(crate) struct Origin {
    asked: AtomicU64,
    /// Encoded lists, by number of items.
    lists: Mutex<HashMap<u64, Bytes>>,
}

impl Origin {
    /// Starts the server on a free port.
    pub(crate) async fn start() -> Server {
        Server::start(([127, 0, 0, 1], 0).into(), Arc::new(Self::default()))
            .await
            .expect("a server")
    }
}

/// The URL of a server.
pub(crate) fn url(server: &Server) -> String {
    format!("http://{}", server.address())
}

impl Handler for Origin {
    async fn handle(
        self: Arc<Self>,
        mut request: Request<Incoming>,
        tasks: Tasks,
    ) -> Result<Response<Body>, ConnectionClosed> {
        let query: HashMap<String, String> =
            url::form_urlencoded::parse(request.uri().query().unwrap_or("").as_bytes())
                .into_owned()
                .collect();
        let number = |key: &str, default: u64| query.get(key).and_then(|value| value.parse().ok()).unwrap_or(default);
        let path = request.uri().path().to_owned();
        match path.as_str() {
            "/version" => Ok(json(&json!({"gitVersion": "v1.2.0-test"}))),
            "/count" => Ok(json(&json!({"count": self.asked.fetch_add(1, Ordering::Relaxed)}))),
            "/small" => Ok(json(
                &json!({"kind": "ConfigMap", "data": {"a": "1", "b": "x".repeat(200)}}),
            )),
            "/list" => {
                let count = number("n", 10);
                let mut lists = self.lists.lock().map_err(|_| ConnectionClosed)?;
                let text = lists
                    .entry(count)
                    .or_insert_with(|| format!("{}\n", list(count)).into())
                    .clone();
                // The version of a list is at its beginning.
                let text = match query.contains_key("changes") {
                    true => {
                        let version = self.asked.fetch_add(1, Ordering::Relaxed);
                        let head = format!(r#"{{"metadata":{{"resourceVersion":"{version}"}},"#);
                        [head.as_bytes(), text.get(1..).unwrap_or_default()].concat().into()
                    }
                    false => text,
                };
                let mut response = Response::new(transport::full(text));
                response
                    .headers_mut()
                    .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                Ok(response)
            }
            "/gone" => Err(ConnectionClosed),
            "/gzip" => {
                let body = Coding::Gzip
                    .encode(b"{\"packed\":\"hunter22hunter\"}")
                    .map_err(|_| ConnectionClosed)?;
                let mut response = Response::new(transport::full(body));
                response
                    .headers_mut()
                    .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                response
                    .headers_mut()
                    .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                Ok(response)
            }
            "/binary" => Ok(Response::new(transport::full((0..=255).collect::<Vec<u8>>()))),
            "/bytes" => Ok(Response::new(transport::full(vec![
                b'x';
                number("n", 1 << 20) as usize
            ]))),
            "/watch/lines" => Ok(lines(number("n", 3), Duration::from_millis(number("pause", 20)))),
            "/flood" => Ok(flood(number("mib", 1))),
            "/cut" => Ok(cut()),
            "/ws" => upgrade(&mut request, &tasks),
            _ => echo(request).await,
        }
    }
}

fn json(value: &serde_json::Value) -> Response<Body> {
    let mut response = Response::new(transport::full(format!("{value}\n")));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A list of pods.
fn list(count: u64) -> serde_json::Value {
    let pod = |n: u64| {
        json!({
            "metadata": {"name": format!("pod-{n}"), "namespace": "default", "labels": {"app": "web", "tier": "front"}},
            "spec": {"containers": [{"name": "c", "image": "example.com/image:1.0", "ports": [{"containerPort": 80}]}]},
            "status": {"phase": "Running", "podIP": "10.0.0.1", "startTime": "2026-11-21T11:45:16Z"},
        })
    };
    json!({"kind": "PodList", "apiVersion": "v1", "items": (0..count).map(pod).collect::<Vec<_>>()})
}

async fn echo(request: Request<Incoming>) -> Result<Response<Body>, ConnectionClosed> {
    let media_type = request.headers().get(CONTENT_TYPE).cloned();
    let said = request.headers().get("x-say").cloned();
    let body = request
        .into_body()
        .collect()
        .await
        .map_err(|_| ConnectionClosed)?
        .to_bytes();
    let mut response = Response::new(transport::full(body));
    response
        .headers_mut()
        .extend(media_type.map(|value| (CONTENT_TYPE, value)));
    response
        .headers_mut()
        .extend(said.map(|value| (http::HeaderName::from_static("x-said"), value)));
    Ok(response)
}

fn lines(count: u64, pause: Duration) -> Response<Body> {
    let frames = stream::iter(0..count).then(move |n| async move {
        if n > 0 {
            tokio::time::sleep(pause).await;
        }
        let line = json!({"type": "ADDED", "object": {"metadata": {"name": format!("pod-{n}")}}});
        Ok(Frame::data(Bytes::from(format!("{line}\n"))))
    });
    Response::new(StreamBody::new(frames).boxed_unsync())
}

fn flood(mib: u64) -> Response<Body> {
    let line = format!("{}\n", "the quick brown fox jumps over the lazy dog; ".repeat(22));
    let chunk = Bytes::from(line.repeat((64 << 10) / line.len()));
    let count = (mib << 20) / chunk.len() as u64;
    let frames = stream::iter(0..count).map(move |_| Ok(Frame::data(chunk.clone())));
    Response::new(StreamBody::new(frames).boxed_unsync())
}

fn cut() -> Response<Body> {
    let frames = stream::iter([Ok(Frame::data(Bytes::from("half\n"))), Err("cut".into())]).then(|frame| async {
        tokio::time::sleep(Duration::from_millis(150)).await;
        frame
    });
    Response::new(StreamBody::new(frames).boxed_unsync())
}

/// Upgrades to a WebSocket that sends a greeting, repeats each message twice, and closes after `bye`.
fn upgrade(request: &mut Request<Incoming>, tasks: &Tasks) -> Result<Response<Body>, ConnectionClosed> {
    let key = request
        .headers()
        .get("sec-websocket-key")
        .cloned()
        .ok_or(ConnectionClosed)?;
    let near = hyper::upgrade::on(request);
    tasks.spawn(async move {
        let Ok(upgraded) = near.await else { return };
        let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
        let _ = socket.send(Message::text("{\"hello\":\"there\"}")).await;
        while let Some(Ok(message)) = socket.next().await {
            let Message::Text(text) = message else {
                continue;
            };
            if text.as_str() == "bye" {
                let _ = socket.close(None).await;
                continue;
            }
            let _ = socket.send(Message::text(format!("{text}{text}"))).await;
            let _ = socket.send(Message::binary(vec![0, 159, 146, 150])).await;
        }
    });
    let accept = HeaderValue::from_str(&derive_accept_key(key.as_bytes())).map_err(|_| ConnectionClosed)?;
    let mut response = Response::new(transport::full(Bytes::new()));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    transport::restore(response.headers_mut(), Some(HeaderValue::from_static("websocket")));
    response.headers_mut().insert("sec-websocket-accept", accept);
    Ok(response)
}
