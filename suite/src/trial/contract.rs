//! The contract of list and watch under concurrent writers.
//!
//! Guarantees: scripts of writes are random, with a seed from the case's id, so that every run has the same scripts.
//! Watches that start at a list or at an observed version, with and without a selector, must stream every write once
//! and in order. The final list must hold the remaining objects. A failing script is reduced to the fewest writes that
//! still fail.
//!
//! Limits: only objects of the trial are compared. Start versions that the target no longer keeps are skipped.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use http::Method;
use proptest::collection::vec;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use super::Failure;
use super::environment::Environment;
use super::environment_error::EnvironmentError;
use super::run::deletion;
use super::verify;
use crate::catalog::profile::ExpectedStatus;
use crate::catalog::{Part, Profile};
use crate::check::{self, Answer, Mismatch, Notification, ObjectHistory, State, WatchStart, WrittenObjects};
use crate::request::Request;
use crate::target::Stream;

/// Number of scripts of a trial.
const SCRIPTS: usize = 2;
/// Maximum number of smaller scripts after a failure.
const MAX_SMALLER_SCRIPTS: usize = 30;
/// Number of objects that are created in addition to those of the first script.
const EXTRA_OBJECTS: usize = 24;
/// Time after which no smaller script is run.
const SHRINK_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum number of versions at which another watch starts.
const MAX_START_VERSIONS: usize = 6;
/// Time limit for the next event, once all objects are written.
const EVENT_TIMEOUT: Duration = Duration::from_secs(10);
/// Status code for a version that is too old.
const GONE: u16 = 410;
/// Label selector of the selective watches.
const SELECTOR: &str = "side=front";

/// The steps of each writer: 0 and 1 create an object with and without the label, 2 flips the label of the last object,
/// 3 deletes it.
type Script = Vec<Vec<u8>>;

/// Runs scripts until one fails. Returns the failure of the smallest failing script.
pub(super) async fn check_contract(
    environment: &Environment<'_>,
    profile: Profile,
    writers: usize,
) -> Result<Option<Failure>, EnvironmentError> {
    let trees = scripts(&environment.case().id, writers).map_err(EnvironmentError::Case)?;
    let mut count = 0;
    for mut tree in trees {
        let Some(mut failure) = run_script(environment, profile, &tree.current(), count).await? else {
            count += 1;
            continue;
        };
        let began = Instant::now();
        let mut smaller = tree.simplify();
        for _ in 0..MAX_SMALLER_SCRIPTS {
            if !smaller || began.elapsed() > SHRINK_TIMEOUT {
                break;
            }
            count += 1;
            smaller = match run_script(environment, profile, &tree.current(), count).await? {
                Some(same) => {
                    failure = same;
                    tree.simplify()
                }
                None => tree.complicate(),
            };
        }
        return Ok(Some(failure));
    }
    Ok(None)
}

/// Returns the scripts of a case.
fn scripts(id: &str, writers: usize) -> Result<Vec<impl ValueTree<Value = Script> + Send + use<>>, String> {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    let seed: Vec<u8> = hasher.finish().to_le_bytes().into_iter().cycle().take(32).collect();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = vec(vec(0u8..4, 1..8), 1..=writers.max(1));
    (0..SCRIPTS)
        .map(|_| strategy.new_tree(&mut runner).map_err(|reason| reason.to_string()))
        .collect()
}

/// Writes of one writer: the history of its objects, and its requests as curl lines.
#[derive(Default)]
struct Written {
    history: Vec<ObjectHistory>,
    lines: Vec<String>,
}

/// Runs one script. Returns its failure.
async fn run_script(
    environment: &Environment<'_>,
    profile: Profile,
    script: &Script,
    number: usize,
) -> Result<Option<Failure>, EnvironmentError> {
    let target = environment.target();
    let collection = environment.bindings().get("collection")?.to_owned();
    let prefix = format!("{}p{number}-", environment.prefix());
    let listing = Request::get(&collection);
    let list = EnvironmentError::object(target, &listing, &target.send(&listing).await?)?;
    let from = version(&list);
    let start = WatchStart {
        from,
        selects: false,
        lags: profile.watch_may_lag(),
    };
    let end = format!("{prefix}end");
    let written = AtomicBool::new(false);
    let writing = async {
        let writers = script.iter().enumerate();
        let writers =
            writers.map(|(writer, steps)| write(environment, &collection, format!("{prefix}{writer}-"), steps));
        let mut done = futures::future::try_join_all(writers).await?;
        let mut last = Written::default();
        // The first script creates more objects than a short page holds.
        for one in 0..if number == 0 { EXTRA_OBJECTS } else { 0 } {
            let name = format!("{prefix}c{one:02}");
            last.create(environment, &collection, name, one % 2 == 0).await?;
        }
        last.create(environment, &collection, end.clone(), true).await?;
        done.push(last);
        written.store(true, Ordering::Relaxed);
        Ok(done)
    };
    let (plain, selective) = (start, WatchStart { selects: true, ..start });
    let (done, streams, selected) = futures::try_join!(
        writing,
        events(environment, &collection, plain, &end, &written),
        events(environment, &collection, selective, &end, &written),
    )?;
    let (mut history, mut lines) = (Vec::new(), vec![target.curl(&listing)]);
    for written in done {
        history.extend(written.history);
        lines.extend(written.lines);
    }
    let failed = |start: WatchStart, mismatch: Mismatch, answered: Option<String>| {
        Some(Failure {
            mismatches: vec![mismatch],
            steps: lines.clone(),
            curl: Some(target.curl(&watch(&collection, start))),
            answered,
            broken: false,
        })
    };
    for (start, received) in [(plain, streams), (selective, selected)] {
        if let Some(mismatch) = received.mismatch(&history, start) {
            return Ok(failed(start, mismatch, received.answered()));
        }
    }
    let mut versions: Vec<u64> = history
        .iter()
        .flat_map(|object| &object.states)
        .map(|state| state.version)
        .collect();
    versions.sort_unstable();
    versions.pop();
    let step = versions.len().div_ceil(MAX_START_VERSIONS).max(1);
    for from in versions.into_iter().step_by(step) {
        for selects in [false, true] {
            let start = WatchStart { from, selects, ..start };
            let received = events(environment, &collection, start, &end, &written).await?;
            if let Some(mismatch) = received.mismatch(&history, start) {
                return Ok(failed(start, mismatch, received.answered()));
            }
        }
    }
    let last = EnvironmentError::object(target, &listing, &target.send(&listing).await?)?;
    let wrong = check_list(&prefix, &history, &last);
    Ok(wrong.and_then(|mismatch| {
        let mut failure = failed(plain, mismatch, None)?;
        failure.curl = Some(target.curl(&listing));
        Some(failure)
    }))
}

/// Checks that a list holds the remaining objects, each in its last state.
fn check_list(prefix: &str, history: &[ObjectHistory], list: &Value) -> Option<Mismatch> {
    let there: Vec<&ObjectHistory> = history.iter().filter(|object| !object.deleted).collect();
    let names: Vec<&str> = there.iter().map(|object| object.name.as_str()).collect();
    let last = |object: &&ObjectHistory| {
        let state = object.states.last()?;
        Some(((object.name.clone(), state.version.to_string()), state.object.clone()))
    };
    let written: WrittenObjects = there.iter().filter_map(last).collect();
    check::items(prefix, &names, &written, list).into_iter().next()
}

fn version(object: &Value) -> u64 {
    let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    version.and_then(check::number).unwrap_or_default()
}

async fn write(
    environment: &Environment<'_>,
    collection: &str,
    prefix: String,
    steps: &[u8],
) -> Result<Written, EnvironmentError> {
    let mut written = Written::default();
    for (number, step) in steps.iter().enumerate() {
        let there = written.history.last().is_some_and(|object| !object.deleted);
        match step {
            2 if there => written.flip_label(environment, collection).await?,
            3 if there => written.delete(environment, collection).await?,
            step => {
                let name = format!("{prefix}{number}");
                written.create(environment, collection, name, step % 2 == 0).await?;
            }
        }
    }
    Ok(written)
}

impl Written {
    async fn send(&mut self, environment: &Environment<'_>, request: &Request) -> Result<Value, EnvironmentError> {
        let target = environment.target();
        self.lines.push(target.curl(request));
        EnvironmentError::object(target, request, &target.send(request).await?)
    }

    async fn create(
        &mut self,
        environment: &Environment<'_>,
        collection: &str,
        name: String,
        selected: bool,
    ) -> Result<(), EnvironmentError> {
        let mut object = environment.part("a", Part::Sample)?;
        let set = json!({"metadata": {"name": name, "labels": label(selected)}});
        crate::request::merge(&mut object, &set);
        let request = Request::new(Method::POST, collection).with_body("application/json", object.to_string());
        environment.created(format!("{collection}/{name}"));
        let object = self.send(environment, &request).await?;
        self.history.push(ObjectHistory {
            name,
            states: vec![State {
                version: version(&object),
                selected,
                object,
            }],
            deleted: false,
        });
        Ok(())
    }

    async fn flip_label(&mut self, environment: &Environment<'_>, collection: &str) -> Result<(), EnvironmentError> {
        let Some((name, selected)) = self
            .history
            .last()
            .and_then(|object| Some((object.name.clone(), !object.states.last()?.selected)))
        else {
            return Ok(());
        };
        let patch = json!({"metadata": {"labels": label(selected)}});
        let request = Request::new(Method::PATCH, format!("{collection}/{name}"))
            .with_body("application/merge-patch+json", patch.to_string());
        let object = self.send(environment, &request).await?;
        if let Some(known) = self.history.last_mut() {
            known.states.push(State {
                version: version(&object),
                selected,
                object,
            });
        }
        Ok(())
    }

    async fn delete(&mut self, environment: &Environment<'_>, collection: &str) -> Result<(), EnvironmentError> {
        if let Some(name) = self.history.last().map(|object| object.name.clone()) {
            self.send(environment, &deletion(format!("{collection}/{name}")))
                .await?;
        }
        if let Some(known) = self.history.last_mut() {
            known.deleted = true;
        }
        Ok(())
    }
}

fn label(selected: bool) -> Value {
    json!({"side": if selected { "front" } else { "back" }})
}

fn watch(collection: &str, start: WatchStart) -> Request {
    let mut request = Request::get(collection);
    request.query.push(("watch".to_owned(), "true".to_owned()));
    request
        .query
        .push(("resourceVersion".to_owned(), start.from.to_string()));
    if start.selects {
        request.query.push(("labelSelector".to_owned(), SELECTOR.to_owned()));
    }
    request
}

/// Events of one watch.
struct Streamed {
    events: Vec<Notification>,
    /// Response of the watch, unless its status is 200.
    refused: Option<Answer>,
    /// The event of the last write was received.
    complete: bool,
    /// The target no longer keeps the start version.
    gone: bool,
}

impl Streamed {
    fn mismatch(&self, history: &[ObjectHistory], start: WatchStart) -> Option<Mismatch> {
        if self.gone {
            return None;
        }
        if let Some(refused) = &self.refused {
            return Some(verify::status(ExpectedStatus::Code(200), refused));
        }
        if !self.complete {
            let names: Vec<&str> = self.events.iter().map(|event| event.event.as_str()).collect();
            let actual = format!("{} events: {}", names.len(), names.join(", "));
            return Some(Mismatch::new(
                "stream",
                "an event for every write, up to the last",
                actual,
            ));
        }
        check::streamed(history, start, &self.events)
    }

    fn answered(&self) -> Option<String> {
        let status = self.refused.as_ref().map_or(200, |answer| answer.status);
        Some(format!("{status}, {} events", self.events.len()))
    }
}

/// Returns the next item of a stream. `None` if the stream has ended, or if no item arrives after the last write.
async fn next(environment: &Environment<'_>, stream: &mut Stream, written: &AtomicBool) -> Option<Value> {
    let (mut wait, mut extended) = (EVENT_TIMEOUT, false);
    loop {
        match tokio::time::timeout(wait, stream.next()).await {
            Ok(item) => return item.ok().flatten(),
            Err(_) if !written.load(Ordering::Relaxed) => {}
            Err(_) => wait = environment.extra_wait_once(&mut extended).await?,
        }
    }
}

/// Reads the events of a watch, up to the creation of the object that is written last.
async fn events(
    environment: &Environment<'_>,
    collection: &str,
    start: WatchStart,
    end: &str,
    written: &AtomicBool,
) -> Result<Streamed, EnvironmentError> {
    let mut stream = environment.target().open(&watch(collection, start)).await?;
    let mut streamed = Streamed {
        events: Vec::new(),
        refused: None,
        complete: false,
        gone: stream.status == GONE,
    };
    if stream.status != 200 {
        streamed.refused = Some(Answer {
            status: stream.status,
            ..Answer::default()
        });
        return Ok(streamed);
    }
    let prefix = environment.prefix();
    while let Some(item) = next(environment, &mut stream, written).await {
        let Ok(event) = Notification::read(&item) else { break };
        if event.event == "ERROR" {
            streamed.gone = event.object.get("code").and_then(Value::as_u64) == Some(u64::from(GONE));
            break;
        }
        streamed.complete = event.name() == end;
        if event.name().starts_with(&prefix) {
            streamed.events.push(event);
        }
        if streamed.complete {
            break;
        }
    }
    Ok(streamed)
}
