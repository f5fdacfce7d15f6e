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
        let shard = Shard::new(0, 1);
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
        shard.write("t", "1", document("1"), Condition::default(), NOW).unwrap();
        assert_eq!(shard.unpublished_since(), Some(NOW));
    }
}

#[test]
fn a_document_that_cannot_be_added_does_not_replace_its_predecessor() {
    let shard = Shard::new(0, 1);
    shard.write("t", "1", document("1"), Condition::default(), NOW).unwrap();
    let mut invalid = document("2");
    invalid.make_invalid();
    let result = shard.write("t", "1", invalid, Condition::default(), NOW);
    assert!(result.is_err(), "{result:?}");
    shard.write("t", "3", document("3"), Condition::default(), NOW).unwrap();
    shard.refresh().unwrap();
    let (version, stored) = shard.get("t", "1").unwrap().unwrap();
    assert_eq!((version, stored.id()), (1, "1"));
    assert_eq!(shard.get("t", "3").unwrap().unwrap().1.id(), "3");
    assert_eq!(shard.view().live_docs(), 2);
}

#[test]
fn a_buffered_document_can_be_read() {
    let shard = Shard::new(0, 1);
    for id in ["1", "2", "1"] {
        shard.write("t", id, document(id), Condition::default(), NOW).unwrap();
    }
    let (version, stored) = shard.get("t", "1").unwrap().unwrap();
    assert_eq!((version, stored.id()), (2, "1"));
    assert!(shard.versions.lock().segments.is_empty());
    shard.refresh().unwrap();
    assert_eq!(shard.get("t", "2").unwrap().unwrap().1.id(), "2");
    assert!(shard.buffers.iter().all(|buffer| buffer.lock().stored.is_empty()));
}

#[test]
fn segments_of_similar_size_are_merged_independently_of_refreshes() {
    let shard = Shard::new(0, 1);
    for id in 0..MERGE_FACTOR {
        shard
            .write("t", &id.to_string(), document("1"), Condition::default(), NOW)
            .unwrap();
        shard.refresh().unwrap();
    }
    assert_eq!(shard.view().segments.len(), MERGE_FACTOR);
    shard.maybe_merge().unwrap();
    assert_eq!(shard.view().segments.len(), 1);
}

#[test]
fn a_version_conflict_adds_no_document() {
    let shard = Shard::new(0, 1);
    shard.write("t", "1", document("1"), Condition::default(), NOW).unwrap();
    let condition = Condition {
        version: Some(7),
        ..Condition::default()
    };
    assert!(shard.write("t", "1", document("1"), condition, NOW).is_err());
    shard.refresh().unwrap();
    assert_eq!(shard.view().max_doc(), 1);
}

#[test]
fn a_write_uses_a_further_buffer_only_while_the_first_is_flushed() {
    let shard = Shard::new(0, 1_024);
    let write = |id: &str| shard.write("t", id, document(id), Condition::default(), NOW).unwrap();
    write("1");
    let flushed = shard.buffers[0].lock();
    write("2");
    drop(flushed);
    write("3");
    let documents = |buffer: &Mutex<IndexBuffer>| buffer.lock().writer.as_ref().map_or(0, SegmentWriter::documents);
    let counts: Vec<u32> = shard.buffers.iter().map(documents).collect();
    assert_eq!(counts[..3], [2, 1, 0]);
}
