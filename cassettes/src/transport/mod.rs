//! HTTP/1.1 and HTTP/2 on both sides, with TLS or without: a server that hands each request to a function, and a client with any credentials.
//!
//! Promises: bodies are passed on as they come; each failure has a kind; a connection of an upgraded
//! protocol is handed over as it is.
//! Limits: towards a server HTTP/2 is spoken over TLS alone, and what is upgraded is HTTP/1.1; certificates are judged by the system's roots and those given.
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

/// What went wrong while a body came.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// A body of any origin.
pub type Body = UnsyncBoxBody<Bytes, BodyError>;

/// A body that is there already.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// The fields that concern one connection and are not passed on.
const HOP_BY_HOP: [&str; 6] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "transfer-encoding",
];

/// Takes the fields of one connection out, `Upgrade` and what `Connection` names among them.
pub fn strip_hop_by_hop(headers: &mut http::HeaderMap) {
    let named: Vec<String> = headers
        .get_all(http::header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .filter(|name| !name.is_empty() && name != "close")
        .collect();
    // `TE: trailers` and `Trailer` are passed on: they say that trailers are taken, and that they follow.
    let takes_trailers = headers.get(http::header::TE).is_some_and(|value| value == "trailers");
    if !takes_trailers {
        headers.remove(http::header::TE);
    }
    let named = named.into_iter().filter(|name| name != "te").collect::<Vec<_>>();
    for name in named.iter().map(String::as_str).chain(HOP_BY_HOP).chain(["upgrade"]) {
        headers.remove(name);
    }
}

/// The protocol that a message would have its connection upgraded to.
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
    fn fields_of_one_connection_are_not_passed_on() {
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
