//! Connections to servers inside this process.

use std::{convert::Infallible, sync::Arc};

use http_body_util::BodyExt;
use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;

use crate::cluster::network::Backend;

/// Buffer size of a connection within this process, in bytes.
const BUFFER_BYTES: usize = 64 * 1024;

/// Connects to a server inside this process, which serves HTTP or another protocol on the connection.
pub(super) fn serve(backend: Arc<dyn Backend>) -> DuplexStream {
    let (near, far) = tokio::io::duplex(BUFFER_BYTES);
    let far = match backend.serve_connection(far) {
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
        // The client observes an error as that of the connection.
        let _ = http1::Builder::new()
            .serve_connection(TokioIo::new(far), service)
            .with_upgrades()
            .await;
    });
    near
}
