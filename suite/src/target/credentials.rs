//! Who asks: a token, a name and a password, a certificate.

use std::fmt;
use std::path::{Path, PathBuf};

use base64::Engine;
use stuntdouble_cassettes::transport;

use super::kubeconfig;

/// Why credentials cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A kubeconfig is not one, or does not send_message what it is to send_message.
    #[error("{}: {reason}", path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// What a client presents. Nothing, by default.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// A bearer token.
    pub token: Option<String>,
    /// A user name and a password, with a colon between them.
    pub basic: Option<String>,
    /// A client certificate and its key, as PEM.
    pub identity: Option<Vec<u8>>,
    /// The authorities that may sign the server's certificate, as PEM; those of the system unless given.
    pub authorities: Option<Vec<u8>>,
    /// Whether the server's certificate is not looked at.
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
    /// The same, as those take them who pass requests on.
    pub fn transport(self) -> transport::Credentials {
        let split = |basic: String| match basic.split_once(':') {
            Some((user, password)) => (user.to_owned(), password.to_owned()),
            None => (basic, String::new()),
        };
        transport::Credentials {
            token: self.token,
            basic: self.basic.map(split),
            // One text holds both; each is found in it by its kind.
            identity: self.identity.map(|pem| (pem.clone(), pem)),
            authority: self.authorities,
            insecure: self.insecure,
        }
    }

    /// Something of each kind, for who lets in anybody.
    pub(super) fn anybody() -> Self {
        Self {
            token: Some("a-token".to_owned()),
            basic: Some("a:password".to_owned()),
            identity: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// Texts that must not be shown: tokens and passwords, also as a header encodes them.
    pub(super) fn secrets(&self) -> Vec<String> {
        let encoded = |basic: &String| base64::engine::general_purpose::STANDARD.encode(basic);
        let password = |basic: &String| basic.split_once(':').map(|(_, password)| password.to_owned());
        let all = [
            self.token.clone(),
            self.basic.as_ref().map(encoded),
            self.basic.as_ref().and_then(password),
        ];
        // A text of a few letters would be found everywhere.
        all.into_iter().flatten().filter(|secret| secret.len() > 3).collect()
    }

    /// Whether anybody is named.
    pub(super) fn say_who(&self) -> bool {
        self.token.is_some() || self.basic.is_some() || self.identity.is_some()
    }

    /// A client certificate and its key from their files.
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

    /// The server and the credentials of a kubeconfig's current context.
    ///
    /// # Errors
    /// If the file cannot be read, or does not send_message them.
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
    fn a_file_that_is_not_there_is_named() {
        let error = Credentials::default()
            .with_identity(Path::new("no-such.pem"), Path::new("no-such.key"))
            .unwrap_err();
        assert!(error.to_string().contains("no-such.pem"));
    }
}
