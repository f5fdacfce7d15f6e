//! Settings and errors of an etcd cluster.

use std::fmt;

use tonic::transport::{Certificate, ClientTlsConfig, Identity};

/// Etcd cluster that stores the objects. Simulators over the same cluster and prefix share their objects.
///
/// ```
/// use stuntdouble_simulator::{Etcd, Simulator};
///
/// let etcd = Etcd::new(["http://127.0.0.1:2379"]).prefix("/my-cluster");
/// let builder = Simulator::builder().etcd(etcd);
/// ```
#[derive(Clone)]
pub struct Etcd {
    pub(super) endpoints: Vec<String>,
    pub(super) prefix: String,
    pub(super) authority: Option<String>,
    pub(super) identity: Option<(String, String)>,
    pub(super) user: Option<(String, String)>,
}

impl fmt::Debug for Etcd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Etcd")
            .field("members", &self.endpoints)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

impl Etcd {
    /// Settings of the cluster with members at these URLs, `http://HOST:PORT` or `https://HOST:PORT`.
    pub fn new(endpoints: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            prefix: "/stuntdouble".to_owned(),
            authority: None,
            identity: None,
            user: None,
        }
    }

    /// Prefix of every key. Default: `/stuntdouble`.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into().trim_end_matches('/').to_owned();
        self
    }

    /// Certificate authority (PEM) of the members' certificates. Required for `https`.
    pub fn authority(mut self, pem: impl Into<String>) -> Self {
        self.authority = Some(pem.into());
        self
    }

    /// Client certificate and key (PEM).
    pub fn identity(mut self, certificate: impl Into<String>, key: impl Into<String>) -> Self {
        self.identity = Some((certificate.into(), key.into()));
        self
    }

    /// Name and password of an etcd user.
    pub fn user(mut self, name: impl Into<String>, password: impl Into<String>) -> Self {
        self.user = Some((name.into(), password.into()));
        self
    }

    /// TLS settings for `https` members.
    pub(super) fn tls(&self) -> Result<ClientTlsConfig, EtcdError> {
        let Some(authority) = &self.authority else {
            let why = "an https URL needs the authority that signs its certificate (--etcd-ca)";
            return Err(EtcdError::Settings(why.to_owned()));
        };
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority));
        Ok(match &self.identity {
            Some((certificate, key)) => tls.identity(Identity::from_pem(certificate, key)),
            None => tls,
        })
    }
}

/// Error of an etcd cluster. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum EtcdError {
    /// The settings are invalid.
    #[error("etcd: {0}")]
    Settings(String),
    /// No member answers as expected.
    #[error(
        "etcd does not answer: {0}; \
         check its URLs, certificates and credentials, and that a majority of its members is running"
    )]
    Unreachable(String),
    /// The keys have another format.
    #[error(
        "the keys under {prefix} of etcd have format {found:?}, and this program reads and writes format {expected:?}: \
         use the program that wrote them, or use another prefix"
    )]
    OtherFormat {
        /// Key prefix.
        prefix: String,
        /// Format found.
        found: String,
        /// Format of this program.
        expected: &'static str,
    },
    /// A value was not written by this program.
    #[error("{0}; restore etcd from a copy, or use another prefix")]
    Damaged(String),
}
