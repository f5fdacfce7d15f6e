//! Sets of words.

use std::collections::HashSet;
use std::sync::Arc;

use super::letter_case::lowercase;

/// A set of words. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct WordSet {
    words: Arc<HashSet<String>>,
    ignore_case: bool,
}

impl WordSet {
    pub(super) fn new(words: impl IntoIterator<Item = String>, ignore_case: bool) -> WordSet {
        let words = words.into_iter();
        let words = words.map(|word| if ignore_case { lowercase(&word) } else { word });
        WordSet {
            words: Arc::new(words.collect()),
            ignore_case,
        }
    }

    pub(super) fn contains(&self, word: &str) -> bool {
        if self.ignore_case {
            self.words.contains(&lowercase(word))
        } else {
            self.words.contains(word)
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
}
