//! The server: reads requests, runs them on threads of their own, writes answers.
//!
//! Guarantees: a request ends when its client leaves; bodies are bounded each and together, in bytes and time.
//! Source: Elasticsearch 1.5's HTTP module, with compression off: a connection that sends a compressed body is closed.

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

use super::answer::{Answer, Format, script_refused};
use super::request::RestRequest;
use super::route;
use crate::budget::Budget;
use crate::cluster::{Cluster, DataDirectorySummary};
use crate::durable::{DataDirectory, DataDirectoryError};
use crate::error::{Result, SearchError};
use crate::ids::IdSource;
use crate::options::Options;
use crate::scroll::Scrolls;
use crate::shared::{Shared, UPLOAD_UNIT};

/// Pause between two rounds of maintenance.
const MAINTENANCE_PAUSE: Duration = Duration::from_millis(50);

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
    /// An empty backend in memory.
    pub fn new(options: Options) -> SearchServer {
        SearchServer::of(Cluster::new(options))
    }

    /// The backend whose indices are in a data directory, which is made if there is none. Blocks.
    ///
    /// A change of an index, an alias or a template is on the disk when it is acknowledged. A document is after a flush, or 5 seconds later
    /// (`index.gateway.local.sync`). The directory is in use until [`SearchServer::close`], or until the last clone of the server is dropped.
    ///
    /// # Errors
    /// [`DataDirectoryError`]; nothing in the directory is emptied or started anew.
    pub fn open(options: Options, directory: impl AsRef<Path>) -> Result<SearchServer, DataDirectoryError> {
        Cluster::open(options, directory.as_ref()).map(SearchServer::of)
    }

    /// Returns whether a directory has search indices, whole or damaged.
    pub fn has_files(directory: impl AsRef<Path>) -> bool {
        DataDirectory::exists(directory.as_ref())
    }

    /// Checks a data directory that no process uses: every checksum, segment and operation. Blocks.
    ///
    /// # Errors
    /// [`DataDirectoryError`].
    pub fn check(directory: impl AsRef<Path>) -> Result<DataDirectorySummary, DataDirectoryError> {
        Cluster::check(directory.as_ref())
    }

    /// Writes what is not on the disk yet, and lets another process open the data directory. Documents cannot be written from then on. Blocks.
    ///
    /// # Errors
    /// What could not be written. As much of it as could be before is in the translogs.
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

    /// Answers one request in process. Needs a Tokio runtime; the body is read up to the limit of the options. The request is given up
    /// when the future is dropped.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body<Data = Bytes> + Send,
        B::Error: std::fmt::Display,
    {
        let (head, body) = request.into_parts();
        let is_head = head.method == Method::HEAD;
        let refusal = |error: &SearchError| Answer::refusal(error).into_http(Format::default(), is_head);
        let limits = self.shared.cluster.options.limits;
        let (body, _upload) = match tokio::time::timeout(limits.body_time, self.read(body)).await {
            Ok(Ok(read)) => read,
            Ok(Err(error)) => return refusal(&error),
            Err(_) => {
                let reason = format!("the body did not arrive in {} ms", limits.body_time.as_millis());
                return refusal(&SearchError::new(408, "ReadTimeoutException", reason));
            }
        };
        let request = match RestRequest::new(head.method, &head.uri, &head.headers, body) {
            Ok(request) => request,
            Err(error) => return refusal(&error),
        };
        if let Some(callback) = request.param("callback") {
            return script_refused(callback);
        }
        let format = Format::of(&request);
        let budget = Budget::new(&self.shared.cluster.options);
        let _ends = budget.cancel_on_drop();
        let shared = self.shared.clone();
        let work = tokio::task::spawn_blocking(move || route::dispatch(&shared, &request.with_budget(budget)));
        // A fault costs the one request its answer.
        let answered = work
            .await
            .unwrap_or_else(|_| Err(SearchError::engine("a fault of the backend")));
        answered
            .unwrap_or_else(|error| Answer::refusal(&error))
            .into_http(format, is_head)
    }

    /// Reads a body, with the permit for its memory.
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

    /// Answers every connection that `listener` accepts, until the returned future is dropped.
    ///
    /// # Errors
    /// None: a connection that fails concerns its client alone, and a failed accept is tried again.
    pub async fn serve(&self, listener: TcpListener) -> io::Result<()> {
        let limits = self.shared.cluster.options.limits;
        let limits = stuntdouble_server::Limits {
            body: limits.body,
            connections: limits.connections,
            body_timeout: limits.body_time,
            raw_targets: true,
            ..stuntdouble_server::Limits::default()
        };
        let shutdown = EndOnDrop(Shutdown::default());
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
                        Ok(server.checked(request, local).await)
                    }
                })
            },
        );
        shutdown.0.closing.cancelled().await;
        Ok(())
    }

    /// Answers a request that came in over a socket, if its host and origin are accepted.
    async fn checked(&self, request: Request<Incoming>, local: SocketAddr) -> Response<Full<Bytes>> {
        match self.shared.cluster.options.origins.check(&request, local) {
            Ok(accepted) => {
                let mut response = self.handle(request).await;
                accepted.share(&mut response);
                response
            }
            Err(response) => response.map(Full::new),
        }
    }

    /// Writes a document without HTTP, as a log collector in the same process does. Without an id, one is given.
    ///
    /// # Errors
    /// A document that is no JSON object, or that its index refuses.
    pub fn index(&self, index: &str, type_name: &str, id: Option<&str>, source: &[u8]) -> Result<()> {
        crate::write::index_document(&self.shared, index, type_name, id, Default::default(), source).map(drop)
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

/// Maintains the indices until the server is gone.
fn maintain(shared: &Weak<Shared>) {
    while let Some(shared) = shared.upgrade() {
        // An index that cannot be merged goes on with the segments that it has.
        let _ = shared.cluster.maintain();
        drop(shared);
        std::thread::sleep(MAINTENANCE_PAUSE);
    }
}

/// Ends a listener and its connections when it is dropped.
struct EndOnDrop(Shutdown);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.now();
    }
}
