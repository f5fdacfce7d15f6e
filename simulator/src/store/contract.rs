//! The contract of stores: tests that run over every implementation.

use std::sync::Arc;

use parking_lot::Mutex;
use rstest::rstest;

use super::*;

/// Keeps the changes that it gets.
#[derive(Default)]
struct Heard(Mutex<Vec<Change>>);

impl Sink for Heard {
    fn committed(&self, change: Change) {
        self.0.lock().push(change);
    }
}

type Make = fn(Arc<dyn Sink>) -> Box<dyn Store>;

fn memory(sink: Arc<dyn Sink>) -> Box<dyn Store> {
    Box::new(Memory::new(sink))
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
#[tokio::test]
async fn every_change_has_the_next_revision_and_goes_to_the_sink(#[case] make: Make) {
    let heard = Arc::new(Heard::default());
    let store = make(heard.clone());
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
#[tokio::test]
async fn a_write_whose_expectation_fails_changes_nothing(#[case] make: Make) {
    let heard = Arc::new(Heard::default());
    let store = make(heard.clone());
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
#[tokio::test]
async fn a_listing_is_a_snapshot_in_order(#[case] make: Make) {
    let store = make(Arc::new(Heard::default()));
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
#[tokio::test]
async fn of_concurrent_writers_one_wins(#[case] make: Make) {
    let heard = Arc::new(Heard::default());
    let store: Arc<dyn Store> = Arc::from(make(heard.clone()));
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
