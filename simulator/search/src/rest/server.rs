//! The server itself.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Method, Request, Response};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use super::answer::{Answer, format_of};
use super::request::RestRequest;
use super::route;
use crate::cluster::Cluster;
use crate::error::{Result, SearchError};
use crate::ids::IdSource;
use crate::options::Options;
use crate::scroll::Scrolls;

/// What the handlers share.
pub(crate) struct Shared {
    pub(crate) cluster: Cluster,
    pub(crate) ids: IdSource,
    pub(crate) scrolls: Scrolls,
}

/// A log search backend: answers as Elasticsearch 1.5 does, over a socket ([`SearchServer::serve`]), in process ([`SearchServer::handle`]),
/// or for documents without HTTP ([`SearchServer::index`]). Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct SearchServer {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for SearchServer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("SearchServer")
            .field("options", &self.shared.cluster.options)
            .finish_non_exhaustive()
    }
}

impl SearchServer {
    /// An empty backend.
    pub fn new(options: Options) -> SearchServer {
        let cluster = Cluster::new(options);
        let ids = IdSource::new(cluster.now());
        let scrolls = Scrolls::new(cluster.options.limits.scrolls);
        SearchServer {
            shared: Arc::new(Shared { cluster, ids, scrolls }),
        }
    }

    /// Answers one request in process. Needs a Tokio runtime; the body is read up to the limit of the options.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body<Data = Bytes> + Send,
        B::Error: std::fmt::Display,
    {
        let (head, body) = request.into_parts();
        let is_head = head.method == Method::HEAD;
        let body = match self.read(body).await {
            Ok(body) => body,
            Err(error) => return Answer::refusal(&error).into_http(false, false, is_head),
        };
        let request = RestRequest::new(head.method, &head.uri, body);
        let (pretty, yaml) = format_of(&request);
        let answered = self
            .beside_the_reactor(move |shared| route::dispatch(shared, &request))
            .await;
        let answer = answered.unwrap_or_else(|error| Answer::refusal(&error));
        answer.into_http(pretty, yaml, is_head)
    }

    /// Does work that takes its time where other tasks do not wait for it: here, if the runtime has other threads for them, else on a thread of its own.
    async fn beside_the_reactor<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if tokio::runtime::Handle::current().runtime_flavor() == tokio::runtime::RuntimeFlavor::MultiThread {
            // A fault costs the one request an answer, as it does on a thread of its own.
            let guarded = std::panic::AssertUnwindSafe(|| work(&self.shared));
            return tokio::task::block_in_place(|| std::panic::catch_unwind(guarded))
                .unwrap_or_else(|_| Err(SearchError::engine("a fault of the backend")));
        }
        let shared = self.shared.clone();
        tokio::task::spawn_blocking(move || work(&shared))
            .await
            .map_err(SearchError::engine)?
    }

    async fn read<B>(&self, body: B) -> Result<Bytes>
    where
        B: Body<Data = Bytes> + Send,
        B::Error: std::fmt::Display,
    {
        let most = self.shared.cluster.options.limits.body;
        let mut body = std::pin::pin!(body);
        let mut read = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| SearchError::parse(format!("the body could not be read: {error}")))?;
            if let Ok(data) = frame.into_data() {
                if read.len() + data.len() > most {
                    return Err(SearchError::too_large(format!("content length exceeded {most} bytes.")));
                }
                read.extend_from_slice(&data);
            }
        }
        Ok(read.freeze())
    }

    /// Answers every connection that `listener` accepts, until the returned future is dropped.
    ///
    /// # Errors
    /// A listener that fails for good.
    pub async fn serve(&self, listener: TcpListener) -> std::io::Result<()> {
        let mut connections = tokio::task::JoinSet::new();
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                // A connection that broke before it was taken, or too many open files: the next one may do.
                Err(error)
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::ConnectionAborted
                            | std::io::ErrorKind::ConnectionReset
                            | std::io::ErrorKind::Interrupted
                    ) =>
                {
                    continue;
                }
                Err(error) => return Err(error),
            };
            // An answer that waits to be joined with another costs a client tens of milliseconds.
            let _ = stream.set_nodelay(true);
            let server = self.clone();
            connections.spawn(async move {
                let service = hyper::service::service_fn(move |request| {
                    let server = server.clone();
                    async move { Ok::<_, std::convert::Infallible>(server.handle(request).await) }
                });
                // A connection that ends badly concerns the client alone.
                let _ = hyper::server::conn::http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(Duration::from_secs(60))
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
            while connections.try_join_next().is_some() {}
        }
    }

    /// Writes a document without HTTP, as a log collector in the same process does. Without an id, one is given.
    ///
    /// # Errors
    /// A document that is no JSON object, or that its index refuses.
    pub fn index(&self, index: &str, type_name: &str, id: Option<&str>, source: &[u8]) -> Result<()> {
        crate::write::index_document(&self.shared, index, type_name, id, None, source, Default::default()).map(drop)
    }

    /// Makes everything that was written so far visible to searches.
    ///
    /// # Errors
    /// An index that fails.
    pub fn refresh(&self) -> Result<()> {
        self.shared
            .cluster
            .indices()
            .iter()
            .try_for_each(|index| index.refresh())
    }
}
