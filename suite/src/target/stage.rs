//! The target as one trial sees it: itself, before a recorder, or played from a cassette.
//!
//! A recorder and a replayer are of one trial each, so that trials that run side by side do not mix. What every request
//! says of itself in its User-Agent ([`Agent`]) is how the trials of a session find what is theirs.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use stuntdouble_cassettes::{Cassette, Header, Interaction, Recorder, RecorderOptions, Replayer, ReplayerOptions};

use super::secure::Doors;
use super::{Credentials, Place, Target, TargetError};
use crate::catalog::{Credential, Profile};

/// How long a recorder or a replayer may take to see its connections closed.
const CLOSING: Duration = Duration::from_secs(5);

/// Who asks: the trial, the name of its world, and where it has its backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Agent {
    trial: String,
    stem: String,
    place: Option<Place>,
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            concat!("stuntdouble/", env!("CARGO_PKG_VERSION"), " (trial {}; world {}"),
            self.trial, self.stem
        )?;
        if let Some(Place { host, port }) = &self.place {
            write!(f, "; backend {host}:{port}")?;
        }
        f.write_str(")")
    }
}

/// A User-Agent that is none of a trial.
#[derive(Debug)]
pub(super) struct Stranger;

impl FromStr for Agent {
    type Err = Stranger;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (_, comment) = text
            .strip_prefix("stuntdouble/")
            .and_then(|text| text.split_once('('))
            .ok_or(Stranger)?;
        let words: HashMap<&str, &str> = comment
            .trim_end_matches(')')
            .split("; ")
            .filter_map(|part| part.split_once(' '))
            .collect();
        let word = |name: &str| words.get(name).map(|word| (*word).to_owned()).ok_or(Stranger);
        let place = words.get("backend").and_then(|place| place.rsplit_once(':'));
        let place = place.and_then(|(host, port)| {
            Some(Place {
                host: host.to_owned(),
                port: port.parse().ok()?,
            })
        });
        Ok(Self {
            trial: word("trial")?,
            stem: word("world")?,
            place,
        })
    }
}

/// What one trial said, and was told.
#[derive(Debug, Clone)]
struct Scene {
    agent: Agent,
    header: Header,
    interactions: Vec<Interaction>,
}

/// A recorded run: one cassette, or a folder of them.
#[derive(Debug)]
pub(super) struct Recorded {
    from: PathBuf,
    scenes: HashMap<String, Scene>,
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
            scenes: HashMap::new(),
            profile: None,
        };
        for file in files {
            let cassette = Cassette::open(&file).map_err(|e| broken(&file, &e))?;
            recorded.profile = recorded
                .profile
                .or_else(|| cassette.header.profile.as_deref()?.parse().ok());
            for interaction in cassette.interactions {
                // What others said in between is no trial's.
                let Some(Ok(agent)) = interaction.request.headers.get("user-agent").map(str::parse::<Agent>) else {
                    continue;
                };
                let header = &cassette.header;
                let scene = recorded.scenes.entry(agent.trial.clone());
                let scene = scene.or_insert_with(|| Scene {
                    agent,
                    header: header.clone(),
                    interactions: Vec::new(),
                });
                scene.interactions.push(interaction);
            }
        }
        match recorded.scenes.len() {
            0 => Err(broken(
                from,
                &"there is no trial on it: stuntdouble conformance --record makes such cassettes",
            )),
            _ => Ok(recorded),
        }
    }

    /// The profile that was judged by, where the cassette says it.
    pub(super) fn profile(&self) -> Option<Profile> {
        self.profile
    }

    /// Whether a trial is on it.
    pub(super) fn has(&self, trial: &str) -> bool {
        self.scenes.contains_key(trial)
    }

    /// Where it is.
    pub(super) fn from(&self) -> &Path {
        &self.from
    }
}

/// Where a run is recorded.
#[derive(Debug)]
pub(super) struct Recording {
    pub(super) folder: PathBuf,
    pub(super) profile: Profile,
    /// Who asks, as the recorder takes it.
    pub(super) credentials: Credentials,
}

enum Running {
    Nothing,
    Recorder(Recorder),
    Replayer(Replayer),
}

/// The target as one trial sees it.
pub struct Stage {
    target: Target,
    stem: String,
    running: Running,
}

impl Stage {
    /// The target.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// What the names in the trial's world begin with.
    pub fn stem(&self) -> &str {
        &self.stem
    }

    /// Ends it; says what went wrong with the recording, if something did.
    pub async fn end(self) -> Option<String> {
        drop(self.target);
        match self.running {
            Running::Nothing => None,
            Running::Recorder(recorder) => {
                let failure = recorder.failure();
                drop(tokio::time::timeout(CLOSING, recorder.stop()).await);
                failure
            }
            Running::Replayer(replayer) => {
                drop(tokio::time::timeout(CLOSING, replayer.stop()).await);
                None
            }
        }
    }
}

impl Target {
    /// The target for one trial, whose world is to have names that begin with the stem. On a cassette it is another
    /// stem: that with which it was recorded.
    ///
    /// # Errors
    /// If a recorder or a replayer does not start.
    pub async fn stage(&self, trial: &str, stem: String, credential: Option<Credential>) -> Result<Stage, TargetError> {
        let mut target = self.clone();
        let mut running = Running::Nothing;
        let mut agent = Agent {
            trial: trial.to_owned(),
            stem,
            place: self.place.clone(),
        };
        let set_up = |reason: &dyn fmt::Display| TargetError::Client(reason.to_string());
        if let Some(recorded) = &self.recorded {
            let missing = || TargetError::Cassette {
                path: recorded.from.clone(),
                reason: format!("{trial} is not on it"),
            };
            let scene = recorded.scenes.get(trial).ok_or_else(missing)?.clone();
            let cassette = Cassette {
                header: scene.header,
                interactions: scene.interactions,
            };
            let replayer = Replayer::start(cassette, ReplayerOptions::default())
                .await
                .map_err(|e| set_up(&e))?;
            target.base = replayer.url();
            target.doors = credential
                .map(|_| Doors::open(&target.base, &Credentials::anybody()))
                .transpose()?;
            target.place.clone_from(&scene.agent.place);
            agent = scene.agent;
            running = Running::Replayer(replayer);
        } else if let Some(recording) = &self.recording {
            let doors = self.doors.as_ref().filter(|_| credential.is_some());
            let (upstream, mut credentials) = match (doors, credential) {
                (Some(doors), Some(credential)) => (&doors.base, doors.upstream(credential)),
                _ => (&self.base, recording.credentials.clone().transport()),
            };
            // Without TLS nothing is verified, and nothing has to be read to verify it with.
            credentials.insecure |= upstream.starts_with("http://");
            let mut options = RecorderOptions::new(upstream);
            options.credentials = credentials;
            options.overwrite = true;
            options.profile = Some(recording.profile.to_string());
            options.comment = Some(trial.to_owned());
            let file = recording.folder.join(format!("{}.yaml", trial.replace('/', "-")));
            let recorder = Recorder::start(options, &file).await.map_err(|e| set_up(&e))?;
            target.way = Some(recorder.url());
            target.authorization = None;
            target.doors = doors
                .map(|doors| Doors::open(&recorder.url(), &doors.credentials))
                .transpose()?;
            running = Running::Recorder(recorder);
        }
        target.agent = Some(agent.to_string());
        Ok(Stage {
            target,
            stem: agent.stem,
            running,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_finds_itself_in_what_it_said() {
        for place in [
            None,
            Some(Place {
                host: "10.99.0.2".to_owned(),
                port: 8080,
            }),
        ] {
            let agent = Agent {
                trial: "core/v1/pods/read/present".to_owned(),
                stem: "sd-x-12".to_owned(),
                place,
            };
            assert!(
                agent.to_string().parse::<Agent>().is_ok_and(|read| read == agent),
                "{agent}"
            );
        }
        assert!("curl/8.0 (trial x; world y)".parse::<Agent>().is_err());
        assert!("stuntdouble/0.1.0".parse::<Agent>().is_err());
    }
}
