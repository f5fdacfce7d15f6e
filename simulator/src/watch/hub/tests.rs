//! Watchers, from a commit to their frames.

use bytes::Bytes;
use futures::FutureExt;

use super::*;
use crate::{
    api::Pairs,
    scheme::Scheme,
    store::{Draft, Expected, Key, Memory, Store, Write},
    watch::WatchIndexKey,
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
        let hub = Hub::start(HistoryLimits::new(1000), Duration::ZERO, &Activity::default());
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
            [("app", label)].into_iter().collect(),
            Pairs::default(),
        )
        .unwrap();
        let at = self
            .store
            .get(&key)
            .map_or(Expected::Absent, |r| Expected::At(r.revision()));
        self.store.commit(&key, at, Write::Put(draft)).await.unwrap().revision
    }

    async fn remove(&self, name: &str) {
        let key = Key::new(&pods(), "n", name);
        let at = self.store.get(&key).unwrap().revision();
        self.store.commit(&key, Expected::At(at), Write::Remove).await.unwrap();
    }

    fn watch(&self, start: Start, label: Option<&'static str>) -> Result<Watcher, TooOld> {
        let matches = move |r: &Record| label.is_none_or(|l| r.labels().iter().any(|(_, v)| v == l));
        self.hub.watch(
            &pods(),
            start,
            WatchFilter {
                matches: Box::new(matches),
                version: Scheme::builtin().resource("", "v1", "pods").unwrap().clone(),
                after: 0,
                index_key: WatchIndexKey::All,
            },
            CancellationToken::new(),
        )
    }
}

fn text(kind: &str, revision: u64) -> Option<Bytes> {
    Some(format!("{{\"type\":\"{kind}\",\"object\":{{\"metadata\":{{\"resourceVersion\":\"{revision}\"}}}}}}\n").into())
}

#[tokio::test]
async fn a_selector_turns_label_changes_into_added_and_deleted() {
    let rig = Rig::new();
    let mut x = rig.watch(Start::Beginning, Some("x")).unwrap();
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
async fn a_watcher_that_waits_is_woken() {
    let rig = Rig::new();
    let mut all = rig.watch(Start::Beginning, None).unwrap();
    let waiting = tokio::spawn(async move { all.next().await });
    tokio::task::yield_now().await;
    rig.put("a", "x").await;
    assert_eq!(waiting.await.unwrap(), text("ADDED", 1));
}

#[tokio::test]
async fn each_of_many_watchers_gets_every_change() {
    let rig = Rig::new();
    let mut watchers: Vec<_> = (0..300).map(|_| rig.watch(Start::Beginning, None).unwrap()).collect();
    for (name, revision) in [("a", 1), ("b", 2)] {
        let waiting: Vec<_> = watchers.iter_mut().map(|watcher| watcher.next()).collect();
        let (frames, _) = tokio::join!(futures::future::join_all(waiting), rig.put(name, "x"));
        assert_eq!(frames, vec![text("ADDED", revision); 300]);
    }
}

#[tokio::test]
async fn a_change_wakes_matching_watchers_and_eventually_all() {
    let rig = Rig::new();
    let pod = |name: &str| WatchIndexKey::Name(Some("n".into()), name.into());
    let watch = |index_key: WatchIndexKey| {
        let filter = WatchFilter {
            matches: Box::new(|_| false),
            version: Scheme::builtin().resource("", "v1", "pods").unwrap().clone(),
            after: 0,
            index_key,
        };
        let watcher = rig
            .hub
            .watch(&pods(), Start::Beginning, filter, CancellationToken::new());
        watcher.unwrap()
    };
    let (woken_by, other) = (watch(pod("a")), watch(pod("b")));
    let signals = (woken_by.signal(), other.signal());
    let (mut first, mut second) = (
        std::pin::pin!(signals.0.notified()),
        std::pin::pin!(signals.1.notified()),
    );
    first.as_mut().enable();
    second.as_mut().enable();
    rig.put("a", "x").await;
    first.await;
    assert!(second.as_mut().now_or_never().is_none());
    for _ in 0..MAX_BACKLOG_GROWTH / 4 {
        rig.put("a", "x").await;
    }
    second.await;
}

#[tokio::test]
async fn existing_objects_come_first_without_loss_or_duplicates() {
    let rig = Rig::new();
    rig.put("a", "x").await;
    let listing = rig.store.list(&pods(), None);
    rig.put("a", "x").await;
    let mut all = rig
        .watch(
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
async fn a_start_that_is_too_old_fails() {
    let rig = Rig::new();
    for _ in 0..1002 {
        rig.put("a", "x").await;
    }
    assert_eq!(
        rig.watch(Start::At(2), None).err(),
        Some(TooOld {
            requested: 2,
            oldest: 3
        })
    );
    assert!(rig.watch(Start::After(2), None).is_ok());
}

#[tokio::test]
async fn the_bytes_of_all_kinds_together_are_limited() {
    let mut limits = HistoryLimits::new(1000);
    limits.set_bytes(2_000);
    let hub = Hub::start(limits, Duration::ZERO, &Activity::default());
    let store = Memory::new(hub.clone());
    for n in 0..40 {
        let resource = GroupResource::core(&format!("kind{}", n % 8));
        let key = Key::new(&resource, "n", &n.to_string());
        let draft = Draft::new(
            r#"{"metadata":{"resourceVersion":"0"}}"#,
            "".into(),
            Pairs::default(),
            Pairs::default(),
        );
        store
            .commit(&key, Expected::Absent, Write::Put(draft.unwrap()))
            .await
            .unwrap();
    }
    let kept: usize = hub
        .channels
        .read()
        .values()
        .map(|channel| channel.history.read().bytes())
        .sum();
    assert_eq!(kept, hub.bytes.load(Ordering::Acquire));
    assert!((6_000..=8_000).contains(&kept), "{kept}");
}

#[tokio::test]
async fn a_watcher_that_does_not_read_is_closed_and_does_not_block_writers() {
    let rig = Rig::new();
    let close = CancellationToken::new();
    let filter = WatchFilter {
        matches: Box::new(|_| true),
        version: Scheme::builtin().resource("", "v1", "pods").unwrap().clone(),
        after: 0,
        index_key: WatchIndexKey::All,
    };
    let mut asleep = rig.hub.watch(&pods(), Start::Beginning, filter, close.clone()).unwrap();
    for _ in 0..=MAX_BACKLOG_GROWTH {
        rig.put("a", "x").await;
    }
    close.cancelled().await;
    assert_eq!(asleep.next().await, None);
}

#[tokio::test]
async fn a_store_that_lost_changes_ends_its_watches_and_rejects_older_starts() {
    let rig = Rig::new();
    let first = rig.put("a", "x").await;
    let mut watcher = rig.watch(Start::After(first), None).unwrap();
    rig.hub.restored(RestoredState {
        revision: 9,
        floor: 9,
        resources: Vec::new(),
    });
    assert_eq!(watcher.next().await, None);
    let refused = rig.watch(Start::After(first), None).map(drop);
    assert_eq!(
        refused,
        Err(TooOld {
            requested: first,
            oldest: 9
        })
    );
    assert!(rig.watch(Start::After(9), None).is_ok());
    assert_eq!(rig.hub.latest(), 9);
}

#[test]
fn watchers_of_different_objects_are_woken_together() {
    let index = WatcherIndex::default();
    let key = |n: usize| WatchIndexKey::Name(None, n.to_string().into());
    let watchers: Vec<_> = (0..100).map(|n| index.join(key(n))).collect();
    let mut groups = index.all().into_iter();
    assert!(wake_some(&mut groups));
    assert_eq!(groups.len(), watchers.len() - GROUP_SIZE);
    assert!(!wake_some(&mut groups));
}
