//! Numbers of a field in a segment, by document.

use tantivy::columnar::Column;

use super::bits::Bits;

/// Numbers of a field.
pub(crate) enum Values {
    Empty,
    /// At most one per document.
    Single {
        values: Vec<i64>,
        /// Documents with a number. `None`: all documents.
        present: Option<Bits>,
        min: i64,
        max: i64,
    },
    /// Several per document: those of document `d` are `values[starts[d]..starts[d + 1]]`.
    Many {
        starts: Vec<u32>,
        values: Vec<i64>,
    },
}

/// Documents of a segment with a number in a range.
pub(crate) enum Within {
    Nothing,
    Everything,
    Some(Bits),
}

impl Values {
    fn single(values: Vec<i64>, present: Option<Bits>) -> Values {
        let min = values.iter().copied().min().unwrap_or(0);
        let max = values.iter().copied().max().unwrap_or(0);
        Values::Single {
            values,
            present,
            min,
            max,
        }
    }

    /// Memory in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let (values, starts) = match self {
            Values::Empty => (0, 0),
            Values::Single { values, .. } => (values.len(), 0),
            Values::Many { starts, values } => (values.len(), starts.len()),
        };
        (values * size_of::<i64>() + starts * size_of::<u32>()) as u64
    }

    /// Returns the numbers by document, if every document has exactly one.
    pub(crate) fn one_each(&self) -> Option<&[i64]> {
        match self {
            Values::Single {
                values, present: None, ..
            } => Some(values),
            _ => None,
        }
    }

    /// Creates values with several numbers per document.
    pub(crate) fn several(documents: impl Iterator<Item = Vec<i64>>) -> Values {
        let (mut starts, mut values) = (vec![0], Vec::new());
        for mut own in documents {
            own.sort_unstable();
            values.extend(own);
            starts.push(u32::try_from(values.len()).unwrap_or(u32::MAX));
        }
        Values::Many { starts, values }
    }

    pub(super) fn read(column: &Column<i64>, max_doc: u32) -> Values {
        use tantivy::columnar::Cardinality;
        match column.get_cardinality() {
            Cardinality::Full => Values::single((0..max_doc).map(|doc| column.first(doc).unwrap_or(0)).collect(), None),
            Cardinality::Optional => {
                let mut present = Bits::with_capacity(max_doc);
                let mut values = vec![0; max_doc as usize];
                for (doc, slot) in (0..max_doc).zip(&mut values) {
                    if let Some(value) = column.first(doc) {
                        present.insert(doc);
                        *slot = value;
                    }
                }
                Values::single(values, Some(present))
            }
            Cardinality::Multivalued => Values::several((0..max_doc).map(|doc| column.values_for_doc(doc).collect())),
        }
    }

    /// Returns the documents with a number from `lower` to `upper`, inclusive.
    pub(crate) fn within(&self, lower: i64, upper: i64, max_doc: u32) -> Within {
        let found = match self {
            Values::Empty => return Within::Nothing,
            Values::Single { min, max, .. } if *max < lower || *min > upper => {
                return Within::Nothing;
            }
            Values::Single {
                min,
                max,
                present: None,
                ..
            } if lower <= *min && *max <= upper => return Within::Everything,
            Values::Single { values, present, .. } => {
                let words = values.chunks(64).map(|chunk| {
                    let bits = chunk
                        .iter()
                        .enumerate()
                        .map(|(bit, value)| u64::from((lower..=upper).contains(value)) << bit);
                    bits.fold(0, |word, bit| word | bit)
                });
                let found = Bits::of_words(words.collect());
                match present {
                    None => found,
                    Some(present) => found.and(present),
                }
            }
            Values::Many { .. } => {
                let mut found = Bits::with_capacity(max_doc);
                (0..max_doc)
                    .filter(|doc| self.of(*doc).iter().any(|value| (lower..=upper).contains(value)))
                    .for_each(|doc| found.insert(doc));
                found
            }
        };
        match found.len() {
            0 => Within::Nothing,
            all if all == max_doc => Within::Everything,
            _ => Within::Some(found),
        }
    }

    /// Numbers of a document, in ascending order.
    #[inline]
    pub(crate) fn of(&self, doc: u32) -> &[i64] {
        let at = doc as usize;
        match self {
            Values::Empty => &[],
            Values::Single { values, present, .. } => {
                if present.as_ref().is_none_or(|present| present.contains(doc)) {
                    values.get(at..=at).unwrap_or(&[])
                } else {
                    &[]
                }
            }
            Values::Many { starts, values } => match (starts.get(at), starts.get(at + 1)) {
                (Some(from), Some(to)) => values.get(*from as usize..*to as usize).unwrap_or(&[]),
                _ => &[],
            },
        }
    }
}
