//! The contract of stores: tests that run over every implementation.

use std::sync::Arc;

use parking_lot::Mutex;
use rstest::rstest;
use tempfile::TempDir;

use super::*;
use crate::clock::Activity;

/// Keeps the changes that it gets.
#[derive(Default)]
struct Heard(Mutex<Vec<Change>>);

impl Sink for Heard {
    fn restored(&self, past: Past) {
        assert_eq!((past.revision, past.resources.len()), (0, 0));
    }

    fn committed(&self, change: Change) {
        self.0.lock().push(change);
    }
}

type Open = fn(Arc<dyn Sink>) -> Opened;

/// A store, and the directory that it is in.
struct Opened {
    store: Arc<dyn Store>,
    _directory: Option<TempDir>,
}

fn memory(sink: Arc<dyn Sink>) -> Opened {
    Opened {
        store: Arc::new(Memory::new(sink)),
        _directory: None,
    }
}

fn durable(sink: Arc<dyn Sink>) -> Opened {
    in_directory(Durability::Sync, sink)
}

fn interval(sink: Arc<dyn Sink>) -> Opened {
    in_directory(Durability::Interval, sink)
}

fn in_directory(durability: Durability, sink: Arc<dyn Sink>) -> Opened {
    let directory = TempDir::new().unwrap();
    let opened = DataDirectory::open(directory.path()).unwrap();
    Opened {
        store: Arc::new(
            Durable::start(opened, durability, HistoryLimits::new(100), sink, &Activity::default()).unwrap(),
        ),
        _directory: Some(directory),
    }
}

fn draft(value: &str) -> Write {
    let encoded = format!(r#"{{"metadata":{{"resourceVersion":"0"}},"value":"{value}"}}"#);
    Write::Put(Draft::new(encoded, "".into(), Pairs::default(), Pairs::default()).unwrap())
}

fn key(namespace: &str, name: &str) -> Key {
    Key::new(&GroupResource::core("configmaps"), namespace, name)
}

#[rstest]
#[case::memory(memory)]
#[case::durable(durable)]
#[case::interval(interval)]
#[tokio::test]
async fn every_change_has_the_next_revision_and_goes_to_the_sink(#[case] open: Open) {
    let heard = Arc::new(Heard::default());
    let opened = open(heard.clone());
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
    assert_eq!(
        (second.revision, third.revision),
        (first.revision + 1, first.revision + 2)
    );
    assert_eq!(second.before.as_ref().map(|r| r.revision()), Some(first.revision));
    assert!(third.after.is_none());
    let revisions: Vec<u64> = heard.0.lock().iter().map(|c| c.revision).collect();
    assert_eq!(revisions, [first.revision, second.revision, third.revision]);
    assert!(store.get(&a).await.unwrap().is_none());
}

#[rstest]
#[case::memory(memory)]
#[case::durable(durable)]
#[case::interval(interval)]
#[tokio::test]
async fn a_write_whose_expectation_fails_changes_nothing(#[case] open: Open) {
    let heard = Arc::new(Heard::default());
    let opened = open(heard.clone());
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
    assert_eq!(store.get(&a).await.unwrap().unwrap().revision(), first.revision);
    assert_eq!(heard.0.lock().len(), 1);
}

#[rstest]
#[case::memory(memory)]
#[case::durable(durable)]
#[case::interval(interval)]
#[tokio::test]
async fn a_listing_is_a_snapshot_in_order(#[case] open: Open) {
    let opened = open(Arc::new(Heard::default()));
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
    let all = store.list(&GroupResource::core("configmaps"), None).await.unwrap();
    assert_eq!(names(&all), ["a/y", "ab/w", "b/x", "b/z"]);
    let before = store.list(&GroupResource::core("configmaps"), Some("b")).await.unwrap();
    store
        .commit(&key("b", "v"), Expected::Absent, draft("v"))
        .await
        .unwrap();
    assert_eq!(names(&before), ["b/x", "b/z"]);
    let after = store.list(&GroupResource::core("configmaps"), Some("b")).await.unwrap();
    assert_eq!((names(&after).len(), after.revision), (3, before.revision + 1));
    assert!(
        store
            .list(&GroupResource::core("pods"), None)
            .await
            .unwrap()
            .records
            .is_empty()
    );
}

#[rstest]
#[case::memory(memory)]
#[case::durable(durable)]
#[case::interval(interval)]
#[tokio::test]
async fn of_concurrent_writers_one_wins(#[case] open: Open) {
    let heard = Arc::new(Heard::default());
    let opened = open(heard.clone());
    let store = &opened.store;
    let a = key("n", "a");
    store.commit(&a, Expected::Absent, draft("0")).await.unwrap();
    let writers = (0..8).map(|_| {
        let (store, a) = (store.clone(), a.clone());
        tokio::spawn(async move {
            for _ in 0..50 {
                loop {
                    let at = store.get(&a).await.unwrap().unwrap().revision();
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
    let heard = heard.0.lock();
    assert_eq!(heard.len(), 401);
    assert!(
        heard
            .windows(2)
            .all(|w| w[1].revision == w[0].revision + 1 && w[1].before.as_ref().unwrap().revision() == w[0].revision)
    );
}

#[rstest]
#[case::memory(memory)]
#[case::durable(durable)]
#[case::interval(interval)]
#[tokio::test]
async fn a_change_goes_to_the_sink_before_it_is_acknowledged_and_is_visible_then(#[case] open: Open) {
    let heard = Arc::new(Heard::default());
    let opened = open(heard.clone());
    let store = &opened.store;
    let writers = (0..8).map(|n| {
        let (store, heard) = (store.clone(), heard.clone());
        tokio::spawn(async move {
            for name in 0..20 {
                let key = key(&format!("n{n}"), &name.to_string());
                let change = store.commit(&key, Expected::Absent, draft("1")).await.unwrap();
                assert!(heard.0.lock().iter().any(|c| c.revision == change.revision));
                assert_eq!(store.get(&key).await.unwrap().unwrap().revision(), change.revision);
                let listing = store.list(&key.resource, Some(&key.namespace)).await.unwrap();
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
#[case::memory(memory)]
#[case::durable(durable)]
#[case::interval(interval)]
#[tokio::test]
async fn a_fork_has_the_same_objects_and_goes_its_own_way(#[case] open: Open) {
    let opened = open(Arc::new(Heard::default()));
    let store = &opened.store;
    let (a, b) = (key("n", "a"), key("n", "b"));
    let first = store.commit(&a, Expected::Absent, draft("1")).await.unwrap();
    let heard = Arc::new(Heard::default());
    let fork = store.fork(&mut || heard.clone());
    let (there, here) = (
        fork.get(&a).await.unwrap().unwrap(),
        store.get(&a).await.unwrap().unwrap(),
    );
    assert!(Arc::ptr_eq(&there, &here));
    let forked = fork
        .commit(&a, Expected::At(first.revision), Write::Remove)
        .await
        .unwrap();
    let original = store.commit(&b, Expected::Absent, draft("2")).await.unwrap();
    assert_eq!(
        (forked.revision, original.revision),
        (first.revision + 1, first.revision + 1)
    );
    assert!(store.get(&a).await.unwrap().is_some());
    assert!(fork.get(&b).await.unwrap().is_none());
    assert_eq!(heard.0.lock().len(), 1);
}

#[rstest]
#[case::memory(memory)]
#[case::durable(durable)]
#[case::interval(interval)]
#[tokio::test]
async fn a_lookup_finds_what_has_the_name_or_the_value_now(#[case] open: Open) {
    let opened = open(Arc::new(Heard::default()));
    let store = &opened.store;
    let pods = GroupResource::core("pods");
    let on = |node: &str| {
        let fields: Pairs = [("spec.nodeName".into(), node.into())].into();
        let json = r#"{"metadata":{"resourceVersion":"0"}}"#;
        Write::Put(Draft::new(json, "".into(), Pairs::default(), fields).unwrap())
    };
    let mut revisions = Vec::new();
    for (namespace, name, node) in [("b", "x", "one"), ("a", "y", "one"), ("a", "x", "two"), ("a", "z", "")] {
        let key = Key::new(&pods, namespace, name);
        revisions.push(store.commit(&key, Expected::Absent, on(node)).await.unwrap().revision);
    }
    let found = async |lookup| {
        let listing = store.find(&pods, lookup).await.unwrap();
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
