//! Watches: a stream of JSON lines, or of WebSocket messages.
//!
//! A stream ends at its timeout, when its watcher is too slow, or when the server stops.

use bytes::Bytes;
use futures::{Stream, stream::unfold};
use http::{HeaderValue, Response, header, request::Parts};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    body::Body,
    metrics::OpenGauge,
    negotiation::{Format, STREAMS},
    query::Query,
    respond::ErrorResponse,
    service::Service,
    websocket,
};
use crate::{
    api::{Reason, Status},
    registry::{RequestInfo, WatchStream},
};

impl Service {
    /// Responds to a watch with chunks of JSON lines, or with WebSocket messages.
    pub(super) async fn watch(
        &self,
        request: &RequestInfo,
        parts: &mut Parts,
        close: &CancellationToken,
    ) -> Result<Response<Body>, ErrorResponse> {
        let query = Query::of(parts);
        query.flag("watch", self.profile)?;
        let mut options = self.options(query)?;
        let websocket = websocket::is_websocket_request(&parts.headers);
        if websocket && !self.profile.websocket_is_lenient() {
            options.timeout = None;
        }
        let frames = match self.registry.watch(request, &options, close.clone()).await {
            // A client that requests bookmarks lists again after an ERROR event, but not after a response of 410.
            Err(status) if options.bookmarks && status.reason == Reason::Gone => return Ok(self.failed_watch(&status)),
            frames => frames?,
        };
        Format::negotiate(&parts.headers, query, STREAMS)?;
        let frames = stream(
            frames,
            !websocket,
            self.shutdown.closing.child_token(),
            self.metrics.watch(),
        );
        if websocket {
            return Ok(websocket::upgrade(parts, frames, self.profile, &self.shutdown.tasks));
        }
        Ok(self.watch_response(Body::frames(frames)))
    }

    /// Returns a watch with a single ERROR event.
    fn failed_watch(&self, status: &Status) -> Response<Body> {
        let event = json!({"type": "ERROR", "object": status.to_value()});
        self.watch_response(Body::full(format!("{event}\n")))
    }

    fn watch_response(&self, body: Body) -> Response<Body> {
        let mut response = Response::new(body);
        if let Some(media_type) = self.profile.watch_media_type() {
            response
                .headers_mut()
                .insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        }
        response
    }
}

/// Streams the frames until they end or the server closes. With `joined`, frames that are ready together form one
/// chunk. `open` is dropped at the end.
fn stream(
    frames: WatchStream,
    joined: bool,
    closing: CancellationToken,
    open: OpenGauge,
) -> impl Stream<Item = Bytes> + Send + 'static {
    unfold((frames, closing, open), move |(mut frames, closing, open)| async move {
        let next = async {
            if joined {
                frames.next_chunk().await
            } else {
                frames.next().await
            }
        };
        let chunk = tokio::select! {
            biased;
            () = closing.cancelled() => None,
            chunk = next => chunk,
        };
        chunk.map(|chunk| (chunk, (frames, closing, open)))
    })
}
