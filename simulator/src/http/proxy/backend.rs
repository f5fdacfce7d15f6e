//! Connections to servers inside this process.

use std::{convert::Infallible, sync::Arc};

use http_body_util::BodyExt;
use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;

use crate::cluster::network::Backend;

/// How many bytes wait in a connection within this process.
const PIPE: usize = 64 * 1024;

/// A connection to a server inside this process, which answers HTTP on it, or what it speaks instead.
pub(super) fn serve(backend: Arc<dyn Backend>) -> DuplexStream {
    let (near, far) = tokio::io::duplex(PIPE);
    let far = match backend.talk(far) {
        Ok(talk) => {
            tokio::spawn(talk);
            return near;
        }
        Err(far) => far,
    };
    tokio::spawn(async move {
        let service = service_fn(|request: Request<Incoming>| {
            let answer = backend.answer(request.map(|body| body.map_err(Into::into).boxed_unsync()));
            async move { Ok::<_, Infallible>(answer.await) }
        });
        // How the connection ends is its client's business.
        let _ = http1::Builder::new()
            .serve_connection(TokioIo::new(far), service)
            .with_upgrades()
            .await;
    });
    near
}
