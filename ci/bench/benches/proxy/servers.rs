//! The servers: the measured proxy, the one for comparison, and the backend of both.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use futures::{StreamExt, future::BoxFuture, stream};
use http::{Request, Response, Uri};
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
use stuntdouble_simulator::Simulator;
use tokio::{net::TcpListener, sync::Semaphore};

use crate::{Outcome, STREAMS};

type BodyError = Box<dyn std::error::Error + Send + Sync>;
type Body = UnsyncBoxBody<Bytes, BodyError>;

const PIECE: usize = 64 * 1024;

async fn serve<F>(answer: F) -> Outcome
where
    F: Fn(Request<Incoming>) -> BoxFuture<'static, Outcome<Response<Body>>> + Clone + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let answer = answer.clone();
        tokio::spawn(async move {
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(socket), service_fn(answer))
                .await;
        });
    }
}

fn whole(text: &'static str) -> Body {
    Full::new(Bytes::from_static(text.as_bytes()))
        .map_err(|never| match never {})
        .boxed_unsync()
}

/// Runs the backend: a small body, one of `length` bytes, and streams that end only when all have started.
pub(crate) async fn source(length: u64) -> Outcome {
    let together = Arc::new((Semaphore::new(0), Semaphore::new(STREAMS)));
    serve(move |request| {
        let together = Arc::clone(&together);
        Box::pin(async move {
            Ok(match request.uri().path() {
                "/large" => {
                    let pieces =
                        stream::repeat_with(|| Bytes::from_static(&[b'x'; PIECE])).take(length as usize / PIECE);
                    let body = StreamBody::new(pieces.map(|piece| Ok(Frame::data(piece)))).boxed_unsync();
                    Response::builder()
                        .header("content-length", length)
                        .header("content-type", "application/octet-stream")
                        .body(body)?
                }
                "/stream" => {
                    let first = stream::once(async { Ok(Frame::data(Bytes::from_static(b"first"))) });
                    let last = stream::once(async move {
                        // Waits until all streams have arrived.
                        let (all, missing) = &*together;
                        if let Ok(place) = missing.try_acquire() {
                            place.forget();
                        }
                        if missing.available_permits() == 0 {
                            all.add_permits(STREAMS);
                        }
                        let _all = all.acquire().await?;
                        Ok(Frame::data(Bytes::from_static(b"last")))
                    });
                    Response::new(StreamBody::new(first.chain(last)).boxed_unsync())
                }
                _ => Response::new(whole("small")),
            })
        })
    })
    .await
}

/// Runs a reverse proxy that only forwards.
pub(crate) async fn bare(source: &str) -> Outcome {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<_, Incoming> = Client::builder(TokioExecutor::new()).build(connector);
    let source = source.to_owned();
    serve(move |mut request| {
        let (client, source) = (client.clone(), source.clone());
        Box::pin(async move {
            *request.uri_mut() = Uri::try_from(format!("http://{source}{}", request.uri()))?;
            Ok(client
                .request(request)
                .await?
                .map(|body| body.map_err(Into::into).boxed_unsync()))
        })
    })
    .await
}

/// Runs the simulator with a service for `source`.
pub(crate) async fn simulator(source: &str) -> Outcome {
    let simulator = Simulator::builder()
        .bare(true)
        .dial("10.9.9.9:80", source)
        .start()
        .await?;
    // Several providers may be compiled in, so one must be installed.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::new();
    for (resource, body) in [
        (
            "services",
            r#"{"metadata":{"name":"source"},"spec":{"ports":[{"port":80}]}}"#,
        ),
        (
            "endpoints",
            r#"{"metadata":{"name":"source"},"subsets":[{"addresses":[{"ip":"10.9.9.9"}],"ports":[{"port":80}]}]}"#,
        ),
    ] {
        let url = format!("{}/api/v1/namespaces/default/{resource}", simulator.url());
        client
            .post(url)
            .header("content-type", "application/json")
            .body(body)
            .send()
            .await?
            .error_for_status()?;
    }
    println!("{}", simulator.address());
    std::future::pending::<Infallible>().await;
    Ok(())
}
