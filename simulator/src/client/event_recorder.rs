//! Recorder of events: reports about an object for people to read.
//!
//! Source: `pkg/client/record` of Kubernetes v1.2. A repeated event is counted. More than ten events that differ only
//! in their message are combined.

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

/// Number of similar events (differing only in their message) of an object at which they are combined.
const AGGREGATE_MAX_EVENTS: usize = 10;
/// Time without a similar event after which the number starts again.
const AGGREGATE_INTERVAL: SignedDuration = SignedDuration::from_secs(600);
/// Maximum number of names tried for an event.
const MAX_NAME_ATTEMPTS: u32 = 64;
/// Maximum number of remembered events of each sort.
const MAX_CACHE_ENTRIES: usize = 4096;

/// Type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// Expected event.
    Normal,
    /// Something is wrong.
    Warning,
}

impl EventType {
    fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Returns the reference to an object for its events. As in v1.2, which takes it from the selfLink, `apiVersion` is
/// the group; for the core group it is the version.
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

/// Recorder of one component's events. Clones share their memory.
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

/// Key of a text: a 128-bit hash, which makes collisions negligible.
type Digest = (u64, u64);

fn digest(value: &impl Hash) -> Digest {
    let hash = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        (salt, value).hash(&mut hasher);
        hasher.finish()
    };
    (hash(0), hash(1))
}

/// Most recently used values: at most [`MAX_CACHE_ENTRIES`], and at least half as many once there were that many.
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
    /// Removes and returns the value of a key.
    fn take(&mut self, key: Digest) -> Option<V> {
        self.young.remove(&key).or_else(|| self.old.remove(&key))
    }

    /// Value of a key.
    fn get(&self, key: Digest) -> Option<&V> {
        self.young.get(&key).or_else(|| self.old.get(&key))
    }

    /// Stores a value as the most recently used one.
    fn put(&mut self, key: Digest, value: V) {
        if self.young.len() >= MAX_CACHE_ENTRIES / 2 {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }
}

/// Similar events of an object: they differ only in their message.
struct Similar {
    messages: VecDeque<Digest>,
    last: Timestamp,
}

/// Recorded event.
#[derive(Clone)]
struct Observed {
    name: String,
    count: u32,
    first: Timestamp,
}

impl EventRecorder {
    /// Creates a recorder for `component`, on the node `host` if it runs on one.
    ///
    /// # Errors
    /// `NotFound` if the cluster has no events resource.
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

    /// Records an event about the object that `involved` refers to.
    ///
    /// # Errors
    /// The API's error, for example in a namespace that is being deleted.
    pub async fn record(&self, involved: &Value, kind: EventType, reason: &str, message: &str) -> Result<(), Status> {
        let now = self.clock.now();
        let identity = ["kind", "namespace", "name", "uid", "apiVersion"].map(|field| &involved[field]);
        let subject = format!("{}{identity:?}{}{reason}", self.source, kind.as_str());
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
            "type": kind.as_str(),
        });
        // Recorders share the clock: another component may have used the same name.
        for attempt in 1..=MAX_NAME_ATTEMPTS {
            match events.create(event.clone()).await {
                Err(taken) if taken.code == 409 && attempt < MAX_NAME_ATTEMPTS => {
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
    /// Message to record: `message`, or the combined message if there were many similar events.
    fn combine(&mut self, subject: &str, message: &str, now: Timestamp) -> String {
        let subject = digest(&subject);
        let mut similar = self.similar.take(subject).unwrap_or_else(|| Similar {
            messages: VecDeque::new(),
            last: now,
        });
        if now.duration_since(similar.last) > AGGREGATE_INTERVAL {
            similar.messages.clear();
        }
        similar.last = now;
        let recorded = digest(&message);
        if !similar.messages.contains(&recorded) {
            similar.messages.push_back(recorded);
        }
        let combines = similar.messages.len() >= AGGREGATE_MAX_EVENTS;
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

    /// Returns a unique name for an event: the object's name and the time in nanoseconds.
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
    fn recent_values_are_kept_and_bounded() {
        let mut recent = Recent::default();
        let first = digest(&"first");
        recent.put(first, 0);
        for number in 1..3 * MAX_CACHE_ENTRIES {
            recent.put(digest(&number), number);
            assert_eq!(recent.take(first), Some(0), "{number}");
            recent.put(first, 0);
            assert!(recent.young.len() + recent.old.len() <= MAX_CACHE_ENTRIES);
        }
        assert_eq!(
            (
                recent.take(digest(&1_usize)),
                recent.take(digest(&(3 * MAX_CACHE_ENTRIES - 1)))
            ),
            (None, Some(3 * MAX_CACHE_ENTRIES - 1))
        );
    }

    #[tokio::test]
    async fn events_of_an_object_are_counted_across_versions_and_fields() {
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
    async fn a_deleted_event_is_created_again_with_its_count() {
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
