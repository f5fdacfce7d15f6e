//! `stuntdouble proxy`: a local way to a server, which shows the credentials in its caller's stead.
//!
//! Promises: it listens on the loopback interface only; requests for another host than a local one are refused, so that no web page can use it;
//! bodies, streams and upgraded connections pass as they come.
//!
//! Limits: HTTP/1.1.
//!
//! Source of its semantics: the first text (authentication, 5), and the client tool's proxy of Kubernetes v1.2.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use clap::Args;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use stuntdouble_cassettes::transport::{
    Body, Client, Exchange, Gone, Server, Tasks, full, restore, strip_hop_by_hop, upgrade,
};

use super::access::Access;
use super::signal::Told;
use super::{Trouble, exit};

const EXAMPLES: &str = "Examples:
  stuntdouble proxy --kubeconfig kubeconfig
  stuntdouble proxy --upstream https://127.0.0.1:6443 --token secrettoken --insecure --listen 127.0.0.1:0

When it answers, it says so in one line on standard output: ready, and the address. It ends on Ctrl-C or SIGTERM.

Exit codes:
  0  it was told to stop
  2  usage
  3  it could not start";

/// Arguments of `stuntdouble proxy`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The server [default: the kubeconfig's]
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,

    /// Where to listen, on the loopback interface only; a port of 0 is chosen by the system
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8001")]
    listen: SocketAddr,

    #[command(flatten)]
    access: Access,
}

/// Carries out the command.
pub(super) async fn proxy(arguments: Arguments) -> Result<u8, Trouble> {
    if !arguments.listen.ip().is_loopback() {
        return Err(Trouble::usage(format!(
            "{} is not a loopback address: the proxy lets everybody in who reaches it",
            arguments.listen
        )));
    }
    let told =
        Told::listen().map_err(|error| Trouble::unreachable(format!("signals cannot be listened for: {error}")))?;
    let (_, client) = arguments.access.client(arguments.upstream.as_deref())?;
    let server = Server::start(arguments.listen, Arc::new(LocalProxy { client }))
        .await
        .map_err(Trouble::unreachable)?;
    let mut out = std::io::stdout();
    // Whoever has closed standard output does not wait for the line.
    let _ = writeln!(out, "ready: http://{}", server.address()).and_then(|()| out.flush());
    told.until_told().await;
    server.stop().await;
    Ok(exit::OK)
}

/// Passes requests on to one server.
struct LocalProxy {
    client: Client,
}

impl Exchange for LocalProxy {
    async fn answer(self: Arc<Self>, request: Request<Incoming>, tasks: Tasks) -> Result<Response<Body>, Gone> {
        if !is_local(request.headers().get(header::HOST)) {
            return Ok(told(StatusCode::FORBIDDEN, "<h3>Unauthorized</h3>"));
        }
        Ok(self
            .pass(request, &tasks)
            .await
            .unwrap_or_else(|why| told(StatusCode::BAD_GATEWAY, &why)))
    }
}

impl LocalProxy {
    async fn pass(&self, mut request: Request<Incoming>, tasks: &Tasks) -> Result<Response<Body>, String> {
        let near: Option<OnUpgrade> = request.extensions_mut().remove();
        let protocol = upgrade(request.headers()).cloned();
        strip_hop_by_hop(request.headers_mut());
        restore(request.headers_mut(), protocol);
        let mut response = self
            .client
            .send(request.map(|body| body.map_err(Into::into).boxed_unsync()))
            .await
            .map_err(|failure| failure.text)?;
        let protocol = upgrade(response.headers()).cloned();
        strip_hop_by_hop(response.headers_mut());
        let (StatusCode::SWITCHING_PROTOCOLS, Some(near)) = (response.status(), near) else {
            return Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()));
        };
        restore(response.headers_mut(), protocol);
        let far = hyper::upgrade::on(&mut response);
        tasks.spawn(async move {
            if let (Ok(near), Ok(far)) = tokio::join!(near, far) {
                // How a conversation ends is the business of those who hold it.
                let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(near), &mut TokioIo::new(far)).await;
            }
        });
        Ok(response.map(|_| full(Bytes::new())))
    }
}

fn told(code: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(full(Bytes::copy_from_slice(text.as_bytes())));
    *response.status_mut() = code;
    let media_type = if code == StatusCode::FORBIDDEN {
        "text/html; charset=utf-8"
    } else {
        "text/plain; charset=utf-8"
    };
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// Whether a request is for this machine by one of its own names.
fn is_local(host: Option<&HeaderValue>) -> bool {
    let host = host.and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    ["localhost", "127.0.0.1", "[::1]"].contains(&name)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("localhost", true)]
    #[case("localhost:8001", true)]
    #[case("127.0.0.1:8001", true)]
    #[case("[::1]:8001", true)]
    #[case("[::1]", true)]
    #[case("example.com:8001", false)]
    #[case("localhost.example.com", false)]
    #[case("127.0.0.1.example.com:80", false)]
    #[case("", false)]
    fn only_local_hosts_are_let_in(#[case] host: &str, #[case] local: bool) {
        assert_eq!(is_local(Some(&HeaderValue::from_str(host).unwrap())), local);
    }
}
