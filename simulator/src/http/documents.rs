//! Documents about the API and the server: discovery, descriptions, version, health, metrics.

use bytes::Bytes;
use http::{Response, header, request::Parts};

use super::{
    body::Body,
    description::{AGGREGATED, OLDER_PROTOBUF, PROTOBUF},
    negotiation::{self, Format, JSON, OBJECTS, check_accept, check_content_type},
    query::Query,
    respond::{self, ErrorResponse},
    route::{Endpoint, NonResourcePath},
    served_api::ServedApi,
    service::Service,
};
use crate::api::Status;

impl Service {
    /// Responds with a document, or returns `None` if the endpoint has none.
    pub(super) fn document(
        &self,
        api: &ServedApi,
        endpoint: &Endpoint,
        parts: &Parts,
    ) -> Option<Result<Response<Body>, ErrorResponse>> {
        Some(match endpoint {
            Endpoint::Version => version(api, parts),
            Endpoint::Description(path) => self.description(api, path, parts),
            Endpoint::Versions => self.discovery(api, "/api", &api.discovery.versions, parts),
            Endpoint::Groups => self.discovery(api, "/apis", &api.discovery.groups, parts),
            Endpoint::Group(place) => encode(parts, api.discovery.group.get(*place)),
            Endpoint::Resources(place) => encode(parts, api.discovery.resources.get(*place)),
            _ => return None,
        })
    }

    fn discovery(
        &self,
        api: &ServedApi,
        path: &str,
        document: &Bytes,
        parts: &Parts,
    ) -> Result<Response<Body>, ErrorResponse> {
        match self.aggregated(api, path, parts) {
            Some(response) => Ok(response),
            None => encode(parts, Some(document)),
        }
    }

    /// Responds to a non-resource path.
    pub(super) fn non_resource(&self, api: &ServedApi, path: NonResourcePath, parts: &Parts) -> Response<Body> {
        match path {
            NonResourcePath::Index => respond::json(200, api.discovery.paths.clone()),
            NonResourcePath::Unknown => respond::json(404, api.discovery.paths.clone()),
            NonResourcePath::Health => respond::text(200, "ok"),
            NonResourcePath::Ready if self.profile.supports_newer_clients() => respond::text(200, "ok"),
            NonResourcePath::Ready => respond::json(404, api.discovery.paths.clone()),
            NonResourcePath::Metrics => respond::text(200, self.metrics.text()),
            NonResourcePath::ResetMetrics => {
                self.metrics.reset();
                respond::text(200, "metrics reset\n")
            }
            NonResourcePath::Directory(with_slash) => {
                respond::redirect(&parts.method, 301, with_slash, parts.uri.query())
            }
            NonResourcePath::Ui => respond::redirect(
                &parts.method,
                307,
                "/api/v1/proxy/namespaces/kube-system/services/kubernetes-dashboard",
                None,
            ),
            NonResourcePath::Logs | NonResourcePath::SwaggerUi => respond::text(404, "404 page not found\n"),
        }
    }

    /// Returns aggregated discovery, if the client prefers it.
    fn aggregated(&self, api: &ServedApi, path: &str, parts: &Parts) -> Option<Response<Body>> {
        let first = negotiation::header(&parts.headers, header::ACCEPT)?
            .split(',')
            .next()?
            .replace(' ', "");
        let aggregated = self.profile.supports_newer_clients() && first == AGGREGATED;
        let document = if aggregated {
            api.descriptions.aggregated(&api.table, path)
        } else {
            None
        };
        document.map(|document| respond::with_media_type(AGGREGATED, document))
    }

    /// Responds with the API description at a path.
    fn description(&self, api: &ServedApi, path: &str, parts: &Parts) -> Result<Response<Body>, ErrorResponse> {
        if !path.starts_with("/swaggerapi") && !self.profile.supports_newer_clients() {
            return Ok(self.non_resource(api, NonResourcePath::Unknown, parts));
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
            return Ok(respond::with_media_type(
                PROTOBUF,
                api.descriptions.protobuf(&api.table),
            ));
        }
        check_accept(&parts.headers, &[JSON])?;
        Ok(respond::json(200, document))
    }
}

/// Responds with the server's version.
fn version(api: &ServedApi, parts: &Parts) -> Result<Response<Body>, ErrorResponse> {
    check_content_type(&parts.headers, &[JSON])?;
    check_accept(&parts.headers, &[JSON])?;
    Ok(respond::json(200, api.discovery.version.clone()))
}

/// Encodes a document in the format that the client accepts.
fn encode(parts: &Parts, json: Option<&Bytes>) -> Result<Response<Body>, ErrorResponse> {
    let json = json.ok_or_else(Status::no_such_path)?;
    check_content_type(&parts.headers, OBJECTS)?;
    check_accept(&parts.headers, OBJECTS)?;
    Ok(respond::object(
        200,
        json.clone(),
        Format::negotiate(&parts.headers, Query::of(parts), OBJECTS)?,
    ))
}
