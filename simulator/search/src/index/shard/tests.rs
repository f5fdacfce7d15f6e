//! Tests of a shard: writes, refreshes and merges.

use super::*;
use crate::index::shard::merge::MERGE_FACTOR;

const NOW: Duration = Duration::from_secs(1);

fn document(id: &str) -> Encoded {
    let mut encoded = Encoded::default();
    encoded.store(["t", id, "", "", ""], Default::default(), id.as_bytes());
    encoded
}

#[test]
fn a_change_during_a_refresh_is_left_for_the_next_refresh() {
    for _ in 0..200 {
        let shard = Shard::new(0);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for _ in 0..50 {
                    shard.delete("t", "absent", Condition::default(), NOW).unwrap();
                }
            });
            while !writer.is_finished() {
                shard.refresh().unwrap();
            }
        });
        shard
            .write("t", "1", &document("1"), Condition::default(), NOW)
            .unwrap();
        assert_eq!(shard.unpublished_since(), Some(NOW));
    }
}

#[test]
fn a_buffered_document_can_be_read() {
    let shard = Shard::new(0);
    for id in ["1", "2", "1"] {
        shard.write("t", id, &document(id), Condition::default(), NOW).unwrap();
    }
    let (version, stored) = shard.get("t", "1").unwrap().unwrap();
    assert_eq!((version, stored.id()), (2, "1"));
    assert!(shard.versions.lock().segments.is_empty());
    shard.refresh().unwrap();
    assert_eq!(shard.get("t", "2").unwrap().unwrap().1.id(), "2");
    assert!(shard.versions.lock().buffers.is_empty());
}

#[test]
fn segments_of_similar_size_are_merged_independently_of_refreshes() {
    let shard = Shard::new(0);
    for id in 0..MERGE_FACTOR {
        shard
            .write("t", &id.to_string(), &document("1"), Condition::default(), NOW)
            .unwrap();
        shard.refresh().unwrap();
    }
    assert_eq!(shard.view().segments.len(), MERGE_FACTOR);
    // A merge that runs is counted. It waits for the version map before it ends.
    std::thread::scope(|scope| {
        let versions = shard.versions.lock();
        let merge = scope.spawn(|| shard.maybe_merge().unwrap());
        let running = || shard.counters.merging.lock().as_ref().map(|running| running.docs);
        while running().is_none() {
            assert!(!merge.is_finished());
            std::thread::yield_now();
        }
        assert_eq!(running(), Some(MERGE_FACTOR as u64));
        drop(versions);
    });
    assert!(shard.counters.merging.lock().is_none());
    assert_eq!(shard.view().segments.len(), 1);
}

#[test]
fn a_segment_without_a_live_document_is_dropped_by_a_refresh() {
    let shard = Shard::new(0);
    for id in ["1", "2", "1"] {
        shard.write("t", id, &document(id), Condition::default(), NOW).unwrap();
        shard.refresh().unwrap();
    }
    let max_docs = |shard: &Shard| {
        shard
            .view()
            .segments
            .iter()
            .map(|view| view.segment.max_doc())
            .sum::<u32>()
    };
    assert_eq!((shard.view().segments.len(), max_docs(&shard)), (2, 2));
    for id in ["1", "2"] {
        shard.delete("t", id, Condition::default(), NOW).unwrap();
    }
    shard.refresh().unwrap();
    assert!(shard.view().segments.is_empty());
    assert!(shard.get("t", "1").unwrap().is_none());
}

#[test]
fn a_version_conflict_adds_no_document() {
    let shard = Shard::new(0);
    shard
        .write("t", "1", &document("1"), Condition::default(), NOW)
        .unwrap();
    let condition = Condition {
        version: Some(7),
        ..Condition::default()
    };
    assert!(shard.write("t", "1", &document("1"), condition, NOW).is_err());
    shard.refresh().unwrap();
    assert_eq!(shard.view().max_doc(), 1);
}

#[test]
fn a_write_uses_a_further_buffer_only_while_the_first_is_flushed() {
    let shard = Shard::new(0);
    let write = |id: &str| shard.write("t", id, &document(id), Condition::default(), NOW).unwrap();
    write("1");
    shard.buffers[0].is_flushing.store(true, Ordering::Relaxed);
    write("2");
    shard.buffers[0].is_flushing.store(false, Ordering::Relaxed);
    write("3");
    let versions = shard.versions.lock();
    let count = |buffer: &IndexBuffer| {
        buffer
            .content
            .lock()
            .segment
            .map_or(0, |segment| versions.buffers[&segment].len())
    };
    let counts: Vec<u32> = shard.buffers.iter().map(count).collect();
    assert_eq!(counts[..3], [2, 1, 0]);
}

#[test]
fn a_document_is_visible_as_it_was_until_the_next_refresh() {
    let shard = Shard::new(0);
    let write = |id| shard.write("t", id, &document(id), Condition::default(), NOW).unwrap();
    let visible = |id| shard.visible("t", id).unwrap().map(|(version, _)| version);
    write("1");
    write("2");
    assert_eq!(visible("1"), None);
    shard.refresh().unwrap();
    write("1");
    write("1");
    write("3");
    shard.delete("t", "2", Condition::default(), NOW).unwrap();
    let found = |shard: &Shard| shard.places(&shard.view(), |_, _| true).unwrap().len();
    assert_eq!(
        (visible("1"), visible("2"), visible("3"), found(&shard)),
        (Some(1), Some(1), None, 2)
    );
    assert_eq!(shard.get("t", "1").unwrap().unwrap().0, 3);
    shard.refresh().unwrap();
    assert_eq!(
        (visible("1"), visible("2"), visible("3"), found(&shard)),
        (Some(3), None, Some(1), 2)
    );
    assert!(shard.versions.lock().superseded.is_empty());
}

#[test]
fn a_view_that_is_held_finds_its_own_documents() {
    let shard = Shard::new(0);
    let write = |id: &str| shard.write("t", id, &document(id), Condition::default(), NOW).unwrap();
    let refresh = || shard.refresh().unwrap();
    for number in 0..MERGE_FACTOR {
        write("updated");
        write("kept");
        write(&number.to_string());
        refresh();
    }
    let view = shard.view();
    let ids = ["updated", "kept", "0", "5", "absent", "new"];
    let found = |view: &View| {
        ids.map(|id| {
            let (at, doc) = shard.place(view, "t", id).unwrap()?;
            let segment = &view.segments[at].segment;
            assert_eq!(segment.stored(doc).unwrap().id(), id);
            Some(segment.version(doc))
        })
    };
    let all = |view: &View| {
        let mut places = shard.places(view, |_, id| ids.contains(&id)).unwrap();
        places.sort_unstable();
        places
    };
    let last = Some(MERGE_FACTOR as u64);
    let before = (found(&view), all(&view));
    assert_eq!(before.0, [last, last, Some(1), Some(1), None, None]);
    assert_eq!(before.1.len(), 4);
    write("updated");
    refresh();
    assert_eq!((found(&view), all(&view)), before);
    shard.delete("t", "5", Condition::default(), NOW).unwrap();
    write("new");
    refresh();
    assert_eq!((found(&view), all(&view)), before);
    // The merged segment has the number of the first one.
    shard.optimize(true).unwrap();
    assert_eq!(shard.view().segments[0].segment.number, view.segments[0].segment.number);
    assert_eq!((found(&view), all(&view)), before);
    let next = |version: Option<u64>| version.map(|version| version + 1);
    assert_eq!(found(&shard.view()), [next(last), last, Some(1), None, None, Some(1)]);
}

#[test]
fn a_change_between_flush_and_view_does_not_hide_the_document() {
    let shard = Shard::new(0);
    let write = || {
        shard
            .write("t", "1", &document("1"), Condition::default(), NOW)
            .unwrap()
    };
    let visible = || (shard.visible("t", "1").unwrap().unwrap().0, shard.view().live_docs());
    write();
    shard.refresh().unwrap();
    write();
    shard.flush_all().unwrap();
    write();
    shard.drop_deleted();
    shard.publish();
    assert_eq!(visible(), (2, 1));
    write();
    shard.drop_deleted();
    shard.publish();
    assert_eq!(visible(), (2, 1));
    shard.refresh().unwrap();
    assert_eq!(visible(), (4, 1));
}

#[test]
fn a_merge_changes_nothing_that_is_visible() {
    let shard = Shard::new(0);
    let write = |id: &str| shard.write("t", id, &document(id), Condition::default(), NOW).unwrap();
    for number in 1..=MERGE_FACTOR {
        write("0");
        write(&number.to_string());
        shard.refresh().unwrap();
    }
    let visible = |id: &str| {
        shard
            .visible("t", id)
            .unwrap()
            .map(|(version, stored)| (version, stored.id().to_owned()))
    };
    let all = || {
        (0..MERGE_FACTOR + 2)
            .map(|id| visible(&id.to_string()))
            .collect::<Vec<_>>()
    };
    write("0");
    write("5");
    write(&(MERGE_FACTOR + 1).to_string());
    shard.flush_all().unwrap();
    shard.delete("t", "6", Condition::default(), NOW).unwrap();
    write("7");
    let before = (all(), shard.view().live_docs());
    assert_eq!(before.0[0], Some((MERGE_FACTOR as u64, "0".to_owned())));
    shard.maybe_merge().unwrap();
    assert_eq!(shard.view().segments.len(), 1);
    assert_eq!((all(), shard.view().live_docs()), before);
    shard.refresh().unwrap();
    assert_eq!(
        (visible("5").unwrap().0, visible("6"), visible("7").unwrap().0),
        (2, None, 2)
    );
    assert_eq!(shard.view().live_docs(), MERGE_FACTOR as u32 + 1);
}
