//! Headers of proxied requests and responses.
//!
//! Source: Go's reverse proxy, which the recorded server uses: hop-by-hop headers are removed, the client is appended
//! to `X-Forwarded-For`.

use std::net::IpAddr;

use hyper::{
    HeaderMap,
    header::{self, HeaderName, HeaderValue},
};

/// Hop-by-hop headers.
const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Removes the hop-by-hop headers, including those named in Connection.
pub(super) fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = (headers.get_all(header::CONNECTION).iter())
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok())
        .collect();
    // `TE: trailers` is kept for the server.
    let trailers = headers.get_all(header::TE).iter().any(|value| {
        value
            .to_str()
            .is_ok_and(|value| value.split(',').any(|te| te.trim() == "trailers"))
    });
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
    if trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
}

/// Removes the credentials for the API server, which a pod must not receive.
pub(super) fn remove_credentials(headers: &mut HeaderMap) {
    headers.remove(header::AUTHORIZATION);
    headers.remove(header::COOKIE);
}

/// Adds the client's address and the proxy's path.
pub(super) fn forwarded(headers: &mut HeaderMap, client: Option<IpAddr>, uri: &str) {
    let name = HeaderName::from_static("x-forwarded-for");
    if let Some(client) = client {
        let mut chain: Vec<String> = headers
            .get_all(&name)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .map(str::to_owned)
            .collect();
        chain.push(client.to_string());
        if let Ok(value) = HeaderValue::try_from(chain.join(", ")) {
            headers.insert(name, value);
        }
    }
    if let Ok(value) = HeaderValue::from_bytes(uri.as_bytes()) {
        headers.insert(HeaderName::from_static("x-forwarded-uri"), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hop_by_hop_headers_are_removed() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Own"),
            ("x-own", "1"),
            ("x-other", "2"),
            ("te", "gzip, trailers"),
            ("upgrade", "x"),
            ("keep-alive", "1"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        strip(&mut headers);
        let left: Vec<(&str, &[u8])> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .collect();
        assert_eq!(left, [("x-other", &b"2"[..]), ("te", b"trailers")]);
    }

    #[test]
    fn the_client_is_appended_to_the_forwarded_chain() {
        let mut headers = HeaderMap::from_iter([(
            HeaderName::from_static("x-forwarded-for"),
            HeaderValue::from_static("1.2.3.4"),
        )]);
        forwarded(&mut headers, Some(IpAddr::from([127, 0, 0, 1])), "/p/x");
        assert_eq!(headers["x-forwarded-for"], "1.2.3.4, 127.0.0.1");
        assert_eq!(headers["x-forwarded-uri"], "/p/x");
    }
}
