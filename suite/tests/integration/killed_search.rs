//! `stuntdouble search --data-dir`, killed while it indexes.
//!
//! Writers index, delete and flush until the process is killed (SIGKILL); then it is restarted. After every start:
//! - no document has lost a write that was acknowledged before the last sync;
//! - no document exists that was not written;
//! - each document has the version with which it was acknowledged.
//!
//! One index is synced before each acknowledgement, the other by flushes. `STUNTDOUBLE_KILLS` is the number of kills.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::killing::{Killed, Progress, kills, write_until_killed};
use crate::sequence::Sequence;
use crate::server::client;
use reqwest::Client;
use serde_json::{Value, json};

/// Number of writers. Each writes its own documents.
const WRITERS: u64 = 4;
/// Number of documents per writer and index.
const DOCUMENTS: u64 = 6;
/// Default number of kills.
const DEFAULT_KILLS: u64 = 6;
/// The index that is synced on every operation, and the one that is synced by flushes.
const INDICES: [&str; 2] = ["each", "flushed"];

/// A document: its version and its value, if it exists.
type State = Option<(u64, u64)>;

/// State of one document, as known to its writer.
#[derive(Clone, Debug)]
struct Known {
    /// States since the last sync. The last one was acknowledged, unless `open`.
    states: Vec<State>,
    open: bool,
}

/// One writer's documents, by index and name.
#[derive(Clone, Debug, Default)]
struct Writer(BTreeMap<(usize, String), Known>);

impl Writer {
    /// Writes until the server stops responding.
    async fn run(mut self, number: u64, seed: u64, url: String, progress: Arc<Progress>) -> Self {
        let (client, mut sequence) = (client(), Sequence(seed));
        for step in 1.. {
            if sequence.below(15) == 0 && self.flush(&client, &url).await.is_none() {
                break;
            }
            let place = (
                sequence.below(2) as usize,
                format!("w{number}-{}", sequence.below(DOCUMENTS)),
            );
            let value = seed * 1_000_000 + step;
            if self.write(&client, &url, place, value, &mut sequence).await.is_none() {
                break;
            }
            progress.add();
        }
        self
    }

    /// Flushes: everything acknowledged before is on disk afterwards.
    async fn flush(&mut self, client: &Client, url: &str) -> Option<()> {
        let index = INDICES[1];
        send(client.post(format!("{url}/{index}/_flush"))).await?;
        for known in self.0.values_mut() {
            known.states.drain(..known.states.len() - 1);
        }
        Some(())
    }

    async fn write(
        &mut self,
        client: &Client,
        url: &str,
        place: (usize, String),
        value: u64,
        sequence: &mut Sequence,
    ) -> Option<()> {
        let path = format!("{url}/{}/t/{}", INDICES[place.0], place.1);
        let is_synced = place.0 == 0;
        let known = self.0.entry(place).or_insert_with(|| Known {
            states: vec![None],
            open: false,
        });
        let current = known.states.last().copied().flatten();
        let (request, expected) = match (current, sequence.below(4)) {
            (Some(_), 0) => (client.delete(&path), None),
            // The value, used as an external version, is greater than every earlier one.
            (_, 1) => (
                client
                    .put(format!("{path}?version={value}&version_type=external"))
                    .json(&json!({"value": value})),
                Some((value, value)),
            ),
            (current, _) => {
                let version = current.map_or(0, |(version, _)| version);
                (
                    client.put(&path).json(&json!({"value": value})),
                    Some((version + 1, value)),
                )
            }
        };
        known.states.push(expected);
        known.open = true;
        let answer = send(request).await?;
        known.open = false;
        if let (Some((version, value)), Some(state)) = (expected, known.states.last_mut()) {
            // The version after a deletion follows that of the deletion.
            let answered = answer["_version"].as_u64().unwrap();
            assert!(
                current.is_none() || answered == version,
                "{path}: {answer}, expected {version}"
            );
            *state = Some((answered, value));
        }
        if is_synced {
            known.states.drain(..known.states.len() - 1);
        }
        Some(())
    }

    /// Compares the documents with what was acknowledged.
    async fn check(&mut self, url: &str) {
        let client = client();
        for ((index, name), known) in &mut self.0 {
            let url = format!("{url}/{}/t/{name}", INDICES[*index]);
            let found: Value = client.get(url).send().await.unwrap().json().await.unwrap();
            let found: State = (found["found"] == true).then(|| {
                (
                    found["_version"].as_u64().unwrap(),
                    found["_source"]["value"].as_u64().unwrap(),
                )
            });
            let open = known.states.last().copied().flatten().filter(|_| known.open);
            // The version after a deletion is known only when the write is acknowledged.
            let is_open = open.is_some_and(|(_, value)| found.is_some_and(|(_, is)| is == value));
            assert!(
                is_open || known.states.contains(&found),
                "{name} in {} is {found:?}, expected one of {known:?}",
                INDICES[*index]
            );
            *known = Known {
                states: vec![found],
                open: false,
            };
        }
    }
}

/// Sends a request. `None` if there is no response.
async fn send(request: reqwest::RequestBuilder) -> Option<Value> {
    let response = request.send().await.ok()?;
    let status = response.status();
    let answer: Value = serde_json::from_slice(&response.bytes().await.ok()?).unwrap();
    assert!(status.is_success(), "{answer}");
    Some(answer)
}

/// Counts the documents with a search.
async fn count(url: &str) -> u64 {
    let client = client();
    send(client.post(format!("{url}/_refresh"))).await.unwrap();
    let counted = send(client.get(format!("{url}/_count"))).await.unwrap();
    counted["count"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_synced_is_lost_and_versions_stay() {
    let kills = kills(DEFAULT_KILLS);
    let program = Killed::new(&["search"]);
    let mut sequence = Sequence(11);
    let mut writers = vec![Writer::default(); WRITERS as usize];
    let mut acknowledged = 0;
    for kill in 0..=kills {
        if sequence.below(4) == 0 {
            program.kill_at_start(Duration::from_millis(sequence.below(40))).await;
        }
        let server = program.start();
        let url = format!("http://{}", server.address());
        for writer in &mut writers {
            writer.check(&url).await;
        }
        let present = writers.iter().flat_map(|writer| writer.0.values());
        let present = present.filter(|known| known.states[0].is_some()).count() as u64;
        assert_eq!(count(&url).await, present);
        if kill == kills {
            break;
        }
        if kill == 0 {
            let client = client();
            for (index, sync) in INDICES.into_iter().zip(["0", "-1"]) {
                let settings = json!({"settings": {
                    "gateway.local.sync": sync, "number_of_shards": 2, "translog.flush_threshold_ops": 500,
                }});
                send(client.put(format!("{url}/{index}")).json(&settings))
                    .await
                    .unwrap();
            }
        }
        let run = |number, writer: Writer, progress| {
            let seed = kill * WRITERS + number + 1;
            writer.run(number, seed, url.clone(), progress)
        };
        let (ended, count) = write_until_killed(server, sequence.below(300), writers, run).await;
        writers = ended;
        acknowledged += count;
    }
    println!("{kills} kills, {acknowledged} acknowledged writes");
}
