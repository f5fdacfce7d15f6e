//! Flags of the commands that listen: who may ask, besides the clients of this machine.

use std::net::SocketAddr;

use clap::Args;
use stuntdouble_cassettes::transport::{Credentials, Origin, Origins};

use super::Trouble;

/// Hosts and origins that a listener accepts.
#[derive(Debug, Args)]
#[command(next_help_heading = "Web pages")]
pub(super) struct OriginArguments {
    /// Accept requests for this host name, besides those for localhost and the address of the listener
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,

    /// Give web pages of this origin access, such as http://localhost:3000. The responses have CORS headers for it
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<Origin>,
}

impl OriginArguments {
    /// The hosts and origins.
    pub(super) fn origins(self) -> Origins {
        let hosts = self.allow_host.into_iter();
        let origins = hosts.fold(Origins::default(), |origins, host| origins.allow_host(host));
        self.allow_origin.into_iter().fold(origins, Origins::allow_origin)
    }
}

/// Where a command listens that sends credentials of its own to a server.
#[derive(Debug, Args)]
pub(super) struct RemoteArguments {
    /// Listen on an address that other machines can reach, although everybody who reaches it uses the credentials
    #[arg(long)]
    allow_remote: bool,
}

impl RemoteArguments {
    /// Refuses an address that other machines can reach, unless `--allow-remote` is given.
    pub(super) fn check(&self, listen: SocketAddr) -> Result<(), Trouble> {
        if listen.ip().is_loopback() || self.allow_remote {
            return Ok(());
        }
        Err(Trouble::usage(format!(
            "{listen} is not a loopback address: everybody who reaches it could use the credentials; --allow-remote listens there nevertheless"
        )))
    }

    /// The same, if there are credentials.
    pub(super) fn check_with(&self, listen: SocketAddr, credentials: &Credentials) -> Result<(), Trouble> {
        let any = credentials.token.is_some() || credentials.basic.is_some() || credentials.identity.is_some();
        if any { self.check(listen) } else { Ok(()) }
    }
}
