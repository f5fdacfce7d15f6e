//! Pod subresources that connect to containers: attach, exec, log, portforward.
//!
//! - Errors are checked in the order of v1.2: pod, container, node, missing upgrade.
//! - Errors after the upgrade are sent on the error channel.
//!
//! Limits: a nonexistent node is reported as an unresolvable host name.
//! Source: Kubernetes v1.2 (`pkg/registry/pod`), as recorded (`subresources.har`).

use std::sync::Arc;

use futures::StreamExt;
use http::{HeaderValue, Response, StatusCode, header, request::Parts};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use serde_json::{Map, Value};

use super::{
    body::Body,
    negotiation::{self, ANYTHING, check_accept},
    proxy::{Objects, Proxy},
    query::Query,
    respond::{self, ErrorResponse},
    service::Service,
    streams::{self, Connect, ContainerRequest, LogOptions, Upgrade},
};
use crate::{
    api::{Reason, Status},
    registry::{GetOptions, RequestInfo},
    strategy::{Lookup, NODES},
};

impl Service {
    pub(super) async fn connect(
        &self,
        address: &RequestInfo,
        parts: &mut Parts,
    ) -> Result<Response<Body>, ErrorResponse> {
        match address.subresource.as_deref() {
            Some("log") => self.log(address, parts).await,
            Some("portforward") => self.forward_ports(address, parts).await,
            part => self.attach(address, part.unwrap_or_default(), parts).await,
        }
    }

    async fn pod(&self, address: &RequestInfo) -> Result<Map<String, Value>, Status> {
        let object = RequestInfo {
            subresource: None,
            ..address.clone()
        };
        let found = self.registry.get(&object, &GetOptions::default())?;
        serde_json::from_slice(&found.body).map_err(|error| Status::internal(error.to_string()))
    }

    /// Checks that the node of a pod exists.
    async fn check_node(&self, pod: &Map<String, Value>) -> Result<(), Status> {
        let node = node(pod);
        if Objects(&self.registry).find(NODES, "", node).await.is_none() {
            return Err(Status::new(
                Reason::Unknown,
                format!("dial tcp: lookup {node}: no such host"),
            ));
        }
        Ok(())
    }

    async fn log(&self, address: &RequestInfo, parts: &Parts) -> Result<Response<Body>, ErrorResponse> {
        check_accept(&parts.headers, &[negotiation::JSON, negotiation::YAML, "text/plain"])?;
        let name = address.name.as_deref().unwrap_or_default();
        let options = LogOptions::parse(Query::of(parts), name, self.clock.now(), self.profile)?;
        let pod = self.pod(address).await?;
        let container = streams::container(&pod, &options.container)?;
        if node(&pod).is_empty() {
            return Ok(respond::empty(StatusCode::NO_CONTENT));
        }
        self.check_node(&pod).await?;
        let (past, live) = self
            .containers
            .log(&pod, &container, options.previous)
            .map_err(Status::bad_request)?;
        let text = streams::text(options, past, live).take_until(self.shutdown.closing.clone().cancelled_owned());
        let mut response = Response::new(Body::frames(text));
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        Ok(response)
    }

    async fn attach(
        &self,
        address: &RequestInfo,
        part: &str,
        parts: &mut Parts,
    ) -> Result<Response<Body>, ErrorResponse> {
        check_accept(&parts.headers, ANYTHING)?;
        let pod = self.pod(address).await?;
        let container = streams::container(&pod, &Query::of(parts).get("container").unwrap_or_default())?;
        assigned(&pod)?;
        let upgrade = Upgrade::negotiate(&parts.headers, false)?;
        let request = ContainerRequest::parse(part, Query::of(parts), self.profile)?;
        self.check_node(&pod).await?;
        let response = upgrade.accept(&parts.headers)?;
        let upgrading = upgrading(parts)?;
        let process = match (self.containers.running(&pod, &container), &request) {
            (Some(running), ContainerRequest::Attach(attachment)) => running
                .attach(*attachment)
                .map_err(|why| format!("error attaching to container: {why}")),
            (Some(running), ContainerRequest::Exec(attachment, command)) => running
                .exec(command, *attachment)
                .map_err(|why| format!("error executing command in container: {why}")),
            (None, ContainerRequest::Attach(_)) => Err(format!(
                "error attaching to container: container not found ({container:?})"
            )),
            (None, ContainerRequest::Exec(..)) => Err(format!(
                "error executing command in container: container not found ({container:?})"
            )),
        };
        self.spawn_upgraded(upgrading, move |io| {
            streams::run(io, upgrade, request.attachment(), process)
        });
        Ok(response)
    }

    async fn forward_ports(&self, address: &RequestInfo, parts: &mut Parts) -> Result<Response<Body>, ErrorResponse> {
        check_accept(&parts.headers, ANYTHING)?;
        let pod = self.pod(address).await?;
        assigned(&pod)?;
        let upgrade = Upgrade::negotiate(&parts.headers, true)?;
        self.check_node(&pod).await?;
        let response = upgrade.accept(&parts.headers)?;
        let upgrading = upgrading(parts)?;
        let connect = connect_to(&pod, &self.proxy);
        self.spawn_upgraded(upgrading, move |io| streams::forward_ports(io, connect));
        Ok(response)
    }

    /// Runs `serve` on an upgraded connection, until the server stops.
    fn spawn_upgraded<F>(
        &self,
        upgrading: OnUpgrade,
        serve: impl FnOnce(TokioIo<hyper::upgrade::Upgraded>) -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let closing = self.shutdown.closing.clone();
        self.shutdown.tasks.spawn(async move {
            tokio::select! {
                () = closing.cancelled() => {}
                () = async {
                    // The client may disconnect before the upgrade is complete.
                    if let Ok(upgraded) = upgrading.await {
                        serve(TokioIo::new(upgraded)).await;
                    }
                } => {}
            }
        });
    }
}

/// Returns a function that connects to the ports of a pod.
fn connect_to(pod: &Map<String, Value>, proxy: &Arc<Proxy>) -> Connect {
    let text = |object: &str, field: &str| {
        let value = pod.get(object).and_then(|object| object.get(field));
        value.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let (host, name, proxy) = (text("status", "podIP"), text("metadata", "name"), Arc::clone(proxy));
    Arc::new(move |port| {
        let (proxy, host, name) = (Arc::clone(&proxy), host.clone(), name.clone());
        Box::pin(async move {
            if host.is_empty() {
                return Err(format!("pod {name} has no address: status.podIP is not set"));
            }
            proxy.connect(&format!("{host}:{port}")).await
        })
    })
}

/// Returns the name of the node that a pod is bound to; empty if it is unbound.
fn node(pod: &Map<String, Value>) -> &str {
    pod.get("spec")
        .and_then(|spec| spec.get("nodeName"))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn assigned(pod: &Map<String, Value>) -> Result<(), Status> {
    let name = pod
        .get("metadata")
        .and_then(|metadata| metadata.get("name"))
        .and_then(Value::as_str)
        .unwrap_or_default();
    if node(pod).is_empty() {
        Err(Status::bad_request(format!("pod {name} does not have a host assigned")))
    } else {
        Ok(())
    }
}

fn upgrading(parts: &mut Parts) -> Result<OnUpgrade, Status> {
    parts
        .extensions
        .remove::<OnUpgrade>()
        .ok_or_else(|| Status::bad_request("the connection cannot be upgraded"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{http::proxy::Settings, profile::Profile};

    #[tokio::test]
    async fn a_pod_without_an_address_is_reported_as_such() {
        let settings = Settings {
            allow_local: true,
            ..Settings::new(Profile::Documented)
        };
        let proxy = Arc::new(Proxy::new(settings).unwrap());
        let connected = |pod: Value| connect_to(pod.as_object().unwrap(), &proxy)(1);
        let missing = connected(json!({"metadata": {"name": "one"}, "status": {}}));
        assert_eq!(
            missing.await.err().unwrap(),
            "pod one has no address: status.podIP is not set"
        );
        let refused = connected(json!({"metadata": {"name": "one"}, "status": {"podIP": "127.0.0.1"}}));
        assert_eq!(
            refused.await.err().unwrap(),
            "dial tcp 127.0.0.1:1: connect: connection refused"
        );
    }
}
