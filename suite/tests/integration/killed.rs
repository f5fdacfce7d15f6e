//! `stuntdouble serve --data-dir`, killed while it writes.
//!
//! Writers and a watcher run until the process is killed (SIGKILL) at a point chosen by a seeded sequence; then it is
//! restarted. After every start:
//! - no acknowledged write is lost, and no object exists that was not written;
//! - revisions only grow;
//! - the watch, resumed from the last event before the kill, delivers every change once.
//!
//! `STUNTDOUBLE_KILLS` is the number of kills.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::killing::{Killed, Progress, kills, write_until_killed};
use crate::sequence::Sequence;
use crate::server::client;
use reqwest::{Client, Method};
use serde_json::{Value, json};

const OBJECTS: &str = "/api/v1/namespaces/default/configmaps";
/// Number of writers. Each writes its own objects.
const WRITERS: u64 = 8;
/// Number of objects per writer.
const NAMES: u64 = 4;
/// Default number of kills.
const DEFAULT_KILLS: u64 = 12;

/// An object: its revision and its value.
type State = Option<(u64, String)>;

/// State of one object, as known to its writer.
#[derive(Clone, Debug, Default)]
struct Known {
    acknowledged: State,
    /// The unanswered write: the value, or `None` for a deletion.
    open: Option<Option<String>>,
}

/// One writer's objects, by name.
#[derive(Clone, Debug, Default)]
struct Writer {
    objects: BTreeMap<String, Known>,
    /// Every acknowledged creation and update.
    written: Vec<(u64, String, String)>,
}

impl Writer {
    /// Writes until the server stops responding.
    async fn run(mut self, number: u64, seed: u64, url: String, progress: Arc<Progress>) -> Self {
        let (client, mut sequence) = (client(), Sequence(seed));
        for step in 0.. {
            let name = format!("w{number}-{}", sequence.below(NAMES));
            let known = self.objects.entry(name.clone()).or_default();
            let value = format!("{seed}-{step}");
            let intent = (known.acknowledged.is_none() || sequence.below(3) > 0).then_some(value);
            known.open = Some(intent.clone());
            let Some(answer) = write(&client, &url, &name, &known.acknowledged, intent.as_ref()).await else {
                break;
            };
            known.open = None;
            known.acknowledged = intent.map(|value| (revision(&answer), value));
            if let Some((revision, value)) = known.acknowledged.clone() {
                self.written.push((revision, name, value));
            }
            progress.add();
        }
        self
    }

    /// Finds out whether unanswered writes were done, and checks the acknowledged ones.
    fn check(&mut self, present: &BTreeMap<String, (u64, String)>) {
        for (name, known) in &mut self.objects {
            let found = present.get(name).cloned();
            let open = known.open.take();
            let was_done = match &open {
                Some(None) => found.is_none(),
                Some(Some(value)) => found.as_ref().is_some_and(|(_, is)| is == value),
                None => false,
            };
            if was_done {
                if let Some((revision, value)) = &found {
                    self.written.push((*revision, name.clone(), value.clone()));
                }
            } else {
                assert_eq!(found, known.acknowledged, "{name}, unanswered: {open:?}");
            }
            known.acknowledged = found;
        }
    }
}

/// Sends a write. `None` if there is no response.
async fn write(client: &Client, url: &str, name: &str, at: &State, value: Option<&String>) -> Option<Value> {
    let mut metadata = json!({"name": name});
    if let Some((revision, _)) = at {
        metadata["resourceVersion"] = revision.to_string().into();
    }
    let (method, path) = match (at, value) {
        (None, _) => (Method::POST, OBJECTS.to_owned()),
        (Some(_), Some(_)) => (Method::PUT, format!("{OBJECTS}/{name}")),
        (Some(_), None) => (Method::DELETE, format!("{OBJECTS}/{name}")),
    };
    let body = value.map_or(
        json!({}),
        |value| json!({"metadata": metadata, "data": {"value": value}}),
    );
    let request = client.request(method, format!("{url}{path}")).json(&body);
    let response = request.send().await.ok()?;
    let status = response.status();
    let answer: Value = serde_json::from_slice(&response.bytes().await.ok()?).unwrap();
    assert!(status.is_success(), "{name}: {answer}");
    Some(answer)
}

fn revision(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

fn value(object: &Value) -> String {
    object["data"]["value"].as_str().unwrap_or_default().to_owned()
}

/// Events seen by the watches, over all starts.
#[derive(Debug, Default)]
struct Seen {
    last: u64,
    present: BTreeMap<String, (u64, String)>,
    puts: BTreeMap<u64, (String, String)>,
}

impl Seen {
    fn add(&mut self, event: &Value) {
        let (kind, object) = (&event["type"], &event["object"]);
        let name = object["metadata"]["name"]
            .as_str()
            .expect("an event without an object name")
            .to_owned();
        let revision = revision(object);
        assert!(revision > self.last, "{revision} comes after {}", self.last);
        self.last = revision;
        let is_there = self.present.contains_key(&name);
        match kind.as_str().unwrap() {
            "DELETED" => assert!(self.present.remove(&name).is_some(), "{event}"),
            kind => {
                assert_eq!(kind == "MODIFIED", is_there, "{event}");
                self.present.insert(name.clone(), (revision, value(object)));
                self.puts.insert(revision, (name, value(object)));
            }
        }
    }

    /// Resumes the watch after the last event, until an event at revision `end` or the end of the stream.
    async fn follow(&mut self, url: &str, end: u64) {
        let address = format!("{url}{OBJECTS}?watch=true&resourceVersion={}", self.last);
        let Ok(mut response) = client().get(address).send().await else {
            return;
        };
        let status = response.status();
        let mut text = String::new();
        while self.last < end
            && let Ok(Some(chunk)) = response.chunk().await
        {
            text.push_str(std::str::from_utf8(&chunk).unwrap());
            assert!(status.is_success(), "{text}");
            while let Some((line, rest)) = text.split_once('\n') {
                self.add(&serde_json::from_str(line).unwrap());
                text = rest.to_owned();
            }
        }
    }
}

/// Lists the objects. Returns the version of the list, too.
async fn list(url: &str) -> (u64, BTreeMap<String, (u64, String)>) {
    let list: Value = client()
        .get(format!("{url}{OBJECTS}"))
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    // v1.2 leaves out the items of an empty list of config maps.
    let items = list["items"].as_array().into_iter().flatten();
    let present = items.map(|item| {
        let name = item["metadata"]["name"].as_str().unwrap().to_owned();
        (name, (revision(item), value(item)))
    });
    (revision(&list), present.collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_and_watches_resume() {
    let kills = kills(DEFAULT_KILLS);
    let program = Killed::new(&["serve", "--bare"]);
    let mut sequence = Sequence(7);
    let mut writers = vec![Writer::default(); WRITERS as usize];
    let (mut seen, mut newest) = (Seen::default(), 0);
    for kill in 0..kills {
        if sequence.below(6) == 0 {
            program.kill_at_start(Duration::from_millis(sequence.below(40))).await;
        }
        let server = program.start();
        let url = format!("http://{}", server.address());
        let (at, present) = list(&url).await;
        assert!(
            at >= newest && at >= seen.last,
            "the revision is {at}, but was {newest}"
        );
        writers.iter_mut().for_each(|writer| writer.check(&present));
        let known: usize = writers
            .iter()
            .flat_map(|w| w.objects.values())
            .filter(|k| k.acknowledged.is_some())
            .count();
        assert_eq!(present.len(), known, "some objects were never written: {present:?}");
        let end = present.values().map(|(revision, _)| *revision).max().unwrap_or(0);
        seen.follow(&url, end).await;

        let watched = url.clone();
        let watcher = tokio::spawn(async move {
            seen.follow(&watched, u64::MAX).await;
            seen
        });
        let run = |number, writer: Writer, progress| {
            let seed = kill * WRITERS + number + 1;
            writer.run(number, seed, url.clone(), progress)
        };
        (writers, _) = write_until_killed(server, sequence.below(150), writers, run).await;
        seen = watcher.await.unwrap();
        newest = writers
            .iter()
            .flat_map(|w| &w.written)
            .map(|(revision, ..)| *revision)
            .max()
            .unwrap_or(0);
    }

    let server = program.start();
    let url = format!("http://{}", server.address());
    let (_, present) = list(&url).await;
    writers.iter_mut().for_each(|writer| writer.check(&present));
    let marker = write(&client(), &url, "marker", &None, Some(&"end".to_owned()))
        .await
        .unwrap();
    seen.follow(&url, revision(&marker)).await;
    assert_eq!(seen.present, list(&url).await.1);
    let mut written: BTreeMap<u64, (String, String)> = BTreeMap::new();
    for (revision, name, value) in writers.into_iter().flat_map(|writer| writer.written) {
        assert_eq!(
            written.insert(revision, (name, value)),
            None,
            "revision {revision} was used twice"
        );
    }
    written.insert(revision(&marker), ("marker".to_owned(), "end".to_owned()));
    assert_eq!(seen.puts, written);
    println!("{kills} kills, {} creations and updates", written.len());
}
