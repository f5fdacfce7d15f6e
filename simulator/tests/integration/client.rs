//! An HTTP client for tests.

/// Creates a client. Its TLS is not used, but needs a cryptography provider.
pub(crate) fn client() -> reqwest::Client {
    let _installed = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}
