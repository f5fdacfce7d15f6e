//! Documents about the API and the server: discovery, descriptions, version, health, metrics.

use bytes::Bytes;
use http::{Response, header, request::Parts};

use super::{
    body::Body,
    description::{AGGREGATED, OLDER_PROTOBUF, PROTOBUF},
    negotiation::{self, Format, JSON, OBJECTS, check_accept, check_content_type},
    query::Query,
    respond::{self, ErrorResponse},
    route::{Page, Target},
    served_api::ServedApi,
    service::Service,
};
use crate::api::Status;

impl Service {
    /// Responds with a document; `None` for a target that is none.
    pub(super) fn document(
        &self,
        api: &ServedApi,
        target: &Target,
        parts: &Parts,
    ) -> Option<Result<Response<Body>, ErrorResponse>> {
        Some(match target {
            Target::Version => version(api, parts),
            Target::Description(path) => self.description(api, path, parts),
            Target::Versions => self.discovery(api, "/api", &api.discovery.versions, parts),
            Target::Groups => self.discovery(api, "/apis", &api.discovery.groups, parts),
            Target::Group(place) => encode(parts, api.discovery.group.get(*place)),
            Target::Resources(place) => encode(parts, api.discovery.resources.get(*place)),
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

    /// Responds to a path outside the API groups.
    pub(super) fn page(&self, api: &ServedApi, page: Page, parts: &Parts) -> Response<Body> {
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

    /// Aggregated discovery, for a client that prefers it.
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
        document.map(|document| respond::of(AGGREGATED, document))
    }

    /// Responds with the description of the API at a path.
    fn description(&self, api: &ServedApi, path: &str, parts: &Parts) -> Result<Response<Body>, ErrorResponse> {
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
        check_accept(&parts.headers, &[JSON])?;
        Ok(respond::json(200, document))
    }
}

/// The version of the server.
fn version(api: &ServedApi, parts: &Parts) -> Result<Response<Body>, ErrorResponse> {
    check_content_type(&parts.headers, &[JSON])?;
    check_accept(&parts.headers, &[JSON])?;
    Ok(respond::json(200, api.discovery.version.clone()))
}

/// A document in the format that the client accepts.
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
