//! HTTP servers of a node, reached through the node proxy.
//!
//! | port | path | response |
//! |---|---|---|
//! | 10250 | `/healthz` | `ok` |
//! | 10250 | `/pods` | the pods bound to the node |
//! | 10250 | `/runningpods/` | the running pods of the node |
//! | 10250 | `/logs/` | the node's log directory, which is empty |
//! | 4194 | `/containers/` | an HTML page of the node's containers |
//!
//! Source: `pkg/kubelet/server` of Kubernetes v1.2, and cAdvisor.

use std::{fmt::Write, sync::Arc};

use futures::future::BoxFuture;
use hyper::{Request, Response, StatusCode, header::HeaderValue};
use serde::Serialize;
use serde_json::Value;

use crate::{
    api::{Object, meta},
    client::Informer,
    cluster::{
        Node,
        container::Engine,
        network::{Backend, Body, full_body},
    },
};

/// Port of the kubelet.
const KUBELET_PORT: u16 = 10_250;
/// Port of cAdvisor.
const CADVISOR_PORT: u16 = 4194;

/// Adds the servers of a node at its address.
pub(super) fn serve(node: &Node, engine: &Engine, pods: &Arc<Informer>) {
    for port in [KUBELET_PORT, CADVISOR_PORT] {
        let server = NodeServer {
            port,
            node: node.name.clone(),
            pods: pods.clone(),
        };
        engine.network().serve(node.address, port, Arc::new(server));
    }
}

struct NodeServer {
    port: u16,
    node: String,
    pods: Arc<Informer>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PodList<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: Object,
    items: Vec<&'a Object>,
}

impl Backend for NodeServer {
    fn answer(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        let response = self.respond(request.uri().path());
        Box::pin(async move { response })
    }
}

impl NodeServer {
    fn respond(&self, path: &str) -> Response<Body> {
        match (self.port, path.trim_end_matches('/')) {
            (_, "/healthz") => respond("text/plain; charset=utf-8", "ok".to_owned()),
            (KUBELET_PORT, "/pods") => self.list(|_| true),
            (KUBELET_PORT, "/runningpods") => self.list(|pod| meta::text(pod, "status.phase") == "Running"),
            (KUBELET_PORT, "/logs") => respond("text/html; charset=utf-8", "<pre>\n</pre>\n".to_owned()),
            (CADVISOR_PORT, "/containers") => respond("text/html; charset=utf-8", self.containers()),
            _ => {
                let mut response = respond("text/plain; charset=utf-8", "404 page not found\n".to_owned());
                *response.status_mut() = StatusCode::NOT_FOUND;
                response
            }
        }
    }

    /// Returns the list of the node's pods that `chosen` accepts.
    fn list(&self, chosen: impl Fn(&Object) -> bool) -> Response<Body> {
        let pods = self.pods.list_indexed(&self.node);
        let list = PodList {
            kind: "PodList",
            api_version: "v1",
            metadata: Object::new(),
            items: pods.iter().map(|pod| pod.as_ref()).filter(|pod| chosen(pod)).collect(),
        };
        respond("application/json", serde_json::to_string(&list).unwrap_or_default())
    }

    /// Returns an HTML page of the containers that have started.
    fn containers(&self) -> String {
        let mut page = "<html>\n<head><title>cAdvisor - /</title></head>\n<body>\n<h1>/</h1>\n<ul>\n".to_owned();
        for pod in self.pods.list_indexed(&self.node) {
            let statuses = meta::lookup(&pod, "status.containerStatuses").and_then(Value::as_array);
            let ids = statuses.into_iter().flatten().filter_map(|c| c["containerID"].as_str());
            for id in ids.filter_map(|id| id.strip_prefix("docker://")) {
                // Writing to a string cannot fail.
                let _ = writeln!(page, "<li><a href=\"/docker/{id}\">/docker/{id}</a></li>");
            }
        }
        page + "</ul>\n</body>\n</html>\n"
    }
}

fn respond(media_type: &'static str, body: String) -> Response<Body> {
    let mut response = Response::new(full_body(body));
    let value = HeaderValue::from_static(media_type);
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, value);
    response
}
