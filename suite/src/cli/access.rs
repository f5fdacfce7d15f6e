//! The server that a command talks to, and the credentials that it sends.

use std::path::{Path, PathBuf};

use clap::Args;
use stuntdouble_cassettes::transport;

use super::CommandError;
use crate::target::Credentials;

/// Environment variable of the bearer token.
const TOKEN: &str = "STUNTDOUBLE_TOKEN";

/// Environment variable of the user name and password.
const BASIC: &str = "STUNTDOUBLE_BASIC";

const HEADING: &str = "Credentials (other users of the machine can read a command line: prefer a file or \
                       $STUNTDOUBLE_TOKEN, $STUNTDOUBLE_BASIC)";

/// Credentials of a client.
#[derive(Debug, Args)]
#[command(next_help_heading = HEADING)]
pub(super) struct Access {
    /// Use the server and the credentials of the current context of this file
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["token", "token_file", "basic", "basic_file", "client_cert"]
    )]
    kubeconfig: Option<PathBuf>,

    /// Bearer token
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["token_file", "basic", "basic_file"])]
    token: Option<String>,

    /// File with the bearer token in its first line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["basic", "basic_file"])]
    token_file: Option<PathBuf>,

    /// User name and password
    #[arg(long, value_name = "USER:PASSWORD", conflicts_with = "basic_file")]
    basic: Option<String>,

    /// File with USER:PASSWORD in its first line
    #[arg(long, value_name = "FILE")]
    basic_file: Option<PathBuf>,

    /// Client certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "client_key")]
    client_cert: Option<PathBuf>,

    /// Private key of the client certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    client_key: Option<PathBuf>,

    /// Do not verify the server's certificate
    #[arg(long)]
    insecure: bool,
}

impl Access {
    /// Returns the server of the kubeconfig, if there is one, and the credentials.
    pub(super) fn credentials(&self) -> Result<(Option<String>, Credentials), CommandError> {
        let (server, mut credentials) = match &self.kubeconfig {
            Some(path) => Credentials::from_kubeconfig(path)
                .map(|(server, credentials)| (Some(server), credentials))
                .map_err(CommandError::usage)?,
            None => (None, self.token_or_basic(|name| std::env::var(name).ok())?),
        };
        if let (Some(certificate), Some(key)) = (&self.client_cert, &self.client_key) {
            credentials = credentials
                .with_identity(certificate, key)
                .map_err(CommandError::usage)?;
        }
        credentials.insecure |= self.insecure;
        Ok((server, credentials))
    }

    /// Returns the token, or the user and password: from the command line, else from a file, else from the environment.
    ///
    /// The environment is ignored if there is a client certificate.
    fn token_or_basic(&self, variable: impl Fn(&str) -> Option<String>) -> Result<Credentials, CommandError> {
        let line = |path: &PathBuf| first_line(path);
        let mut credentials = Credentials {
            token: self.token.clone().or(self.token_file.as_ref().map(line).transpose()?),
            basic: self.basic.clone().or(self.basic_file.as_ref().map(line).transpose()?),
            ..Credentials::default()
        };
        if credentials.token.is_none() && credentials.basic.is_none() && self.client_cert.is_none() {
            let set = |name| variable(name).filter(|value| !value.is_empty());
            credentials.token = set(TOKEN);
            credentials.basic = set(BASIC).filter(|_| credentials.token.is_none());
        }
        Ok(credentials)
    }

    /// Returns the server (`url`, or that of the kubeconfig) and the credentials for a [`transport::Client`].
    pub(super) fn upstream(&self, url: Option<&str>) -> Result<(String, transport::Credentials), CommandError> {
        let (server, credentials) = self.transport()?;
        let server = url.map(str::to_owned).or(server);
        let server = server.ok_or_else(|| CommandError::usage("no server is given: use --upstream or --kubeconfig"))?;
        Ok((server, credentials))
    }

    /// Returns the server of the kubeconfig, if there is one, and the credentials for a [`transport::Client`].
    pub(super) fn transport(&self) -> Result<(Option<String>, transport::Credentials), CommandError> {
        let (server, credentials) = self.credentials()?;
        Ok((server, credentials.transport()))
    }

    /// Returns the server (`url`, or that of the kubeconfig) and a client for it.
    pub(super) fn client(&self, url: Option<&str>) -> Result<(String, transport::Client), CommandError> {
        let (server, credentials) = self.upstream(url)?;
        let client = transport::Client::new(&server, &credentials, true).map_err(CommandError::usage)?;
        Ok((server.trim_end_matches('/').to_owned(), client))
    }
}

/// Returns the first line of a file. An empty one is an error.
fn first_line(path: &Path) -> Result<String, CommandError> {
    let wrong = |reason: &str| CommandError::usage(format!("{}: {reason}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error.to_string()))?;
    match text.lines().next().unwrap_or_default().trim() {
        "" => Err(wrong("the first line is empty")),
        line => Ok(line.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        access: Access,
    }

    fn parse(arguments: &[&str]) -> Access {
        let arguments = std::iter::once("command").chain(arguments.iter().copied());
        Command::try_parse_from(arguments)
            .map_err(|error| error.to_string())
            .unwrap()
            .access
    }

    fn environment(name: &str) -> Option<String> {
        Some(format!("of-{name}"))
    }

    #[test]
    fn credentials_come_from_the_command_line_a_file_or_the_environment() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token").display().to_string();
        std::fs::write(&file, "of-file\n").unwrap();
        for (arguments, token, basic) in [
            (&["--token", "a"][..], Some("a"), None),
            (&["--token-file", &file], Some("of-file"), None),
            (&["--basic-file", &file], None, Some("of-file")),
            (&[], Some("of-STUNTDOUBLE_TOKEN"), None),
            (&["--client-cert", "c", "--client-key", "k"], None, None),
        ] {
            let credentials = parse(arguments).token_or_basic(environment).ok().unwrap();
            assert_eq!(
                (credentials.token.as_deref(), credentials.basic.as_deref()),
                (token, basic),
                "{arguments:?}"
            );
        }
        let basic = |name: &str| (name == BASIC).then(|| "u:p".to_owned());
        assert_eq!(
            parse(&[]).token_or_basic(basic).ok().unwrap().basic.as_deref(),
            Some("u:p")
        );
    }

    #[test]
    fn an_empty_file_is_an_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().display().to_string();
        let error = parse(&["--token-file", &path]).token_or_basic(|_| None).err().unwrap();
        assert!(error.message.ends_with("the first line is empty"), "{}", error.message);
    }
}
