//! From a request to its response.
//!
//! - The order of refusals is the recorded server's: path, method, Content-Type where the path minds it, Accept, then what the verb finds wrong.
//! - Every request is answered; what cannot be is a `Status`.
//!
//! Limits: what stands behind the proxy and in containers is for [`proxy`](super::proxy) and [`connect`](super::connect) to say.

use std::{panic::AssertUnwindSafe, sync::Arc};

use arc_swap::ArcSwap;
use bytes::Bytes;
use futures::{FutureExt, Stream, stream::unfold};
use http::{HeaderValue, Method, Request, Response, header, request::Parts};
use hyper::body::Incoming;
use stuntdouble_server::{Limits, Peer, Shutdown};
use tokio_util::sync::CancellationToken;

use super::{
    body::{self, Body},
    description::{AGGREGATED, OLDER_PROTOBUF, PROTOBUF},
    metrics::{Metrics, Open},
    negotiation::{self, ANYTHING, Format, JSON, OBJECTS, STREAMS, accepts, consumes, syntax},
    path::{Asked, asked},
    proxy::{Objects, Proxy},
    query::Query,
    respond::{self, Refusal, generic, refuse},
    route::{Page, ProxyAddress, Route, Target},
    served_api::ServedApi,
    strict::{self, Strictness},
    websocket,
};
use crate::{
    api::Status,
    clock::Clock,
    cluster::container::Containers,
    patch::Language,
    profile::Profile,
    registry::{self, GetOptions, ListOptions, Registry, RequestInfo, WatchStream},
    scheme::Syntax,
};

/// Answers requests out of a registry.
pub(crate) struct Service {
    pub(super) registry: Arc<Registry>,
    pub(super) profile: Profile,
    pub(super) proxy: Arc<Proxy>,
    pub(super) containers: Arc<dyn Containers>,
    pub(super) clock: Clock,
    address: String,
    api: ArcSwap<ServedApi>,
    pub(super) limits: Limits,
    pub(super) metrics: Metrics,
    pub(super) shutdown: Shutdown,
}

/// What a service is set up with, beside its registry.
pub(crate) struct Setup {
    /// Where it says that it is reached, `HOST:PORT`.
    pub(crate) address: String,
    /// What stands before services, pods and nodes.
    pub(crate) proxy: Proxy,
    /// What runs in pods.
    pub(crate) containers: Arc<dyn Containers>,
    /// The time.
    pub(crate) clock: Clock,
    /// What a peer may use up.
    pub(crate) limits: Limits,
    /// When to stop.
    pub(crate) shutdown: Shutdown,
}

impl Service {
    /// A service over `registry`.
    pub(crate) fn new(registry: Arc<Registry>, setup: Setup) -> Self {
        let Setup {
            address,
            proxy,
            containers,
            clock,
            limits,
            shutdown,
        } = setup;
        let api = ArcSwap::from_pointee(ServedApi::new(registry.scheme(), &address));
        let profile = registry.profile();
        Self {
            registry,
            profile,
            proxy: Arc::new(proxy),
            containers,
            clock,
            address,
            api,
            limits,
            metrics: Metrics::new(),
            shutdown,
        }
    }

    /// What is served at the moment: of the registry's scheme, which may have changed.
    fn api(&self) -> Arc<ServedApi> {
        let (api, scheme) = (self.api.load_full(), self.registry.scheme());
        if Arc::ptr_eq(api.table.scheme(), &scheme) {
            return api;
        }
        let api = Arc::new(ServedApi::new(scheme, &self.address));
        self.api.store(api.clone());
        api
    }

    /// The response to a request on a connection that is closed when `close` is cancelled.
    pub(crate) async fn answer(&self, request: Request<Incoming>, close: &CancellationToken) -> Response<Body> {
        let method = request.method().clone();
        let response = AssertUnwindSafe(self.respond(request, close))
            .catch_unwind()
            .await
            .unwrap_or_else(|_| failed());
        self.metrics.count(&method, response.status().as_u16());
        response
    }

    async fn respond(&self, request: Request<Incoming>, close: &CancellationToken) -> Response<Body> {
        let (mut parts, body) = request.into_parts();
        let api = self.api();
        let route = match asked(parts.uri.path()) {
            Asked::Clean(path) => api.table.find(&path),
            Asked::Moved(to) => return respond::redirect(&parts.method, 301, &to, parts.uri.query()),
            Asked::Malformed => return malformed(&parts),
        };
        let refusal = match route {
            Route::Page(page) => return self.page(&api, page, &parts),
            Route::Missing => Status::no_such_path().into(),
            Route::Target(_, methods) if !methods.has(&parts.method) => Status::method_not_allowed().into(),
            Route::Target(target, _) => match self.target(&api, target, &mut parts, body, close).await {
                Ok(response) => return response,
                Err(refusal) => refusal,
            },
        };
        refuse(refusal, &parts.headers, query(&parts))
    }

    fn page(&self, api: &ServedApi, page: Page, parts: &Parts) -> Response<Body> {
        match page {
            Page::Index => respond::json(200, api.discovery.paths.clone()),
            Page::Unknown => respond::json(404, api.discovery.paths.clone()),
            Page::Health => respond::text(200, "ok"),
            Page::Metrics => respond::text(200, self.metrics.text()),
            Page::ResetMetrics => {
                self.metrics.reset();
                respond::text(200, "metrics reset\n")
            }
            Page::Directory(with_slash) => respond::redirect(&parts.method, 301, with_slash, parts.uri.query()),
            Page::Ui => respond::redirect(
                &parts.method,
                307,
                "/api/v1/proxy/namespaces/kube-system/services/kubernetes-dashboard",
                None,
            ),
            Page::Logs | Page::SwaggerUi => respond::text(404, "404 page not found\n"),
        }
    }

    async fn target(
        &self,
        api: &ServedApi,
        target: Target,
        parts: &mut Parts,
        body: Incoming,
        close: &CancellationToken,
    ) -> Result<Response<Body>, Refusal> {
        match target {
            Target::Version => {
                only(parts, &[JSON])?;
                Ok(respond::json(200, api.discovery.version.clone()))
            }
            Target::Description(path) => self.description(api, &path, parts),
            Target::Versions => match self.aggregated(api, "/api", parts) {
                Some(response) => Ok(response),
                None => document(parts, &api.discovery.versions),
            },
            Target::Groups => match self.aggregated(api, "/apis", parts) {
                Some(response) => Ok(response),
                None => document(parts, &api.discovery.groups),
            },
            Target::Group(place) => document(parts, api.discovery.group.get(place).ok_or_else(Status::no_such_path)?),
            Target::Resources(place) => document(
                parts,
                api.discovery.resources.get(place).ok_or_else(Status::no_such_path)?,
            ),
            Target::Resource(address) => self.resource(&address, parts, body, close).await,
            Target::Watch(address) => {
                takes(parts, STREAMS)?;
                self.watch(&address, parts, close).await
            }
            Target::Connect(address) => self.connect(&address, parts).await,
            Target::Proxy(address) => {
                takes(parts, ANYTHING)?;
                self.proxy(&address, parts, body).await
            }
        }
    }

    async fn resource(
        &self,
        address: &RequestInfo,
        parts: &mut Parts,
        body: Incoming,
        close: &CancellationToken,
    ) -> Result<Response<Body>, Refusal> {
        let patch = match parts.method {
            Method::PATCH => Some(negotiation::patch_kind(&parts.headers).ok_or_else(|| generic(415))?),
            _ => None,
        };
        takes(parts, OBJECTS)?;
        let query = query(parts);
        let mut unknown = Vec::new();
        let reply: registry::Response = match (&parts.method, &address.name) {
            (&Method::GET, Some(_)) => {
                let options = GetOptions {
                    export: query.flag("export", self.profile)?,
                    exact: query.flag("exact", self.profile)?,
                };
                self.registry.get(address, &options).await?
            }
            (&Method::GET, None) => {
                let watch = query.flag("watch", self.profile)?;
                if watch && address.resource.has_verb("watch") {
                    return self.watch(address, parts, close).await;
                }
                self.registry.list(address, &self.options(query)?).await?
            }
            (&Method::POST, _) => {
                let object = self.object(parts, body).await?;
                unknown = self.unknown(address, query, &object)?;
                self.registry.create(address, &object).await?
            }
            (&Method::PUT, _) => {
                let object = self.object(parts, body).await?;
                unknown = self.unknown(address, query, &object)?;
                self.registry.update(address, &object).await?
            }
            (&Method::DELETE, name) => {
                let bytes = self.read(body).await?;
                let options = if bytes.is_empty() {
                    None
                } else {
                    Some(self.typed(parts, bytes)?)
                };
                match name {
                    Some(_) => self.registry.delete(address, options.as_ref()).await?,
                    None => {
                        self.registry
                            .delete_collection(address, &self.options(query)?, options.as_ref())
                            .await?
                    }
                }
            }
            _ => match patch {
                Some(kind) => {
                    let bytes = self.read(body).await?;
                    if kind != Language::Json {
                        unknown = self.unknown(
                            address,
                            query,
                            &registry::RequestBody {
                                bytes: bytes.clone(),
                                syntax: Syntax::Json,
                            },
                        )?;
                    }
                    self.registry.patch(address, kind, &bytes).await?
                }
                None => return Err(Status::method_not_allowed().into()),
            },
        };
        let format = Format::negotiate(&parts.headers, query, OBJECTS)?;
        let mut response = respond::object(reply.code, reply.body, format);
        strict::warn(&mut response, &unknown);
        Ok(response)
    }

    /// The fields of a body that its kind does not know, where the client asks.
    fn unknown(
        &self,
        address: &RequestInfo,
        query: Query<'_>,
        body: &registry::RequestBody,
    ) -> Result<Vec<String>, Status> {
        if !self.profile.supports_newer_clients() || !matches!(address.subresource.as_deref(), None | Some("status")) {
            return Ok(Vec::new());
        }
        strict::check(Strictness::asked(query)?, &address.resource, body)
    }

    async fn read(&self, body: Incoming) -> Result<Bytes, Status> {
        body::read(body, self.limits.body, self.limits.body_timeout).await
    }

    async fn object(&self, parts: &Parts, body: Incoming) -> Result<registry::RequestBody, Status> {
        let bytes = self.read(body).await?;
        self.typed(parts, bytes)
    }

    fn typed(&self, parts: &Parts, bytes: Bytes) -> Result<registry::RequestBody, Status> {
        Ok(registry::RequestBody {
            syntax: syntax(&parts.headers, &bytes, self.profile)?,
            bytes,
        })
    }

    fn options(&self, query: Query<'_>) -> Result<ListOptions, Status> {
        let text = |name| query.get(name).unwrap_or_default().into_owned();
        Ok(ListOptions {
            label_selector: text("labelSelector"),
            field_selector: text("fieldSelector"),
            resource_version: text("resourceVersion"),
            timeout: query.timeout(self.profile)?,
        })
    }

    async fn watch(
        &self,
        address: &RequestInfo,
        parts: &mut Parts,
        close: &CancellationToken,
    ) -> Result<Response<Body>, Refusal> {
        let query = query(parts);
        query.flag("watch", self.profile)?;
        let mut options = self.options(query)?;
        let websocket = websocket::is_asked_for(&parts.headers);
        if websocket && !self.profile.websocket_is_lenient() {
            options.timeout = None;
        }
        let frames = self.registry.watch(address, &options, close.clone()).await?;
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
        let mut response = Response::new(Body::frames(frames));
        if let Some(media_type) = self.profile.watch_media_type() {
            response
                .headers_mut()
                .insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        }
        Ok(response)
    }

    /// Aggregated discovery, for a client that asks for it before anything else.
    fn aggregated(&self, api: &ServedApi, path: &str, parts: &Parts) -> Option<Response<Body>> {
        let first = negotiation::header(&parts.headers, header::ACCEPT)?
            .split(',')
            .next()?
            .replace(' ', "");
        let asked = self.profile.supports_newer_clients() && first == AGGREGATED;
        let document = if asked {
            api.descriptions.aggregated(&api.table, path)
        } else {
            None
        };
        document.map(|document| respond::of(AGGREGATED, document))
    }

    /// The API described, in the form that stands at a path.
    fn description(&self, api: &ServedApi, path: &str, parts: &Parts) -> Result<Response<Body>, Refusal> {
        if !path.starts_with("/swaggerapi") && !self.profile.supports_newer_clients() {
            return Ok(self.page(api, Page::Unknown, parts));
        }
        let document = api
            .descriptions
            .json(&api.table, path)
            .ok_or_else(Status::no_such_path)?;
        let in_protobuf = || {
            [PROTOBUF, OLDER_PROTOBUF]
                .into_iter()
                .any(|media_type| negotiation::names(&parts.headers, media_type))
        };
        if path == "/openapi/v2" && in_protobuf() {
            return Ok(respond::of(PROTOBUF, api.descriptions.protobuf(&api.table)));
        }
        takes(parts, &[JSON])?;
        Ok(respond::json(200, document))
    }

    async fn proxy(&self, address: &ProxyAddress, parts: &Parts, body: Incoming) -> Result<Response<Body>, Refusal> {
        let client = parts.extensions.get::<Peer>().map(|peer| peer.address.ip());
        let request = Request::from_parts(parts.clone(), body);
        Ok(self
            .proxy
            .answer(&Objects(&self.registry), address, request, client)
            .await?
            .map(Body::from))
    }
}

/// The frames until they end or the server closes, those `joined` that are there together; `open` lives as long.
fn stream(
    frames: WatchStream,
    joined: bool,
    closing: CancellationToken,
    open: Open,
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

pub(super) fn query(parts: &Parts) -> Query<'_> {
    Query::new(parts.uri.query().unwrap_or_default())
}

/// Refuses a client that takes nothing of what a path offers.
pub(super) fn takes(parts: &Parts, offered: &[&str]) -> Result<(), Status> {
    if accepts(&parts.headers, offered) {
        Ok(())
    } else {
        Err(generic(406))
    }
}

/// Refuses a client that sends or takes anything but these media types.
fn only(parts: &Parts, media_types: &[&str]) -> Result<(), Status> {
    if consumes(&parts.headers, media_types) {
        takes(parts, media_types)
    } else {
        Err(generic(415))
    }
}

fn document(parts: &Parts, json: &Bytes) -> Result<Response<Body>, Refusal> {
    only(parts, OBJECTS)?;
    Ok(respond::object(
        200,
        json.clone(),
        Format::negotiate(&parts.headers, query(parts), OBJECTS)?,
    ))
}

/// The answer to a request that the server fails at: a defect of its own, which is said on standard error and takes nothing else down.
fn failed() -> Response<Body> {
    let status =
        Status::internal("the server has failed at this request; what is wrong with it is said on its standard error");
    respond::object(status.code, status.to_value().to_string().into(), Format::Compact)
}

/// The answer to a request whose target is no path: a 400, and the connection is closed.
fn malformed(parts: &Parts) -> Response<Body> {
    let status = Status::bad_request(format!("invalid path {:?} of the request", parts.uri.path()));
    let mut response = refuse(status.into(), &parts.headers, query(parts));
    response
        .headers_mut()
        .insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
