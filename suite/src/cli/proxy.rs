//! `stuntdouble proxy`: a local proxy that adds the user's credentials to requests.
//!
//! Guarantees:
//! - It listens on the loopback interface unless `--allow-remote` is given.
//! - [`Origins`](stuntdouble_cassettes::transport::Origins) refuses the requests of web pages.
//! - Attach, exec, run and port-forward are refused unless `--allow-path` allows the path.
//! - Bodies, streams and upgraded connections pass unchanged.
//!
//! Limits:
//! - HTTP/1.1.
//!
//! Source: the documentation of authentication; `kubectl proxy` of Kubernetes v1.2.

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
use super::{CommandError, exit};

const EXAMPLES: &str = "Examples:
  stuntdouble proxy --kubeconfig kubeconfig
  stuntdouble proxy --upstream https://127.0.0.1:6443 --token-file token --insecure --listen 127.0.0.1:0
  stuntdouble proxy --kubeconfig kubeconfig --allow-path '^/api/v1/namespaces/default/pods/[^/]+/exec$'

It prints `ready: URL` on standard output when it accepts requests. Ctrl-C or SIGTERM stops it.

Exit codes:
  0  stopped by a signal
  2  usage
  3  the proxy could not start
  5  forced to stop: by a second signal, or because its shutdown took too long";

/// Arguments of `stuntdouble proxy`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Server [default: that of the kubeconfig]
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,

    /// Address to listen on. With port 0 the system chooses one
    #[arg(long, value_name = "[ADDRESS:]PORT", default_value = "127.0.0.1:8001", value_parser = listen::address)]
    listen: SocketAddr,

    /// Allow attach, exec, run and port-forward for paths that match this regular expression
    #[arg(long, value_name = "REGEX")]
    allow_path: Vec<Regex>,

    #[command(flatten)]
    access: Access,

    #[command(flatten)]
    remote: RemoteArguments,

    #[command(flatten)]
    origins: OriginArguments,
}

/// Runs the proxy until a signal stops it.
pub(super) async fn proxy(arguments: Arguments) -> Result<u8, CommandError> {
    let signal = listen::stop_signal()?;
    let (server, credentials) = arguments.access.upstream(arguments.upstream.as_deref())?;
    arguments.remote.check(arguments.listen)?;
    let proxy = LocalProxy {
        client: Client::new(&server, &credentials, true).map_err(CommandError::usage)?,
        allowed_paths: arguments.allow_path,
    };
    let server = Server::start_with(arguments.listen, arguments.origins.origins(), Arc::new(proxy))
        .await
        .map_err(CommandError::unreachable)?;
    let url = format!("http://{}", server.address());
    let next =
        format!("kubectl --server {url} get pods --all-namespaces\ncurl {url}/api/v1/namespaces\nCtrl-C stops it.");
    listen::ready(&url, &next);
    signal.received().await;
    server.stop().await;
    listen::stopped();
    Ok(exit::OK)
}

/// Forwards requests to one server.
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
            let text = "attach, exec, run and port-forward are refused: allow a path with --allow-path\n";
            return Ok(response(StatusCode::FORBIDDEN, text));
        }
        Ok(self.forward(request, &tasks).await.unwrap_or_else(|failure| {
            let code = match failure.kind {
                FailureKind::Abandoned => StatusCode::BAD_REQUEST,
                _ => StatusCode::BAD_GATEWAY,
            };
            response(code, &failure.text)
        }))
    }
}

impl LocalProxy {
    async fn forward(&self, mut request: Request<Incoming>, tasks: &Tasks) -> Result<Response<Body>, Failure> {
        let client_side: Option<OnUpgrade> = request.extensions_mut().remove();
        let protocol = upgrade(request.headers()).cloned();
        strip_hop_by_hop(request.headers_mut());
        restore(request.headers_mut(), protocol);
        let mut response = self
            .client
            .send(request.map(|body| body.map_err(Into::into).boxed_unsync()))
            .await?;
        let protocol = upgrade(response.headers()).cloned();
        strip_hop_by_hop(response.headers_mut());
        let (StatusCode::SWITCHING_PROTOCOLS, Some(client_side)) = (response.status(), client_side) else {
            return Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()));
        };
        restore(response.headers_mut(), protocol);
        let server_side = hyper::upgrade::on(&mut response);
        tasks.spawn(relay_upgraded(client_side, server_side));
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

/// Resources whose subpaths can reach into containers.
const WITH_CONTAINERS: [&str; 2] = ["pods", "nodes"];

/// Path segments that attach to a container, run a command in it or forward its ports.
const INTO_CONTAINERS: [&str; 4] = ["attach", "exec", "run", "portforward"];

/// Whether a path of pods or nodes attaches to a container, runs a command in it or forwards its ports.
///
/// A segment counts in upper or lower case, and percent-encoded any number of times.
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
