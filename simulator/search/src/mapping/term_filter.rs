//! Filter of the terms that are loaded as field data: `fielddata.filter`.
//!
//! Source: `FrequencyFilter` and `RegexFilter` of Elasticsearch 1.5.

use std::collections::BTreeMap;

use crate::java_pattern::JavaPattern;

use super::{FieldType, Indexing};
use crate::json::leaves;

/// Filter of the terms that are loaded as field data.
pub(crate) struct TermFilter {
    /// Fewest and most documents that have a term: a share of all up to 1, a number above.
    frequencies: (f64, f64),
    /// Documents that a segment needs for its terms to be filtered by their frequencies.
    min_segment_size: f64,
    /// Pattern of whole terms.
    pattern: Option<JavaPattern>,
}

impl FieldType {
    /// Returns the settings of the filter, if there is one. Doc values are not filtered.
    pub(crate) fn term_filter(&self) -> Option<BTreeMap<String, String>> {
        let mut settings = BTreeMap::new();
        leaves("", self.setting("fielddata")?, &mut |name, text| {
            settings.extend(name.strip_prefix("filter.").map(|name| (name.to_owned(), text)));
        });
        let has_doc_values = self.doc_values() == Some(true) && self.indexing != Indexing::Analyzed;
        (!has_doc_values && !settings.is_empty()).then_some(settings)
    }
}

impl TermFilter {
    /// Reads the settings. An invalid number or pattern is none.
    pub(crate) fn new(settings: &BTreeMap<String, String>) -> TermFilter {
        let number = |key: &str, default: f64| {
            let given = settings.get(key).and_then(|text| text.parse().ok());
            given.unwrap_or(default)
        };
        let pattern = settings.get("regex.pattern");
        TermFilter {
            frequencies: (number("frequency.min", 0.0), number("frequency.max", f64::MAX)),
            min_segment_size: number("frequency.min_segment_size", 0.0),
            pattern: pattern.and_then(|pattern| JavaPattern::whole(pattern, 0).ok()),
        }
    }

    /// Returns whether a term is loaded that `doc_freq` of the `docs` documents with the field have.
    pub(crate) fn accepts(&self, term: &str, doc_freq: u32, docs: u32) -> bool {
        let docs = f64::from(docs);
        let bound = |share: f64| {
            if share > 1.0 {
                share.trunc()
            } else {
                (docs * share).trunc()
            }
        };
        let (min, max) = self.frequencies;
        let is_frequent = docs < self.min_segment_size || (bound(min)..=bound(max)).contains(&f64::from(doc_freq));
        is_frequent && self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(term))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(&[("frequency.min", "2")], "fox", 1, false)]
    #[case(&[("frequency.min", "2")], "fox", 2, true)]
    #[case(&[("frequency.min", "0.3")], "fox", 2, false)]
    #[case(&[("frequency.max", "0.3")], "fox", 3, true)]
    #[case(&[("frequency.min", "5"), ("frequency.min_segment_size", "11")], "fox", 1, true)]
    #[case(&[("regex.pattern", "fo.")], "fox", 1, true)]
    #[case(&[("regex.pattern", "fo.")], "foxes", 1, false)]
    fn terms_are_filtered_by_frequency_and_pattern(
        #[case] settings: &[(&str, &str)],
        #[case] term: &str,
        #[case] doc_freq: u32,
        #[case] expected: bool,
    ) {
        let settings = settings
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let filter = TermFilter::new(&settings.collect());
        assert_eq!(filter.accepts(term, doc_freq, 10), expected);
    }
}
