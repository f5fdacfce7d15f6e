//! Compact name-value pairs, for the many labels and selectable fields of stored objects.

use super::labels::Set;

/// Name-value pairs sorted by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pairs {
    /// Names and values, concatenated.
    text: Box<str>,
    /// End offset of each name and each value.
    ends: Box<[u32]>,
}

impl Pairs {
    /// Pairs in the order of their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        (0..self.len()).map(move |place| (self.piece(2 * place), self.piece(2 * place + 1)))
    }

    fn len(&self) -> usize {
        self.ends.len() / 2
    }

    /// Name or value at an index.
    fn piece(&self, place: usize) -> &str {
        let end = |place: usize| self.ends.get(place).map_or(0, |end| *end as usize);
        let start = place.checked_sub(1).map_or(0, end);
        self.text.get(start..end(place)).unwrap_or_default()
    }
}

impl<N: AsRef<str>, V: AsRef<str>> FromIterator<(N, V)> for Pairs {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let mut pairs: Vec<(N, V)> = pairs.into_iter().collect();
        pairs.sort_by(|(left, _), (right, _)| left.as_ref().cmp(right.as_ref()));
        let length = pairs.iter().map(|(n, v)| n.as_ref().len() + v.as_ref().len()).sum();
        let (mut text, mut ends) = (String::with_capacity(length), Vec::with_capacity(2 * pairs.len()));
        for (name, value) in &pairs {
            for piece in [name.as_ref(), value.as_ref()] {
                text.push_str(piece);
                // An object is smaller than 4 GiB.
                ends.push(u32::try_from(text.len()).unwrap_or(u32::MAX));
            }
        }
        Self {
            text: text.into(),
            ends: ends.into(),
        }
    }
}

impl Set for Pairs {
    fn value(&self, name: &str) -> Option<&str> {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = from + (to - from) / 2;
            match self.piece(2 * middle).cmp(name) {
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Equal => return Some(self.piece(2 * middle + 1)),
                std::cmp::Ordering::Greater => to = middle,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_kept_by_name() {
        let pairs: Pairs = [("tier", "a"), ("app", ""), ("über", "ö"), ("", "x")]
            .into_iter()
            .collect();
        let all: Vec<_> = pairs.iter().collect();
        assert_eq!(all, [("", "x"), ("app", ""), ("tier", "a"), ("über", "ö")]);
        let values = ["tier", "app", "über", "", "ap", "z"].map(|name| pairs.value(name));
        assert_eq!(values, [Some("a"), Some(""), Some("ö"), Some("x"), None, None]);
        assert_eq!(Pairs::default().value(""), None);
    }
}
