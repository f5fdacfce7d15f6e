//! Clients of a target that asks for credentials: one for each credential.

use std::collections::BTreeMap;

use http::HeaderValue;

use stuntdouble_cassettes::transport;

use super::client::{authorization, client};
use super::{Credentials, TargetError};
use crate::catalog::Credential;

/// A client that presents one credential.
#[derive(Debug, Clone)]
pub(super) struct CredentialClient {
    pub(super) client: reqwest::Client,
    pub(super) authorization: Option<HeaderValue>,
}

/// A secure listener and who can knock.
#[derive(Debug, Clone)]
pub(super) struct CredentialClients {
    pub(super) base: String,
    pub(super) credentials: Credentials,
    clients: BTreeMap<Credential, CredentialClient>,
}

impl CredentialClients {
    /// The listener at an address, and everybody who can be made of what is given.
    pub(super) fn at(base: &str, credentials: &Credentials) -> Result<Self, TargetError> {
        let outside = Credentials {
            authorities: credentials.authorities.clone(),
            insecure: credentials.insecure,
            ..Credentials::default()
        };
        let with_token = |token: &str| Credentials {
            token: Some(token.to_owned()),
            ..outside.clone()
        };
        let with_basic = |basic: &str| Credentials {
            basic: Some(basic.to_owned()),
            ..outside.clone()
        };
        let wrong = |basic: &str| format!("{}:no-such-password", basic.split(':').next().unwrap_or_default());
        let known = [
            Some((Credential::Nobody, outside.clone())),
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
                        ..outside.clone()
                    },
                )
            }),
        ];
        let mut clients = BTreeMap::new();
        for (who, credentials) in known.into_iter().flatten() {
            clients.insert(
                who,
                CredentialClient {
                    client: client(&credentials)?,
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

    /// CredentialClients that are held open by somebody who shows the certificate to the real ones, and passes on what is said.
    pub(super) fn open(base: &str, credentials: &Credentials) -> Result<Self, TargetError> {
        let outside = Credentials {
            identity: None,
            authorities: None,
            ..credentials.clone()
        };
        let mut credential_clients = Self::at(base, &outside)?;
        if let (Some(_), Some(nobody)) = (
            &credentials.identity,
            credential_clients.clients.get(&Credential::Nobody).cloned(),
        ) {
            credential_clients.clients.insert(Credential::Certificate, nobody);
        }
        Ok(credential_clients)
    }

    /// What somebody shows who passes on what is said by who presents this: a certificate, which cannot be passed on.
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

    /// Who presents this, if somebody can.
    pub(super) fn client_for(&self, credential: Credential) -> Option<&CredentialClient> {
        self.clients.get(&credential)
    }
}
