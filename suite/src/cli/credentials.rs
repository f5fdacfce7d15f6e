//! The credentials that a server is asked with, as every command takes them.

use std::path::PathBuf;

use clap::Args;
use stuntdouble_cassettes::transport;

use super::Trouble;
use crate::target::Credentials;

#[derive(Debug, Args)]
#[command(next_help_heading = "Credentials")]
pub(super) struct CredentialArguments {
    /// The server and the credentials of this file's current context
    #[arg(long, value_name = "FILE", conflicts_with_all = ["token", "basic", "client_cert"])]
    kubeconfig: Option<PathBuf>,

    /// A bearer token
    #[arg(long, value_name = "TOKEN", conflicts_with = "basic")]
    token: Option<String>,

    /// A user name and a password
    #[arg(long, value_name = "USER:PASSWORD")]
    basic: Option<String>,

    /// A client certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "client_key")]
    client_cert: Option<PathBuf>,

    /// The key of the client certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    client_key: Option<PathBuf>,

    /// Do not look at the server's certificate
    #[arg(long)]
    insecure: bool,
}

impl CredentialArguments {
    /// The server that the kubeconfig names, if there is one, and the credentials.
    pub(super) fn read(&self) -> Result<(Option<String>, Credentials), Trouble> {
        let (server, mut credentials) = match &self.kubeconfig {
            Some(path) => Credentials::from_kubeconfig(path).map(|(server, credentials)| (Some(server), credentials)).map_err(Trouble::usage)?,
            None => (None, Credentials { token: self.token.clone(), basic: self.basic.clone(), ..Credentials::default() }),
        };
        if let (Some(certificate), Some(key)) = (&self.client_cert, &self.client_key) {
            credentials = credentials.with_identity(certificate, key).map_err(Trouble::usage)?;
        }
        credentials.insecure |= self.insecure;
        Ok((server, credentials))
    }

    /// The same, as the recorder and the verifier take them.
    pub(super) fn for_transport(&self) -> Result<(Option<String>, transport::Credentials), Trouble> {
        let (server, Credentials { token, basic, identity, authorities, insecure }) = self.read()?;
        let basic = match basic {
            Some(both) => Some(
                both.split_once(':')
                    .map(|(user, password)| (user.to_owned(), password.to_owned()))
                    .ok_or_else(|| Trouble::usage("--basic is USER:PASSWORD"))?,
            ),
            None => None,
        };
        // Certificate and key stand in one text here, in which each reader finds its own.
        let identity = identity.map(|pem| (pem.clone(), pem));
        Ok((server, transport::Credentials { token, basic, identity, authority: authorities, insecure }))
    }
}
