//! A server outside this process, reached in the place of an add-on's own.

use futures::future::BoxFuture;
use http_body_util::BodyExt;
use hyper::{
    Request, Response, StatusCode, Uri,
    header::{self, HeaderValue},
};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};

use crate::cluster::network::{Backend, Body, whole};

/// Passes requests on to `HOST:PORT`, and responses back.
pub(super) struct Upstream {
    address: String,
    client: Client<HttpConnector, Body>,
}

impl Upstream {
    pub(super) fn new(address: String) -> Self {
        Self {
            address,
            client: Client::builder(TokioExecutor::new()).build_http(),
        }
    }
}

impl Backend for Upstream {
    fn answer(&self, mut request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let target = Uri::try_from(format!("http://{}{path}", self.address));
        let (client, address) = (self.client.clone(), self.address.clone());
        Box::pin(async move {
            let unreachable = |error: &dyn std::fmt::Display| {
                let mut response = Response::new(whole(format!(
                    "the search backend at {address} does not answer: {error}"
                )));
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                response
            };
            match target {
                Ok(target) => *request.uri_mut() = target,
                Err(error) => return unreachable(&error),
            }
            if let Ok(host) = HeaderValue::try_from(&address) {
                request.headers_mut().insert(header::HOST, host);
            }
            match client.request(request).await {
                Ok(response) => response.map(|body| body.map_err(Into::into).boxed_unsync()),
                Err(error) => unreachable(&error),
            }
        })
    }
}
