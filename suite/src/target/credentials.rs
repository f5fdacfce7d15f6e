//! Credentials of a client: token, user and password, certificate.

use std::fmt;
use std::path::{Path, PathBuf};

use base64::Engine;
use stuntdouble_cassettes::transport;

use super::kubeconfig;

/// The error of reading credentials.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// A kubeconfig is malformed or incomplete.
    #[error("{}: {reason}", path.display())]
    Kubeconfig {
        /// Path of the file.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
}

/// Credentials of a client. Default: none.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// Bearer token.
    pub token: Option<String>,
    /// `USER:PASSWORD`.
    pub basic: Option<String>,
    /// Client certificate and private key (PEM).
    pub identity: Option<Vec<u8>>,
    /// Certificate authorities of the server (PEM). Default: those of the system.
    pub authorities: Option<Vec<u8>>,
    /// Whether the certificate of the server is not verified.
    pub insecure: bool,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("token", &self.token.is_some())
            .field("basic", &self.basic.is_some())
            .field("identity", &self.identity.is_some())
            .field("authorities", &self.authorities.is_some())
            .field("insecure", &self.insecure)
            .finish()
    }
}

impl Credentials {
    /// Converts to the credentials of the recorder and the replayer.
    pub fn transport(self) -> transport::Credentials {
        let split = |basic: String| match basic.split_once(':') {
            Some((user, password)) => (user.to_owned(), password.to_owned()),
            None => (basic, String::new()),
        };
        transport::Credentials {
            token: self.token,
            basic: self.basic.map(split),
            // The PEM text contains both.
            identity: self.identity.map(|pem| (pem.clone(), pem)),
            authority: self.authorities,
            insecure: self.insecure,
        }
    }

    /// Returns placeholder credentials of each kind, for a server that accepts any.
    pub(super) fn placeholders() -> Self {
        Self {
            token: Some("a-token".to_owned()),
            basic: Some("a:password".to_owned()),
            identity: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// Returns the texts that must not be shown: token and password, also in their encoded form.
    pub(super) fn secrets(&self) -> Vec<String> {
        let encoded = |basic: &String| base64::engine::general_purpose::STANDARD.encode(basic);
        let password = |basic: &String| basic.split_once(':').map(|(_, password)| password.to_owned());
        let all = [
            self.token.clone(),
            self.basic.as_ref().map(encoded),
            self.basic.as_ref().and_then(password),
        ];
        // Very short texts would match everywhere.
        all.into_iter().flatten().filter(|secret| secret.len() > 3).collect()
    }

    /// Whether there is a token, a password or a certificate.
    pub(super) fn are_present(&self) -> bool {
        self.token.is_some() || self.basic.is_some() || self.identity.is_some()
    }

    /// Reads a client certificate and its private key from files.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn with_identity(mut self, certificate: &Path, key: &Path) -> Result<Self, CredentialsError> {
        let mut pem = read(certificate)?;
        pem.push(b'\n');
        pem.extend(read(key)?);
        self.identity = Some(pem);
        Ok(self)
    }

    /// Reads the server and the credentials of the current context of a kubeconfig.
    ///
    /// # Errors
    /// If the file cannot be read, or is malformed or incomplete.
    pub fn from_kubeconfig(path: &Path) -> Result<(String, Self), CredentialsError> {
        let text = String::from_utf8_lossy(&read(path)?).into_owned();
        let folder = path.parent().unwrap_or(Path::new("."));
        kubeconfig::parse(&text, |file| read(&folder.join(file))).map_err(|reason| CredentialsError::Kubeconfig {
            path: path.to_owned(),
            reason,
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, CredentialsError> {
    std::fs::read(path).map_err(|source| CredentialsError::File {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let credentials = Credentials {
            token: Some("hush".into()),
            basic: Some("a:hush".into()),
            ..Credentials::default()
        };
        assert!(!format!("{credentials:?}").contains("hush"));
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = Credentials::default()
            .with_identity(Path::new("no-such.pem"), Path::new("no-such.key"))
            .unwrap_err();
        assert!(error.to_string().contains("no-such.pem"));
    }
}
