//! Checks of the `Host`, `Origin` and `Sec-Fetch-Site` headers of requests.
//!
//! - A listener without credentials accepts a request only if its host is the listener's address, a loopback address,
//!   `localhost` or an allowed host. This prevents DNS rebinding: a page whose host name is rebound to this machine
//!   is rejected.
//! - A foreign `Origin`, or `Sec-Fetch-Site: cross-site`, is rejected, including in a WebSocket handshake.
//! - CORS headers are sent only to allowed origins.
//! - An HTTP/1.1 request without a `Host`, or with two, is a 400 (RFC 9112, 3.2).
//!
//! Limits: ports of hosts are not compared, because a port can be forwarded. An origin without a port is the server's
//! own if its host is accepted, because clients other than browsers send `http://localhost`.
//!
//! Source: RFC 6454 (origins), the Fetch standard (CORS, fetch metadata), `kubectl proxy` (`--accept-hosts`),
//! `--cors-allowed-origins` of Kubernetes v1.2.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    str::FromStr,
};

use bytes::Bytes;
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Uri, Version,
    header::{self, HeaderName, HeaderValue},
    http::uri::Authority,
};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const METHODS: HeaderValue = HeaderValue::from_static("POST, GET, OPTIONS, PUT, DELETE, PATCH");
const HEADERS: HeaderValue = HeaderValue::from_static(
    "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since",
);
/// Time in seconds for which a browser may cache the response to a preflight request.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// Hosts and origins accepted by a listener. Default: its own only.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    hosts: Vec<String>,
    origins: Vec<Origin>,
    /// Whether every host and origin is accepted.
    any: bool,
}

/// An origin: scheme, host and port. Its text form is `http://HOST[:PORT]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    secure: bool,
    host: String,
    port: Option<u16>,
}

impl Origin {
    fn port(&self) -> u16 {
        self.port.unwrap_or(if self.secure { 443 } else { 80 })
    }

    fn is(&self, other: &Self) -> bool {
        (self.secure, &self.host, self.port()) == (other.secure, &other.host, other.port())
    }
}

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not an origin: expected http://HOST[:PORT] or https://HOST[:PORT]");
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong()),
        };
        let authority = uri.authority().ok_or_else(wrong)?;
        let host = host_name(authority).ok_or_else(wrong)?;
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(wrong());
        }
        Ok(Self {
            secure,
            host,
            port: authority.port_u16(),
        })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        match self.host.contains(':') {
            true => write!(f, "{scheme}://[{}]", self.host)?,
            false => write!(f, "{scheme}://{}", self.host)?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// An accepted request.
#[derive(Debug)]
pub struct Accepted {
    /// The allowed foreign origin, for the CORS headers of the response.
    shared_with: Option<HeaderValue>,
    /// Whether the response depends on `Origin`.
    varies: bool,
}

impl Accepted {
    /// Adds the CORS headers to the response, if the request has an allowed foreign origin.
    pub fn share<B>(&self, response: &mut Response<B>) {
        if self.varies {
            response
                .headers_mut()
                .append(header::VARY, HeaderValue::from_static("Origin"));
        }
        if let Some(origin) = &self.shared_with {
            grant(response.headers_mut(), origin);
        }
    }
}

fn grant(headers: &mut HeaderMap, origin: &HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
        HeaderValue::from_static("true"),
    );
}

impl Origins {
    /// Accepts requests for `host`, a name or an IP address, on any port.
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        let host: String = host.into();
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        self.hosts.push(bare);
        self
    }

    /// Accepts requests from pages of `origin`, and sends CORS headers to them.
    pub fn allow_origin(mut self, origin: Origin) -> Self {
        self.origins.push(origin);
        self
    }

    /// Accepts every host and origin, for a listener that requires credentials. CORS headers are still sent only to
    /// allowed origins.
    pub fn with_credentials(mut self) -> Self {
        self.any = true;
        self
    }

    /// Checks a request that arrived at the address `local`.
    ///
    /// # Errors
    /// The response to a rejected request (400 or 403) or to a preflight request (204).
    #[expect(clippy::result_large_err, reason = "the error is the response itself, moved once")]
    pub fn check<B>(&self, request: &Request<B>, local: SocketAddr) -> Result<Accepted, Response<Bytes>> {
        let headers = request.headers();
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(_), Some(_)) => return Err(rejection(StatusCode::BAD_REQUEST, "two Host headers")),
            (None, _) if request.version() >= Version::HTTP_11 => {
                return Err(rejection(StatusCode::BAD_REQUEST, "missing required Host header"));
            }
            (None, _) => None,
            (Some(host), None) => match host.to_str().ok().map(str::parse::<Authority>) {
                Some(Ok(host)) => Some(host),
                _ if host.is_empty() && self.any => None,
                _ => return Err(rejection(StatusCode::BAD_REQUEST, "malformed Host header")),
            },
        };
        if !self.any {
            for named in [host.as_ref(), request.uri().authority()].into_iter().flatten() {
                if !host_name(named).is_some_and(|name| self.is_own(&name, local.ip())) {
                    let text = format!("{named:?} is not a host of this server: --allow-host accepts it");
                    return Err(rejection(StatusCode::FORBIDDEN, &text));
                }
            }
        }
        let allowed = self.check_origin(headers, host.as_ref(), local.ip())?;
        let preflight =
            request.method() == Method::OPTIONS && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        if let (Some(origin), true) = (&allowed, preflight) {
            return Err(preflighted(origin));
        }
        Ok(Accepted {
            shared_with: allowed,
            varies: !self.origins.is_empty(),
        })
    }

    /// Returns the result of [`Origins::check`] for a request whose only relevant header is the `Host` accepted
    /// before; `None` if another header is relevant.
    pub(crate) fn check_plain<B>(&self, request: &Request<B>, accepted: &HeaderValue) -> Option<Accepted> {
        let mut hosts = 0;
        for (name, value) in request.headers() {
            match *name {
                header::HOST if value == accepted => hosts += 1,
                header::HOST | header::ORIGIN => return None,
                _ if *name == SEC_FETCH_SITE => return None,
                _ => {}
            }
        }
        (hosts == 1 && request.uri().authority().is_none()).then_some(Accepted {
            shared_with: None,
            varies: !self.origins.is_empty(),
        })
    }

    /// Returns the origin if it is foreign and allowed, or `None` if it is the server's own or absent.
    #[expect(clippy::result_large_err, reason = "the error is the response itself, moved once")]
    fn check_origin(
        &self,
        headers: &HeaderMap,
        host: Option<&Authority>,
        local: IpAddr,
    ) -> Result<Option<HeaderValue>, Response<Bytes>> {
        let mut sent = headers.get_all(header::ORIGIN).iter();
        let (Some(value), None) = (sent.next(), sent.next()) else {
            let cross_site = headers.get_all(SEC_FETCH_SITE).iter().any(|site| site == "cross-site");
            return if !self.any && (cross_site || headers.contains_key(header::ORIGIN)) {
                let text =
                    "a page of another site has no access: --allow-origin gives access to the pages of an origin";
                Err(rejection(StatusCode::FORBIDDEN, text))
            } else {
                Ok(None)
            };
        };
        let origin = value.to_str().ok().and_then(|text| text.parse::<Origin>().ok());
        if let Some(origin) = &origin {
            if self.origins.iter().any(|allowed| allowed.is(origin)) {
                return Ok(Some(value.clone()));
            }
            let bare = origin.port.is_none() && self.is_own(&origin.host, local);
            if bare || host.is_some_and(|host| is_at(origin, host)) {
                return Ok(None);
            }
        }
        if self.any {
            return Ok(None);
        }
        let text = format!("pages of {value:?} have no access: --allow-origin gives access to the pages of an origin");
        Err(rejection(StatusCode::FORBIDDEN, &text))
    }

    fn is_own(&self, host: &str, local: IpAddr) -> bool {
        match host.parse::<IpAddr>() {
            Ok(ip) if ip.is_loopback() || ip.to_canonical() == local.to_canonical() => true,
            _ => host == "localhost" || self.hosts.iter().any(|allowed| allowed == host),
        }
    }
}

/// Whether `origin` has the host and port of the request itself.
fn is_at(origin: &Origin, host: &Authority) -> bool {
    host_name(host).is_some_and(|name| name == origin.host)
        && match (origin.port, host.port_u16()) {
            (port, Some(own)) => port.unwrap_or_else(|| origin.port()) == own,
            // Behind a gateway with TLS the port is 443, otherwise 80.
            (port, None) => port.is_none_or(|port| port == 80 || port == 443),
        }
}

/// Returns the host of an authority without user information, in lower case and without brackets; `None` if the port
/// is invalid.
fn host_name(authority: &Authority) -> Option<String> {
    let host = authority.host();
    let rest = authority.as_str().strip_prefix(host)?;
    let plain =
        !host.is_empty() && (matches!(rest, "" | ":") || rest.starts_with(':') && authority.port_u16().is_some());
    plain.then(|| host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase())
}

/// Returns the response to a preflight request.
fn preflighted(origin: &HeaderValue) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    grant(headers, origin);
    headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    response
}

fn rejection(code: StatusCode, text: &str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from(format!("{code}: {text}\n")));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn local() -> SocketAddr {
        "127.0.0.1:8080".parse().unwrap()
    }

    fn origins() -> Origins {
        Origins::default()
            .allow_host("api.test")
            .allow_origin("https://page.test".parse().unwrap())
    }

    /// Returns the status of a rejected request, or the origin that its response is shared with.
    fn checked(origins: &Origins, headers: &[(&'static str, &str)]) -> Result<Option<String>, u16> {
        let mut request = Request::new(());
        for (name, value) in headers {
            request.headers_mut().append(*name, value.parse().unwrap());
        }
        let accepted = origins
            .check(&request, local())
            .map_err(|response| response.status().as_u16())?;
        let mut response = Response::new(());
        accepted.share(&mut response);
        let shared = response.headers().get("access-control-allow-origin");
        Ok(shared.map(|origin| origin.to_str().unwrap().to_owned()))
    }

    #[rstest]
    #[case("127.0.0.1:8080", Ok(None))]
    #[case("127.0.0.1", Ok(None))]
    #[case("localhost:9999", Ok(None))]
    #[case("LOCALHOST", Ok(None))]
    #[case("[::1]:8080", Ok(None))]
    #[case("api.test:80", Ok(None))]
    #[case("evil.test", Err(403))]
    #[case("evil.test:8080", Err(403))]
    #[case("localhost.evil.test", Err(403))]
    #[case("127.0.0.1.evil.test", Err(403))]
    #[case("10.0.0.7:8080", Err(403))]
    #[case("localhost@evil.test", Err(403))]
    #[case("localhost@localhost:80", Err(403))]
    #[case("127.0.0.1:99999", Err(403))]
    #[case("localhost:80.evil.test", Err(403))]
    #[case("evil@localhost", Err(403))]
    #[case("", Err(400))]
    #[case("a b", Err(400))]
    fn only_own_hosts_are_accepted(#[case] host: &str, #[case] expected: Result<Option<String>, u16>) {
        assert_eq!(checked(&origins(), &[("host", host)]), expected);
    }

    #[rstest]
    #[case("http://localhost:8080", Ok(None))]
    #[case("http://localhost", Ok(None))]
    #[case("http://127.0.0.1/", Ok(None))]
    #[case("https://page.test", Ok(Some("https://page.test".to_owned())))]
    #[case("https://page.test:443", Ok(Some("https://page.test:443".to_owned())))]
    #[case("http://page.test", Err(403))]
    #[case("https://page.test.evil.test", Err(403))]
    #[case("http://localhost:3000", Err(403))]
    #[case("http://127.0.0.1:8080", Err(403))]
    #[case("http://evil.test", Err(403))]
    #[case("http://evil.test:8080", Err(403))]
    #[case("http://localhost:8080.evil.test", Err(403))]
    #[case("http://localhost:99999", Err(403))]
    #[case("null", Err(403))]
    #[case("file://", Err(403))]
    fn only_own_and_allowed_origins_are_accepted(#[case] origin: &str, #[case] expected: Result<Option<String>, u16>) {
        let headers = [("host", "localhost:8080"), ("origin", origin)];
        assert_eq!(checked(&origins(), &headers), expected);
    }

    #[test]
    fn cross_site_requests_are_rejected_even_without_an_origin() {
        let asked = |headers: &[(&'static str, &str)]| checked(&origins(), headers);
        let host = ("host", "localhost");
        for site in ["none", "same-origin", "same-site"] {
            assert_eq!(asked(&[host, ("sec-fetch-site", site)]), Ok(None), "{site}");
        }
        assert_eq!(asked(&[host, ("sec-fetch-site", "cross-site")]), Err(403));
        let allowed = [host, ("sec-fetch-site", "cross-site"), ("origin", "https://page.test")];
        assert_eq!(asked(&allowed), Ok(Some("https://page.test".to_owned())));
        let two = [host, ("origin", "http://localhost"), ("origin", "http://evil.test")];
        assert_eq!(asked(&two), Err(403));
    }

    #[test]
    fn a_host_is_required_once() {
        assert_eq!(checked(&origins(), &[]), Err(400));
        assert_eq!(checked(&origins().with_credentials(), &[]), Err(400));
        assert_eq!(
            checked(&origins(), &[("host", "localhost"), ("host", "localhost")]),
            Err(400)
        );
        let mut old = Request::new(());
        *old.version_mut() = Version::HTTP_10;
        assert!(origins().check(&old, local()).is_ok());
    }

    #[test]
    fn the_host_of_an_absolute_target_is_checked_as_well() {
        let request = Request::get("http://evil.test/api")
            .header("host", "localhost")
            .body(())
            .unwrap();
        assert_eq!(origins().check(&request, local()).unwrap_err().status(), 403);
    }

    #[test]
    fn a_listener_with_credentials_accepts_every_host_and_shares_with_allowed_origins_only() {
        let origins = origins().with_credentials();
        assert_eq!(checked(&origins, &[("host", "evil.test")]), Ok(None));
        let ask = |origin| checked(&origins, &[("host", "evil.test"), ("origin", origin)]);
        assert_eq!(ask("http://else.test"), Ok(None));
        assert_eq!(ask("https://page.test"), Ok(Some("https://page.test".to_owned())));
    }

    #[test]
    fn a_preflight_request_succeeds_for_allowed_origins() {
        let preflight = |origin: &str| {
            let request = Request::options("/api")
                .header("host", "localhost")
                .header("origin", origin)
                .header("access-control-request-method", "PUT")
                .body(())
                .unwrap();
            origins().check(&request, local()).unwrap_err()
        };
        let granted = preflight("https://page.test");
        assert_eq!(granted.status(), 204);
        assert_eq!(granted.headers()["access-control-allow-origin"], "https://page.test");
        assert_eq!(
            granted.headers()["access-control-allow-methods"],
            "POST, GET, OPTIONS, PUT, DELETE, PATCH"
        );
        let refused = preflight("http://evil.test");
        assert_eq!(refused.status(), 403);
        assert!(!refused.headers().contains_key("access-control-allow-origin"));
    }

    #[rstest]
    #[case("http://a.test", Some("http://a.test"))]
    #[case("https://A.test:8443/", Some("https://a.test:8443"))]
    #[case("http://[::1]:80", Some("http://[::1]:80"))]
    #[case("a.test", None)]
    #[case("ftp://a.test", None)]
    #[case("http://a.test/path", None)]
    #[case("http://u@a.test", None)]
    #[case("http://a.test:80.b.test", None)]
    #[case("*", None)]
    fn an_origin_is_a_scheme_a_host_and_a_port(#[case] text: &str, #[case] origin: Option<&str>) {
        assert_eq!(
            text.parse::<Origin>().ok().map(|origin| origin.to_string()).as_deref(),
            origin
        );
    }
}
