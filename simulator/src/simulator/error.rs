//! Errors of starting a simulator.

use std::{io, net::SocketAddr};

use crate::{
    api::Status,
    cluster::{container::ImageError, network::BodyError},
    http::TlsError,
    registry::RestoreError,
    store::{DataDirectoryError, EtcdError},
};

/// An error of starting a simulator.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address of the listener without credentials is not a loopback address.
    #[error(
        "{0} is not a loopback address: the listener requires no credentials, so it listens on 127.0.0.1 or ::1 only"
    )]
    NotLoopback(SocketAddr),
    /// The port is taken.
    #[error("{0} is in use: stop what listens there, or take another port (port 0 lets the system choose one)")]
    InUse(SocketAddr),
    /// The system does not allow listening.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Address.
        address: SocketAddr,
        /// Error of the system.
        source: io::Error,
    },
    /// The certificates or keys cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The proxy's TLS client cannot be created.
    #[error("the proxy cannot be set up: {0}")]
    Proxy(BodyError),
    /// Images are invalid.
    #[error(transparent)]
    Images(#[from] ImageError),
    /// An initial object cannot be created.
    #[error("the cluster cannot be set up: {0}")]
    SetUp(#[from] Status),
    /// The external search cluster cannot be used.
    #[error("search upstream: {0}")]
    SearchUpstream(String),
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDirectory(#[from] DataDirectoryError),
    /// The search part of the data directory cannot be used.
    #[error(transparent)]
    SearchDirectory(#[from] stuntdouble_search::DataDirectoryError),
    /// The etcd cluster cannot be used.
    #[error(transparent)]
    Etcd(#[from] EtcdError),
}

impl From<RestoreError> for StartError {
    fn from(error: RestoreError) -> Self {
        match error {
            RestoreError::Directory(error) => Self::DataDirectory(error),
            RestoreError::Etcd(error) => Self::Etcd(error),
            RestoreError::Object(status) => Self::SetUp(status),
        }
    }
}
