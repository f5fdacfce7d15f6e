//! The recorded sessions against the simulator. Each interaction is a test that shows the differences.
//!
//! A session is replayed once, in its order and with its concurrency, against a separate simulator. Its tests check
//! the verdicts. Known differences are listed with the reason in `known.json` beside this file; an interaction listed
//! there must still differ.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may panic, and so may its helpers"
)]

mod echo;

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use futures::{StreamExt, stream};
use jiff::Timestamp;
use libtest_mimic::{Arguments, Failed, Trial};
use stuntdouble_cassettes::{Cassette, DOCUMENTED, RECORDED, Report, Verifier, transport::Credentials};
use stuntdouble_etcd::Cluster;
use stuntdouble_simulator::{Builder, Clock, Credentials as ServerCredentials, Etcd, Profile, Simulator};
use tokio::sync::OnceCell;

/// Number of concurrent sessions.
const CONCURRENCY: usize = 3;

/// Reasons of known differences, by session and interaction.
type Known = BTreeMap<String, BTreeMap<String, String>>;

/// Store of the simulator: memory, unless `STUNTDOUBLE_TEST_STORE` is `durable` or `etcd`.
enum Store {
    Memory,
    Durable,
    Etcd(Cluster),
}

impl Store {
    fn chosen() -> Option<Self> {
        match std::env::var("STUNTDOUBLE_TEST_STORE").as_deref() {
            Ok("durable") => Some(Self::Durable),
            Ok("etcd") => Cluster::start(1).map(Self::Etcd),
            _ => Some(Self::Memory),
        }
    }

    /// Configures the store of a simulator for one session. `folder` is temporary.
    fn of(&self, builder: Builder, session: &str, folder: &Path) -> Builder {
        match self {
            Self::Memory => builder,
            Self::Durable => builder.data_dir(folder.join("data")),
            Self::Etcd(cluster) => builder.etcd(Etcd::new(cluster.urls()).prefix(format!("/{session}"))),
        }
    }
}

/// One recorded session, replayed once, at the latest when its first test runs.
struct Session {
    name: String,
    cassette: Cassette,
    runtime: Arc<tokio::runtime::Runtime>,
    store: Arc<Store>,
    report: OnceCell<Result<Report, String>>,
}

impl Session {
    /// Returns the total time of its interactions when it was recorded.
    fn recorded_time(&self) -> Duration {
        let took = self
            .cassette
            .interactions
            .iter()
            .filter_map(|interaction| interaction.took);
        took.sum()
    }

    /// Clock for its replay. A session that was recorded within one second is replayed within one: v1.2 stores a write
    /// of an event that changes nothing, unless its last write was in the same second.
    fn clock(&self) -> Clock {
        let start = self.cassette.header.recorded;
        let within = |at: Timestamp| at.as_second() == start.as_second();
        let is_short = self.cassette.interactions.iter().all(|interaction| {
            let end = interaction.started.checked_add(interaction.took.unwrap_or_default());
            end.is_ok_and(within)
        });
        if is_short { Clock::frozen(start) } else { Clock::real() }
    }

    async fn report(&self) -> Result<&Report, String> {
        let report = self
            .report
            .get_or_init(async || self.verify().await.map_err(|e| e.to_string()))
            .await;
        report.as_ref().map_err(Clone::clone)
    }

    async fn verify(&self) -> Result<Report, Box<dyn std::error::Error + Send + Sync>> {
        let profile: Profile = self
            .cassette
            .header
            .profile
            .as_deref()
            .ok_or("the session has no profile in its header")?
            .parse()?;
        let folder = tempfile::tempdir()?;
        let mut builder = self
            .store
            .of(Simulator::builder(), &self.name, folder.path())
            .bare(true)
            .profile(profile)
            .clock(self.clock())
            .advertise_address([10, 99, 0, 1].into());
        let echo = if self.name == "proxy" {
            Some(echo::Echo::start().await?)
        } else {
            None
        };
        if let Some(echo) = &echo {
            // Nothing listens at the second address, as in the recording.
            builder = builder
                .dial("10.99.0.1:9999", echo.address())
                .dial("10.99.0.1:9998", "127.0.0.1:9");
        }
        let secured = self.name == "auth";
        if secured {
            let (tokens, passwords) = (folder.path().join("tokens"), folder.path().join("passwords"));
            fs::write(&tokens, "secrettoken,admin,1\n")?;
            fs::write(&passwords, "secretpass,admin,1\n")?;
            let mut credentials = ServerCredentials::default();
            credentials.read_tokens(&tokens)?;
            credentials.read_passwords(&passwords)?;
            builder = builder
                .secure_listen(([127, 0, 0, 1], 0).into())
                .credentials(credentials);
        }
        let simulator = builder.start().await?;
        let mut verifier = Verifier::new(simulator.secure_url().unwrap_or_else(|| simulator.url()));
        verifier.credentials = Credentials {
            insecure: secured,
            ..Credentials::default()
        };
        Ok(verifier.verify(&self.cassette).await?)
    }

    fn check(&self, id: u64, known: Option<&String>) -> Result<(), Failed> {
        let report = self.runtime.block_on(self.report())?;
        let Some(verdict) = report.verdicts.iter().find(|v| v.id == id) else {
            return Err("the interaction has no verdict".into());
        };
        match (verdict.exact, known) {
            (true, None) | (false, Some(_)) => Ok(()),
            (true, Some(reason)) => {
                Err(format!("the response no longer differs: remove the entry from known.json ({reason})").into())
            }
            (false, None) => {
                let found: Vec<String> = verdict
                    .findings
                    .iter()
                    .map(|f| format!("{}: {}", f.grade.name(), f.text))
                    .collect();
                Err(format!("{} {}\n  {}", verdict.method, verdict.target, found.join("\n  ")).into())
            }
        }
    }
}

fn sessions(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .expect("cannot read the folder of recorded sessions")
        .map(|e| e.expect("cannot read a folder entry").path())
        .collect();
    found.retain(|p| p.extension().is_some_and(|e| e == "yaml"));
    found.sort();
    found
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let known: Known = serde_json::from_str(
        &fs::read_to_string(here.join("tests/recorded/known.json")).expect("cannot read known.json"),
    )
    .expect("known.json is not valid JSON");
    let runtime = Arc::new(tokio::runtime::Runtime::new().expect("cannot start the runtime"));
    let Some(store) = Store::chosen().map(Arc::new) else {
        return ExitCode::SUCCESS;
    };
    let (mut trials, mut all) = (Vec::new(), Vec::new());
    let kept = [RECORDED, DOCUMENTED].map(|server| sessions(&here.join("../cassettes/sessions").join(server)));
    for path in kept.into_iter().flatten() {
        let name = path
            .file_stem()
            .and_then(|s| s.to_str())
            .expect("a session without a file name")
            .to_owned();
        let cassette = Cassette::open(&path).expect("cannot read a recorded session");
        let expected = known.get(&name).cloned().unwrap_or_default();
        let titles: Vec<(u64, String)> = cassette
            .interactions
            .iter()
            .filter(|i| {
                i.marks
                    .only
                    .as_deref()
                    .is_none_or(|only| Some(only) == cassette.header.profile.as_deref())
            })
            .map(|i| {
                (
                    i.id,
                    format!("{name}/{:04} {}", i.id, i.note.clone().unwrap_or_default()),
                )
            })
            .collect();
        let session = Arc::new(Session {
            name,
            cassette,
            runtime: runtime.clone(),
            store: store.clone(),
            report: OnceCell::new(),
        });
        all.push(session.clone());
        for (id, title) in titles {
            let (session, reason) = (session.clone(), expected.get(&id.to_string()).cloned());
            trials.push(Trial::test(title, move || session.check(id, reason.as_ref())));
        }
    }
    // Sessions mostly wait, so several run concurrently, the longest first. With a filter, only the selected ones run.
    if arguments.filter.is_none() && arguments.skip.is_empty() && !arguments.list {
        all.sort_by_key(|session| Reverse(session.recorded_time()));
        let reports = stream::iter(all).for_each_concurrent(CONCURRENCY, async |session| drop(session.report().await));
        runtime.spawn(reports);
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
