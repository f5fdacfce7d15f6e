//! The backend of the recorded proxy session: echoes requests, and serves a few fixed responses.

use std::{convert::Infallible, io::Write, net::SocketAddr};

use flate2::{Compression, write::GzEncoder};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::{Map, Value, json};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// The recorded page with every kind of link.
const PAGE: &str = r##"<html><head><link rel="stylesheet" href="/style.css"><script src="/app.js"></script></head>
<body background="/bg.png"><a href="/abs/page">abs</a> <a href="rel/page?x=1#f">rel</a> <a href="http://example.com/out">out</a> <a href="//example.com/scheme">scheme</a>
<img src="/logo.png" longdesc="/desc"><form action="/submit"><input src="/in.png"></form><iframe src="/frame"></iframe>
<a href="#top">top</a><a href="">empty</a><a href="javascript:void(0)">js</a><a HREF='/upper'>upper</a> text /abs/not-a-link &amp; done</body></html>
"##;

/// The headers that it echoes.
const ECHOED: [&str; 7] = [
    "content-type",
    "x-custom",
    "authorization",
    "cookie",
    "connection",
    "upgrade",
    "te",
];

/// The first byte of a TLS handshake.
const HANDSHAKE: u8 = 22;

/// A running echo server. Dropping it stops it.
pub(crate) struct Echo {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Echo {
    pub(crate) async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
        Ok(Self { address, serving })
    }

    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Serves a connection. A TLS handshake gets a page without an HTTP head, as the recorded server sent it.
async fn serve(mut stream: TcpStream) {
    let mut first = [0];
    if stream.peek(&mut first).await.is_ok_and(|n| n == 1) && first == [HANDSHAKE] {
        let _ = stream.write_all(b"<!DOCTYPE HTML>\n").await;
        return;
    }
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service_fn(answer))
        .await;
}

type Answer = Response<BoxBody<Bytes, Infallible>>;

fn fixed(status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Answer {
    let mut builder = Response::builder().status(status);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(Full::new(body.into()).boxed()).expect("invalid response")
}

fn gzipped(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("writing to memory failed");
    encoder.finish().expect("writing to memory failed")
}

async fn answer(request: Request<Incoming>) -> Result<Answer, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(|b| b.to_bytes()).unwrap_or_default();
    let plain = [("Content-Type", "text/plain")];
    let path = parts.uri.path();
    Ok(match path {
        "/html" => fixed(200, &[("Content-Type", "text/html; charset=utf-8")], PAGE),
        "/gzip" => fixed(
            200,
            &[("Content-Type", "text/html"), ("Content-Encoding", "gzip")],
            gzipped(PAGE),
        ),
        "/redirect" => fixed(302, &[("Location", "/target?x=1")], ""),
        "/redirect-rel" => fixed(301, &[("Location", "next")], ""),
        "/redirect-away" => fixed(302, &[("Location", "http://example.com/away")], ""),
        "/empty" => fixed(204, &[], ""),
        "/big" => fixed(
            200,
            &[("Content-Type", "application/octet-stream")],
            "0123456789abcdef".repeat(12_800),
        ),
        "/cookie" => fixed(200, &[plain[0], ("Set-Cookie", "a=b; Path=/")], "cookie\n"),
        "/chunked" => {
            let parts = ["one\n", "two\n", "three\n"]
                .map(|part| Ok::<_, Infallible>(hyper::body::Frame::data(Bytes::from_static(part.as_bytes()))));
            let stream = http_body_util::StreamBody::new(futures::stream::iter(parts));
            Response::builder()
                .header("Content-Type", "text/plain")
                .body(BodyExt::boxed(stream))
                .expect("invalid response")
        }
        _ => match path.strip_prefix("/status/").and_then(|code| code.parse::<u16>().ok()) {
            Some(code) => fixed(code, &plain, format!("status {code}\n")),
            None => {
                let echoed = parts.headers.iter().filter(|(name, _)| ECHOED.contains(&name.as_str()));
                let headers: Map<String, Value> = echoed
                    .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into()))
                    .collect();
                let query = parts.uri.query().unwrap_or_default();
                let echo = json!({"method": parts.method.as_str(), "path": path, "query": query,
                    "headers": headers, "body": String::from_utf8_lossy(&body)});
                fixed(200, &[("Content-Type", "application/json")], format!("{echo}\n"))
            }
        },
    })
}
