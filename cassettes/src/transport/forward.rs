//! Forwarding of requests with complete bodies, including upgrades.

use super::{Body, Client, Tasks, full, strip_hop_by_hop, upgrade};
use crate::interaction::Failure;
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, UPGRADE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::upgrade::OnUpgrade;
use stuntdouble_server::relay_upgraded;

/// Forwards a request to a server and returns its response.
///
/// # Errors
/// If there is no response.
pub async fn forward(
    client: &Client,
    mut request: Request<Bytes>,
    near: Option<OnUpgrade>,
    tasks: &Tasks,
) -> Result<Response<Body>, Failure> {
    let protocol = upgrade(request.headers()).cloned();
    strip_hop_by_hop(request.headers_mut());
    request.headers_mut().remove(CONTENT_LENGTH);
    restore(request.headers_mut(), protocol);
    let mut response = client.send(request.map(full)).await?;
    let protocol = upgrade(response.headers()).cloned();
    strip_hop_by_hop(response.headers_mut());
    if let (StatusCode::SWITCHING_PROTOCOLS, Some(near)) = (response.status(), near) {
        restore(response.headers_mut(), protocol);
        let far = hyper::upgrade::on(&mut response);
        tasks.spawn(relay_upgraded(near, far));
        return Ok(response.map(|_| full(Bytes::new())));
    }
    Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
}

/// Restores the header fields of an upgrade.
pub fn restore(headers: &mut http::HeaderMap, protocol: Option<HeaderValue>) {
    if let Some(protocol) = protocol {
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, protocol);
    }
}
