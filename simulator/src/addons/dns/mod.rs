//! The DNS add-on: the names of the cluster over UDP and TCP.
//!
//! - It serves TCP in the pods of `kube-dns`, and both UDP and TCP on the DNS listener, if there is one.
//! - Limits: names of the cluster only, no forwarding; 64 TCP connections with an idle timeout of 10 seconds.
//! - Source: RFC 1035, RFC 2782 and SkyDNS, as Kubernetes v1.2 runs it.

mod listener;
mod message;

use futures::future::BoxFuture;
use hyper::{Request, Response, StatusCode};
pub(crate) use listener::DnsListener;
use tokio::io::DuplexStream;

use crate::cluster::{
    Names,
    network::{Backend, Body, full_body},
};

/// The server in the pods of `kube-dns`.
pub(super) struct DnsServer {
    pub(super) names: Names,
}

impl Backend for DnsServer {
    fn answer(&self, _: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        Box::pin(async {
            let mut response = Response::new(full_body("this port speaks DNS, not HTTP\n"));
            *response.status_mut() = StatusCode::BAD_GATEWAY;
            response
        })
    }

    fn serve_connection(&self, io: DuplexStream) -> Result<BoxFuture<'static, ()>, DuplexStream> {
        let names = self.names.clone();
        Ok(Box::pin(async move { listener::serve_stream(&names, io).await }))
    }
}
