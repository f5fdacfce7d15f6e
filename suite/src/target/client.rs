//! HTTP clients with credentials.

use std::time::Duration;

use base64::Engine;
use http::HeaderValue;

use super::{Credentials, TargetError};

/// Time limit of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time after which an unused connection is not used again. Many servers close one after 60 s, and a request that is
/// sent at that moment would be lost.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Returns the innermost cause of an error.
pub(super) fn reason(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// Creates a client for the server at `url` with credentials.
pub(crate) fn client(url: &str, credentials: &Credentials) -> Result<reqwest::Client, TargetError> {
    let failed = |error: reqwest::Error| TargetError::Client(reason(&error));
    // Fails if the same provider is already installed.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .no_proxy()
        .http1_only()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .user_agent(concat!("stuntdouble/", env!("CARGO_PKG_VERSION")));
    if let Some(authorities) = &credentials.authorities {
        builder = builder.tls_certs_only(reqwest::Certificate::from_pem_bundle(authorities).map_err(failed)?);
    } else if !url::Url::parse(url).is_ok_and(|url| url.scheme() == "https") {
        // Reading the system's certificates takes longer than a trial.
        builder = builder.tls_certs_only([]);
    }
    if let Some(identity) = &credentials.identity {
        builder = builder.identity(reqwest::Identity::from_pem(identity).map_err(failed)?);
    }
    if credentials.insecure {
        builder = builder.tls_danger_accept_invalid_certs(true);
    }
    builder.build().map_err(failed)
}

pub(super) fn authorization(credentials: &Credentials) -> Result<Option<HeaderValue>, TargetError> {
    let value = match (&credentials.token, &credentials.basic) {
        (Some(token), _) => format!("Bearer {token}"),
        (None, Some(basic)) => format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(basic)),
        (None, None) => return Ok(None),
    };
    let mut value = HeaderValue::from_str(&value)
        .map_err(|_| TargetError::Client("the credentials contain characters that a header cannot have".to_owned()))?;
    value.set_sensitive(true);
    Ok(Some(value))
}
