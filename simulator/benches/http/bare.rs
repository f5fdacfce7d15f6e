//! A bare hyper server: files from memory, and a stream of what is posted.

use std::{collections::HashMap, convert::Infallible, sync::Arc};

use bytes::Bytes;
use futures::stream::unfold;
use http::{HeaderValue, Request, Response, header::CONTENT_TYPE};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, sync::broadcast};

use crate::client::Outcome;

/// Serves the files given, each under its name; what is posted to `/post` comes to whoever asks for `/watch`.
pub(crate) async fn serve(files: &[String]) -> Outcome {
    let name = |file: &str| format!("/{}", file.rsplit('/').next().unwrap_or_default());
    let bodies: HashMap<String, Bytes> = files
        .iter()
        .map(|file| Ok((name(file), std::fs::read(file)?.into())))
        .collect::<Outcome<_>>()?;
    let (bodies, (posted, _)) = (Arc::new(bodies), broadcast::channel::<Bytes>(1024));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let (bodies, posted) = (bodies.clone(), posted.clone());
        tokio::spawn(async move {
            let answer = service_fn(|request| async { Ok::<_, Infallible>(respond(&bodies, &posted, request).await) });
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(socket), answer)
                .await;
        });
    }
}

type Body = UnsyncBoxBody<Bytes, Infallible>;

async fn respond(
    bodies: &HashMap<String, Bytes>,
    posted: &broadcast::Sender<Bytes>,
    request: Request<Incoming>,
) -> Response<Body> {
    let body = match request.uri().path() {
        "/watch" => {
            let frames = unfold(posted.subscribe(), |mut frames| async move {
                Some((Ok(Frame::data(frames.recv().await.ok()?)), frames))
            });
            return Response::new(UnsyncBoxBody::new(StreamBody::new(frames)));
        }
        "/post" => {
            let body = request
                .into_body()
                .collect()
                .await
                .map(|body| body.to_bytes())
                .unwrap_or_default();
            let _ = posted.send(body.clone());
            body
        }
        path => bodies.get(path).cloned().unwrap_or_default(),
    };
    let mut response = Response::new(UnsyncBoxBody::new(Full::new(body)));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
