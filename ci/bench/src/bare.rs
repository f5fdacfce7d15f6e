//! Bare hyper servers: one that serves files from memory and a stream of posted bodies, and a reverse proxy.

use std::{collections::HashMap, convert::Infallible, sync::Arc};

use bytes::Bytes;
use futures::stream::unfold;
use http::{HeaderValue, Request, Response, Uri, header::CONTENT_TYPE};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::broadcast::{self, error::RecvError},
};

use crate::client::Outcome;

type Body = UnsyncBoxBody<Bytes, hyper::Error>;

/// Serves the files, each under its name. A body posted to `/post` is sent to all clients of `/watch`; other bodies are
/// echoed.
pub(crate) async fn files(files: &[String]) -> Outcome {
    let name = |file: &str| format!("/{}", file.rsplit('/').next().unwrap_or_default());
    let bodies: HashMap<String, Bytes> = files
        .iter()
        .map(|file| Ok((name(file), std::fs::read(file)?.into())))
        .collect::<Outcome<_>>()?;
    let (bodies, (posted, _)) = (Arc::new(bodies), broadcast::channel::<Bytes>(4096));
    let listener = listen().await?;
    loop {
        let socket = accept(&listener).await?;
        let (bodies, posted) = (bodies.clone(), posted.clone());
        tokio::spawn(async move {
            let service = service_fn(|request| async { Ok::<_, Infallible>(respond(&bodies, &posted, request).await) });
            // Errors here concern only the client: nothing to report.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(socket), service)
                .await;
        });
    }
}

async fn respond(
    bodies: &HashMap<String, Bytes>,
    posted: &broadcast::Sender<Bytes>,
    request: Request<Incoming>,
) -> Response<Body> {
    let body = match request.uri().path() {
        "/watch" => return Response::new(UnsyncBoxBody::new(StreamBody::new(frames(posted.subscribe())))),
        "/post" => {
            let body = collect(request).await;
            // Fails without watchers: not an error.
            let _ = posted.send(body.clone());
            body
        }
        path => match bodies.get(path) {
            Some(body) => body.clone(),
            None => collect(request).await,
        },
    };
    let mut response = Response::new(whole(body));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

fn frames(posted: broadcast::Receiver<Bytes>) -> impl futures::Stream<Item = Result<Frame<Bytes>, hyper::Error>> {
    unfold(posted, |mut posted| async move {
        loop {
            match posted.recv().await {
                Ok(frame) => return Some((Ok(Frame::data(frame)), posted)),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    })
}

async fn collect(request: Request<Incoming>) -> Bytes {
    let body = request.into_body().collect().await;
    body.map(|body| body.to_bytes()).unwrap_or_default()
}

fn whole(body: Bytes) -> Body {
    Full::new(body).map_err(|never| match never {}).boxed_unsync()
}

async fn listen() -> Outcome<TcpListener> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    Ok(listener)
}

async fn accept(listener: &TcpListener) -> Outcome<TcpStream> {
    let (socket, _) = listener.accept().await?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

/// Runs a reverse proxy to `upstream` that changes only the address.
pub(crate) async fn proxy(upstream: &str) -> Outcome {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<_, Incoming> = Client::builder(TokioExecutor::new()).build(connector);
    let listener = listen().await?;
    loop {
        let socket = accept(&listener).await?;
        let (client, upstream) = (client.clone(), upstream.to_owned());
        tokio::spawn(async move {
            let service = service_fn(|request| forward(&client, &upstream, request));
            // Errors here concern only the client: nothing to report.
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(socket), service)
                .await;
        });
    }
}

async fn forward(
    client: &Client<HttpConnector, Incoming>,
    upstream: &str,
    mut request: Request<Incoming>,
) -> Outcome<Response<Incoming>> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = format!("http://{upstream}{path}").parse::<Uri>()?;
    Ok(client.request(request).await?)
}
