//! Tests of the proxy over the network: a front end, the proxy, and servers behind it.

use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::{StreamExt, future::BoxFuture};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::{
    Request, Response, StatusCode,
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    net::{TcpListener, TcpSocket, TcpStream},
};

use super::{super::route::ProxyRequest, forward::Settings, *};
use crate::{
    api::Object,
    cluster::network::{Backend, Backends},
    profile::Profile,
    scheme::Scheme,
    strategy::{Lookup, ResourceName},
};

/// A single pod `p`, whose address is replaced by that of a test server.
struct OnePod;

impl Lookup for OnePod {
    fn find<'a>(&'a self, resource: ResourceName, _: &'a str, name: &'a str) -> BoxFuture<'a, Option<Object>> {
        let pod =
            json!({"spec": {"containers": [{"ports": [{"containerPort": 80}]}]}, "status": {"podIP": "10.9.9.9"}});
        Box::pin(async move {
            if (resource.plural, name) == ("pods", "p") {
                pod.as_object().cloned()
            } else {
                None
            }
        })
    }
}

async fn serve<F>(answer: F) -> SocketAddr
where
    F: Fn(Request<Incoming>) -> BoxFuture<'static, Response<Body>> + Clone + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = answer.clone();
            let service = service_fn(move |request| {
                let answer = answer(request);
                async move { Ok::<_, Infallible>(answer.await) }
            });
            tokio::spawn(
                http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .with_upgrades(),
            );
        }
    });
    address
}

/// Starts a front end whose proxy replaces the pod's address by `behind`, or has `backends`.
async fn front(behind: Option<SocketAddr>, backends: Backends) -> SocketAddr {
    let mut settings = Settings::new(Profile::Documented);
    if let Some(behind) = behind {
        settings.dial = [DialOverride {
            from: "10.9.9.9:80".to_owned(),
            to: behind.to_string(),
        }]
        .into_iter()
        .collect();
    }
    settings.backends = backends;
    front_with(settings).await
}

async fn front_with(settings: Settings) -> SocketAddr {
    let proxy = Arc::new(Proxy::new(settings).unwrap());
    serve(move |request| {
        let proxy = Arc::clone(&proxy);
        Box::pin(async move {
            match proxy
                .answer(
                    &OnePod,
                    &address(request.uri().path()),
                    request,
                    Some([127, 0, 0, 1].into()),
                )
                .await
            {
                Ok(response) => response,
                Err(status) => {
                    let mut response = Response::new(full(&status.to_value().to_string()));
                    *response.status_mut() = StatusCode::from_u16(status.code).unwrap();
                    response
                }
            }
        })
    })
    .await
}

/// Returns the request of the pod in a path of either form.
fn address(path: &str) -> ProxyRequest {
    let old = path.starts_with("/api/v1/proxy/");
    let root: String = path.split_inclusive('/').take(8).collect();
    let rest = path
        .get(root.trim_end_matches('/').len()..)
        .filter(|rest| !rest.is_empty());
    let name = path.split('/').nth(if old { 7 } else { 6 }).unwrap();
    let rest = rest.map(|rest| path::unescape(rest).unwrap());
    ProxyRequest {
        resource: Scheme::builtin().resource("", "v1", "pods").unwrap().clone(),
        namespace: "a".to_owned(),
        name: name.to_owned(),
        path: rest,
        root: root.trim_end_matches('/').to_owned(),
        old,
    }
}

fn full(text: &str) -> Body {
    Full::new(Bytes::copy_from_slice(text.as_bytes()))
        .map_err(|never| match never {})
        .boxed_unsync()
}

fn client() -> reqwest::Client {
    // Other crates of the workspace may enable several providers, so that one must be chosen.
    let _installed = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .unwrap()
}

const POD: &str = "/api/v1/namespaces/a/pods/p/proxy";

#[rstest]
#[case("http", "dial tcp 10.9.9.9:80: connect: connection refused")]
#[case("https", "dial tcp 10.9.9.9:80: connect: connection refused")]
#[tokio::test]
async fn an_unreachable_server_is_a_503_with_a_reason(#[case] scheme: &str, #[case] why: &str) {
    // It is bound but not listening, so that no other server can use the port.
    let silent = TcpSocket::new_v4().unwrap();
    silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let front = front(Some(silent.local_addr().unwrap()), Backends::default()).await;
    let answer = client()
        .get(format!(
            "http://{front}/api/v1/proxy/namespaces/a/pods/{scheme}:p:80/echo?b=1&a=2"
        ))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.headers()["content-type"], "text/plain; charset=utf-8");
    assert_eq!(
        answer.text().await.unwrap(),
        format!("Error: '{why}'\nTrying to reach: '{scheme}://10.9.9.9:80/echo?a=2&b=1'")
    );
}

#[rstest]
#[case(b"nonsense\r\n\r\n", "tls: first record does not look like a TLS handshake")]
#[case(
    b"HTTP/1.0 400 Bad Request\r\n\r\n",
    "http: server gave HTTP response to HTTPS client"
)]
#[case(b"", "EOF")]
#[tokio::test]
async fn a_server_without_tls_has_its_own_error(#[case] says: &'static [u8], #[case] why: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let front = front(Some(listener.local_addr().unwrap()), Backends::default()).await;
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut hello = [0; 2048];
        let _ = stream.read(&mut hello).await;
        let _ = stream.write_all(says).await;
        let _ = stream.shutdown().await;
        let _ = stream.read(&mut hello).await;
    });
    let answer = client()
        .get(format!("http://{front}/api/v1/namespaces/a/pods/https:p:80/proxy/echo"))
        .send()
        .await
        .unwrap();
    assert_eq!(
        (answer.status().as_u16(), answer.text().await.unwrap()),
        (
            503,
            format!("Error: '{why}'\nTrying to reach: 'https://10.9.9.9:80/echo'")
        )
    );
}

#[tokio::test]
async fn a_silent_server_times_out() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut settings = Settings::new(Profile::Documented);
    settings.dial = [DialOverride {
        from: "10.9.9.9:80".to_owned(),
        to: silent.local_addr().unwrap().to_string(),
    }]
    .into_iter()
    .collect();
    settings.connect_timeout = Duration::from_millis(50);
    let front = front_with(settings).await;
    let answer = client()
        .get(format!("http://{front}/api/v1/namespaces/a/pods/https:p:80/proxy/echo"))
        .send()
        .await
        .unwrap();
    let text = "Error: 'net/http: TLS handshake timeout'\nTrying to reach: 'https://10.9.9.9:80/echo'";
    assert_eq!(
        (answer.status().as_u16(), answer.text().await.unwrap().as_str()),
        (503, text)
    );
}

#[tokio::test]
async fn a_port_that_is_not_a_number_is_rejected() {
    let front = front(None, Backends::default()).await;
    let answer = client()
        .get(format!("http://{front}/api/v1/namespaces/a/pods/p:web/proxy/echo"))
        .send()
        .await
        .unwrap();
    let status: Value = answer.json().await.unwrap();
    assert_eq!(
        (&status["code"], &status["message"]),
        (
            &json!(500),
            &json!("parse \"http://10.9.9.9:web/echo\": invalid port \":web\" after host")
        )
    );
}

#[tokio::test]
async fn the_root_without_a_slash_redirects_to_the_root_with_one() {
    let front = front(None, Backends::default()).await;
    let answer = client().get(format!("http://{front}{POD}?q=1")).send().await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), answer.headers()["location"].to_str().unwrap()),
        (301, "/api/v1/namespaces/a/pods/p/proxy/?q=1")
    );
    assert_eq!(answer.content_length(), Some(0));
}

#[tokio::test]
async fn request_and_response_stream_at_the_same_time() {
    let behind =
        serve(|request| Box::pin(async move { Response::new(request.into_body().map_err(Into::into).boxed_unsync()) }))
            .await;
    let front = front(Some(behind), Backends::default()).await;
    let (sender, receiver) = futures::channel::mpsc::unbounded::<Result<Bytes, Infallible>>();
    let asked = client()
        .post(format!("http://{front}{POD}/echo"))
        .body(reqwest::Body::wrap_stream(receiver))
        .send();
    sender.unbounded_send(Ok(Bytes::from_static(b"one"))).unwrap();
    let mut answer = tokio::time::timeout(Duration::from_secs(20), asked)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(answer.chunk().await.unwrap().unwrap(), "one");
    sender.unbounded_send(Ok(Bytes::from_static(b"two"))).unwrap();
    assert_eq!(answer.chunk().await.unwrap().unwrap(), "two");
    drop(sender);
    assert_eq!(answer.chunk().await.unwrap(), None);
}

#[tokio::test]
async fn a_page_is_rewritten_as_it_streams() {
    let behind = serve(|_| {
        let (sender, receiver) = futures::channel::mpsc::unbounded::<Bytes>();
        sender
            .unbounded_send(Bytes::from_static(b"<a href='/x'>first</a>"))
            .unwrap();
        // The page never ends: its first part must arrive anyway.
        let body = StreamBody::new(receiver.map(|piece| Ok(Frame::data(piece)))).boxed_unsync();
        tokio::spawn(async move {
            futures::future::pending::<()>().await;
            drop(sender);
        });
        Box::pin(async move {
            Response::builder()
                .header("content-type", "text/html; charset=utf-8")
                .body(body)
                .unwrap()
        })
    })
    .await;
    let front = front(Some(behind), Backends::default()).await;
    let mut answer = client().get(format!("http://{front}{POD}/page")).send().await.unwrap();
    let first = tokio::time::timeout(Duration::from_secs(20), answer.chunk())
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!(first, format!("<a href=\"{POD}/x\">first</a>"));
}

#[tokio::test]
async fn an_upgraded_connection_works_in_both_directions() {
    fn shout(mut request: Request<Incoming>) -> BoxFuture<'static, Response<Body>> {
        Box::pin(async move {
            let path = request.uri().to_string();
            tokio::spawn(async move {
                let mut stream = TokioIo::new(hyper::upgrade::on(&mut request).await.unwrap());
                let mut received = [0; 5];
                stream.read_exact(&mut received).await.unwrap();
                stream.write_all(&received.to_ascii_uppercase()).await.unwrap();
            });
            Response::builder()
                .status(101)
                .header("connection", "upgrade")
                .header("upgrade", "shout")
                .header("x-path", path)
                .body(full(""))
                .unwrap()
        })
    }
    let backends = Backends::default();
    for in_process in [false, true] {
        let behind = serve(shout).await;
        if in_process {
            let within: fn(Request<Body>) -> BoxFuture<'static, Response<Body>> = |mut request| {
                Box::pin(async move {
                    let path = request.uri().to_string();
                    let upgrade = hyper::upgrade::on(&mut request);
                    tokio::spawn(async move {
                        let mut stream = TokioIo::new(upgrade.await.unwrap());
                        let mut received = [0; 5];
                        stream.read_exact(&mut received).await.unwrap();
                        stream.write_all(&received.to_ascii_uppercase()).await.unwrap();
                    });
                    Response::builder()
                        .status(101)
                        .header("connection", "upgrade")
                        .header("upgrade", "shout")
                        .header("x-path", path)
                        .body(full(""))
                        .unwrap()
                })
            };
            backends.insert("10.9.9.9:80", Arc::new(within));
        }
        let front = front(Some(behind), backends.clone()).await;
        let mut stream = TcpStream::connect(front).await.unwrap();
        let asked = format!(
            "GET {POD}/talk?a=1 HTTP/1.1\r\nhost: x\r\nconnection: keep-alive, Upgrade\r\nupgrade: shout\r\n\r\n"
        );
        stream.write_all(asked.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        assert!(
            head.starts_with("HTTP/1.1 101 ") && head.contains("x-path: /talk?a=1\r\n"),
            "{head}"
        );
        stream.write_all(b"hello").await.unwrap();
        let mut received = [0; 5];
        tokio::time::timeout(Duration::from_secs(20), stream.read_exact(&mut received))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(&received, b"HELLO");
    }
}

#[tokio::test]
async fn a_server_in_this_process_answers_without_a_connection() {
    let backends = Backends::default();
    let answer: fn(Request<Body>) -> BoxFuture<'static, Response<Body>> = |request| {
        Box::pin(async move {
            let told = format!(
                "{} {} {}",
                request.method(),
                request.uri(),
                request.headers()["x-forwarded-uri"].to_str().unwrap()
            );
            Response::builder()
                .header("location", "/next")
                .body(full(&told))
                .unwrap()
        })
    };
    backends.insert("10.9.9.9:80", Arc::new(answer));
    let front = front(None, backends).await;
    let answer = client()
        .delete(format!("http://{front}{POD}/a%20b/?x=%20"))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.headers()["location"], format!("{POD}/next").as_str());
    assert_eq!(answer.text().await.unwrap(), format!("DELETE /a%20b/?x=%20 {POD}/a b/"));
}

#[rstest]
#[case(Profile::Documented, "")]
#[case(Profile::Kubernetes12, "Bearer hush a=hush")]
#[tokio::test]
async fn credentials_of_the_api_server_do_not_reach_a_pod(#[case] profile: Profile, #[case] seen: &str) {
    let behind = serve(|request| {
        let headers = request.headers();
        let sent: Vec<_> = ["authorization", "cookie"]
            .iter()
            .filter_map(|name| headers.get(*name)?.to_str().ok())
            .collect();
        let sent = sent.join(" ");
        Box::pin(async move { Response::new(full(&sent)) })
    })
    .await;
    let mut settings = Settings::new(profile);
    settings.dial = [DialOverride {
        from: "10.9.9.9:80".to_owned(),
        to: behind.to_string(),
    }]
    .into_iter()
    .collect();
    let front = front_with(settings).await;
    let answer = client()
        .get(format!("http://{front}/api/v1/namespaces/a/pods/p:80/proxy/echo"))
        .header("authorization", "Bearer hush")
        .header("cookie", "a=hush")
        .send()
        .await
        .unwrap();
    assert_eq!(answer.text().await.unwrap(), seen);
}

/// A server that echoes its input.
struct Echo;

impl Backend for Echo {
    fn answer(&self, _: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        Box::pin(async { Response::new(crate::cluster::network::full_body("this server does not speak HTTP")) })
    }

    fn serve_connection(&self, io: DuplexStream) -> Result<BoxFuture<'static, ()>, DuplexStream> {
        let (mut from, mut to) = tokio::io::split(io);
        Ok(Box::pin(async move {
            let _ = tokio::io::copy(&mut from, &mut to).await;
        }))
    }
}

#[tokio::test]
async fn a_server_inside_the_process_may_use_another_protocol_on_a_forwarded_port() {
    let mut settings = Settings::new(Profile::Documented);
    settings.backends = Backends::default();
    settings.backends.insert("10.9.9.9:53", Arc::new(Echo));
    let mut connection = Proxy::new(settings).unwrap().connect("10.9.9.9:53").await.unwrap();
    connection.write_all(b"query").await.unwrap();
    let mut answer = [0; 5];
    connection.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"query");
}
