//! HTTP/1.1 and HTTP/2, with and without TLS: a server that passes each request to a handler, and a client.
//!
//! Guarantees:
//! - Bodies are forwarded as they arrive.
//! - Each failure has a kind.
//! - An upgraded connection is passed on unchanged.
//!
//! Limits:
//! - The client uses HTTP/2 only over TLS, and HTTP/1.1 for upgrades.
//! - Certificates are verified with the roots of the system and the given ones.
//!
//! Source: RFC 9110, RFC 9112, RFC 9113.

mod client;
mod coding;
mod connector;
mod forward;
mod server;
mod tls;

pub use client::{Client, failure};
pub use coding::{Coding, decode, decode_request};
pub use forward::{forward, restore};
pub use server::{ConnectionClosed, Handler, Server, Tasks};
pub use stuntdouble_server::{Origin, Origins};
pub use tls::{Credentials, TransportError};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};

/// Error of a body.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// A body of any type.
pub type Body = UnsyncBoxBody<Bytes, BodyError>;

/// A body of known bytes.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Header fields that apply to one connection and are not forwarded.
const HOP_BY_HOP: [&str; 6] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "transfer-encoding",
];

/// Removes hop-by-hop fields, including `Upgrade` and those named by `Connection`.
pub fn strip_hop_by_hop(headers: &mut http::HeaderMap) {
    let named: Vec<String> = headers
        .get_all(http::header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .filter(|name| !name.is_empty() && name != "close")
        .collect();
    // `TE: trailers` and `Trailer` are forwarded, because trailers are.
    let takes_trailers = headers.get(http::header::TE).is_some_and(|value| value == "trailers");
    if !takes_trailers {
        headers.remove(http::header::TE);
    }
    let named = named.into_iter().filter(|name| name != "te").collect::<Vec<_>>();
    for name in named.iter().map(String::as_str).chain(HOP_BY_HOP).chain(["upgrade"]) {
        headers.remove(name);
    }
}

/// The protocol of an upgrade, if the message is one.
pub fn upgrade(headers: &http::HeaderMap) -> Option<&http::HeaderValue> {
    let connection = headers.get_all(http::header::CONNECTION);
    let named = connection
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.split(',').any(|name| name.trim().eq_ignore_ascii_case("upgrade")));
    headers.get(http::header::UPGRADE).filter(|_| named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderMap, HeaderValue};

    #[test]
    fn hop_by_hop_fields_are_not_forwarded() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "X-Mine, Upgrade"),
            ("upgrade", "websocket"),
            ("x-mine", "1"),
            ("x-kept", "2"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        assert_eq!(upgrade(&headers), Some(&HeaderValue::from_static("websocket")));
        strip_hop_by_hop(&mut headers);
        assert_eq!(headers.keys().map(|name| name.as_str()).collect::<Vec<_>>(), ["x-kept"]);
    }
}
