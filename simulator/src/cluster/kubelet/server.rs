//! The servers of a node, which the proxy of nodes reaches.
//!
//! | port | path | response |
//! |---|---|---|
//! | 10250 | `/healthz` | `ok` |
//! | 10250 | `/pods` | the pods that are bound to the node |
//! | 10250 | `/runningpods/` | those that run |
//! | 10250 | `/logs/` | the directory of the node's own logs, which is empty |
//! | 4194 | `/containers/` | a page with the containers of the node |
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
        network::{Backend, Body, whole},
    },
};

/// The port of kubelets.
const AGENT: u16 = 10_250;
/// The port of the statistics of containers.
const STATISTICS: u16 = 4194;

/// Lets the servers of a node answer at its address.
pub(super) fn serve(node: &Node, engine: &Engine, pods: &Arc<Informer>) {
    for port in [AGENT, STATISTICS] {
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
            (AGENT, "/pods") => self.list(|_| true),
            (AGENT, "/runningpods") => self.list(|pod| meta::text(pod, "status.phase") == "Running"),
            (AGENT, "/logs") => respond("text/html; charset=utf-8", "<pre>\n</pre>\n".to_owned()),
            (STATISTICS, "/containers") => respond("text/html; charset=utf-8", self.containers()),
            _ => {
                let mut response = respond("text/plain; charset=utf-8", "404 page not found\n".to_owned());
                *response.status_mut() = StatusCode::NOT_FOUND;
                response
            }
        }
    }

    /// The chosen pods of the node.
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

    /// A page with the containers that have started.
    fn containers(&self) -> String {
        let mut page = "<html>\n<head><title>cAdvisor - /</title></head>\n<body>\n<h1>/</h1>\n<ul>\n".to_owned();
        for pod in self.pods.list_indexed(&self.node) {
            let statuses = meta::lookup(&pod, "status.containerStatuses").and_then(Value::as_array);
            let ids = statuses.into_iter().flatten().filter_map(|c| c["containerID"].as_str());
            for id in ids.filter_map(|id| id.strip_prefix("docker://")) {
                // Writing to a text cannot fail.
                let _ = writeln!(page, "<li><a href=\"/docker/{id}\">/docker/{id}</a></li>");
            }
        }
        page + "</ul>\n</body>\n</html>\n"
    }
}

fn respond(media_type: &'static str, body: String) -> Response<Body> {
    let mut response = Response::new(whole(body));
    let value = HeaderValue::from_static(media_type);
    response.headers_mut().insert(hyper::header::CONTENT_TYPE, value);
    response
}
