//! Bounded history of one kind.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use super::{Event, TooOld};
use crate::store::{Key, Record};

/// Last changes of a kind, and the objects before them.
///
/// - Bounded in number and in bytes. The last change is always kept.
/// - Invariant: applying the events from `start` to `base` results in the current objects.
#[derive(Clone)]
pub(super) struct History {
    base: BTreeMap<Key, Arc<Record>>,
    events: VecDeque<Arc<Event>>,
    /// Position of the first kept event. Positions count the changes of a kind from 0.
    first: u64,
    /// Maximum number of events that a new watch may start back.
    depth: usize,
    /// Revision from which the history is complete. 0 if it is complete from the beginning.
    since: u64,
    /// Whether the history is closed: no further changes.
    closed: bool,
    /// Size of the kept events, in bytes.
    bytes: usize,
    /// Limit of `bytes`.
    max_bytes: usize,
    /// Revision of the last dropped event. 0 for none.
    dropped: u64,
    /// Maximum number of kept events: `depth`, and the backlog of a watcher that starts that far back.
    max_events: usize,
}

impl History {
    /// Creates a history from the revision `since`. A watch may start `depth` changes back, and its backlog may grow
    /// by `lag` changes, within a limit of `budget` bytes.
    pub(super) fn new(since: u64, depth: usize, lag: usize, budget: usize) -> Self {
        Self {
            base: BTreeMap::new(),
            events: VecDeque::new(),
            first: 0,
            depth,
            since,
            closed: false,
            bytes: 0,
            max_bytes: budget,
            dropped: 0,
            max_events: depth.saturating_add(lag),
        }
    }

    /// Sets the objects before the first change.
    pub(super) fn set_base(&mut self, records: Vec<Arc<Record>>) {
        self.base = records
            .into_iter()
            .map(|record| (record.key().clone(), record))
            .collect();
    }

    pub(super) fn push(&mut self, event: Arc<Event>) {
        self.bytes += event.size();
        self.events.push_back(event);
        if let Some(last_hidden) = self.last_hidden().and_then(|at| self.events.get(at)).cloned() {
            self.add_to_base(&last_hidden);
        }
        if self.events.len() > self.max_events {
            self.drop_first();
        }
        self.trim(self.max_bytes);
    }

    /// Drops the oldest events until at most `budget` bytes are kept.
    pub(super) fn trim(&mut self, budget: usize) {
        while self.bytes > budget && self.events.len() > 1 {
            self.drop_first();
        }
    }

    /// Size of the kept events, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn drop_first(&mut self) {
        let was_visible = self.events.len() <= self.depth;
        let Some(event) = self.events.pop_front() else { return };
        self.bytes = self.bytes.saturating_sub(event.size());
        self.first += 1;
        self.dropped = event.revision();
        if was_visible {
            self.add_to_base(&event);
        }
    }

    fn add_to_base(&mut self, event: &Event) {
        let record = event.last();
        if event.removed() {
            self.base.remove(record.key());
        } else {
            self.base.insert(record.key().clone(), record.clone());
        }
    }

    /// Revision of the last change. 0 before the first.
    pub(super) fn latest(&self) -> u64 {
        self.events.back().map_or(0, |event| event.revision())
    }

    /// Index of the newest kept event that a watch can no longer start from.
    fn last_hidden(&self) -> Option<usize> {
        self.events.len().checked_sub(self.depth + 1)
    }

    /// Position of the first event that a watch may start from.
    pub(super) fn start(&self) -> u64 {
        self.first + self.events.len().saturating_sub(self.depth) as u64
    }

    /// Position of the next event.
    pub(super) fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    /// Returns up to `limit` events starting at `position`. `None` if the first is no longer kept.
    pub(super) fn read(&self, position: u64, limit: usize) -> Option<impl Iterator<Item = Arc<Event>>> {
        let skip = usize::try_from(position.checked_sub(self.first)?).ok()?;
        Some(self.events.iter().skip(skip).take(limit).cloned())
    }

    /// Closes the history. Watchers end once they have read all events.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Position of the first event at or after `revision`. Fails if `revision` is before the oldest event that a
    /// watch may start from.
    pub(super) fn position_at(&self, revision: u64) -> Result<u64, TooOld> {
        let hidden = self.events.len().saturating_sub(self.depth);
        match self.events.get(hidden) {
            Some(oldest) if revision < oldest.revision() => Err(TooOld {
                requested: revision,
                oldest: oldest.revision(),
            }),
            _ if revision < self.since => Err(self.too_old(revision)),
            _ => Ok(self.position_from(revision)),
        }
    }

    /// Position of the first event after `revision`. Fails only if changes after `revision` were dropped.
    pub(super) fn position_after(&self, revision: u64) -> Result<u64, TooOld> {
        let last_hidden = self
            .last_hidden()
            .and_then(|at| self.events.get(at))
            .map(|e| e.revision());
        match last_hidden.or(Some(self.dropped)) {
            Some(last) if revision < last => Err(TooOld {
                requested: revision,
                oldest: last + 1,
            }),
            _ if revision < self.since => Err(self.too_old(revision)),
            _ => Ok(self.position_from(revision.saturating_add(1))),
        }
    }

    /// Error of a start before this history.
    fn too_old(&self, requested: u64) -> TooOld {
        TooOld {
            requested,
            oldest: self.since,
        }
    }

    fn position_from(&self, revision: u64) -> u64 {
        self.first + self.events.partition_point(|e| e.revision() < revision) as u64
    }

    /// Objects after the last event.
    pub(super) fn present(&self) -> Vec<Arc<Record>> {
        let mut objects = self.base.clone();
        for event in self.events.iter().skip(self.events.len().saturating_sub(self.depth)) {
            let record = event.last();
            if event.removed() {
                objects.remove(record.key());
            } else {
                objects.insert(record.key().clone(), record.clone());
            }
        }
        objects.into_values().collect()
    }

    /// Objects before the first event that a watch may start from.
    pub(super) fn base(&self) -> Vec<Arc<Record>> {
        self.base.values().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;
    use crate::api::{GroupResource, Pairs};
    use crate::store::{Change, Draft, Expected, Memory, RestoredState, Sink, Store, Write};

    #[derive(Default)]
    struct RecordingSink(Mutex<Vec<Change>>);

    impl Sink for RecordingSink {
        fn restored(&self, _past: RestoredState) {}

        fn committed(&self, change: Change) {
            self.0.lock().push(change);
        }
    }

    async fn history_of(names: &[&str], depth: usize, lag: usize) -> History {
        history_within(names, depth, lag, usize::MAX).await
    }

    async fn history_within(names: &[&str], depth: usize, lag: usize, budget: usize) -> History {
        let recorded = Arc::new(RecordingSink::default());
        let store = Memory::new(recorded.clone());
        for name in names {
            let key = Key::new(&GroupResource::core("pods"), "n", name);
            let draft = Draft::new(
                r#"{"metadata":{"resourceVersion":"0"}}"#,
                "".into(),
                Pairs::default(),
                Pairs::default(),
            )
            .unwrap();
            let at = store.get(&key).map_or(Expected::Absent, |r| Expected::At(r.revision()));
            store.commit(&key, at, Write::Put(draft)).await.unwrap();
        }
        let mut history = History::new(0, depth, lag, budget);
        for change in recorded.0.lock().drain(..) {
            history.push(Arc::new(Event::new(change).unwrap()));
        }
        history
    }

    #[tokio::test]
    async fn trimmed_changes_become_the_base() {
        let history = history_of(&["a", "b", "a", "c", "d"], 2, 2).await;
        let base: Vec<_> = history
            .base()
            .iter()
            .map(|r| (r.key().name.to_string(), r.revision()))
            .collect();
        assert_eq!(base, [("a".to_owned(), 3), ("b".to_owned(), 2)]);
        assert_eq!((history.start(), history.end()), (3, 5));
        let present: Vec<_> = history.present().iter().map(|r| r.revision()).collect();
        assert_eq!(present, [3, 2, 4, 5]);
        assert_eq!(history.read(3, 10).unwrap().count(), 2);
    }

    #[tokio::test]
    async fn a_byte_budget_drops_the_oldest_changes() {
        let one = history_of(&["a"], 9, 9).await.bytes();
        let history = history_within(&["a", "b", "a", "c", "d"], 9, 9, 2 * one).await;
        assert_eq!(history.bytes(), 2 * one);
        assert_eq!((history.start(), history.end()), (3, 5));
        let base: Vec<_> = history.base().iter().map(|r| r.revision()).collect();
        assert_eq!(base, [3, 2]);
        assert_eq!(
            history.position_after(2),
            Err(TooOld {
                requested: 2,
                oldest: 4
            })
        );
        assert_eq!(history.position_after(3), Ok(3));
        assert_eq!(
            history.position_at(3),
            Err(TooOld {
                requested: 3,
                oldest: 4
            })
        );
        assert!(history.read(2, 9).is_none());
        let tiny = history_within(&["a", "b"], 9, 9, 1).await;
        assert_eq!(tiny.read(1, 9).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn the_frame_of_a_change_is_counted() {
        let history = history_of(&["a"], 9, 9).await;
        let event = history.read(0, 1).unwrap().next().unwrap();
        assert!(history.bytes() >= 2 * event.last().bytes().len());
    }

    #[tokio::test]
    async fn a_watcher_at_the_oldest_start_may_lag_by_the_whole_limit() {
        let history = history_of(&["a", "b", "a", "c", "d"], 2, 2).await;
        assert!(history.read(0, 10).is_none());
        assert_eq!(history.read(1, 10).unwrap().count(), 4);
    }

    #[tokio::test]
    async fn a_start_before_the_oldest_fails() {
        let history = history_of(&["a", "b", "c", "d", "e"], 3, 4).await;
        assert_eq!(
            history.position_at(2),
            Err(TooOld {
                requested: 2,
                oldest: 3
            })
        );
        assert_eq!(history.position_at(3), Ok(2));
        assert_eq!(history.position_at(9), Ok(5));
        assert_eq!(
            history.position_after(1),
            Err(TooOld {
                requested: 1,
                oldest: 3
            })
        );
        assert_eq!(history.position_after(2), Ok(2));
    }
}
