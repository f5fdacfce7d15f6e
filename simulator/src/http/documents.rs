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
    service::Service,
};
use crate::api::Status;

impl Service {
    /// Responds with a document; `None` for a target that is none.
    pub(super) fn document(&self, target: &Target, parts: &Parts) -> Option<Result<Response<Body>, ErrorResponse>> {
        Some(match target {
            Target::Version => self.version(parts),
            Target::Description(path) => self.description(path, parts),
            Target::Versions => self.discovery("/api", &self.discovery.versions, parts),
            Target::Groups => self.discovery("/apis", &self.discovery.groups, parts),
            Target::Group(place) => encode(parts, self.discovery.group.get(*place)),
            Target::Resources(place) => encode(parts, self.discovery.resources.get(*place)),
            _ => return None,
        })
    }

    fn version(&self, parts: &Parts) -> Result<Response<Body>, ErrorResponse> {
        check_content_type(&parts.headers, &[JSON])?;
        check_accept(&parts.headers, &[JSON])?;
        Ok(respond::json(200, self.discovery.version.clone()))
    }

    fn discovery(&self, path: &str, document: &Bytes, parts: &Parts) -> Result<Response<Body>, ErrorResponse> {
        match self.aggregated(path, parts) {
            Some(response) => Ok(response),
            None => encode(parts, Some(document)),
        }
    }

    /// Responds to a path outside the API groups.
    pub(super) fn page(&self, page: Page, parts: &Parts) -> Response<Body> {
        match page {
            Page::Index => respond::json(200, self.discovery.paths.clone()),
            Page::Unknown => respond::json(404, self.discovery.paths.clone()),
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
    fn aggregated(&self, path: &str, parts: &Parts) -> Option<Response<Body>> {
        let first = negotiation::header(&parts.headers, header::ACCEPT)?
            .split(',')
            .next()?
            .replace(' ', "");
        let aggregated = self.profile.supports_newer_clients() && first == AGGREGATED;
        let document = if aggregated {
            self.descriptions.aggregated(&self.table, path)
        } else {
            None
        };
        document.map(|document| respond::of(AGGREGATED, document))
    }

    /// Responds with the description of the API at a path.
    fn description(&self, path: &str, parts: &Parts) -> Result<Response<Body>, ErrorResponse> {
        if !path.starts_with("/swaggerapi") && !self.profile.supports_newer_clients() {
            return Ok(self.page(Page::Unknown, parts));
        }
        let document = self
            .descriptions
            .json(&self.table, path)
            .ok_or_else(Status::no_such_path)?;
        let in_protobuf = || {
            [PROTOBUF, OLDER_PROTOBUF]
                .into_iter()
                .any(|media_type| negotiation::names(&parts.headers, media_type))
        };
        if path == "/openapi/v2" && in_protobuf() {
            return Ok(respond::of(PROTOBUF, self.descriptions.protobuf(&self.table)));
        }
        check_accept(&parts.headers, &[JSON])?;
        Ok(respond::json(200, document))
    }
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
