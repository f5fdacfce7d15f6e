//! The target for one trial: itself, behind a recorder, or replayed from a cassette.
//!
//! Each trial has its own recorder or replayer, so that concurrent trials do not mix. The User-Agent of every request
//! ([`UserAgent`]) assigns the interactions of a cassette to trials.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use stuntdouble_cassettes::{Cassette, Header, Interaction, Recorder, RecorderOptions, Replayer, ReplayerOptions};

use super::credential_clients::CredentialClients;
use super::{BackendAddress, Credentials, Target, TargetError};
use crate::catalog::{Credential, Profile};

/// Time limit for closing the connections of a recorder or a replayer.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// User-Agent of a trial: id, prefix of object names, namespaces and backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UserAgent {
    trial: String,
    stem: String,
    namespaces: Vec<String>,
    backend: Option<BackendAddress>,
}

impl fmt::Display for UserAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            concat!("stuntdouble/", env!("CARGO_PKG_VERSION"), " (trial {}; names {}"),
            self.trial, self.stem
        )?;
        if !self.namespaces.is_empty() {
            write!(f, "; namespaces {}", self.namespaces.join(","))?;
        }
        if let Some(BackendAddress { host, port }) = &self.backend {
            write!(f, "; backend {host}:{port}")?;
        }
        f.write_str(")")
    }
}

/// Error of a User-Agent that is not that of a trial.
#[derive(Debug)]
pub(super) struct ForeignUserAgent;

impl FromStr for UserAgent {
    type Err = ForeignUserAgent;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (_, comment) = text
            .strip_prefix("stuntdouble/")
            .and_then(|text| text.split_once('('))
            .ok_or(ForeignUserAgent)?;
        let words: HashMap<&str, &str> = comment
            .trim_end_matches(')')
            .split("; ")
            .filter_map(|part| part.split_once(' '))
            .collect();
        let word = |name: &str| words.get(name).map(|word| (*word).to_owned()).ok_or(ForeignUserAgent);
        let backend = words.get("backend").and_then(|address| address.rsplit_once(':'));
        let backend = backend.and_then(|(host, port)| {
            Some(BackendAddress {
                host: host.to_owned(),
                port: port.parse().ok()?,
            })
        });
        let namespaces = words.get("namespaces").into_iter().flat_map(|names| names.split(','));
        Ok(Self {
            trial: word("trial")?,
            stem: word("names")?,
            namespaces: namespaces.map(str::to_owned).collect(),
            backend,
        })
    }
}

/// The interactions of one trial.
#[derive(Debug, Clone)]
struct RecordedTrial {
    agent: UserAgent,
    header: Header,
    interactions: Vec<Interaction>,
}

/// A recorded run: one cassette, or a folder of them.
#[derive(Debug)]
pub(super) struct Recorded {
    from: PathBuf,
    trials: HashMap<String, RecordedTrial>,
    profile: Option<Profile>,
}

impl Recorded {
    /// Reads a cassette, or every cassette of a folder.
    pub(super) fn read(from: &Path) -> Result<Self, TargetError> {
        let broken = |path: &Path, reason: &dyn fmt::Display| TargetError::Cassette {
            path: path.to_owned(),
            reason: reason.to_string(),
        };
        let mut files = vec![from.to_owned()];
        if from.is_dir() {
            let entries = std::fs::read_dir(from)
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(|e| broken(from, &e))?;
            files = entries
                .into_iter()
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|e| e == "yaml"))
                .collect();
            files.sort();
        }
        let mut recorded = Self {
            from: from.to_owned(),
            trials: HashMap::new(),
            profile: None,
        };
        for file in files {
            let cassette = Cassette::open(&file).map_err(|e| broken(&file, &e))?;
            recorded.profile = recorded
                .profile
                .or_else(|| cassette.header.profile.as_deref()?.parse().ok());
            for interaction in cassette.interactions {
                // Interactions of other clients are skipped.
                let Some(Ok(agent)) = interaction
                    .request
                    .headers
                    .get("user-agent")
                    .map(str::parse::<UserAgent>)
                else {
                    continue;
                };
                let header = &cassette.header;
                let recorded_trial = recorded.trials.entry(agent.trial.clone());
                let recorded_trial = recorded_trial.or_insert_with(|| RecordedTrial {
                    agent,
                    header: header.clone(),
                    interactions: Vec::new(),
                });
                recorded_trial.interactions.push(interaction);
            }
        }
        match recorded.trials.len() {
            0 => Err(broken(
                from,
                &"there is no trial on it: record one with `stuntdouble conformance --record`",
            )),
            _ => Ok(recorded),
        }
    }

    /// Returns the profile, if a cassette has one.
    pub(super) fn profile(&self) -> Option<Profile> {
        self.profile
    }

    /// Whether it has a trial.
    pub(super) fn has(&self, trial: &str) -> bool {
        self.trials.contains_key(trial)
    }

    /// Returns its path.
    pub(super) fn from(&self) -> &Path {
        &self.from
    }
}

/// Settings of a recording.
#[derive(Debug)]
pub(super) struct Recording {
    pub(super) folder: PathBuf,
    pub(super) profile: Profile,
    /// Credentials for the recorder.
    pub(super) credentials: Credentials,
}

enum Running {
    Nothing,
    Recorder(Recorder),
    Replayer(Replayer),
}

/// The target for one trial.
pub struct Session {
    target: Target,
    stem: String,
    namespaces: Vec<String>,
    running: Running,
}

impl Session {
    /// Returns the target.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Returns the prefix of the names of the trial's objects.
    pub fn stem(&self) -> &str {
        &self.stem
    }

    /// Returns the namespaces of the trial.
    pub fn namespaces(&self) -> &[String] {
        &self.namespaces
    }

    /// Ends it. Returns the error of the recording, if any.
    pub async fn end(self) -> Option<String> {
        drop(self.target);
        match self.running {
            Running::Nothing => None,
            Running::Recorder(recorder) => {
                let failure = recorder.failure();
                drop(tokio::time::timeout(CLOSE_TIMEOUT, recorder.stop()).await);
                failure
            }
            Running::Replayer(replayer) => {
                drop(tokio::time::timeout(CLOSE_TIMEOUT, replayer.stop()).await);
                None
            }
        }
    }
}

impl Target {
    /// Returns the target for one trial. A recorded trial has the prefix and the namespaces of the recording.
    ///
    /// # Errors
    /// If a recorder or a replayer does not start.
    pub async fn session(
        &self,
        trial: &str,
        stem: String,
        namespaces: Vec<String>,
        credential: Option<Credential>,
    ) -> Result<Session, TargetError> {
        let mut target = self.clone();
        let mut running = Running::Nothing;
        let mut agent = UserAgent {
            trial: trial.to_owned(),
            stem,
            namespaces,
            backend: self.backend_address.clone(),
        };
        let set_up = |reason: &dyn fmt::Display| TargetError::Client(reason.to_string());
        if let Some(recorded) = &self.recorded {
            let missing = || TargetError::Cassette {
                path: recorded.from.clone(),
                reason: format!("the trial {trial} is not on it"),
            };
            let recorded_trial = recorded.trials.get(trial).ok_or_else(missing)?.clone();
            let cassette = Cassette {
                header: recorded_trial.header,
                interactions: recorded_trial.interactions,
            };
            let replayer = Replayer::start(cassette, ReplayerOptions::default())
                .await
                .map_err(|e| set_up(&e))?;
            target.base = replayer.url();
            target.credential_clients = credential
                .map(|_| CredentialClients::open(&target.base, &Credentials::placeholders()))
                .transpose()?;
            target.backend_address.clone_from(&recorded_trial.agent.backend);
            agent = recorded_trial.agent;
            running = Running::Replayer(replayer);
        } else if let Some(recording) = &self.recording {
            let credential_clients = self.credential_clients.as_ref().filter(|_| credential.is_some());
            let (upstream, mut credentials) = match (credential_clients, credential) {
                (Some(credential_clients), Some(credential)) => {
                    (&credential_clients.base, credential_clients.upstream(credential))
                }
                _ => (&self.base, recording.credentials.clone().transport()),
            };
            // Without TLS there is nothing to verify.
            credentials.insecure |= upstream.starts_with("http://");
            let mut options = RecorderOptions::new(upstream);
            options.credentials = credentials;
            options.overwrite = true;
            options.profile = Some(recording.profile.to_string());
            options.comment = Some(trial.to_owned());
            let file = recording.folder.join(format!("{}.yaml", trial.replace('/', "-")));
            let recorder = Recorder::start(options, &file).await.map_err(|e| set_up(&e))?;
            target.via = Some(recorder.url());
            target.authorization = None;
            target.credential_clients = credential_clients
                .map(|credential_clients| CredentialClients::open(&recorder.url(), &credential_clients.credentials))
                .transpose()?;
            running = Running::Recorder(recorder);
        }
        target.agent = Some(agent.to_string());
        Ok(Session {
            target,
            stem: agent.stem,
            namespaces: agent.namespaces,
            running,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_agent_parses_to_the_same() {
        for backend in [
            None,
            Some(BackendAddress {
                host: "10.99.0.2".to_owned(),
                port: 8080,
            }),
        ] {
            let agent = UserAgent {
                trial: "core/v1/pods/read/present".to_owned(),
                stem: "sd-x-12".to_owned(),
                namespaces: vec!["n1".to_owned(), "n2".to_owned()],
                backend,
            };
            assert!(
                agent.to_string().parse::<UserAgent>().is_ok_and(|read| read == agent),
                "{agent}"
            );
        }
        assert!("curl/8.0 (trial x; names y)".parse::<UserAgent>().is_err());
        assert!("stuntdouble/0.1.0".parse::<UserAgent>().is_err());
    }
}
