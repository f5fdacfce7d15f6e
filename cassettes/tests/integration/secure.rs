//! A recorder connects to a server over TLS, with credentials that are not written to the file.

use futures::stream;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, Version};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use std::convert::Infallible;
use std::sync::Arc;
use stuntdouble_cassettes::transport::{
    Body, Client, ConnectionClosed, Credentials, Handler, Origins, Server, Tasks, full,
};
use stuntdouble_cassettes::{Cassette, FailureKind, Outcome, Recorder, RecorderOptions, Replayer, ReplayerOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Starts a server that responds with the received `Authorization`. Returns its URL and certificate.
async fn server() -> (String, Vec<u8>) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .expect("a configuration");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("https://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(socket).await else {
                    return;
                };
                let service = service_fn(async |request: Request<hyper::body::Incoming>| {
                    let seen = request
                        .headers()
                        .get("authorization")
                        .map(|value| value.as_bytes().to_vec());
                    Ok::<_, Infallible>(Response::new(full(seen.unwrap_or_default())))
                });
                let _ = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    (url, cert.pem().into_bytes())
}

async fn get(url: &str) -> Option<String> {
    let client = Client::new(url, &Credentials::default(), false).expect("a client");
    let response = client
        .send(Request::get("/").body(full("")).expect("a request"))
        .await
        .ok()?;
    let body = response.into_body().collect().await.ok()?.to_bytes();
    Some(String::from_utf8_lossy(&body).into_owned())
}

async fn record(upstream: &str, credentials: Credentials) -> (Option<String>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.yaml");
    let mut options = RecorderOptions::new(upstream);
    options.credentials = credentials;
    let recorder = Recorder::start(options, &path).await.expect("a recorder");
    let answer = get(&recorder.url()).await;
    recorder.stop().await;
    (answer, std::fs::read_to_string(&path).expect("text"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_behind_tls_is_recorded_with_the_recorders_credentials() {
    let (url, certificate) = server().await;
    let token = Some("a-s3cret-token".to_owned());
    let trusting = Credentials {
        authority: Some(certificate),
        token: token.clone(),
        ..Credentials::default()
    };
    let careless = Credentials {
        insecure: true,
        token,
        ..Credentials::default()
    };
    for credentials in [trusting, careless] {
        let (answer, text) = record(&url, credentials).await;
        assert_eq!(answer.as_deref(), Some("Bearer a-s3cret-token"));
        assert!(
            !text.contains("a-s3cret-token") && text.contains("Bearer redacted-"),
            "{text}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_nobody_vouches_for_is_a_failure_of_tls() {
    let (url, _) = server().await;
    let (answer, text) = record(&url, Credentials::default()).await;
    assert_eq!(answer, None);
    let cassette = Cassette::parse(&text).expect("a cassette");
    let Outcome::Failure(failure) = &cassette.interactions[0].outcome else {
        panic!("no answer was to come")
    };
    assert_eq!(failure.kind, FailureKind::Tls, "{}", failure.text);
}

/// A certificate and key, both in PEM.
fn identity() -> (Vec<u8>, Vec<u8>) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).expect("a certificate");
    (cert.pem().into(), signing_key.serialize_pem().into())
}

/// Responds with the HTTP version of the request, and a trailer.
struct Newer;

impl Handler for Newer {
    async fn handle(self: Arc<Self>, request: Request<Incoming>, _: Tasks) -> Result<Response<Body>, ConnectionClosed> {
        let version = format!("{:?}", request.version());
        let trailers = HeaderMap::from_iter([(HeaderName::from_static("x-end"), HeaderValue::from_static("ended"))]);
        let frames = [Ok(Frame::data(version.into())), Ok(Frame::trailers(trailers))];
        Ok(Response::new(StreamBody::new(stream::iter(frames)).boxed_unsync()))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_speak_http_2_over_tls() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.yaml");
    let (here, there) = (identity(), identity());
    let any = ([127, 0, 0, 1], 0).into();
    let origin = Server::start_secure(any, Origins::default(), Some(&there), Arc::new(Newer))
        .await
        .expect("an origin");
    let mut options = RecorderOptions::new(format!("https://{}", origin.address()));
    options.credentials.authority = Some(there.0);
    options.identity = Some(here.clone());
    let recorder = Recorder::start(options, &path).await.expect("a recorder");
    let credentials = Credentials {
        authority: Some(here.0),
        ..Credentials::default()
    };
    let client = Client::new(&recorder.url(), &credentials, false).expect("a client");
    let request = Request::get("/api?a=b").body(full("")).expect("a request");
    let response = client.send(request).await.expect("an answer");
    assert_eq!(response.version(), Version::HTTP_2);
    let body = response.into_body().collect().await.expect("a body");
    assert_eq!(
        body.trailers().and_then(|trailers| trailers.get("x-end")),
        Some(&HeaderValue::from_static("ended"))
    );
    assert_eq!(body.to_bytes(), "HTTP/2.0", "the recorder asked the server");
    assert_eq!(recorder.stop().await, None);
    let cassette = Cassette::open(&path).expect("a cassette");
    assert_eq!(cassette.interactions.len(), 1);
    assert_eq!(cassette.interactions[0].request.url, "/api?a=b");
    let answer = cassette.interactions[0].response().expect("an answer");
    assert_eq!(answer.payload.bytes(), "HTTP/2.0");
    assert_eq!(answer.trailers.get("x-end"), Some("ended"));
    let har = Cassette::from_har(&cassette.to_har()).expect("a cassette");
    assert_eq!(har.interactions[0].response(), Some(answer));
    let replayer = Replayer::start(cassette, ReplayerOptions::default())
        .await
        .expect("a replayer");
    let mut socket = tokio::net::TcpStream::connect(replayer.address())
        .await
        .expect("a connection");
    let request = "GET /api?a=b HTTP/1.1\r\nhost: localhost\r\nte: trailers\r\nconnection: close, te\r\n\r\n";
    socket.write_all(request.as_bytes()).await.expect("sent");
    let mut text = String::new();
    socket.read_to_string(&mut text).await.expect("a response");
    assert!(
        text.ends_with("\r\n8\r\nHTTP/2.0\r\n0\r\nx-end: ended\r\n\r\n"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn http_2_is_spoken_without_tls_by_who_begins_so() {
    let server = Server::start(([127, 0, 0, 1], 0).into(), Arc::new(Newer))
        .await
        .expect("a server");
    let socket = tokio::net::TcpStream::connect(server.address())
        .await
        .expect("a connection");
    let (mut sender, connection) = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(socket))
        .await
        .expect("a handshake");
    tokio::spawn(connection);
    let request = Request::get(format!("http://{}/", server.address()))
        .body(full(""))
        .expect("a request");
    let response = sender.send_request(request).await.expect("an answer");
    let body = response.into_body().collect().await.expect("a body");
    assert_eq!(body.to_bytes(), "HTTP/2.0");
}
