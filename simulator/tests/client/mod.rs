//! An HTTP client for tests.

/// A client. Its TLS, which is not used, needs a provider of cryptography.
pub(crate) fn client() -> reqwest::Client {
    let _installed = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}
