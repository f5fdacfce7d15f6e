//! Clients of a target that requires credentials: one for each credential.

use std::collections::BTreeMap;

use http::HeaderValue;

use stuntdouble_cassettes::transport;

use super::client::{authorization, client};
use super::{Credentials, TargetError};
use crate::catalog::Credential;

/// A client with one credential.
#[derive(Debug, Clone)]
pub(super) struct CredentialClient {
    pub(super) client: reqwest::Client,
    pub(super) authorization: Option<HeaderValue>,
}

/// A secure listener, and the clients for it.
#[derive(Debug, Clone)]
pub(super) struct CredentialClients {
    pub(super) base: String,
    pub(super) credentials: Credentials,
    clients: BTreeMap<Credential, CredentialClient>,
}

impl CredentialClients {
    /// Creates the clients that are possible with the given credentials.
    pub(super) fn at(base: &str, credentials: &Credentials) -> Result<Self, TargetError> {
        let anonymous = Credentials {
            authorities: credentials.authorities.clone(),
            insecure: credentials.insecure,
            ..Credentials::default()
        };
        let with_token = |token: &str| Credentials {
            token: Some(token.to_owned()),
            ..anonymous.clone()
        };
        let with_basic = |basic: &str| Credentials {
            basic: Some(basic.to_owned()),
            ..anonymous.clone()
        };
        let wrong = |basic: &str| format!("{}:no-such-password", basic.split(':').next().unwrap_or_default());
        let known = [
            Some((Credential::Nobody, anonymous.clone())),
            Some((Credential::BearerWrong, with_token("no-such-token"))),
            Some((
                Credential::BasicWrong,
                with_basic(&wrong(credentials.basic.as_deref().unwrap_or("nobody"))),
            )),
            credentials
                .token
                .as_deref()
                .map(|token| (Credential::Bearer, with_token(token))),
            credentials
                .basic
                .as_deref()
                .map(|basic| (Credential::Basic, with_basic(basic))),
            credentials.identity.clone().map(|identity| {
                (
                    Credential::Certificate,
                    Credentials {
                        identity: Some(identity),
                        ..anonymous.clone()
                    },
                )
            }),
        ];
        let mut clients = BTreeMap::new();
        for (credential, credentials) in known.into_iter().flatten() {
            clients.insert(
                credential,
                CredentialClient {
                    client: client(base, &credentials)?,
                    authorization: authorization(&credentials)?,
                },
            );
        }
        Ok(Self {
            base: base.to_owned(),
            credentials: credentials.clone(),
            clients,
        })
    }

    /// Creates the clients for a recorder or replayer at `base`, which itself sends the certificate to the server.
    pub(super) fn open(base: &str, credentials: &Credentials) -> Result<Self, TargetError> {
        let anonymous = Credentials {
            identity: None,
            authorities: None,
            ..credentials.clone()
        };
        let mut credential_clients = Self::at(base, &anonymous)?;
        if let (Some(_), Some(nobody)) = (
            &credentials.identity,
            credential_clients.clients.get(&Credential::Nobody).cloned(),
        ) {
            credential_clients.clients.insert(Credential::Certificate, nobody);
        }
        Ok(credential_clients)
    }

    /// Returns the credentials that a recorder must send upstream for this credential: a certificate, which a proxy
    /// cannot forward.
    pub(super) fn upstream(&self, credential: Credential) -> transport::Credentials {
        let identity = self
            .credentials
            .identity
            .clone()
            .filter(|_| credential == Credential::Certificate);
        Credentials {
            token: None,
            basic: None,
            identity,
            ..self.credentials.clone()
        }
        .transport()
    }

    /// Returns the client for this credential, if there is one.
    pub(super) fn client_for(&self, credential: Credential) -> Option<&CredentialClient> {
        self.clients.get(&credential)
    }
}
