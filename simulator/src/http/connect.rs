//! The sub-resources of a pod that are connections to its containers: attach, exec, log, portforward.
//!
//! - Refusals come in the recorded server's order: the pod, its container, its node, and only then that an upgrade is needed.
//! - A container that cannot be had once the connection stands is told on its error channel.
//!
//! Limits: a node that is not there cannot be reached, and is told as a name that does not resolve.
//! Source: Kubernetes v1.2 (`pkg/registry/pod`), as recorded (`subresources.har`).

use std::sync::Arc;

use futures::StreamExt;
use http::{HeaderValue, Response, StatusCode, header, request::Parts};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use serde_json::{Map, Value};

use super::{
    body::Body,
    negotiation::{self, ANYTHING},
    proxy::Objects,
    respond::{self, Refusal},
    service::{Service, query, takes},
    streams::{self, Ask, Connect, LogOptions, Upgrade},
};
use crate::{
    api::{Reason, Status},
    http::proxy::Lookup,
    registry::RequestInfo,
};

impl Service {
    pub(super) async fn connect(&self, address: &RequestInfo, parts: &mut Parts) -> Result<Response<Body>, Refusal> {
        match address.subresource.as_deref() {
            Some("log") => self.log(address, parts).await,
            Some("portforward") => self.forward_ports(address, parts).await,
            part => self.attach(address, part.unwrap_or_default(), parts).await,
        }
    }

    async fn pod(&self, address: &RequestInfo) -> Result<Map<String, Value>, Status> {
        let (namespace, name) = (
            address.namespace.as_deref().unwrap_or_default(),
            address.name.as_deref().unwrap_or_default(),
        );
        Objects(&self.registry)
            .find("pods", namespace, name)
            .await
            .ok_or_else(|| Status::not_found("", "pods", name))
    }

    /// Refuses a pod that is bound to no node, or to one that is not there.
    async fn reach(&self, pod: &Map<String, Value>) -> Result<(), Status> {
        let node = node(pod);
        if Objects(&self.registry).find("nodes", "", node).await.is_none() {
            return Err(Status::new(
                Reason::Unknown,
                format!("dial tcp: lookup {node}: no such host"),
            ));
        }
        Ok(())
    }

    async fn log(&self, address: &RequestInfo, parts: &Parts) -> Result<Response<Body>, Refusal> {
        takes(parts, &[negotiation::JSON, negotiation::YAML, "text/plain"])?;
        let name = address.name.as_deref().unwrap_or_default();
        let options = LogOptions::parse(query(parts), name, self.clock.now(), self.profile)?;
        let pod = self.pod(address).await?;
        let container = streams::container(&pod, &options.container)?;
        if node(&pod).is_empty() {
            return Ok(respond::empty(StatusCode::NO_CONTENT));
        }
        self.reach(&pod).await?;
        if options.previous {
            return Err(Status::bad_request(format!(
                "previous terminated container {container:?} in pod {name:?} not found"
            ))
            .into());
        }
        let running = self.containers.running(&pod, &container);
        let running = running.ok_or_else(|| {
            Status::bad_request(format!(
                "container {container:?} in pod {name:?} is waiting to start: ContainerCreating"
            ))
        })?;
        let (past, live) = running.log();
        let text = streams::text(options, past, live).take_until(self.shutdown.closing.clone().cancelled_owned());
        let mut response = Response::new(Body::frames(text));
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        Ok(response)
    }

    async fn attach(&self, address: &RequestInfo, part: &str, parts: &mut Parts) -> Result<Response<Body>, Refusal> {
        takes(parts, ANYTHING)?;
        let pod = self.pod(address).await?;
        let container = streams::container(&pod, &query(parts).get("container").unwrap_or_default())?;
        assigned(&pod)?;
        let upgrade = Upgrade::negotiate(&parts.headers, false)?;
        let ask = Ask::parse(part, query(parts), self.profile)?;
        self.reach(&pod).await?;
        let response = upgrade.accept(&parts.headers)?;
        let upgrading = upgrading(parts)?;
        let process = match (self.containers.running(&pod, &container), &ask) {
            (Some(running), Ask::Attach(attachment)) => running
                .attach(*attachment)
                .map_err(|why| format!("error attaching to container: {why}")),
            (Some(running), Ask::Exec(attachment, command)) => running
                .exec(command, *attachment)
                .map_err(|why| format!("error executing command in container: {why}")),
            (None, Ask::Attach(_)) => Err(format!(
                "error attaching to container: container not found ({container:?})"
            )),
            (None, Ask::Exec(..)) => Err(format!(
                "error executing command in container: container not found ({container:?})"
            )),
        };
        self.talk(upgrading, move |io| {
            streams::run(io, upgrade, ask.attachment(), process)
        });
        Ok(response)
    }

    async fn forward_ports(&self, address: &RequestInfo, parts: &mut Parts) -> Result<Response<Body>, Refusal> {
        takes(parts, ANYTHING)?;
        let pod = self.pod(address).await?;
        assigned(&pod)?;
        let upgrade = Upgrade::negotiate(&parts.headers, true)?;
        self.reach(&pod).await?;
        let response = upgrade.accept(&parts.headers)?;
        let upgrading = upgrading(parts)?;
        let host = pod
            .get("status")
            .and_then(|status| status.get("podIP"))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let proxy = Arc::clone(&self.proxy);
        let connect: Connect = Arc::new(move |port| {
            let (proxy, address) = (Arc::clone(&proxy), format!("{host}:{port}"));
            Box::pin(async move { proxy.connect(&address).await })
        });
        self.talk(upgrading, move |io| streams::forward_ports(io, connect));
        Ok(response)
    }

    /// Talks on a connection when its upgrade is done, until the server stops.
    fn talk<F>(&self, upgrading: OnUpgrade, talk: impl FnOnce(TokioIo<hyper::upgrade::Upgraded>) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let closing = self.shutdown.closing.clone();
        self.shutdown.tasks.spawn(async move {
            tokio::select! {
                () = closing.cancelled() => {}
                () = async {
                    // A client that is gone before the upgrade is done wants nothing more.
                    if let Ok(upgraded) = upgrading.await {
                        talk(TokioIo::new(upgraded)).await;
                    }
                } => {}
            }
        });
    }
}

/// The node that a pod is bound to; empty where it is bound to none.
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
