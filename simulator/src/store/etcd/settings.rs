//! How an etcd cluster is reached, and why it cannot be used.

use std::fmt;

use tonic::transport::{Certificate, ClientTlsConfig, Identity};

/// An etcd cluster that keeps the objects. Several simulators over the same cluster and prefix are one cluster.
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
    /// The cluster with members at these URLs, `http://HOST:PORT` or `https://HOST:PORT`.
    pub fn new(endpoints: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            prefix: "/stuntdouble".to_owned(),
            authority: None,
            identity: None,
            user: None,
        }
    }

    /// The path that every key begins with. Default: `/stuntdouble`.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into().trim_end_matches('/').to_owned();
        self
    }

    /// The authority (PEM) that signs the members' certificates. `https` needs it.
    pub fn authority(mut self, pem: impl Into<String>) -> Self {
        self.authority = Some(pem.into());
        self
    }

    /// The client's certificate and key (PEM).
    pub fn identity(mut self, certificate: impl Into<String>, key: impl Into<String>) -> Self {
        self.identity = Some((certificate.into(), key.into()));
        self
    }

    /// The name and password of an etcd user.
    pub fn user(mut self, name: impl Into<String>, password: impl Into<String>) -> Self {
        self.user = Some((name.into(), password.into()));
        self
    }

    /// The TLS settings of `https` members.
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

/// Why an etcd cluster cannot be used. Each error names what to do.
#[derive(Debug, thiserror::Error)]
pub enum EtcdError {
    /// The settings make no sense.
    #[error("etcd: {0}")]
    Settings(String),
    /// No member answers as it should.
    #[error(
        "etcd does not answer: {0}; check its URLs, certificates and credentials, and that a majority of its members runs"
    )]
    Unreachable(String),
    /// The keys are of another format.
    #[error(
        "the keys under {prefix} of etcd have format {found:?}, and this program reads and writes format {expected:?}: \
         use the program that wrote them, or take another prefix"
    )]
    OtherFormat {
        /// The prefix.
        prefix: String,
        /// The format found.
        found: String,
        /// The format of this program.
        expected: &'static str,
    },
    /// A value is not what this program writes.
    #[error("{0}; restore etcd from a copy, or take another prefix")]
    Damaged(String),
}
