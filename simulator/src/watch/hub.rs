//! Where changes come in and followers go out.

use std::{
    collections::HashMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::{Mutex, RwLock};
use tokio::{sync::Notify, time::sleep};
use tokio_util::sync::CancellationToken;

use super::{Event, Follower, Interest, LAG, TooOld, follower::limit, log::Log};
use crate::{
    api::GroupResource,
    profile::Profile,
    store::{Change, Record, Sink},
};

/// The pause after a round of wake-ups, for each follower that was woken: about what one takes to write what it has found.
const PAUSE: Duration = Duration::from_micros(10);
/// A shorter pause than this is not made.
const SHORTEST: Duration = Duration::from_millis(1);
/// A longer one neither.
const LONGEST: Duration = Duration::from_millis(50);

/// Where a watch starts.
#[derive(Clone, Debug)]
pub enum Start {
    /// At the beginning of history: first what is older than that, as it was then, as added.
    Beginning,
    /// With these objects as added, then what comes after this revision.
    Present {
        /// The objects.
        records: Vec<Arc<Record>>,
        /// The revision at which they were read.
        revision: u64,
    },
    /// With the change of this revision, then what comes after it.
    At(u64),
    /// With what comes after this revision.
    After(u64),
}

/// One kind's followers.
pub(super) struct Channel {
    pub(super) log: RwLock<Log>,
    pub(super) grown: Notify,
    changed: AtomicBool,
    places: Mutex<Vec<Weak<Place>>>,
}

/// How long a follower may sleep, and how to cut its connection.
pub(super) struct Place {
    /// The end of the log past which the follower is too far behind.
    pub(super) limit: AtomicU64,
    cut: CancellationToken,
}

impl Channel {
    /// Wakes the followers and cuts those that are too far behind; how many there are.
    fn wake(&self) -> usize {
        self.grown.notify_waiters();
        let end = self.log.read().end();
        let places = self.places.lock();
        places
            .iter()
            .filter_map(Weak::upgrade)
            .filter(|p| p.limit.load(Ordering::Acquire) < end)
            .for_each(|p| p.cut.cancel());
        places.len()
    }
}

/// The channels of all kinds.
///
/// A commit only appends to a log; a task of the hub's own wakes the followers and ends those that are too far behind.
pub struct Hub {
    profile: Profile,
    channels: RwLock<HashMap<GroupResource, Arc<Channel>>>,
    latest: AtomicU64,
    fed: Arc<Notify>,
}

impl Hub {
    /// A hub that keeps as much history as `profile` has it. Needs a running tokio runtime, and ends with its last user.
    pub fn start(profile: Profile) -> Arc<Self> {
        let fed = Arc::new(Notify::new());
        let hub = Arc::new(Self {
            profile,
            channels: RwLock::default(),
            latest: AtomicU64::new(0),
            fed: fed.clone(),
        });
        tokio::spawn(wake(Arc::downgrade(&hub), fed));
        hub
    }

    /// Follows `resource` from `start` on. `cut` is cancelled if the follower falls behind: whoever writes to a peer that never reads has to end then.
    pub fn follow(
        &self,
        resource: &GroupResource,
        start: Start,
        interest: Interest,
        cut: CancellationToken,
    ) -> Result<Follower, TooOld> {
        let channel = self.channel(resource);
        let log = channel.log.read();
        let (first, position) = match start {
            Start::Beginning => (log.base(), log.start()),
            Start::Present { records, revision } => (records, log.position_after(revision)?),
            Start::At(revision) => (Vec::new(), log.position_at(revision)?),
            Start::After(revision) => (Vec::new(), log.position_after(revision)?),
        };
        let place = Arc::new(Place {
            limit: AtomicU64::new(limit(position, log.end().saturating_sub(position))),
            cut,
        });
        drop(log);
        let mut places = channel.places.lock();
        places.retain(|p| p.strong_count() > 0);
        places.push(Arc::downgrade(&place));
        drop(places);
        Ok(Follower::new(channel, place, position, first, interest))
    }

    /// The revision of the latest change; 0 before the first.
    pub fn latest(&self) -> u64 {
        self.latest.load(Ordering::Acquire)
    }

    fn channel(&self, resource: &GroupResource) -> Arc<Channel> {
        if let Some(channel) = self.channels.read().get(resource) {
            return channel.clone();
        }
        let make = || {
            Arc::new(Channel {
                log: RwLock::new(Log::new(self.profile.history(resource), LAG)),
                grown: Notify::new(),
                changed: AtomicBool::new(false),
                places: Mutex::default(),
            })
        };
        self.channels.write().entry(resource.clone()).or_insert_with(make).clone()
    }
}

impl Sink for Hub {
    fn committed(&self, change: Change) {
        self.latest.store(change.revision, Ordering::Release);
        let Some(event) = Event::new(change) else { return };
        let channel = self.channel(&event.last().key().resource);
        channel.log.write().push(event);
        channel.changed.store(true, Ordering::Release);
        self.fed.notify_one();
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.fed.notify_one();
    }
}

/// Wakes the followers of what has changed until the hub is gone.
///
/// Many followers are woken less often, and find more each time: what each wake-up costs is then spread over more changes.
async fn wake(hub: Weak<Hub>, fed: Arc<Notify>) {
    loop {
        fed.notified().await;
        let Some(hub) = hub.upgrade() else { return };
        let changed: Vec<_> = hub
            .channels
            .read()
            .values()
            .filter(|c| c.changed.swap(false, Ordering::AcqRel))
            .cloned()
            .collect();
        drop(hub);
        let woken: usize = changed.iter().map(|channel| channel.wake()).sum();
        let pause = PAUSE * u32::try_from(woken).unwrap_or(u32::MAX);
        if pause >= SHORTEST {
            sleep(pause.min(LONGEST)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{
        scheme::Scheme,
        store::{Draft, Expected, Key, Memory, Pairs, Store, Write},
    };

    fn pods() -> GroupResource {
        GroupResource::core("pods")
    }

    struct Rig {
        hub: Arc<Hub>,
        store: Memory,
    }

    impl Rig {
        fn new() -> Self {
            let hub = Hub::start(Profile::Kubernetes12);
            Self {
                store: Memory::new(hub.clone()),
                hub,
            }
        }

        async fn put(&self, name: &str, label: &str) -> u64 {
            let key = Key::new(&pods(), "n", name);
            let draft = Draft::new(
                r#"{"metadata":{"resourceVersion":"0"}}"#,
                "".into(),
                [("app".into(), label.into())].into(),
                Pairs::default(),
            )
            .unwrap();
            let at = self
                .store
                .get(&key)
                .await
                .unwrap()
                .map_or(Expected::Absent, |r| Expected::At(r.revision()));
            self.store.commit(&key, at, Write::Put(draft)).await.unwrap().revision
        }

        async fn remove(&self, name: &str) {
            let key = Key::new(&pods(), "n", name);
            let at = self.store.get(&key).await.unwrap().unwrap().revision();
            self.store.commit(&key, Expected::At(at), Write::Remove).await.unwrap();
        }

        fn follow(&self, start: Start, label: Option<&'static str>) -> Result<Follower, TooOld> {
            let sees = move |r: &Record| label.is_none_or(|l| r.labels().iter().any(|(_, v)| **v == *l));
            self.hub.follow(
                &pods(),
                start,
                Interest {
                    sees: Box::new(sees),
                    version: Scheme::builtin().resource("", "v1", "pods").unwrap().clone(),
                    after: 0,
                },
                CancellationToken::new(),
            )
        }
    }

    fn text(kind: &str, revision: u64) -> Option<Bytes> {
        Some(
            format!("{{\"type\":\"{kind}\",\"object\":{{\"metadata\":{{\"resourceVersion\":\"{revision}\"}}}}}}\n")
                .into(),
        )
    }

    #[tokio::test]
    async fn a_selector_sees_objects_come_and_go() {
        let rig = Rig::new();
        let mut x = rig.follow(Start::Beginning, Some("x")).unwrap();
        rig.put("a", "x").await;
        rig.put("a", "y").await;
        rig.put("b", "y").await;
        rig.put("a", "x").await;
        rig.remove("a").await;
        for (kind, revision) in [("ADDED", 1), ("DELETED", 2), ("ADDED", 4), ("DELETED", 5)] {
            assert_eq!(x.next().await, text(kind, revision));
        }
    }

    #[tokio::test]
    async fn a_follower_that_waits_is_woken() {
        let rig = Rig::new();
        let mut all = rig.follow(Start::Beginning, None).unwrap();
        let waiting = tokio::spawn(async move { all.next().await });
        tokio::task::yield_now().await;
        rig.put("a", "x").await;
        assert_eq!(waiting.await.unwrap(), text("ADDED", 1));
    }

    #[tokio::test]
    async fn present_objects_come_first_and_none_is_lost_or_doubled() {
        let rig = Rig::new();
        rig.put("a", "x").await;
        let listing = rig.store.list(&pods(), None).await.unwrap();
        rig.put("a", "x").await;
        let mut all = rig
            .follow(
                Start::Present {
                    records: listing.records,
                    revision: listing.revision,
                },
                None,
            )
            .unwrap();
        assert_eq!(all.next().await, text("ADDED", 1));
        assert_eq!(all.next().await, text("MODIFIED", 2));
    }

    #[tokio::test]
    async fn a_start_that_is_too_old_is_refused() {
        let rig = Rig::new();
        for _ in 0..1002 {
            rig.put("a", "x").await;
        }
        assert_eq!(
            rig.follow(Start::At(2), None).err(),
            Some(TooOld { asked: 2, oldest: 3 })
        );
        assert!(rig.follow(Start::After(2), None).is_ok());
    }

    #[tokio::test]
    async fn who_never_reads_is_cut_and_writers_go_on() {
        let rig = Rig::new();
        let cut = CancellationToken::new();
        let interest = Interest {
            sees: Box::new(|_| true),
            version: Scheme::builtin().resource("", "v1", "pods").unwrap().clone(),
            after: 0,
        };
        let mut asleep = rig.hub.follow(&pods(), Start::Beginning, interest, cut.clone()).unwrap();
        for _ in 0..=LAG {
            rig.put("a", "x").await;
        }
        cut.cancelled().await;
        assert_eq!(asleep.next().await, None);
    }
}
