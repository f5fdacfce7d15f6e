//! Checks of the origins of a connection's requests.
//!
//! The requests of a connection usually have the same `Host`: after the first request it is only compared.

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use hyper::{
    Request, Response,
    header::{self, HeaderValue},
};

use crate::{Accepted, Origins};

/// Checks the requests of one connection.
#[derive(Debug)]
pub struct ConnectionOrigins {
    origins: Arc<Origins>,
    local: SocketAddr,
    /// The `Host` of the first accepted request.
    accepted: OnceLock<HeaderValue>,
}

impl ConnectionOrigins {
    /// Creates the checks of `origins` for a connection that arrived at the address `local`.
    pub fn new(origins: Arc<Origins>, local: SocketAddr) -> Self {
        Self {
            origins,
            local,
            accepted: OnceLock::new(),
        }
    }

    /// Checks a request.
    ///
    /// # Errors
    /// Those of [`Origins::check`].
    #[expect(clippy::result_large_err, reason = "the error is the response itself, moved once")]
    pub fn check<B>(&self, request: &Request<B>) -> Result<Accepted, Response<Bytes>> {
        let known = self.accepted.get();
        if let Some(accepted) = known.and_then(|host| self.origins.check_plain(request, host)) {
            return Ok(accepted);
        }
        let accepted = self.origins.check(request, self.local)?;
        if let (None, Some(host)) = (known, request.headers().get(header::HOST)) {
            // Requests of one connection are not concurrent.
            let _ = self.accepted.set(host.clone());
        }
        Ok(accepted)
    }
}

#[cfg(test)]
mod tests {
    use hyper::Method;

    use super::*;

    fn checked(origins: &ConnectionOrigins, uri: &str, headers: &[(&'static str, &str)]) -> u16 {
        let mut request = Request::builder().method(Method::GET).uri(uri).body(()).unwrap();
        for (name, value) in headers {
            request.headers_mut().append(*name, value.parse().unwrap());
        }
        origins
            .check(&request)
            .map_or_else(|refusal| refusal.status().as_u16(), |_| 200)
    }

    #[test]
    fn later_requests_are_checked_like_the_first() {
        let origins = ConnectionOrigins::new(Arc::default(), "127.0.0.1:8080".parse().unwrap());
        let host = ("host", "localhost:8080");
        for _ in 0..2 {
            assert_eq!(checked(&origins, "/", &[("host", "evil.test")]), 403);
            assert_eq!(checked(&origins, "/", &[host]), 200);
            assert_eq!(checked(&origins, "/", &[]), 400);
            assert_eq!(checked(&origins, "/", &[host, host]), 400);
            assert_eq!(checked(&origins, "/", &[host, ("host", "evil.test")]), 400);
            assert_eq!(checked(&origins, "http://evil.test/", &[host]), 403);
            assert_eq!(checked(&origins, "/", &[host, ("origin", "http://evil.test")]), 403);
            assert_eq!(checked(&origins, "/", &[host, ("sec-fetch-site", "cross-site")]), 403);
            assert_eq!(checked(&origins, "/", &[("host", "127.0.0.1")]), 200);
        }
    }
}
