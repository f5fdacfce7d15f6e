//! Which server a command talks to, and with what credentials.

use std::path::PathBuf;

use clap::Args;
use stuntdouble_cassettes::transport;

use super::Trouble;
use crate::target::Credentials;

/// What a client shows a server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Credentials")]
pub(super) struct Access {
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

impl Access {
    /// The server, where a kubeconfig says one, and the credentials.
    pub(super) fn credentials(&self) -> Result<(Option<String>, Credentials), Trouble> {
        let (server, mut credentials) = match &self.kubeconfig {
            Some(path) => Credentials::from_kubeconfig(path)
                .map(|(server, credentials)| (Some(server), credentials))
                .map_err(Trouble::usage)?,
            None => (
                None,
                Credentials {
                    token: self.token.clone(),
                    basic: self.basic.clone(),
                    ..Credentials::default()
                },
            ),
        };
        if let (Some(certificate), Some(key)) = (&self.client_cert, &self.client_key) {
            credentials = credentials.with_identity(certificate, key).map_err(Trouble::usage)?;
        }
        credentials.insecure |= self.insecure;
        Ok((server, credentials))
    }

    /// The server at `url`, or the kubeconfig's where none is given, and the credentials as those take them who pass requests on.
    pub(super) fn upstream(&self, url: Option<&str>) -> Result<(String, transport::Credentials), Trouble> {
        let (server, credentials) = self.transport()?;
        let server = url.map(str::to_owned).or(server);
        let server =
            server.ok_or_else(|| Trouble::usage("no server is given: --upstream or --kubeconfig says which"))?;
        Ok((server, credentials))
    }

    /// The server, where a kubeconfig says one, and the credentials as those take them who pass requests on.
    pub(super) fn transport(&self) -> Result<(Option<String>, transport::Credentials), Trouble> {
        let (server, credentials) = self.credentials()?;
        Ok((server, credentials.transport()))
    }

    /// A client for the server at `url`, or the kubeconfig's where none is given; and the server's URL.
    pub(super) fn client(&self, url: Option<&str>) -> Result<(String, transport::Client), Trouble> {
        let (server, credentials) = self.upstream(url)?;
        let client = transport::Client::new(&server, &credentials, true).map_err(Trouble::usage)?;
        Ok((server.trim_end_matches('/').to_owned(), client))
    }
}
