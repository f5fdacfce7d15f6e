//! Contents of a data directory after restarts, crashes and damage.

use std::{fs, path::Path, time::Duration};

use parking_lot::Mutex;
use rstest::rstest;
use tempfile::TempDir;

use super::*;
use crate::api::{GroupResource, Pairs};
use crate::{
    rng::Rng,
    store::{Draft, RestoredState},
};

/// History limit of the tests.
const LIMIT: usize = 100;

/// Sink that records its calls.
#[derive(Default)]
struct RecordingSink {
    restored: Mutex<RestoredState>,
    changes: Mutex<Vec<Change>>,
}

impl Sink for RecordingSink {
    fn restored(&self, restored: RestoredState) {
        *self.restored.lock() = restored;
    }

    fn committed(&self, change: Change) {
        self.changes.lock().push(change);
    }
}

fn open(directory: &Path, durability: Durability) -> (Durable, Arc<RecordingSink>) {
    let recorded = Arc::new(RecordingSink::default());
    let opened = DataDirectory::open(directory).unwrap();
    let store = Durable::start(
        opened,
        durability,
        HistoryLimits::new(LIMIT),
        recorded.clone(),
        &Activity::default(),
    )
    .unwrap();
    (store, recorded)
}

fn error(directory: &Path) -> String {
    DataDirectory::open(directory).err().unwrap().to_string()
}

fn key(resource: &str, name: &str) -> Key {
    Key::new(&GroupResource::core(resource), "n", name)
}

async fn put(store: &Durable, key: &Key, value: &str) -> u64 {
    let expected = match store.get(key) {
        Some(record) => Expected::At(record.revision()),
        None => Expected::Absent,
    };
    let json = format!(r#"{{"metadata":{{"resourceVersion":"0"}},"value":"{value}"}}"#);
    let labels: Pairs = [("value", value)].into_iter().collect();
    let draft = Draft::new(json, "/given".into(), labels, Pairs::default()).unwrap();
    store.commit(key, expected, Write::Put(draft)).await.unwrap().revision
}

async fn remove(store: &Durable, key: &Key) {
    let at = store.get(key).unwrap().revision();
    store.commit(key, Expected::At(at), Write::Remove).await.unwrap();
}

/// Returns the JSON of all objects, to compare byte by byte.
async fn objects(store: &Durable) -> Vec<String> {
    let mut found = Vec::new();
    for resource in ["configmaps", "pods"] {
        let listing = store.list(&GroupResource::core(resource), None);
        found.extend(listing.records.iter().map(|record| format!("{record:?}")));
    }
    found
}

/// Creates, updates and removes objects a few hundred times.
async fn write_randomly(store: &Durable, seed: u64) {
    let rng = Rng::seeded(seed);
    for step in 0..400 {
        write_one(store, &rng, &step.to_string()).await;
    }
}

/// Creates, updates or removes an object.
async fn write_one(store: &Durable, rng: &Rng, value: &str) {
    let key = key(["pods", "configmaps"][rng.below(2)], &rng.below(20).to_string());
    if store.get(&key).is_some() && rng.below(3) == 0 {
        remove(store, &key).await;
    } else {
        put(store, &key, value).await;
    }
}

#[rstest]
#[tokio::test]
async fn a_restart_has_the_same_objects_revision_and_history(
    #[values(Durability::Sync, Durability::Interval)] durability: Durability,
) {
    let directory = TempDir::new().unwrap();
    let (store, before) = open(directory.path(), durability);
    write_randomly(&store, 1).await;
    let (present, revision) = (objects(&store).await, store.tables.read().revision);
    drop(store);

    let summary = DataDirectory::check(directory.path()).unwrap();
    assert_eq!((summary.objects, summary.revision), (present.len(), revision));

    let (store, after) = open(directory.path(), durability);
    assert_eq!(objects(&store).await, present);
    let changes = before.changes.lock().clone();
    let restored = after.restored.lock().clone();
    assert_eq!((restored.revision, restored.floor), (revision, 0));
    for resource in restored.resources {
        let of_kind = |c: &&Change| {
            [&c.before, &c.after]
                .into_iter()
                .flatten()
                .any(|r| r.key().resource == resource.resource)
        };
        let all: Vec<_> = changes.iter().filter(of_kind).collect();
        assert!(resource.changes.len() > LIMIT, "{}", resource.changes.len());
        let (trimmed, kept) = all.split_at(all.len() - resource.changes.len());
        assert_eq!(
            format!("{:?}", resource.changes.iter().collect::<Vec<_>>()),
            format!("{kept:?}")
        );
        assert_eq!(resource.trimmed, trimmed.last().unwrap().revision);
        let mut base = Tables::default();
        trimmed.iter().for_each(|change| base.apply(change));
        let base = base.list(&resource.resource, None).records;
        assert_eq!(format!("{:?}", resource.base), format!("{base:?}"));
    }
    assert_eq!(put(&store, &key("pods", "new"), "x").await, revision + 1);
}

/// Few writes between restarts, so that pages are freed in the last transaction of a run.
#[tokio::test]
async fn a_directory_can_be_opened_after_any_number_of_restarts() {
    for seed in 0..8 {
        let directory = TempDir::new().unwrap();
        let rng = Rng::seeded(seed);
        let mut present = Vec::new();
        for restart in 0..12 {
            let (store, _) = open(directory.path(), Durability::Sync);
            assert_eq!(objects(&store).await, present, "seed {seed}, restart {restart}");
            for _ in 0..rng.below(12) {
                write_one(&store, &rng, &restart.to_string()).await;
            }
            present = objects(&store).await;
        }
    }
}

#[tokio::test]
async fn each_start_is_counted() {
    let directory = TempDir::new().unwrap();
    for starts in 0..3 {
        assert_eq!(DataDirectory::open(directory.path()).unwrap().starts(), starts);
    }
    DataDirectory::check(directory.path()).unwrap();
    assert_eq!(DataDirectory::open(directory.path()).unwrap().starts(), 3);
}

/// Copies a directory in its current state, as a crash would leave it.
fn crashed(directory: &Path) -> TempDir {
    let copy = TempDir::new().unwrap();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    copy
}

#[tokio::test]
async fn with_sync_a_crash_loses_nothing() {
    let directory = TempDir::new().unwrap();
    let (store, _) = open(directory.path(), Durability::Sync);
    write_randomly(&store, 2).await;
    let copy = crashed(directory.path());
    let (recovered, recorded) = open(copy.path(), Durability::Sync);
    assert_eq!(objects(&recovered).await, objects(&store).await);
    assert_eq!(recorded.restored.lock().floor, 0);
}

#[tokio::test]
async fn with_interval_a_crash_reuses_no_revision_and_resumes_no_watch() {
    let directory = TempDir::new().unwrap();
    let (store, _) = open(directory.path(), Durability::Interval);
    write_randomly(&store, 3).await;
    let present = objects(&store).await;
    while objects(&open(crashed(directory.path()).path(), Durability::Sync).0).await != present {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let copy = crashed(directory.path());
    let last = put(&store, &key("pods", "lost"), "x").await;
    let (recovered, recorded) = open(copy.path(), Durability::Sync);
    assert_eq!(objects(&recovered).await, present);
    assert!(recorded.restored.lock().floor > last);
    assert!(put(&recovered, &key("pods", "new"), "x").await > recorded.restored.lock().floor);
}

#[tokio::test]
async fn a_directory_is_open_once() {
    let directory = TempDir::new().unwrap();
    let (store, _) = open(directory.path(), Durability::Sync);
    assert!(error(directory.path()).contains("is in use"));
    store.close().await.unwrap();
    DataDirectory::open(directory.path()).unwrap();
    let late = Write::Put(
        Draft::new(
            r#"{"metadata":{"resourceVersion":"0"}}"#,
            "".into(),
            Pairs::default(),
            Pairs::default(),
        )
        .unwrap(),
    );
    let open_error = store.commit(&key("pods", "late"), Expected::Absent, late).await;
    assert!(matches!(open_error, Err(StoreError::Unavailable(_))));
}

#[tokio::test]
async fn another_format_or_other_files_are_errors() {
    let directory = TempDir::new().unwrap();
    drop(open(directory.path(), Durability::Sync));
    let database = redb::Database::open(directory.path().join("objects.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction
        .open_table(log::NUMBERS)
        .unwrap()
        .insert(log::FORMAT, 7)
        .unwrap();
    transaction.commit().unwrap();
    drop(database);
    let why = error(directory.path());
    assert!(
        why.contains("has format 7, and this program reads and writes format 1"),
        "{why}"
    );

    let other = TempDir::new().unwrap();
    fs::write(other.path().join("letter.txt"), "x").unwrap();
    assert!(error(other.path()).contains("is not a data directory"));
    assert!(DataDirectory::check(other.path()).is_err());
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_truncated_or_overwritten_file_is_damaged() {
    let directory = TempDir::new().unwrap();
    let (store, _) = open(directory.path(), Durability::Sync);
    write_randomly(&store, 4).await;
    drop(store);
    let file = directory.path().join("objects.redb");
    let whole = fs::read(&file).unwrap();
    for length in [0, 7, 4096, whole.len() / 2] {
        fs::write(&file, &whole[..length]).unwrap();
        assert!(error(directory.path()).contains("is damaged"), "{length}");
        assert_eq!(fs::metadata(&file).unwrap().len(), length as u64);
    }
    fs::write(&file, "hello").unwrap();
    assert!(error(directory.path()).contains("is damaged"));
}

/// Flipping any single bit either changes nothing or is detected.
#[tokio::test]
async fn a_flipped_bit_is_detected_or_makes_no_difference() {
    let directory = TempDir::new().unwrap();
    let (store, _) = open(directory.path(), Durability::Sync);
    write_randomly(&store, 5).await;
    let present = objects(&store).await;
    drop(store);
    let whole = fs::read(directory.path().join("objects.redb")).unwrap();
    let rng = Rng::seeded(6);
    let mut found = 0;
    for _ in 0..40 {
        let (at, bit) = (rng.below(whole.len()), rng.below(8));
        let copy = TempDir::new().unwrap();
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << bit;
        fs::write(copy.path().join("objects.redb"), &bytes).unwrap();
        match DataDirectory::open(copy.path()) {
            Ok(opened) => {
                let recorded = Arc::new(RecordingSink::default());
                let store = Durable::start(
                    opened,
                    Durability::Sync,
                    HistoryLimits::new(LIMIT),
                    recorded,
                    &Activity::default(),
                )
                .unwrap();
                assert_eq!(objects(&store).await, present, "byte {at}, bit {bit}");
            }
            Err(why) => {
                assert!(why.to_string().contains("is damaged"), "byte {at}, bit {bit}: {why}");
                found += 1;
            }
        }
    }
    assert!(found > 0);
}
