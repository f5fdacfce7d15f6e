//! Why a simulator does not start.

use std::{io, net::SocketAddr};

use crate::{
    api::Status,
    cluster::{container::ImageError, network::BodyError},
    http::TlsError,
    registry::RestoreError,
    store::{DataDirectoryError, EtcdError},
};

/// Why a simulator does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address is one that others can reach.
    #[error(
        "{0} is not a loopback address: the listener asks nobody for credentials, so it listens on 127.0.0.1 or ::1 only"
    )]
    NotLoopback(SocketAddr),
    /// The port is taken.
    #[error("{0} is in use: stop what listens there, or take another port (port 0 lets the system choose one)")]
    InUse(SocketAddr),
    /// The system refuses to listen.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The certificates or keys cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The cryptography offers nothing that can be used.
    #[error("the proxy cannot be set up: {0}")]
    Proxy(BodyError),
    /// Images make no sense.
    #[error(transparent)]
    Images(#[from] ImageError),
    /// What a cluster starts with cannot be created in this one.
    #[error("the cluster cannot be set up: {0}")]
    SetUp(#[from] Status),
    /// The search cluster outside this process cannot be used.
    #[error("search upstream: {0}")]
    SearchUpstream(String),
    /// The data directory cannot be used.
    #[error(transparent)]
    DataDirectory(#[from] DataDirectoryError),
    /// The log search service's part of the data directory cannot be used.
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
