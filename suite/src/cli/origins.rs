//! Flags of the commands that listen: accepted hosts and origins, and listeners that other machines can reach.

use std::net::SocketAddr;

use clap::Args;
use stuntdouble_cassettes::transport::{Credentials, Origin, Origins};

use super::CommandError;

/// Hosts and origins that a listener accepts.
#[derive(Debug, Args)]
#[command(next_help_heading = "Web pages")]
pub(super) struct OriginArguments {
    /// Accept requests for this host name, besides those for localhost and the address of the listener
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,

    /// Allow web pages of this origin, such as http://localhost:3000. Responses to them have CORS headers
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<Origin>,
}

impl OriginArguments {
    /// Returns the accepted hosts and origins.
    pub(super) fn origins(self) -> Origins {
        let hosts = self.allow_host.into_iter();
        let origins = hosts.fold(Origins::default(), |origins, host| origins.allow_host(host));
        self.allow_origin.into_iter().fold(origins, Origins::allow_origin)
    }
}

/// Flag of the commands that listen and add their own credentials to requests.
#[derive(Debug, Args)]
pub(super) struct RemoteArguments {
    /// Listen on an address that other machines can reach. Everybody who reaches it uses the credentials
    #[arg(long)]
    allow_remote: bool,
}

impl RemoteArguments {
    /// Refuses an address that other machines can reach, unless `--allow-remote` is given.
    pub(super) fn check(&self, listen: SocketAddr) -> Result<(), CommandError> {
        if listen.ip().is_loopback() || self.allow_remote {
            return Ok(());
        }
        Err(CommandError::usage(format!(
            "{listen} is not a loopback address: everybody who reaches it could use the credentials; \
             --allow-remote allows it"
        )))
    }

    /// Does what [`check`](Self::check) does, if there are credentials.
    pub(super) fn check_with(&self, listen: SocketAddr, credentials: &Credentials) -> Result<(), CommandError> {
        let any = credentials.token.is_some() || credentials.basic.is_some() || credentials.identity.is_some();
        if any { self.check(listen) } else { Ok(()) }
    }
}
