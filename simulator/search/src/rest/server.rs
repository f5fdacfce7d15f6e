//! HTTP server: reads requests, runs them on blocking threads, writes responses.
//!
//! Guarantees:
//! - A request is cancelled when its client closes the connection.
//! - The bodies of requests are limited in size and time, each and together.
//!
//! Source: Elasticsearch 1.5's HTTP module with compression disabled: a connection that sends a compressed body is
//! closed.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Method, Request, Response, header};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use stuntdouble_server::{Peer, Shutdown, serve};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::answer::{Answer, Format, jsonp_disabled, plugin_site};
use super::request::RestRequest;
use super::route;
use crate::budget::Budget;
use crate::cluster::{Cluster, DataDirectorySummary, refresh};
use crate::durable::{DataDirectory, DataDirectoryError};
use crate::error::{Result, SearchError};
use crate::exception::Exception;
use crate::ids::IdSource;
use crate::options::Options;
use crate::scroll::Scrolls;
use crate::shared::{Shared, UPLOAD_UNIT};

/// Interval of the background maintenance.
const MAINTENANCE_PAUSE: Duration = Duration::from_millis(50);

/// A log search backend that behaves like Elasticsearch 1.5.
///
/// It serves a socket ([`SearchServer::serve`]), handles requests in process ([`SearchServer::handle`]), and takes
/// documents without HTTP ([`SearchServer::index`]). Clones are cheap and share all state.
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
    /// Creates an empty backend in memory.
    pub fn new(options: Options) -> SearchServer {
        SearchServer::of(Cluster::new(options))
    }

    /// Opens a data directory, or creates it if it does not exist. Blocks.
    ///
    /// Changes of indices, aliases and templates are on disk when they are acknowledged. Documents are on disk after a
    /// flush, or 5 seconds later (`index.gateway.local.sync`). The directory is locked until [`SearchServer::close`],
    /// or until the last clone of the server is dropped.
    ///
    /// # Errors
    /// [`DataDirectoryError`]. Nothing in the directory is then deleted or reset.
    pub fn open(options: Options, directory: impl AsRef<Path>) -> Result<SearchServer, DataDirectoryError> {
        Cluster::open(options, directory.as_ref()).map(SearchServer::of)
    }

    /// Returns whether a directory has search indices, intact or damaged.
    pub fn has_files(directory: impl AsRef<Path>) -> bool {
        DataDirectory::exists(directory.as_ref())
    }

    /// Checks a data directory that no process uses: all checksums, segments and operations. Blocks.
    ///
    /// # Errors
    /// [`DataDirectoryError`].
    pub fn check(directory: impl AsRef<Path>) -> Result<DataDirectorySummary, DataDirectoryError> {
        Cluster::check(directory.as_ref())
    }

    /// Flushes all changes to disk and unlocks the data directory. Later writes of documents fail. Blocks.
    ///
    /// # Errors
    /// A failed write. Operations that were already synced are in the translogs.
    pub fn close(&self) -> Result<()> {
        self.shared.cluster.close()
    }

    fn of(cluster: Cluster) -> SearchServer {
        let ids = IdSource::new(cluster.now(), cluster.starts);
        let limits = cluster.options.limits;
        let background = cluster.options.background;
        let shared = Arc::new(Shared {
            cluster,
            ids,
            scrolls: Scrolls::new(limits.scrolls, limits.scroll_hits),
            uploads: Arc::new(Semaphore::new(limits.uploads.div_ceil(UPLOAD_UNIT))),
        });
        if background {
            let shared = Arc::downgrade(&shared);
            std::thread::spawn(move || maintain(&shared));
        }
        SearchServer { shared }
    }

    /// Handles one request in process. Requires a Tokio runtime. Dropping the future cancels the request. Bodies are
    /// limited by [`Limits::body`](crate::Limits::body).
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body<Data = Bytes> + Send,
        B::Error: std::fmt::Display,
    {
        let (head, body) = request.into_parts();
        let is_head = head.method == Method::HEAD;
        let error_response = |error: &SearchError| Answer::error(error).into_http(Format::default(), is_head);
        let limits = self.shared.cluster.options.limits;
        let (body, _upload) = match tokio::time::timeout(limits.body_time, self.read(body)).await {
            Ok(Ok(read)) => read,
            Ok(Err(error)) => return error_response(&error),
            Err(_) => {
                let reason = format!("the body did not arrive in {} ms", limits.body_time.as_millis());
                return error_response(&SearchError::new(408, Exception::ReadTimeout, reason));
            }
        };
        let request = match RestRequest::new(head.method, &head.uri, &head.headers, body) {
            Ok(request) => request,
            Err(error) => return error_response(&error),
        };
        if let Some(callback) = request.param("callback") {
            return jsonp_disabled(callback, Format::of(&request));
        }
        if let Some(response) = plugin_site(&request.method, head.uri.path()) {
            return response;
        }
        let format = Format::of(&request);
        let budget = Budget::new(&self.shared.cluster.options);
        let _ends = budget.cancel_on_drop();
        let shared = self.shared.clone();
        let work = tokio::task::spawn_blocking(move || route::dispatch(&shared, &request.with_budget(budget)));
        // A panic in a handler fails only its own request.
        let answered = work
            .await
            .unwrap_or_else(|_| Err(SearchError::engine("internal error: the request handler panicked")));
        answered
            .unwrap_or_else(|error| Answer::error(&error))
            .into_http(format, is_head)
    }

    /// Reads a body. Returns it with the permit for its memory.
    async fn read<B>(&self, body: B) -> Result<(Bytes, Option<OwnedSemaphorePermit>)>
    where
        B: Body<Data = Bytes> + Send,
        B::Error: std::fmt::Display,
    {
        let limits = self.shared.cluster.options.limits;
        let mut body = std::pin::pin!(body);
        let mut read = BytesMut::new();
        let mut permit: Option<OwnedSemaphorePermit> = None;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| SearchError::parse(format!("the body could not be read: {error}")))?;
            let Ok(data) = frame.into_data() else {
                continue;
            };
            let length = read.len() + data.len();
            if length > limits.body {
                let reason = format!("content length exceeded {} bytes.", limits.body);
                return Err(SearchError::too_large(reason));
            }
            let held = permit.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
            let more = length.div_ceil(UPLOAD_UNIT).saturating_sub(held);
            if more > 0 {
                let more = u32::try_from(more).unwrap_or(u32::MAX);
                let granted = self.shared.uploads.clone().try_acquire_many_owned(more).map_err(|_| {
                    let reason = format!("the bodies of pending requests exceed {} bytes", limits.uploads);
                    SearchError::rejected(reason)
                })?;
                match &mut permit {
                    Some(permit) => permit.merge(granted),
                    none => *none = Some(granted),
                }
            }
            read.extend_from_slice(&data);
        }
        Ok((read.freeze(), permit))
    }

    /// Serves the connections of `listener` until the returned future is dropped.
    ///
    /// # Errors
    /// Never fails: errors of a connection end only that connection, and a failed accept is retried.
    pub async fn serve(&self, listener: TcpListener) -> io::Result<()> {
        let limits = self.shared.cluster.options.limits;
        let limits = stuntdouble_server::Limits {
            body: limits.body,
            connections: limits.connections,
            body_timeout: limits.body_time,
            raw_targets: true,
            ..stuntdouble_server::Limits::default()
        };
        let shutdown = CloseOnDrop(Shutdown::default());
        let server = self.clone();
        serve(
            listener,
            None,
            limits,
            shutdown.0.clone(),
            move |Peer { local, .. }| {
                let server = server.clone();
                hyper::service::service_fn(move |request: Request<Incoming>| {
                    let server = server.clone();
                    async move {
                        if request.headers().contains_key(header::CONTENT_ENCODING) && !request.body().is_end_stream() {
                            return Err(io::Error::other("a compressed body"));
                        }
                        Ok(server.handle_checked(request, local).await)
                    }
                })
            },
        );
        shutdown.0.closing.cancelled().await;
        Ok(())
    }

    /// Handles a request from a socket, if its host and origin are allowed.
    async fn handle_checked(&self, request: Request<Incoming>, local: SocketAddr) -> Response<Full<Bytes>> {
        match self.shared.cluster.options.origins.check(&request, local) {
            Ok(accepted) => {
                let mut response = self.handle(request).await;
                accepted.share(&mut response);
                response
            }
            Err(response) => response.map(Full::new),
        }
    }

    /// Writes a document without HTTP, for example from a log collector in the same process. Default of `id`: a
    /// generated one.
    ///
    /// # Errors
    /// A document that is not a JSON object, or that its index rejects.
    pub fn index(&self, index: &str, type_name: &str, id: Option<&str>, source: &[u8]) -> Result<()> {
        crate::write::index_document(&self.shared, index, type_name, id, Default::default(), source).map(drop)
    }

    /// Makes all writes so far visible to searches.
    ///
    /// # Errors
    /// An index that cannot be refreshed.
    pub fn refresh(&self) -> Result<()> {
        refresh(&self.shared.cluster.indices())
    }
}

/// Runs the background maintenance until the server is dropped.
fn maintain(shared: &Weak<Shared>) {
    while let Some(shared) = shared.upgrade() {
        // An index that cannot be merged keeps its segments.
        let _ = shared.cluster.maintain();
        drop(shared);
        std::thread::sleep(MAINTENANCE_PAUSE);
    }
}

/// Closes a listener and its connections when it is dropped.
struct CloseOnDrop(Shutdown);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.now();
    }
}
