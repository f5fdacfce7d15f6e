//! Credentials, trusted certificates, and TLS settings.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, ServerConfig, SignatureScheme};
use std::sync::Arc;
use stuntdouble_server::{Identity, PemError};
use tokio_rustls::TlsAcceptor;

/// Credentials and trusted certificates of a client.
#[derive(Clone, Default)]
pub struct Credentials {
    /// A bearer token.
    pub token: Option<String>,
    /// User and password.
    pub basic: Option<(String, String)>,
    /// Chain and key of a client certificate, both in PEM.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// Trusted certificates in addition to those of the system, in PEM.
    pub authority: Option<Vec<u8>>,
    /// Whether any certificate is accepted.
    pub insecure: bool,
}

impl std::fmt::Debug for Credentials {
    /// Shows which credentials are present, never their values.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials")
            .field("token", &self.token.is_some())
            .field("basic", &self.basic.is_some())
            .field("identity", &self.identity.is_some())
            .field("authority", &self.authority.is_some())
            .field("insecure", &self.insecure)
            .finish()
    }
}

/// Errors of starting a client or server.
#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    /// A certificate or key is invalid.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// A PEM text is invalid.
    #[error("{what}: {source}")]
    Pem {
        /// Name of the text.
        what: &'static str,
        /// The error.
        source: rustls::pki_types::pem::Error,
    },
    /// The certificate or key of a listener is invalid.
    #[error(transparent)]
    Identity(#[from] PemError),
    /// A credential has characters that are not allowed in a header.
    #[error("a credential has characters that are not allowed in a header")]
    Credential,
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The URL of the upstream is not an HTTP or HTTPS URL.
    #[error("{0} is not an http or https URL of a server")]
    Upstream(String),
}

impl Credentials {
    /// The value of `Authorization`.
    ///
    /// # Errors
    /// If a credential has characters that are not allowed in a header.
    pub fn authorization(&self) -> Result<Option<HeaderValue>, TransportError> {
        let text = match (&self.token, &self.basic) {
            (Some(token), _) => format!("Bearer {token}"),
            (None, Some((user, password))) => {
                format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
            }
            (None, None) => return Ok(None),
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| TransportError::Credential)?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// TLS settings of the client.
    pub(super) fn tls(&self) -> Result<ClientConfig, TransportError> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
        let builder = if self.insecure {
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AcceptAnyCertificate(provider)))
        } else {
            builder.with_root_certificates(self.roots()?)
        };
        let Some((certificates, key)) = &self.identity else {
            return Ok(builder.with_no_client_auth());
        };
        let pem = |what| move |source| TransportError::Pem { what, source };
        let certificates = CertificateDer::pem_slice_iter(certificates)
            .collect::<Result<Vec<_>, _>>()
            .map_err(pem("the client certificate"))?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(pem("the client key"))?;
        Ok(builder.with_client_auth_cert(certificates, key)?)
    }

    fn roots(&self) -> Result<RootCertStore, TransportError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        for certificate in CertificateDer::pem_slice_iter(self.authority.as_deref().unwrap_or_default()) {
            let what = "the certificate authority";
            roots.add(certificate.map_err(|source| TransportError::Pem { what, source })?)?;
        }
        Ok(roots)
    }
}

/// A TLS acceptor for HTTP/2 and HTTP/1.1 with this certificate chain and key, both in PEM.
pub(super) fn acceptor((certificates, key): &(Vec<u8>, Vec<u8>)) -> Result<TlsAcceptor, TransportError> {
    let identity = Identity::from_pem(certificates, key)?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(identity.certificates, identity.key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Accepts any certificate, but verifies the signature by its key.
#[derive(Debug)]
struct AcceptAnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_never_shown() {
        let credentials = Credentials {
            token: Some("s3cret".into()),
            ..Credentials::default()
        };
        assert!(!format!("{credentials:?}").contains("s3cret"));
    }

    #[test]
    fn an_invalid_certificate_is_an_error() {
        let identity = Some((b"-----BEGIN CERTIFICATE-----\n!\n".to_vec(), b"no key".to_vec()));
        assert!(matches!(
            Credentials {
                identity,
                ..Credentials::default()
            }
            .tls(),
            Err(TransportError::Pem { .. })
        ));
    }
}
