//! Requests for resources: they call the registry's verbs.
//!
//! Errors are checked in the order of v1.2: Content-Type of a patch, Accept, then those of the verb.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Response, request::Parts};
use hyper::body::Incoming;
use tokio_util::sync::CancellationToken;

use super::{
    blocking,
    body::{self, Body},
    negotiation::{self, Format, OBJECTS, check_accept, status_only, syntax},
    protobuf,
    query::Query,
    respond::{self, ErrorResponse},
    service::Service,
    strict::{self, Strictness},
};
use crate::{
    api::{FieldError, Path, Status},
    patch::Language,
    registry::{self, GetOptions, ListOptions, Registry, RequestInfo},
    scheme::Syntax,
};

impl Service {
    /// Responds to a GET of an object or a subresource.
    pub(super) fn get(&self, request: &RequestInfo, parts: &Parts) -> Result<Response<Body>, ErrorResponse> {
        check_accept(&parts.headers, OBJECTS)?;
        let query = Query::of(parts);
        let options = GetOptions {
            export: query.flag("export", self.profile)?,
            exact: query.flag("exact", self.profile)?,
        };
        let response = self.registry.get(request, &options)?;
        let format = Format::negotiate(&parts.headers, query, OBJECTS)?;
        Ok(respond::object(response.code, response.body, format))
    }

    /// Responds to a request for a collection, an object or a subresource.
    pub(super) async fn resource(
        &self,
        request: &RequestInfo,
        parts: &mut Parts,
        body: Incoming,
        close: &CancellationToken,
    ) -> Result<Response<Body>, ErrorResponse> {
        let patch = match parts.method {
            Method::PATCH => Some(negotiation::patch_kind(&parts.headers).ok_or_else(|| status_only(415))?),
            _ => None,
        };
        check_accept(&parts.headers, OBJECTS)?;
        let query = Query::of(parts);
        let mut unknown = Vec::new();
        let response: registry::Response = match (&parts.method, &request.name) {
            (&Method::GET, Some(_)) => return self.get(request, parts),
            (&Method::GET, None) => {
                let watch = query.flag("watch", self.profile)?;
                if watch && request.resource.has_verb("watch") {
                    return Box::pin(self.watch(request, parts, close)).await;
                }
                self.registry.list(request, &self.options(query)?).await?
            }
            (&Method::POST | &Method::PUT, _) => {
                let bytes = self.read(body).await?;
                let size = bytes.len();
                let parse = async {
                    let object = self.typed(parts, bytes)?;
                    unknown = self.unknown(request, query, &object)?;
                    Ok::<_, Status>(object)
                };
                let object = blocking::parse(size, parse).await?;
                let replaces = parts.method == Method::PUT;
                self.write(request, size, move |registry, request| async move {
                    match replaces {
                        true => registry.update(&request, &object).await,
                        false => registry.create(&request, &object).await,
                    }
                })
                .await?
            }
            (&Method::DELETE, name) => {
                let bytes = self.read(body).await?;
                let options = if bytes.is_empty() {
                    self.delete_options(query)?
                } else {
                    Some(self.typed(parts, bytes)?)
                };
                let selected = match name {
                    Some(_) => None,
                    None => Some(self.options(query)?),
                };
                self.write(request, 0, move |registry, request| async move {
                    match selected {
                        None => registry.delete(&request, options.as_ref()).await,
                        Some(selected) => registry.delete_collection(&request, &selected, options.as_ref()).await,
                    }
                })
                .await?
            }
            _ => match patch {
                Some(kind) => {
                    let bytes = self.read(body).await?;
                    let check = async {
                        if kind != Language::Json {
                            let body = registry::RequestBody {
                                bytes: bytes.clone(),
                                syntax: Syntax::Json,
                            };
                            unknown = self.unknown(request, query, &body)?;
                        }
                        Ok::<_, Status>(())
                    };
                    blocking::parse(bytes.len(), check).await?;
                    self.write(request, bytes.len(), move |registry, request| async move {
                        registry.patch(&request, kind, &bytes).await
                    })
                    .await?
                }
                None => return Err(Status::method_not_allowed().into()),
            },
        };
        let format = Format::negotiate(&parts.headers, query, OBJECTS)?;
        let mut response = respond::object(response.code, response.body, format);
        strict::warn(&mut response, &unknown);
        Ok(response)
    }

    /// Completes a write of `size` bytes even if its client disconnects, so that what it allocates and schedules
    /// matches what it stores.
    async fn write<W>(
        &self,
        request: &RequestInfo,
        size: usize,
        write: impl FnOnce(Arc<Registry>, RequestInfo) -> W,
    ) -> Result<registry::Response, Status>
    where
        W: Future<Output = Result<registry::Response, Status>> + Send + 'static,
    {
        let write = Box::pin(blocking::parse(size, write(self.registry.clone(), request.clone())));
        if !self.registry.writes_wait() {
            return write.await;
        }
        match tokio::spawn(write).await {
            Ok(response) => response,
            Err(failure) => std::panic::resume_unwind(failure.into_panic()),
        }
    }

    /// Returns messages about the unknown fields of a body, if the client requests field validation.
    fn unknown(
        &self,
        request: &RequestInfo,
        query: Query<'_>,
        body: &registry::RequestBody,
    ) -> Result<Vec<String>, Status> {
        if !self.profile.supports_newer_clients() || !matches!(request.subresource.as_deref(), None | Some("status")) {
            return Ok(Vec::new());
        }
        strict::check(Strictness::from_query(query)?, &request.resource, body)
    }

    async fn read(&self, body: Incoming) -> Result<Bytes, Status> {
        Box::pin(body::read(body, self.limits.body, self.limits.body_timeout)).await
    }

    /// Reads a body that contains an object.
    pub(super) async fn object(&self, parts: &Parts, body: Incoming) -> Result<registry::RequestBody, Status> {
        let bytes = self.read(body).await?;
        self.typed(parts, bytes)
    }

    fn typed(&self, parts: &Parts, bytes: Bytes) -> Result<registry::RequestBody, Status> {
        if self.profile.supports_newer_clients() && protobuf::is_protobuf(&bytes) {
            return Ok(registry::RequestBody {
                bytes: protobuf::to_json(&bytes, &self.registry.scheme())?,
                syntax: Syntax::Json,
            });
        }
        Ok(registry::RequestBody {
            syntax: syntax(&parts.headers, &bytes, self.profile)?,
            bytes,
        })
    }

    /// Returns the delete options in the query of a request without a body: newer clients send the grace period
    /// there.
    fn delete_options(&self, query: Query<'_>) -> Result<Option<registry::RequestBody>, Status> {
        let Some(grace) = query
            .get("gracePeriodSeconds")
            .filter(|_| self.profile.supports_newer_clients())
        else {
            return Ok(None);
        };
        let seconds: i64 = grace.parse().map_err(|_| {
            Status::bad_request(format!(
                "invalid gracePeriodSeconds {grace:?}: expected a number of seconds"
            ))
        })?;
        Ok(Some(registry::RequestBody {
            bytes: serde_json::json!({"gracePeriodSeconds": seconds}).to_string().into(),
            syntax: Syntax::Json,
        }))
    }

    pub(super) fn options(&self, query: Query<'_>) -> Result<ListOptions, Status> {
        let text = |name| query.get(name).unwrap_or_default().into_owned();
        let mut options = ListOptions {
            label_selector: text("labelSelector"),
            field_selector: text("fieldSelector"),
            resource_version: text("resourceVersion"),
            timeout: query.timeout(self.profile)?,
            ..ListOptions::default()
        };
        if self.profile.supports_newer_clients() {
            // The parameter is unknown to v1.2, so that an invalid value is not an error.
            let limit = query.get("limit").and_then(|limit| limit.parse().ok());
            options.limit = limit.unwrap_or_default();
            options.continue_token = text("continue");
            options.bookmarks = query.flag("allowWatchBookmarks", self.profile)?;
            options.send_initial_events = query.flag("sendInitialEvents", self.profile)?;
            if options.send_initial_events && text("resourceVersionMatch") != "NotOlderThan" {
                let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
                let error = FieldError::forbidden(&Path::new("resourceVersionMatch"), why);
                return Err(Status::invalid("meta.k8s.io", "ListOptions", "", &[error]));
            }
        }
        Ok(options)
    }
}
