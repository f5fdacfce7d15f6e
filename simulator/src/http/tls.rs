//! TLS of the secure listener.
//!
//! - The server certificate is given, or generated at the start and signed by a generated CA.
//! - Client certificates are optional; [`Tls::user`] returns their user. An invalid one does not fail the handshake,
//!   but has no user.
//! - Limits: keys come from the system's random number generator, not from the seed.
//!
//! Source: the secure port of Kubernetes v1.2 (`--tls-cert-file`, `--client-ca-file`): the user is the certificate's
//! common name.

use std::{fmt, sync::Arc};

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        self, DigitallySignedStruct, DistinguishedName, RootCertStore, ServerConfig, SignatureScheme,
        client::danger::HandshakeSignatureValid,
        crypto::ring,
        pki_types::{CertificateDer, UnixTime},
        server::{
            ParsedCertificate, WebPkiClientVerifier,
            danger::{ClientCertVerified, ClientCertVerifier},
        },
    },
};

use stuntdouble_server::{PemError, certificates};

use super::credentials::{Secret, User};

/// The certificate of the server.
#[derive(Clone, Debug)]
pub enum Identity {
    /// Generated for these names and addresses.
    Made {
        /// Host names and IP addresses.
        names: Vec<String>,
    },
    /// A given certificate and key, both PEM.
    Given {
        /// Certificate with its chain.
        certificate: String,
        /// Private key.
        key: Secret,
    },
}

impl Identity {
    /// Returns the settings of a generated certificate for the names of an API server and `addresses`.
    pub fn made(addresses: impl IntoIterator<Item = String>) -> Self {
        let names = [
            "localhost",
            "127.0.0.1",
            "::1",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
        ];
        let mut names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        for address in addresses {
            if !names.contains(&address) {
                names.push(address);
            }
        }
        Self::Made { names }
    }
}

/// An error of certificates or keys.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A certificate or private key is not valid PEM.
    #[error(transparent)]
    Pem(#[from] PemError),
    /// The certificate or its key cannot be used.
    #[error("the certificate cannot be used: {0}")]
    Unusable(#[from] rustls::Error),
    /// The CA of client certificates cannot be used.
    #[error("invalid CA of client certificates: {0}")]
    Authority(#[from] rustls::server::VerifierBuilderError),
    /// A certificate could not be generated.
    #[error("cannot generate a certificate: {0}")]
    Make(#[from] rcgen::Error),
}

/// A certificate and its key, both PEM.
#[derive(Clone, Debug)]
pub struct ClientCertificate {
    /// Certificate.
    pub certificate: String,
    /// Private key.
    pub key: Secret,
}

/// TLS of a listener.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    authority: String,
    client: ClientCertificate,
    verifier: Arc<dyn ClientCertVerifier>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

/// User of the generated client certificate.
const ADMIN: &str = "admin";

impl Tls {
    /// Creates TLS settings. Client certificates are verified against the generated CA and, if given, the CA
    /// `client_authority` (PEM).
    ///
    /// # Errors
    /// [`TlsError`] if a certificate, key or CA cannot be used.
    pub fn new(identity: &Identity, client_authority: Option<&str>) -> Result<Self, TlsError> {
        let own = authority()?;
        let client = issue(&own, Vec::new(), ADMIN, ExtendedKeyUsagePurpose::ClientAuth)?;
        let (served, authority) = match identity {
            Identity::Made { names } => (
                issue(&own, names.clone(), "stuntdouble", ExtendedKeyUsagePurpose::ServerAuth)?,
                own.pem(),
            ),
            Identity::Given { certificate, key } => (
                ClientCertificate {
                    certificate: certificate.clone(),
                    key: key.clone(),
                },
                certificate.clone(),
            ),
        };
        let mut roots = RootCertStore::empty();
        roots.add(own.der().clone())?;
        for root in client_authority
            .map(|pem| certificates("client CA", pem.as_bytes()))
            .transpose()?
            .into_iter()
            .flatten()
        {
            roots.add(root)?;
        }
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build()?;
        let served =
            stuntdouble_server::Identity::from_pem(served.certificate.as_bytes(), served.key.reveal().as_bytes())?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(Arc::new(AnyClient(Arc::clone(&verifier))))
            .with_single_cert(served.certificates, served.key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            authority,
            client,
            verifier,
        })
    }

    /// Acceptor of connections.
    pub fn acceptor(&self) -> &TlsAcceptor {
        &self.acceptor
    }

    /// Certificate of the CA that signed the server's (PEM).
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Client certificate of the user `admin`.
    pub fn client_certificate(&self) -> &ClientCertificate {
        &self.client
    }

    /// Returns the user of the client certificates `presented`, verified at the time `now`. `None` without a valid
    /// certificate.
    pub fn user(&self, presented: &[CertificateDer<'_>], now: Timestamp) -> Option<User> {
        let (first, chain) = presented.split_first()?;
        let now =
            UnixTime::since_unix_epoch(std::time::Duration::try_from(now.duration_since(Timestamp::UNIX_EPOCH)).ok()?);
        self.verifier.verify_client_cert(first, chain, now).ok()?;
        let (_, certificate) = x509_parser::parse_x509_certificate(first).ok()?;
        let name = certificate
            .subject()
            .iter_common_name()
            .next()?
            .as_str()
            .ok()?
            .to_owned();
        Some(User {
            name,
            uid: String::new(),
            groups: Vec::new(),
        })
    }
}

fn authority() -> Result<CertifiedIssuer<'static, KeyPair>, TlsError> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "stuntdouble-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    Ok(CertifiedIssuer::self_signed(params, KeyPair::generate()?)?)
}

fn issue(
    authority: &CertifiedIssuer<'static, KeyPair>,
    names: Vec<String>,
    common_name: &str,
    usage: ExtendedKeyUsagePurpose,
) -> Result<ClientCertificate, TlsError> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![usage];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, authority)?;
    Ok(ClientCertificate {
        certificate: certificate.pem(),
        key: Secret::new(key.serialize_pem()),
    })
}

/// Accepts every client certificate in the handshake. It is verified later, so that the response can be a 401.
#[derive(Debug)]
struct AnyClient(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for AnyClient {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if is_unreadable(certificate) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        if is_unreadable(certificate) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// Whether signatures cannot be verified with a certificate, such as one of version 1. [`Tls::user`] returns no user
/// for it.
fn is_unreadable(certificate: &CertificateDer<'_>) -> bool {
    ParsedCertificate::try_from(certificate).is_err()
}

#[cfg(test)]
mod tests {
    use rustls::{ClientConfig, pki_types::ServerName};
    use tokio_rustls::TlsConnector;

    use super::*;

    /// Connects a client that trusts `trusted` and presents `shown`; returns its user.
    async fn connect_as(
        server: &Tls,
        trusted: &str,
        name: &str,
        shown: Option<&ClientCertificate>,
    ) -> Result<Option<String>, String> {
        let mut roots = RootCertStore::empty();
        roots
            .add(certificates("trusted", trusted.as_bytes()).unwrap().remove(0))
            .unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap();
        let config = config.with_root_certificates(roots);
        let config = match shown {
            Some(ClientCertificate { certificate, key }) => {
                let shown =
                    stuntdouble_server::Identity::from_pem(certificate.as_bytes(), key.reveal().as_bytes()).unwrap();
                config.with_client_auth_cert(shown.certificates, shown.key).unwrap()
            }
            None => config.with_no_client_auth(),
        };
        let (near, far) = tokio::io::duplex(64 * 1024);
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        let (client, accepted) = tokio::join!(connector.connect(name, near), server.acceptor().accept(far));
        client.map_err(|error| error.to_string())?;
        let now = "2016-03-17T00:00:00Z".parse().unwrap();
        let accepted = accepted.unwrap();
        let presented = accepted.get_ref().1.peer_certificates().unwrap_or_default();
        Ok(server.user(presented, now).map(|user| user.name))
    }

    #[tokio::test]
    async fn a_generated_certificate_is_valid_for_its_names_and_verifies_its_clients() {
        let tls = Tls::new(&Identity::made(["10.0.0.1".to_owned()]), None).unwrap();
        for name in ["localhost", "127.0.0.1", "kubernetes.default.svc", "10.0.0.1"] {
            assert_eq!(connect_as(&tls, tls.authority(), name, None).await, Ok(None), "{name}");
        }
        assert!(connect_as(&tls, tls.authority(), "example.com", None).await.is_err());
        assert_eq!(
            connect_as(&tls, tls.authority(), "localhost", Some(tls.client_certificate())).await,
            Ok(Some("admin".to_owned()))
        );
    }

    #[tokio::test]
    async fn a_client_of_another_ca_is_anonymous_unless_that_ca_is_configured() {
        let other = Tls::new(&Identity::made([]), None).unwrap();
        let tls = Tls::new(&Identity::made([]), None).unwrap();
        assert_eq!(
            connect_as(&tls, tls.authority(), "localhost", Some(other.client_certificate())).await,
            Ok(None)
        );
        let tls = Tls::new(&Identity::made([]), Some(other.authority())).unwrap();
        assert_eq!(
            connect_as(&tls, tls.authority(), "localhost", Some(other.client_certificate())).await,
            Ok(Some("admin".to_owned()))
        );
    }

    #[tokio::test]
    async fn a_client_certificate_of_version_1_has_no_user() {
        let tls = Tls::new(&Identity::made([]), None).unwrap();
        let ClientCertificate { certificate, key } = tls.client_certificate();
        let identity = stuntdouble_server::Identity::from_pem(certificate.as_bytes(), key.reveal().as_bytes()).unwrap();
        let mut der = identity.certificates[0].to_vec();
        let version = [0xa0, 3, 2, 1, 2];
        let at = der.windows(version.len()).position(|part| part == version).unwrap();
        der[at + 4] = 0;
        let key = ring::sign::any_supported_type(&identity.key).unwrap();
        let shown = rustls::sign::CertifiedKey::new(vec![der.into()], key);
        let mut roots = RootCertStore::empty();
        roots
            .add(certificates("trusted", tls.authority().as_bytes()).unwrap().remove(0))
            .unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_client_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(shown)));
        let (near, far) = tokio::io::duplex(64 * 1024);
        let name = ServerName::try_from("localhost").unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        let (client, accepted) = tokio::join!(connector.connect(name, near), tls.acceptor().accept(far));
        let (_client, accepted) = (client.unwrap(), accepted.unwrap());
        let presented = accepted.get_ref().1.peer_certificates().unwrap();
        assert_eq!(presented.len(), 1);
        assert_eq!(tls.user(presented, "2016-03-17T00:00:00Z".parse().unwrap()), None);
    }

    #[tokio::test]
    async fn a_given_certificate_is_presented_and_an_invalid_one_is_an_error() {
        let own = authority().unwrap();
        let given = issue(
            &own,
            vec!["api.test".to_owned()],
            "given",
            ExtendedKeyUsagePurpose::ServerAuth,
        )
        .unwrap();
        let identity = Identity::Given {
            certificate: format!("{}{}", given.certificate, own.pem()),
            key: given.key.clone(),
        };
        let tls = Tls::new(&identity, None).unwrap();
        assert_eq!(connect_as(&tls, &own.pem(), "api.test", None).await, Ok(None));
        let empty = Identity::Given {
            certificate: String::new(),
            key: given.key,
        };
        assert_eq!(
            Tls::new(&empty, None).err().unwrap().to_string(),
            "certificate: no certificate in the PEM text"
        );
        assert!(Tls::new(&Identity::made([]), Some("nonsense")).is_err());
    }
}
