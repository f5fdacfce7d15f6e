//! An HTTP client for tests.

/// Creates a client for plain HTTP, which reads no certificates. Even so, it needs a cryptography provider.
pub(crate) fn client() -> reqwest::Client {
    let _installed = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().tls_certs_only([]).build().unwrap()
}
