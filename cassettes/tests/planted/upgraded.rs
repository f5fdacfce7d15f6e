//! Connections that are upgraded, and carry secrets both ways.

use super::secrets::{code, hex_key, secret};
use bytes::Bytes;
use futures::{SinkExt, StreamExt};
use http::{HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use stuntdouble_cassettes::transport::{
    self, Body, Client, ConnectionClosed, Credentials, Handler, Server, Tasks, full,
};
use stuntdouble_cassettes::{Data, Recorder, RecorderOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Message, Role};

/// The protocol of the upgrade, the subprotocol, and the path.
type Protocol = (&'static str, &'static str, &'static str);

pub(crate) const PROTOCOLS: [Protocol; 5] = [
    ("websocket", "v4.channel.k8s.io", "/exec"),
    ("websocket", "", "/api/v1/namespaces/a/pods/b/exec"),
    ("websocket", "binary.k8s.io", "/log"),
    ("SPDY/3.1", "", "/exec"),
    ("tcp", "", "/raw"),
];

/// What goes over a connection, with the secret in it.
pub(crate) fn texts(first: usize) -> Vec<(String, String)> {
    let text: [fn(&str) -> String; 6] = [
        |s| format!("export TOKEN={s}\necho done\n"),
        |s| format!("{{\"kind\":\"Secret\",\"data\":{{\"a\":\"{}\"}}}}\n", code(s)),
        |s| {
            format!(
                "some words and a line that is not short: {} password={s}\n",
                "x".repeat(700)
            )
        },
        |s| {
            format!(
                "$ kubectl get secret x -o yaml\napiVersion: v1\ndata:\n  a: {}\nkind: Secret\n",
                code(s)
            )
        },
        |s| format!("$ cat key\n{}", hex_key(s)),
        |s| {
            format!(
                "{:#}\n$ \n",
                json!({"items": [{"data": {"a": code(s)}, "kind": "Secret"}]})
            )
        },
    ];
    text.iter()
        .enumerate()
        .map(|(n, text)| (secret(10_000 + first + n), text(&secret(10_000 + first + n))))
        .collect()
}

/// What a message carries after its head.
pub(crate) fn payload(data: &Data, head: usize) -> Vec<u8> {
    let all = match data {
        Data::Text(text) => text.as_bytes(),
        Data::Binary(bytes) => bytes,
        _ => &[],
    };
    all.get(head..).unwrap_or_default().to_vec()
}

/// Says the texts to its client, after it was said them.
struct Origin {
    protocol: Protocol,
    wire: Vec<Vec<u8>>,
}

impl Handler for Origin {
    async fn handle(
        self: Arc<Self>,
        mut request: Request<Incoming>,
        tasks: Tasks,
    ) -> Result<Response<Body>, ConnectionClosed> {
        let near = hyper::upgrade::on(&mut request);
        let protocol = HeaderValue::from_static(self.protocol.0);
        let subprotocol = self.protocol.1;
        tasks.spawn(async move {
            let Ok(upgraded) = near.await else { return };
            speak(TokioIo::new(upgraded), Role::Server, &self.wire, self.protocol).await;
        });
        let mut response = Response::new(full(Bytes::new()));
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        transport::restore(response.headers_mut(), Some(protocol));
        if !subprotocol.is_empty() {
            response
                .headers_mut()
                .insert("sec-websocket-protocol", HeaderValue::from_static(subprotocol));
        }
        Ok(response)
    }
}

/// Sends messages, and reads until the other side has ended.
async fn speak(io: TokioIo<hyper::upgrade::Upgraded>, role: Role, wire: &[Vec<u8>], protocol: Protocol) {
    if protocol.0 == "websocket" {
        let mut socket = WebSocketStream::from_raw_socket(io, role, None).await;
        for message in wire {
            socket.send(Message::binary(message.clone())).await.expect("sent");
        }
        let _ = socket.close(None).await;
        while let Some(Ok(_)) = socket.next().await {}
        return;
    }
    let (mut read, mut write) = tokio::io::split(io);
    let sending = async {
        for bytes in wire {
            write.write_all(bytes).await.expect("sent");
            write.flush().await.expect("sent");
        }
        let _ = write.shutdown().await;
    };
    let reading = async {
        let mut buffer = Vec::new();
        let _ = read.read_to_end(&mut buffer).await;
    };
    tokio::join!(sending, reading);
}

/// The texts as messages of a protocol, each of so many bytes.
fn wire(texts: &[&String], size: usize, protocol: Protocol) -> Vec<Vec<u8>> {
    let framed = |(stream, piece): (usize, &[u8])| -> Vec<u8> {
        let length = (piece.len() as u32).to_be_bytes();
        match protocol.0 {
            "SPDY/3.1" => [&[0, 0, 0, stream as u8 * 2 + 1, 0][..], &length[1..], piece].concat(),
            "websocket" if protocol.2.ends_with("exec") => [&[stream as u8][..], piece].concat(),
            _ => piece.to_vec(),
        }
    };
    let pieces = texts
        .iter()
        .enumerate()
        .flat_map(|(n, text)| text.as_bytes().chunks(size).map(move |piece| (n % 3, piece)));
    pieces.map(framed).collect()
}

pub(crate) async fn record(protocol: Protocol, texts: &[(String, String)], size: usize, path: &Path) {
    let half = |odd: usize| -> Vec<&String> {
        texts
            .iter()
            .enumerate()
            .filter(|(n, _)| n % 2 == odd)
            .map(|(_, (_, text))| text)
            .collect()
    };
    let origin = Origin {
        protocol,
        wire: wire(&half(0), size, protocol),
    };
    let origin = Server::start(([127, 0, 0, 1], 0).into(), Arc::new(origin))
        .await
        .expect("an origin");
    let recorder = Recorder::start(RecorderOptions::new(format!("http://{}", origin.address())), path)
        .await
        .expect("a recorder");
    let client = Client::new(&recorder.url(), &Credentials::default(), false).expect("a client");
    let mut request = Request::get(protocol.2)
        .header("connection", "Upgrade")
        .header("upgrade", protocol.0);
    if protocol.0 == "websocket" {
        request = request
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    }
    let response = client
        .send(request.body(full("")).expect("a request"))
        .await
        .expect("an answer");
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    let upgraded = hyper::upgrade::on(response).await.expect("upgraded");
    speak(
        TokioIo::new(upgraded),
        Role::Client,
        &wire(&half(1), size, protocol),
        protocol,
    )
    .await;
    recorder.stop().await;
}
