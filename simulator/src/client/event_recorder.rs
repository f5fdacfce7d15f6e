//! Events: what happened to an object, for people to read.
//!
//! Source: `pkg/client/record` of Kubernetes v1.2: an event that repeats is counted, and more than ten that differ only in their message are
//! combined.

use std::{
    collections::{HashMap, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::api::{Api, Client};
use crate::{
    api::{Object, Status, meta},
    clock::{Clock, stamp},
};

/// How many events of an object that differ only in their message are recorded one by one.
const SINGLE: usize = 10;
/// How long such events count together.
const TOGETHER: SignedDuration = SignedDuration::from_secs(600);
/// How many names are tried for an event.
const NAMES: u32 = 64;
/// How many events of each sort are remembered.
const REMEMBERED: usize = 4096;

/// Type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// Something happened as it should.
    Normal,
    /// Something is wrong.
    Warning,
}

impl EventType {
    fn word(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// The reference to an object that its events carry. Its `apiVersion` is the group, as v1.2 takes it from the object's path; of the core group
/// it is the version.
pub fn reference(object: &Object) -> Value {
    let text = |path: &str| meta::text(object, path);
    let mut reference = Map::new();
    for (field, value) in [
        ("kind", text("kind")),
        ("namespace", text("metadata.namespace")),
        ("name", text("metadata.name")),
        ("uid", text("metadata.uid")),
        ("apiVersion", text("apiVersion").split('/').next().unwrap_or_default()),
        ("resourceVersion", text("metadata.resourceVersion")),
    ] {
        if !value.is_empty() {
            reference.insert(field.to_owned(), value.into());
        }
    }
    Value::Object(reference)
}

/// Records events of one component. Clones share what it remembers.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
/// # let simulator = stuntdouble_simulator::Simulator::builder().bare(true).start().await?;
/// use stuntdouble_simulator::{EventRecorder, EventType, reference};
///
/// let client = simulator.client();
/// let recorder = EventRecorder::new(&client, "my-controller", None)?;
/// let service = client.api("v1", "services")?.in_namespace("default").get("kubernetes").await?;
/// for _ in 0..3 {
///     recorder.record(&reference(&service), EventType::Normal, "Checked", "All is well").await?;
/// }
/// let events = client.api("v1", "events")?.list(&Default::default()).await?.items;
/// assert_eq!((events.len(), &events[0]["count"]), (1, &3.into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct EventRecorder {
    events: Api,
    clock: Clock,
    source: Value,
    memory: Arc<Mutex<Memory>>,
}

#[derive(Default)]
struct Memory {
    similar: Recent<Similar>,
    observed: Recent<Observed>,
    last_name: i128,
}

/// What a text is remembered by: 128 bits, so that no two texts are taken for one.
type Digest = (u64, u64);

fn digest(value: &impl Hash) -> Digest {
    let hash = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, value).hash(&mut hasher);
        hasher.finish()
    };
    (hash(0), hash(1))
}

/// The values that were used last: at most [`REMEMBERED`], and at least half as many unless there were fewer.
struct Recent<V> {
    young: HashMap<Digest, V>,
    old: HashMap<Digest, V>,
}

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
        }
    }
}

impl<V> Recent<V> {
    /// Takes a value out.
    fn take(&mut self, key: Digest) -> Option<V> {
        self.young.remove(&key).or_else(|| self.old.remove(&key))
    }

    /// The value of a key.
    fn get(&self, key: Digest) -> Option<&V> {
        self.young.get(&key).or_else(|| self.old.get(&key))
    }

    /// Puts a value in, the one that was used last.
    fn put(&mut self, key: Digest, value: V) {
        if self.young.len() >= REMEMBERED / 2 {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }
}

/// The events of an object that differ only in their message.
struct Similar {
    messages: VecDeque<Digest>,
    last: Timestamp,
}

/// An event that was recorded.
#[derive(Clone)]
struct Observed {
    name: String,
    count: u32,
    first: Timestamp,
}

impl EventRecorder {
    /// A recorder for `component`, on the node `host` if it runs on one.
    ///
    /// # Errors
    /// `NotFound` if the cluster has no events.
    pub fn new(client: &Client, component: &str, host: Option<&str>) -> Result<Self, Status> {
        let source = match host {
            Some(host) => json!({"component": component, "host": host}),
            None => json!({"component": component}),
        };
        Ok(Self {
            events: client.api("v1", "events")?,
            clock: client.clock().clone(),
            source,
            memory: Arc::default(),
        })
    }

    /// Records that something happened to the object that `involved` refers to.
    ///
    /// # Errors
    /// What the API refuses, such as events of a namespace that is being deleted.
    pub async fn record(&self, involved: &Value, kind: EventType, reason: &str, message: &str) -> Result<(), Status> {
        let now = self.clock.now();
        let identity = ["kind", "namespace", "name", "uid", "apiVersion"].map(|field| &involved[field]);
        let subject = format!("{}{identity:?}{}{reason}", self.source, kind.word());
        let (message, key, observed, name) = {
            let mut memory = self.memory.lock();
            let message = memory.combine(&subject, message, now);
            let key = digest(&(&subject, &message));
            let observed = memory.observed.get(key).cloned();
            let name = memory.name(involved, now);
            (message, key, observed, name)
        };
        let namespace = match involved["namespace"].as_str() {
            None | Some("") => "default",
            Some(namespace) => namespace,
        };
        let events = self.events.in_namespace(namespace);
        let mut next = Observed {
            name,
            count: 1,
            first: now,
        };
        if let Some(observed) = observed {
            next = Observed {
                count: observed.count + 1,
                ..observed
            };
            let patch = json!({"count": next.count, "lastTimestamp": stamp(now)});
            match events.patch(&next.name, &patch).await {
                Err(gone) if gone.code == 404 => {}
                other => {
                    self.memory.lock().observed.put(key, next);
                    return other.map(drop);
                }
            }
        }
        let mut event = json!({
            "metadata": {"name": next.name, "namespace": namespace},
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "source": self.source,
            "firstTimestamp": stamp(next.first),
            "lastTimestamp": stamp(now),
            "count": next.count,
            "type": kind.word(),
        });
        // Recorders share the clock, so that one of another component may have taken the name.
        for attempt in 1..=NAMES {
            match events.create(event.clone()).await {
                Err(taken) if taken.code == 409 && attempt < NAMES => {
                    next.name = self.memory.lock().name(involved, now);
                    event["metadata"]["name"] = next.name.as_str().into();
                }
                other => {
                    other?;
                    break;
                }
            }
        }
        self.memory.lock().observed.put(key, next);
        Ok(())
    }
}

impl Memory {
    /// The message to record: `message`, or the one for all if there have been many.
    fn combine(&mut self, subject: &str, message: &str, now: Timestamp) -> String {
        let subject = digest(&subject);
        let mut similar = self.similar.take(subject).unwrap_or_else(|| Similar {
            messages: VecDeque::new(),
            last: now,
        });
        if now.duration_since(similar.last) > TOGETHER {
            similar.messages.clear();
        }
        similar.last = now;
        let recorded = digest(&message);
        if !similar.messages.contains(&recorded) {
            similar.messages.push_back(recorded);
        }
        let combines = similar.messages.len() >= SINGLE;
        if combines {
            similar.messages.pop_front();
        }
        self.similar.put(subject, similar);
        if combines {
            "(events with common reason combined)".to_owned()
        } else {
            message.to_owned()
        }
    }

    /// A name for an event: the object's, and the time in nanoseconds, which is never the same twice.
    fn name(&mut self, involved: &Value, now: Timestamp) -> String {
        self.last_name = now.as_nanosecond().max(self.last_name + 1);
        format!("{}.{:x}", involved["name"].as_str().unwrap_or_default(), self.last_name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::rig;

    async fn events(client: &Client) -> Vec<(String, u64)> {
        let list = client.api("v1", "events").unwrap().list(&Default::default()).await;
        let mut events: Vec<_> = list
            .unwrap()
            .items
            .iter()
            .map(|e| (meta::text(e, "message").to_owned(), e["count"].as_u64().unwrap()))
            .collect();
        events.sort();
        events
    }

    #[tokio::test]
    async fn many_events_of_one_reason_are_combined() {
        let client = rig().await;
        let recorder = EventRecorder::new(&client, "test", None).unwrap();
        let involved = json!({"kind": "Pod", "namespace": "default", "name": "p"});
        for number in 0..12 {
            let message = format!("failed {number}");
            recorder
                .record(&involved, EventType::Warning, "Failed", &message)
                .await
                .unwrap();
        }
        let events = events(&client).await;
        assert_eq!(events.len(), 10);
        assert_eq!(events[0], ("(events with common reason combined)".to_owned(), 3));
    }

    #[test]
    fn what_was_used_last_is_remembered_and_the_number_is_bounded() {
        let mut recent = Recent::default();
        let first = digest(&"first");
        recent.put(first, 0);
        for number in 1..3 * REMEMBERED {
            recent.put(digest(&number), number);
            assert_eq!(recent.take(first), Some(0), "{number}");
            recent.put(first, 0);
            assert!(recent.young.len() + recent.old.len() <= REMEMBERED);
        }
        assert_eq!(
            (
                recent.take(digest(&1_usize)),
                recent.take(digest(&(3 * REMEMBERED - 1)))
            ),
            (None, Some(3 * REMEMBERED - 1))
        );
    }

    #[tokio::test]
    async fn events_of_one_object_count_together_whatever_its_version_and_field() {
        let client = rig().await;
        let recorder = EventRecorder::new(&client, "test", None).unwrap();
        for (version, field) in [("1", "spec.containers{a}"), ("2", "spec.containers{b}")] {
            let involved = json!({
                "kind": "Pod", "namespace": "default", "name": "p", "resourceVersion": version, "fieldPath": field,
            });
            recorder
                .record(&involved, EventType::Normal, "Ran", "it ran")
                .await
                .unwrap();
        }
        assert_eq!(events(&client).await, [("it ran".to_owned(), 2)]);
    }

    #[tokio::test]
    async fn an_event_that_is_gone_is_made_anew_with_its_count() {
        let client = rig().await;
        let recorder = EventRecorder::new(&client, "test", None).unwrap();
        let involved = json!({"kind": "Pod", "namespace": "default", "name": "p"});
        let api = client.api("v1", "events").unwrap();
        for _ in 0..2 {
            for event in api.list(&Default::default()).await.unwrap().items {
                let name = meta::text(&event, "metadata.name");
                api.in_namespace("default").delete(name, None).await.unwrap();
            }
            recorder
                .record(&involved, EventType::Normal, "Ran", "it ran")
                .await
                .unwrap();
        }
        assert_eq!(events(&client).await, [("it ran".to_owned(), 2)]);
    }
}
