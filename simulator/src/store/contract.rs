//! Contract of stores: tests that run over every implementation.

use std::sync::Arc;

use parking_lot::Mutex;
use rstest::rstest;
use tempfile::TempDir;

use super::etcd::testing::{etcd_cluster, new_prefix};
use super::*;
use crate::api::Pairs;
use crate::clock::Activity;

/// Sink that records the changes it gets.
#[derive(Default)]
struct RecordingSink(Mutex<Vec<Change>>);

impl Sink for RecordingSink {
    fn restored(&self, restored: RestoredState) {
        assert_eq!((restored.revision, restored.resources.len()), (0, 0));
    }

    fn committed(&self, change: Change) {
        self.0.lock().push(change);
    }
}

type Open = fn(Arc<dyn Sink>) -> BoxFuture<'static, Option<Opened>>;

/// Open store and its location.
struct Opened {
    store: Arc<dyn Store>,
    location: Location,
}

/// Location of a store, to open it again.
enum Location {
    Memory,
    Directory(TempDir, Durability),
    Etcd(Etcd),
}

impl Opened {
    /// Closes the store and opens it again.
    async fn reopen(self, sink: Arc<dyn Sink>) -> Option<Self> {
        self.store.close().await.unwrap();
        drop(self.store);
        self.location.open(sink).await
    }
}

impl Location {
    async fn open(self, sink: Arc<dyn Sink>) -> Option<Opened> {
        let activity = Activity::default();
        let store: Arc<dyn Store> = match &self {
            Self::Memory => Arc::new(Memory::new(sink)),
            Self::Directory(directory, durability) => {
                let data = DataDirectory::open(directory.path()).unwrap();
                Arc::new(Durable::start(data, *durability, HistoryLimits::new(100), sink, &activity).unwrap())
            }
            Self::Etcd(settings) => Arc::new(EtcdStore::open(settings, sink, &activity).await.unwrap()),
        };
        Some(Opened { store, location: self })
    }
}

fn memory(sink: Arc<dyn Sink>) -> BoxFuture<'static, Option<Opened>> {
    Box::pin(Location::Memory.open(sink))
}

fn durable(sink: Arc<dyn Sink>) -> BoxFuture<'static, Option<Opened>> {
    Box::pin(Location::Directory(TempDir::new().unwrap(), Durability::Sync).open(sink))
}

fn interval(sink: Arc<dyn Sink>) -> BoxFuture<'static, Option<Opened>> {
    Box::pin(Location::Directory(TempDir::new().unwrap(), Durability::Interval).open(sink))
}

fn etcd(sink: Arc<dyn Sink>) -> BoxFuture<'static, Option<Opened>> {
    Box::pin(async move {
        let settings = Etcd::new(etcd_cluster()?.urls()).prefix(new_prefix());
        Location::Etcd(settings).open(sink).await
    })
}

fn draft(value: &str) -> Write {
    let encoded = format!(r#"{{"metadata":{{"resourceVersion":"0"}},"value":"{value}"}}"#);
    Write::Put(Draft::new(encoded, "".into(), Pairs::default(), Pairs::default()).unwrap())
}

fn key(namespace: &str, name: &str) -> Key {
    Key::new(&GroupResource::core("configmaps"), namespace, name)
}

#[rstest]
#[tokio::test]
async fn every_change_has_a_greater_revision_and_is_passed_to_the_sink(
    #[values(memory, durable, interval, etcd)] open: Open,
) {
    let recorded = Arc::new(RecordingSink::default());
    let Some(opened) = open(recorded.clone()).await else {
        return;
    };
    let store = &opened.store;
    let a = key("n", "a");
    let first = store.commit(&a, Expected::Absent, draft("1")).await.unwrap();
    let second = store
        .commit(&a, Expected::At(first.revision), draft("2"))
        .await
        .unwrap();
    let third = store
        .commit(&a, Expected::At(second.revision), Write::Remove)
        .await
        .unwrap();
    assert!(first.revision < second.revision && second.revision < third.revision);
    assert_eq!(second.before.as_ref().map(|r| r.revision()), Some(first.revision));
    assert!(third.after.is_none());
    let revisions: Vec<u64> = recorded.0.lock().iter().map(|c| c.revision).collect();
    assert_eq!(revisions, [first.revision, second.revision, third.revision]);
    assert!(store.get(&a).is_none());
}

#[rstest]
#[tokio::test]
async fn a_write_whose_precondition_fails_changes_nothing(#[values(memory, durable, interval, etcd)] open: Open) {
    let recorded = Arc::new(RecordingSink::default());
    let Some(opened) = open(recorded.clone()).await else {
        return;
    };
    let store = &opened.store;
    let a = key("n", "a");
    assert_eq!(
        store.commit(&a, Expected::At(1), draft("x")).await.unwrap_err(),
        StoreError::Missing(a.clone())
    );
    let first = store.commit(&a, Expected::Absent, draft("1")).await.unwrap();
    assert_eq!(
        store.commit(&a, Expected::Absent, draft("2")).await.unwrap_err(),
        StoreError::Exists(a.clone())
    );
    let stale = StoreError::Stale {
        key: a.clone(),
        expected: first.revision + 7,
        actual: first.revision,
    };
    assert_eq!(
        store
            .commit(&a, Expected::At(first.revision + 7), Write::Remove)
            .await
            .unwrap_err(),
        stale
    );
    assert_eq!(store.get(&a).unwrap().revision(), first.revision);
    assert_eq!(recorded.0.lock().len(), 1);
}

#[rstest]
#[tokio::test]
async fn a_listing_is_a_snapshot_in_order(#[values(memory, durable, interval, etcd)] open: Open) {
    let Some(opened) = open(Arc::new(RecordingSink::default())).await else {
        return;
    };
    let store = &opened.store;
    for (namespace, name) in [("b", "z"), ("a", "y"), ("b", "x"), ("ab", "w")] {
        store
            .commit(&key(namespace, name), Expected::Absent, draft(name))
            .await
            .unwrap();
    }
    let names = |listing: &Listing| {
        listing
            .records
            .iter()
            .map(|r| format!("{}/{}", r.key().namespace, r.key().name))
            .collect::<Vec<_>>()
    };
    let all = store.list(&GroupResource::core("configmaps"), None);
    assert_eq!(names(&all), ["a/y", "ab/w", "b/x", "b/z"]);
    let before = store.list(&GroupResource::core("configmaps"), Some("b"));
    store
        .commit(&key("b", "v"), Expected::Absent, draft("v"))
        .await
        .unwrap();
    assert_eq!(names(&before), ["b/x", "b/z"]);
    let after = store.list(&GroupResource::core("configmaps"), Some("b"));
    assert_eq!(names(&after).len(), 3);
    assert!(after.revision > before.revision);
    assert!(store.list(&GroupResource::core("pods"), None).records.is_empty());
}

#[rstest]
#[tokio::test]
async fn of_concurrent_writers_one_wins(#[values(memory, durable, interval, etcd)] open: Open) {
    let recorded = Arc::new(RecordingSink::default());
    let Some(opened) = open(recorded.clone()).await else {
        return;
    };
    let store = &opened.store;
    let a = key("n", "a");
    store.commit(&a, Expected::Absent, draft("0")).await.unwrap();
    let writers = (0..8).map(|_| {
        let (store, a) = (store.clone(), a.clone());
        tokio::spawn(async move {
            for _ in 0..50 {
                loop {
                    let at = store.get(&a).unwrap().revision();
                    if store.commit(&a, Expected::At(at), draft("n")).await.is_ok() {
                        break;
                    }
                }
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let recorded = recorded.0.lock();
    assert_eq!(recorded.len(), 401);
    assert!(
        recorded
            .windows(2)
            .all(|w| w[1].revision > w[0].revision && w[1].before.as_ref().unwrap().revision() == w[0].revision)
    );
}

#[rstest]
#[tokio::test]
async fn a_change_is_passed_to_the_sink_and_visible_before_it_is_acknowledged(
    #[values(memory, durable, interval, etcd)] open: Open,
) {
    let recorded = Arc::new(RecordingSink::default());
    let Some(opened) = open(recorded.clone()).await else {
        return;
    };
    let store = &opened.store;
    let writers = (0..8).map(|n| {
        let (store, recorded) = (store.clone(), recorded.clone());
        tokio::spawn(async move {
            for name in 0..20 {
                let key = key(&format!("n{n}"), &name.to_string());
                let change = store.commit(&key, Expected::Absent, draft("1")).await.unwrap();
                assert!(recorded.0.lock().iter().any(|c| c.revision == change.revision));
                assert_eq!(store.get(&key).unwrap().revision(), change.revision);
                let listing = store.list(&key.resource, Some(&key.namespace));
                assert!(listing.revision >= change.revision);
                assert_eq!(listing.records.len(), name + 1);
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    store.close().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn a_fork_has_the_same_objects_and_is_independent(#[values(memory, durable, interval, etcd)] open: Open) {
    let Some(opened) = open(Arc::new(RecordingSink::default())).await else {
        return;
    };
    let store = &opened.store;
    let (a, b) = (key("n", "a"), key("n", "b"));
    let first = store.commit(&a, Expected::Absent, draft("1")).await.unwrap();
    let recorded = Arc::new(RecordingSink::default());
    let fork = store.fork(&mut || recorded.clone());
    let (there, here) = (fork.get(&a).unwrap(), store.get(&a).unwrap());
    assert!(Arc::ptr_eq(&there, &here));
    let forked = fork
        .commit(&a, Expected::At(first.revision), Write::Remove)
        .await
        .unwrap();
    let original = store.commit(&b, Expected::Absent, draft("2")).await.unwrap();
    assert_eq!(forked.revision, first.revision + 1);
    assert!(original.revision > first.revision);
    assert!(store.get(&a).is_some());
    assert!(fork.get(&b).is_none());
    assert_eq!(recorded.0.lock().len(), 1);
}

#[rstest]
#[tokio::test]
async fn a_lookup_finds_objects_by_their_current_name_or_field(#[values(memory, durable, interval, etcd)] open: Open) {
    let Some(opened) = open(Arc::new(RecordingSink::default())).await else {
        return;
    };
    let store = &opened.store;
    let pods = GroupResource::core("pods");
    let on = |node: &str| {
        let fields: Pairs = [("spec.nodeName", node)].into_iter().collect();
        let json = r#"{"metadata":{"resourceVersion":"0"}}"#;
        Write::Put(Draft::new(json, "".into(), Pairs::default(), fields).unwrap())
    };
    let mut revisions = Vec::new();
    for (namespace, name, node) in [("b", "x", "one"), ("a", "y", "one"), ("a", "x", "two"), ("a", "z", "")] {
        let key = Key::new(&pods, namespace, name);
        revisions.push(store.commit(&key, Expected::Absent, on(node)).await.unwrap().revision);
    }
    let found = async |lookup| {
        let listing = store.find(&pods, lookup);
        let names = listing
            .records
            .iter()
            .map(|r| format!("{}/{}", r.key().namespace, r.key().name));
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found(Lookup::Field("spec.nodeName", "one")).await, "a/y b/x");
    assert_eq!(found(Lookup::Field("spec.nodeName", "")).await, "a/z");
    assert_eq!(found(Lookup::Name("a", "x")).await, "a/x");
    assert_eq!(found(Lookup::Name("b", "y")).await, "");
    let moved = Key::new(&pods, "b", "x");
    store
        .commit(&moved, Expected::At(revisions[0]), on("two"))
        .await
        .unwrap();
    let removed = Key::new(&pods, "a", "x");
    store
        .commit(&removed, Expected::At(revisions[2]), Write::Remove)
        .await
        .unwrap();
    assert_eq!(found(Lookup::Field("spec.nodeName", "one")).await, "a/y");
    assert_eq!(found(Lookup::Field("spec.nodeName", "two")).await, "b/x");
}

/// Sink that records the history of an opened store and the changes after it.
#[derive(Default)]
struct HistorySink(Mutex<Vec<Change>>);

impl Sink for HistorySink {
    fn restored(&self, restored: RestoredState) {
        let mut changes: Vec<Change> = restored.resources.into_iter().flat_map(|kind| kind.changes).collect();
        changes.sort_by_key(|change| change.revision);
        self.0.lock().extend(changes);
    }

    fn committed(&self, change: Change) {
        self.0.lock().push(change);
    }
}

#[rstest]
#[tokio::test]
async fn a_reopened_store_has_its_objects_and_its_history(#[values(durable, interval, etcd)] open: Open) {
    let recorded = Arc::new(RecordingSink::default());
    let Some(opened) = open(recorded.clone()).await else {
        return;
    };
    let (a, b) = (key("n", "a"), key("n", "b"));
    let first = opened.store.commit(&a, Expected::Absent, draft("1")).await.unwrap();
    let second = opened.store.commit(&b, Expected::Absent, draft("2")).await.unwrap();
    let at = Expected::At(first.revision);
    opened.store.commit(&a, at, Write::Remove).await.unwrap();
    let history = Arc::new(HistorySink::default());
    let opened = opened.reopen(history.clone()).await.unwrap();
    let states = |changes: &[Change]| {
        let of = |record: &Option<Arc<Record>>| record.as_ref().map(|record| (record.key().clone(), record.revision()));
        let states = changes
            .iter()
            .map(|change| (change.revision, of(&change.before), of(&change.after)));
        states.collect::<Vec<_>>()
    };
    assert_eq!(states(&history.0.lock()), states(&recorded.0.lock()));
    assert!(opened.store.get(&a).is_none());
    let restored = opened.store.get(&b).unwrap();
    assert_eq!(restored.bytes(), second.after.unwrap().bytes());
    let third = opened.store.commit(&a, Expected::Absent, draft("3")).await.unwrap();
    assert!(third.revision > history.0.lock()[2].revision);
}

#[tokio::test]
async fn stores_over_one_etcd_show_each_others_writes_after_a_sync() {
    let Some(one) = etcd(Arc::new(RecordingSink::default())).await else {
        return;
    };
    let Location::Etcd(settings) = &one.location else {
        unreachable!()
    };
    let two = Location::Etcd(settings.clone())
        .open(Arc::new(RecordingSink::default()))
        .await
        .unwrap();
    let a = key("n", "a");
    for round in 0..20 {
        let made = one.store.commit(&a, Expected::Absent, draft("1")).await.unwrap();
        two.store.sync().unwrap().await.unwrap();
        let shown = two.store.get(&a).unwrap();
        assert_eq!(shown.revision(), made.revision, "round {round}");
        let removed = two.store.commit(&a, Expected::At(made.revision), Write::Remove).await;
        assert_eq!(removed.unwrap().before.unwrap().bytes(), made.after.unwrap().bytes());
    }
    let claims = Claims {
        taken: vec!["ports/1".to_owned()],
        freed: Vec::new(),
    };
    let claim = |store: &Arc<dyn Store>, name: &str| {
        let (store, key, claims) = (store.clone(), key("n", name), claims.clone());
        async move {
            let claimed = store.commit_claiming(&key, Expected::Absent, draft("1"), &claims).await;
            claimed.map(|change| change.revision)
        }
    };
    let made = claim(&one.store, "b").await.unwrap();
    assert_eq!(
        claim(&two.store, "c").await,
        Err(StoreError::Claimed("ports/1".to_owned()))
    );
    assert!(two.store.claims().unwrap().contains("ports/1"));
    let freed = Claims {
        taken: Vec::new(),
        freed: claims.taken.clone(),
    };
    let b = key("n", "b");
    let removed = one.store.commit_claiming(&b, Expected::At(made), Write::Remove, &freed);
    removed.await.unwrap();
    claim(&two.store, "c").await.unwrap();
}
