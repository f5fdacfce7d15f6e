//! Certificates and private keys in PEM.

use rustls::pki_types::{
    CertificateDer, PrivateKeyDer,
    pem::{Error, PemObject},
};

/// An error in a PEM text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PemError {
    /// The text is not PEM of the expected kind.
    #[error("{what}: not PEM of the expected kind: {source}")]
    Malformed {
        /// Name of the text.
        what: &'static str,
        /// The cause.
        source: Error,
    },
    /// The text contains no certificate.
    #[error("{what}: no certificate in the PEM text")]
    Empty {
        /// Name of the text.
        what: &'static str,
    },
}

/// Reads the certificates of a PEM text. `what` is the name of the text in errors.
///
/// # Errors
/// [`PemError`] if the text is malformed or has no certificate.
pub fn certificates(what: &'static str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, PemError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all = all.map_err(|source| PemError::Malformed { what, source })?;
    if all.is_empty() {
        return Err(PemError::Empty { what });
    }
    Ok(all)
}

/// A certificate chain and its private key, for either side of TLS.
#[derive(Debug)]
pub struct Identity {
    /// The certificate, followed by its chain to the root.
    pub certificates: Vec<CertificateDer<'static>>,
    /// Private key of the first certificate.
    pub key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Reads a certificate chain and its private key (PKCS#1, PKCS#8 or SEC1), both in PEM.
    ///
    /// # Errors
    /// [`PemError`] if a text is malformed, or there is no certificate.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, PemError> {
        let what = "private key";
        Ok(Self {
            certificates: certificates("certificate", certificate)?,
            key: PrivateKeyDer::from_pem_slice(key).map_err(|source| PemError::Malformed { what, source })?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_a_chain_and_a_key() {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        let chain = format!("{certificate}{certificate}");
        let identity = Identity::from_pem(chain.as_bytes(), key.as_bytes()).unwrap();
        assert_eq!(identity.certificates.len(), 2);
        assert_eq!(identity.key.secret_der(), made.signing_key.serialize_der());
    }

    #[test]
    fn errors_name_the_text() {
        let text = |error: PemError| error.to_string();
        assert_eq!(
            text(Identity::from_pem(b"", b"").unwrap_err()),
            "certificate: no certificate in the PEM text"
        );
        assert!(
            text(certificates("client CA", b"-----BEGIN CERTIFICATE-----\n!\n").unwrap_err())
                .starts_with("client CA: ")
        );
        let certificate = rcgen::generate_simple_self_signed([]).unwrap().cert.pem();
        assert!(text(Identity::from_pem(certificate.as_bytes(), b"none").unwrap_err()).starts_with("private key: "));
    }
}
