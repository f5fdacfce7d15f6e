//! `stuntdouble proxy`: a local proxy that adds the user's credentials to requests.
//!
//! Promises: it listens on the loopback interface unless `--allow-remote` is given; [`Origins`](stuntdouble_cassettes::transport::Origins)
//! keeps web pages away; attach, exec, run and port-forward are refused unless `--allow-path` allows the path; bodies, streams and upgraded
//! connections pass unchanged.
//!
//! Limits: HTTP/1.1.
//!
//! Source of its semantics: the first text (authentication, 5), and the client tool's proxy of Kubernetes v1.2.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use clap::Args;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use regex::Regex;
use stuntdouble_cassettes::transport::{
    Body, Client, ConnectionClosed, Handler, Server, Tasks, full, restore, strip_hop_by_hop, upgrade,
};
use stuntdouble_cassettes::{Failure, FailureKind};
use stuntdouble_server::{percent_decode, relay_upgraded};

use super::access::Access;
use super::listen;
use super::origins::{OriginArguments, RemoteArguments};
use super::{Trouble, exit};

const EXAMPLES: &str = "Examples:
  stuntdouble proxy --kubeconfig kubeconfig
  stuntdouble proxy --upstream https://127.0.0.1:6443 --token-file token --insecure --listen 127.0.0.1:0
  stuntdouble proxy --kubeconfig kubeconfig --allow-path '^/api/v1/namespaces/default/pods/[^/]+/exec$'

When it answers, it says so in one line on standard output: ready, and the address. It ends on Ctrl-C or SIGTERM.

Exit codes:
  0  it was told to stop
  2  usage
  3  it could not start
  5  it was stopped before everything had ended";

/// Arguments of `stuntdouble proxy`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The server [default: the kubeconfig's]
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,

    /// Address to listen on. A port of 0 is chosen by the system
    #[arg(long, value_name = "[ADDRESS:]PORT", default_value = "127.0.0.1:8001", value_parser = listen::address)]
    listen: SocketAddr,

    /// Allow the paths that match this regular expression, also if they attach to a container, run a command in it or forward its ports
    #[arg(long, value_name = "REGEX")]
    allow_path: Vec<Regex>,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    remote: RemoteArguments,

    #[command(flatten)]
    origins: OriginArguments,
}

/// Carries out the command.
pub(super) async fn proxy(arguments: Arguments) -> Result<u8, Trouble> {
    let signal = listen::stop_signal()?;
    let (server, credentials) = arguments.access.upstream(arguments.upstream.as_deref())?;
    arguments.remote.check(arguments.listen)?;
    let proxy = LocalProxy {
        client: Client::new(&server, &credentials, true).map_err(Trouble::usage)?,
        allowed_paths: arguments.allow_path,
    };
    let server = Server::start_with(arguments.listen, arguments.origins.origins(), Arc::new(proxy))
        .await
        .map_err(Trouble::unreachable)?;
    let url = format!("http://{}", server.address());
    let next =
        format!("kubectl --server {url} get pods --all-namespaces\ncurl {url}/api/v1/namespaces\nCtrl-C stops it.");
    listen::ready(&url, &next);
    signal.received().await;
    server.stop().await;
    listen::stopped();
    Ok(exit::OK)
}

/// Passes requests on to one server.
struct LocalProxy {
    client: Client,
    allowed_paths: Vec<Regex>,
}

impl Handler for LocalProxy {
    async fn handle(
        self: Arc<Self>,
        request: Request<Incoming>,
        tasks: Tasks,
    ) -> Result<Response<Body>, ConnectionClosed> {
        let path = request.uri().path();
        if reaches_into_containers(path) && !self.allowed_paths.iter().any(|allowed| allowed.is_match(path)) {
            let text = "attach, exec, run and port-forward are refused: --allow-path allows a path\n";
            return Ok(response(StatusCode::FORBIDDEN, text));
        }
        Ok(self.pass(request, &tasks).await.unwrap_or_else(|failure| {
            let code = match failure.kind {
                FailureKind::Abandoned => StatusCode::BAD_REQUEST,
                _ => StatusCode::BAD_GATEWAY,
            };
            response(code, &failure.text)
        }))
    }
}

impl LocalProxy {
    async fn pass(&self, mut request: Request<Incoming>, tasks: &Tasks) -> Result<Response<Body>, Failure> {
        let near: Option<OnUpgrade> = request.extensions_mut().remove();
        let protocol = upgrade(request.headers()).cloned();
        strip_hop_by_hop(request.headers_mut());
        restore(request.headers_mut(), protocol);
        let mut response = self
            .client
            .send(request.map(|body| body.map_err(Into::into).boxed_unsync()))
            .await?;
        let protocol = upgrade(response.headers()).cloned();
        strip_hop_by_hop(response.headers_mut());
        let (StatusCode::SWITCHING_PROTOCOLS, Some(near)) = (response.status(), near) else {
            return Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()));
        };
        restore(response.headers_mut(), protocol);
        let far = hyper::upgrade::on(&mut response);
        tasks.spawn(relay_upgraded(near, far));
        Ok(response.map(|_| full(Bytes::new())))
    }
}

fn response(code: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(full(Bytes::copy_from_slice(text.as_bytes())));
    *response.status_mut() = code;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

/// Resources below which a path can reach into containers.
const WITH_CONTAINERS: [&str; 2] = ["pods", "nodes"];

/// Segments of paths that attach to a container, run a command in it or forward its ports.
const INTO_CONTAINERS: [&str; 4] = ["attach", "exec", "run", "portforward"];

/// Whether a path of pods or of a node's agent attaches to a container, runs a command in it or forwards its ports.
///
/// Errs on the safe side: a segment counts in any case and however often it is percent-encoded.
fn reaches_into_containers(path: &str) -> bool {
    let mut path = path.to_owned();
    while let Some(decoded) = percent_decode(&path, false).filter(|decoded| *decoded != path) {
        path = decoded.into_owned();
    }
    let mut segments = path.split(['/', '\\']).map(str::to_ascii_lowercase);
    segments.any(|segment| WITH_CONTAINERS.contains(&segment.as_str()))
        && segments.any(|segment| INTO_CONTAINERS.contains(&segment.as_str()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/api/v1/namespaces/a/pods/b/exec", true)]
    #[case("/api/v1/namespaces/a/pods/b/attach", true)]
    #[case("/api/v1/namespaces/a/pods/b/portforward", true)]
    #[case("/api/v1/namespaces/a/pods/b/%65xec", true)]
    #[case("/api/v1/namespaces/a/pods/b/%2565xec", true)]
    #[case("/api/v1/namespaces/a/pods/b%2Fexec", true)]
    #[case("/api/v1/namespaces/a/pods/b//exec/", true)]
    #[case("/api/v1/namespaces/a/pods/b/log/../exec", true)]
    #[case("/api/v1/proxy/nodes/n/run/ns/pod/container", true)]
    #[case("/api/v1/nodes/n:10250/proxy/portForward/ns/pod", true)]
    #[case("/api/v1/namespaces/exec/pods", false)]
    #[case("/api/v1/namespaces/run/services/exec", false)]
    #[case("/api/v1/namespaces/a/pods/b/log", false)]
    #[case("/api/v1/namespaces/a/pods/executor", false)]
    #[case("/apis/batch/v1/namespaces/a/jobs/run", false)]
    fn paths_into_containers_are_found(#[case] path: &str, #[case] found: bool) {
        assert_eq!(reaches_into_containers(path), found);
    }
}
