//! Negotiation of the protocol and its version.
//!
//! Source: Kubernetes (`pkg/util/httpstream`, `pkg/util/wsstream`): the first supported protocol of the client; the
//! first version if the client names none.

use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::{
    api::{Reason, Status},
    http::{body::Body, negotiation, respond, websocket},
};

/// Versions of the remote-command protocol over SPDY, newest first.
const SPDY_VERSIONS: [&str; 4] = [
    "v4.channel.k8s.io",
    "v3.channel.k8s.io",
    "v2.channel.k8s.io",
    "channel.k8s.io",
];

/// Version of the port-forwarding protocol.
const PORT_FORWARD: &str = "portforward.k8s.io";

/// Subprotocols over WebSocket.
const WEBSOCKET_PROTOCOLS: [&str; 5] = [
    "v5.channel.k8s.io",
    "v4.channel.k8s.io",
    "v4.base64.channel.k8s.io",
    "channel.k8s.io",
    "base64.channel.k8s.io",
];

/// The protocol of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Upgrade {
    /// SPDY/3.1, with this version of the protocol on top of it.
    Spdy {
        /// The version; empty if the client named none.
        version: &'static str,
    },
    /// WebSocket messages that begin with a channel.
    WebSocket {
        /// Subprotocol; empty if the client named none.
        protocol: &'static str,
    },
}

impl Upgrade {
    /// Negotiates the protocol of remote commands or, with `ports`, of port forwarding.
    ///
    /// # Errors
    /// The client requests no upgrade, or an unsupported one.
    pub(crate) fn negotiate(headers: &HeaderMap, ports: bool) -> Result<Self, Status> {
        if !websocket::upgrades(headers) {
            return Err(Status::bad_request("Upgrade request required"));
        }
        if websocket::is_websocket_request(headers) {
            let requested = listed(headers, &header::SEC_WEBSOCKET_PROTOCOL);
            // Newer clients forward ports over WebSocket with SPDY inside, and fall back to SPDY if that is rejected.
            let known: &[&str] = if ports { &[] } else { &WEBSOCKET_PROTOCOLS };
            let protocol = if requested.is_empty() && !ports {
                Some("")
            } else {
                pick(&requested, known)
            };
            let refused = || {
                Status::new(
                    Reason::Forbidden,
                    format!(
                        "requested protocol(s) are not supported: [{}]; supports [{}]",
                        requested.join(" "),
                        known.join(" ")
                    ),
                )
            };
            return protocol
                .map(|protocol| Self::WebSocket { protocol })
                .ok_or_else(refused);
        }
        if !negotiation::header(headers, header::UPGRADE)
            .is_some_and(|upgrade| upgrade.eq_ignore_ascii_case("SPDY/3.1"))
        {
            return Err(Status::bad_request(
                "unable to upgrade: missing upgrade headers in request: the protocols are SPDY/3.1 and websocket",
            ));
        }
        let requested = listed(headers, &PROTOCOL_VERSION);
        let known: &[&'static str] = if ports { &[PORT_FORWARD] } else { &SPDY_VERSIONS };
        let version = if requested.is_empty() {
            Some("")
        } else {
            pick(&requested, known)
        };
        let refused = || {
            let (client, server) = (requested.join(" "), known.join(" "));
            Status::new(
                Reason::Forbidden,
                format!(
                    "unable to upgrade: unable to negotiate protocol: client supports [{client}], server accepts \
                        [{server}]"
                ),
            )
        };
        version.map(|version| Self::Spdy { version }).ok_or_else(refused)
    }

    /// Returns the response that accepts the upgrade.
    ///
    /// # Errors
    /// 400 if the WebSocket handshake is malformed.
    pub(crate) fn accept(&self, headers: &HeaderMap) -> Result<Response<Body>, Status> {
        let mut response = respond::empty(StatusCode::SWITCHING_PROTOCOLS);
        let fields = response.headers_mut();
        fields.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        match self {
            Self::Spdy { version } => {
                fields.insert(header::UPGRADE, HeaderValue::from_static("SPDY/3.1"));
                if !version.is_empty() {
                    fields.insert(&PROTOCOL_VERSION, HeaderValue::from_static(version));
                }
            }
            Self::WebSocket { protocol } => {
                let version = negotiation::header(headers, header::SEC_WEBSOCKET_VERSION);
                let key = headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| version == Some("13"));
                let accept = key.and_then(|key| HeaderValue::from_str(&derive_accept_key(key.as_bytes())).ok());
                fields.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
                fields.insert(
                    header::SEC_WEBSOCKET_ACCEPT,
                    accept.ok_or_else(|| {
                        Status::bad_request("malformed WebSocket handshake: it needs version 13 and a key")
                    })?,
                );
                if !protocol.is_empty() {
                    fields.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
                }
            }
        }
        Ok(response)
    }
}

static PROTOCOL_VERSION: header::HeaderName = header::HeaderName::from_static("x-stream-protocol-version");

fn listed<'a>(headers: &'a HeaderMap, name: &header::HeaderName) -> Vec<&'a str> {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|p| !p.is_empty())
        .collect()
}

/// Returns the first of the client's protocols that is supported.
fn pick(requested: &[&str], known: &[&'static str]) -> Option<&'static str> {
    requested
        .iter()
        .find_map(|requested| known.iter().find(|known| *known == requested))
        .copied()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| {
                (
                    header::HeaderName::from_static(name),
                    HeaderValue::from_str(value).unwrap(),
                )
            })
            .collect()
    }

    #[rstest]
    #[case(&[], false, Err((400, "Upgrade request required")))]
    #[case(&[("upgrade", "SPDY/3.1")], false, Ok(Upgrade::Spdy { version: "" }))]
    #[case(&[("upgrade", "SPDY/3.1"), ("x-stream-protocol-version", "v9, v3.channel.k8s.io,v4.channel.k8s.io")],
        false, Ok(Upgrade::Spdy { version: "v3.channel.k8s.io" }))]
    #[case(&[("upgrade", "SPDY/3.1"), ("x-stream-protocol-version", "portforward.k8s.io")], true,
        Ok(Upgrade::Spdy { version: "portforward.k8s.io" }))]
    #[case(&[("upgrade", "SPDY/3.1"), ("x-stream-protocol-version", "v9")], true, Err((403,
        "unable to upgrade: unable to negotiate protocol: client supports [v9], server accepts [portforward.k8s.io]")))]
    #[case(&[("upgrade", "h2c")], false, Err((400, "unable to upgrade: missing upgrade headers in request: the \
        protocols are SPDY/3.1 and websocket")))]
    #[case(&[("upgrade", "WebSocket")], false, Ok(Upgrade::WebSocket { protocol: "" }))]
    #[case(&[("upgrade", "websocket"), ("sec-websocket-protocol", "x, base64.channel.k8s.io")], false,
        Ok(Upgrade::WebSocket { protocol: "base64.channel.k8s.io" }))]
    #[case(&[("upgrade", "websocket"), ("sec-websocket-protocol", "v5.channel.k8s.io, v4.channel.k8s.io")], false,
        Ok(Upgrade::WebSocket { protocol: "v5.channel.k8s.io" }))]
    #[case(&[("upgrade", "websocket"), ("sec-websocket-protocol", "SPDY/3.1+portforward.k8s.io")], true, Err((403,
        "requested protocol(s) are not supported: [SPDY/3.1+portforward.k8s.io]; supports []")))]
    fn the_first_supported_protocol_is_chosen(
        #[case] pairs: &[(&'static str, &str)],
        #[case] ports: bool,
        #[case] spoken: Result<Upgrade, (u16, &str)>,
    ) {
        let mut headers = headers(pairs);
        if !pairs.is_empty() {
            headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
        }
        let negotiated = Upgrade::negotiate(&headers, ports).map_err(|status| (status.code, status.message));
        assert_eq!(
            negotiated.as_ref().map_err(|(code, text)| (*code, text.as_str())),
            spoken.as_ref().map_err(|refusal| *refusal)
        );
    }

    #[test]
    fn the_response_names_the_protocol() {
        let requested = headers(&[
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ]);
        let accepted = Upgrade::WebSocket {
            protocol: "v4.channel.k8s.io",
        }
        .accept(&requested)
        .unwrap();
        assert_eq!(accepted.status(), 101);
        assert_eq!(
            accepted.headers()["sec-websocket-accept"],
            "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        );
        assert_eq!(accepted.headers()["sec-websocket-protocol"], "v4.channel.k8s.io");
        assert!(Upgrade::WebSocket { protocol: "" }.accept(&HeaderMap::new()).is_err());
        let accepted = Upgrade::Spdy {
            version: "v4.channel.k8s.io",
        }
        .accept(&HeaderMap::new())
        .unwrap();
        assert_eq!(accepted.headers()["x-stream-protocol-version"], "v4.channel.k8s.io");
    }
}
