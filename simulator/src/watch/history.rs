//! The bounded history of one kind.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use super::{Event, TooOld};
use crate::store::{Key, Record};

/// The last changes of a kind, and the state that a watch from the beginning starts from.
///
/// Bounded in number and in bytes; the last change is always kept.
///
/// Invariant: `base` and then the events from `start` on add up to the kind's present objects.
#[derive(Clone)]
pub(super) struct History {
    base: BTreeMap<Key, Arc<Record>>,
    events: VecDeque<Arc<Event>>,
    /// The position of the first kept event; positions count a kind's changes from 0.
    first: u64,
    /// How far back a watch may start.
    depth: usize,
    /// The revision from which on the history is whole; 0 for the beginning.
    since: u64,
    /// Whether no more changes come.
    closed: bool,
    /// Bytes of the kept events.
    bytes: usize,
    /// Most bytes of kept events.
    budget: usize,
    /// The revision of the last event that was dropped; 0 for none.
    dropped: u64,
    /// How many are kept: also the backlog limit of a watcher that starts that far back.
    keep: usize,
}

impl History {
    /// A history after revision `since` that lets watches start `depth` changes back and watchers fall `lag` changes behind, as far as
    /// `budget` bytes have room for them.
    pub(super) fn new(since: u64, depth: usize, lag: usize, budget: usize) -> Self {
        Self {
            base: BTreeMap::new(),
            events: VecDeque::new(),
            first: 0,
            depth,
            since,
            closed: false,
            bytes: 0,
            budget,
            dropped: 0,
            keep: depth.saturating_add(lag),
        }
    }

    /// Sets the objects that were there before the first change.
    pub(super) fn set_base(&mut self, records: Vec<Arc<Record>>) {
        self.base = records
            .into_iter()
            .map(|record| (record.key().clone(), record))
            .collect();
    }

    pub(super) fn push(&mut self, event: Arc<Event>) {
        self.bytes += event.size();
        self.events.push_back(event);
        if let Some(passed) = self.passed().and_then(|at| self.events.get(at)).cloned() {
            self.add_to_base(&passed);
        }
        if self.events.len() > self.keep {
            self.drop_first();
        }
        self.trim(self.budget);
    }

    /// Drops the oldest events until at most `budget` bytes are kept.
    pub(super) fn trim(&mut self, budget: usize) {
        while self.bytes > budget && self.events.len() > 1 {
            self.drop_first();
        }
    }

    /// Bytes of the kept events.
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

    /// The revision of the last change; 0 before the first.
    pub(super) fn latest(&self) -> u64 {
        self.events.back().map_or(0, |event| event.revision())
    }

    /// Where among the kept events the latest is that a watch may no longer start from.
    fn passed(&self) -> Option<usize> {
        self.events.len().checked_sub(self.depth + 1)
    }

    /// The position of the first event that a watch may start from.
    pub(super) fn start(&self) -> u64 {
        self.first + self.events.len().saturating_sub(self.depth) as u64
    }

    /// The position that the next event will have.
    pub(super) fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    /// Up to `most` events from `position` on; `None` where that is no longer kept.
    pub(super) fn read(&self, position: u64, most: usize) -> Option<impl Iterator<Item = Arc<Event>>> {
        let skip = usize::try_from(position.checked_sub(self.first)?).ok()?;
        Some(self.events.iter().skip(skip).take(most).cloned())
    }

    /// Ends the watchers once they have read what there is.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The position of the first event at or after `revision`; refused where that lies before the oldest a watch may start from.
    pub(super) fn position_at(&self, revision: u64) -> Result<u64, TooOld> {
        let hidden = self.events.len().saturating_sub(self.depth);
        match self.events.get(hidden) {
            Some(oldest) if revision < oldest.revision() => Err(TooOld {
                asked: revision,
                oldest: oldest.revision(),
            }),
            _ if revision < self.since => Err(self.too_old(revision)),
            _ => Ok(self.position_from(revision)),
        }
    }

    /// The same where a start is only too old when changes after it were dropped.
    pub(super) fn position_after(&self, revision: u64) -> Result<u64, TooOld> {
        let passed = self.passed().and_then(|at| self.events.get(at)).map(|e| e.revision());
        match passed.or(Some(self.dropped)) {
            Some(last) if revision < last => Err(TooOld {
                asked: revision,
                oldest: last + 1,
            }),
            _ if revision < self.since => Err(self.too_old(revision)),
            _ => Ok(self.position_from(revision.saturating_add(1))),
        }
    }

    /// The refusal of a start before this history.
    fn too_old(&self, asked: u64) -> TooOld {
        TooOld {
            asked,
            oldest: self.since,
        }
    }

    fn position_from(&self, revision: u64) -> u64 {
        self.first + self.events.partition_point(|e| e.revision() < revision) as u64
    }

    /// The objects as they are after the last event.
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

    /// The objects as they were before the first event that a watch may start from.
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
    use crate::store::{Change, Draft, Expected, Memory, Past, Sink, Store, Write};

    #[derive(Default)]
    struct Feed(Mutex<Vec<Change>>);

    impl Sink for Feed {
        fn restored(&self, _past: Past) {}

        fn committed(&self, change: Change) {
            self.0.lock().push(change);
        }
    }

    async fn pushed(names: &[&str], depth: usize, lag: usize) -> History {
        pushed_within(names, depth, lag, usize::MAX).await
    }

    async fn pushed_within(names: &[&str], depth: usize, lag: usize, budget: usize) -> History {
        let feed = Arc::new(Feed::default());
        let store = Memory::new(feed.clone());
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
        for change in feed.0.lock().drain(..) {
            history.push(Arc::new(Event::new(change).unwrap()));
        }
        history
    }

    #[tokio::test]
    async fn what_is_trimmed_becomes_the_base() {
        let history = pushed(&["a", "b", "a", "c", "d"], 2, 2).await;
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
        let one = pushed(&["a"], 9, 9).await.bytes();
        let history = pushed_within(&["a", "b", "a", "c", "d"], 9, 9, 2 * one).await;
        assert_eq!(history.bytes(), 2 * one);
        assert_eq!((history.start(), history.end()), (3, 5));
        let base: Vec<_> = history.base().iter().map(|r| r.revision()).collect();
        assert_eq!(base, [3, 2]);
        assert_eq!(history.position_after(2), Err(TooOld { asked: 2, oldest: 4 }));
        assert_eq!(history.position_after(3), Ok(3));
        assert_eq!(history.position_at(3), Err(TooOld { asked: 3, oldest: 4 }));
        assert!(history.read(2, 9).is_none());
        let tiny = pushed_within(&["a", "b"], 9, 9, 1).await;
        assert_eq!(tiny.read(1, 9).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn the_frame_of_a_change_is_counted() {
        let history = pushed(&["a"], 9, 9).await;
        let event = history.read(0, 1).unwrap().next().unwrap();
        assert!(history.bytes() >= 2 * event.last().bytes().len());
    }

    #[tokio::test]
    async fn whoever_starts_farthest_back_has_the_whole_lag() {
        let history = pushed(&["a", "b", "a", "c", "d"], 2, 2).await;
        assert!(history.read(0, 10).is_none());
        assert_eq!(history.read(1, 10).unwrap().count(), 4);
    }

    #[tokio::test]
    async fn a_start_before_the_oldest_is_refused() {
        let history = pushed(&["a", "b", "c", "d", "e"], 3, 4).await;
        assert_eq!(history.position_at(2), Err(TooOld { asked: 2, oldest: 3 }));
        assert_eq!(history.position_at(3), Ok(2));
        assert_eq!(history.position_at(9), Ok(5));
        assert_eq!(history.position_after(1), Err(TooOld { asked: 1, oldest: 3 }));
        assert_eq!(history.position_after(2), Ok(2));
    }
}
