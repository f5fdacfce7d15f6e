//! A recorder reaches a server over TLS, with credentials of its own that never reach the file.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use std::convert::Infallible;
use std::sync::Arc;
use stuntdouble_cassettes::transport::{Client, Credentials, full};
use stuntdouble_cassettes::{Cassette, FailureKind, Outcome, Recorder, RecorderOptions};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Says what `Authorization` it saw. Returns its URL and its certificate.
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
