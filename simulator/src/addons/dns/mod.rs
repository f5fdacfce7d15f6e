//! The name resolution add-on: DNS over UDP and TCP for the names of the cluster.
//!
//! - It answers on TCP in the pods of `kube-dns`, and on both where it is given a listener.
//! - Limits: names of the cluster only, nothing is forwarded; 64 TCP connections, each of which may be idle for 10 seconds.
//! - Source: RFC 1035, RFC 2782 and SkyDNS, as Kubernetes v1.2 runs it.

mod listener;
mod message;

use futures::future::BoxFuture;
use hyper::{Request, Response, StatusCode};
pub(crate) use listener::DnsListener;
use tokio::io::DuplexStream;

use crate::cluster::{
    Names,
    network::{Backend, Body, whole},
};

/// The server in the pods of `kube-dns`.
pub(super) struct DnsServer {
    pub(super) names: Names,
}

impl Backend for DnsServer {
    fn answer(&self, _: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        Box::pin(async {
            let mut response = Response::new(whole("this port speaks DNS, not HTTP\n"));
            *response.status_mut() = StatusCode::BAD_GATEWAY;
            response
        })
    }

    fn talk(&self, io: DuplexStream) -> Result<BoxFuture<'static, ()>, DuplexStream> {
        let names = self.names.clone();
        Ok(Box::pin(async move { listener::serve_stream(&names, io).await }))
    }
}
