//! A search cluster outside the simulator, behind the log search service: the node that a request reaches, and the
//! request's headers.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use crate::client::client;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use stuntdouble_simulator::{Addons, SearchUpstream, Simulator};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

/// The reaction of a node to a request.
#[derive(Clone, Copy)]
enum Reaction {
    Answer,
    /// Reads the request, then closes the connection.
    Close,
}

/// A node of a fake search cluster, which records its requests.
struct Node {
    name: &'static str,
    address: SocketAddr,
    task: JoinHandle<()>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Node {
    async fn start(name: &'static str, at: SocketAddr, tls: Option<TlsAcceptor>, reaction: Reaction) -> Self {
        let listener = TcpListener::bind(at).await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let task = tokio::spawn(accept(listener, name, seen.clone(), tls, reaction));
        Self {
            name,
            address,
            task,
            seen,
        }
    }

    async fn plain(name: &'static str) -> Self {
        Self::start(name, "127.0.0.1:0".parse().unwrap(), None, Reaction::Answer).await
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn seen(&self) -> Vec<String> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }

    /// Closes its listener and its connections.
    async fn stop(&mut self) {
        self.task.abort();
        assert!((&mut self.task).await.unwrap_err().is_cancelled());
    }

    async fn restart(&mut self) {
        *self = Self::start(self.name, self.address, None, Reaction::Answer).await;
    }
}

async fn accept(
    listener: TcpListener,
    name: &'static str,
    seen: Arc<Mutex<Vec<String>>>,
    tls: Option<TlsAcceptor>,
    reaction: Reaction,
) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (tls, seen) = (tls.clone(), seen.clone());
        connections.spawn(async move {
            match tls {
                None => answer(stream, name, seen, reaction).await,
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        answer(stream, name, seen, reaction).await;
                    }
                }
            }
        });
    }
}

async fn answer<S>(stream: S, name: &'static str, seen: Arc<Mutex<Vec<String>>>, reaction: Reaction)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let seen = seen.clone();
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let header = |name: &str| parts.headers.get(name).map_or("", |value| value.to_str().unwrap());
            let (host, authorization) = (header("host"), header("authorization"));
            let line = format!(
                "{} {} {host} {authorization} {}",
                parts.method,
                parts.uri,
                String::from_utf8_lossy(&body)
            );
            seen.lock().unwrap().push(line);
            match reaction {
                Reaction::Answer => Ok(Response::new(Full::new(Bytes::from(name)))),
                Reaction::Close => Err("closed"),
            }
        }
    });
    // A client that has disconnected is not an error here.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn simulator(upstream: SearchUpstream) -> Simulator {
    let addons: Addons = "elasticsearch-logging".parse().unwrap();
    let simulator = Simulator::builder().addons(addons).search_upstream(upstream);
    let simulator = simulator.start().await.unwrap();
    simulator.settle().await;
    simulator
}

async fn ask(simulator: &Simulator, method: &str, path: &str, body: &'static str) -> (u16, String) {
    let url = format!(
        "{}/api/v1/proxy/namespaces/kube-system/services/elasticsearch-logging{path}",
        simulator.url()
    );
    let response = client()
        .request(method.parse().unwrap(), url)
        .body(body)
        .send()
        .await
        .unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

fn ok(text: &str) -> (u16, String) {
    (200, text.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_go_to_a_running_node() {
    let (mut one, mut two) = (Node::plain("one").await, Node::plain("two").await);
    let simulator = simulator(SearchUpstream::new([one.url(), two.url()])).await;
    let search = async || ask(&simulator, "GET", "/_search?q=a:%22b%20c%22", "").await;
    assert_eq!(search().await, ok("one"));
    // The proxy of the API encodes queries again, as v1.2 does.
    assert_eq!(one.seen(), [format!("GET /_search?q=a%3A%22b+c%22 {}  ", one.address)]);

    one.stop().await;
    assert_eq!(ask(&simulator, "POST", "/_bulk", "{}\n").await, ok("two"));
    assert_eq!(two.seen(), [format!("POST /_bulk {}  {{}}\n", two.address)]);
    assert_eq!(search().await, ok("two"));

    one.restart().await;
    assert_eq!(search().await, ok("two"), "a node that answers is kept");
    two.stop().await;
    assert_eq!(search().await, ok("one"));

    one.stop().await;
    let (status, text) = search().await;
    assert_eq!(status, 503, "{text}");
    assert!(text.contains(&one.url()) && text.contains(&two.url()), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_is_not_repeated_after_it_was_sent() {
    let one = Node::start("one", "127.0.0.1:0".parse().unwrap(), None, Reaction::Close).await;
    let two = Node::plain("two").await;
    let urls = [one.url(), two.url()];
    let simulator = simulator(SearchUpstream::new(urls)).await;
    assert_eq!(ask(&simulator, "POST", "/_bulk", "{}\n").await.0, 503);
    assert_eq!((one.seen().len(), two.seen().len()), (1, 0));
    assert_eq!(ask(&simulator, "GET", "/_search", "").await, ok("two"));
    assert_eq!((one.seen().len(), two.seen().len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_reached_over_tls_with_credentials() {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![made.cert.der().clone()],
            made.signing_key.serialize_der().try_into().unwrap(),
        )
        .unwrap();
    let tls = TlsAcceptor::from(Arc::new(config));
    let node = Node::start("secure", "127.0.0.1:0".parse().unwrap(), Some(tls), Reaction::Answer).await;
    let url = format!("https://{}/logs/", node.address);
    let trusting = SearchUpstream::new([&url]).authority(made.cert.pem());
    let cluster = simulator(trusting.user("reader", "secret")).await;
    assert_eq!(ask(&cluster, "GET", "/_count", "").await, ok("secure"));
    let expected = format!("GET /logs/_count {} Basic cmVhZGVyOnNlY3JldA== ", node.address);
    assert_eq!(node.seen(), [expected]);

    let other = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let distrusting = simulator(SearchUpstream::new([&url]).authority(other.cert.pem())).await;
    let (status, text) = ask(&distrusting, "GET", "/_count", "").await;
    assert!(status == 503 && text.contains("certificate"), "{status} {text}");
    assert!(node.seen().is_empty());
}
