//! Character filters, which change the text before it is tokenized.
//!
//! Guarantees: every offset of the filtered text maps to an offset of the original text, on a character boundary.
//! Source: Lucene 4.10's `MappingCharFilter`, `HTMLStripCharFilter` and `PatternReplaceCharFilter`.

use std::sync::Arc;

use crate::java_pattern::JavaPattern;

use super::filtered_text::{Builder, FilteredText};
use super::html::stripped;

/// A change to the text before it is tokenized.
#[derive(Clone, Debug)]
pub(super) enum CharFilter {
    /// Replaces strings, the longest match first.
    Mapping(Arc<[(String, String)]>),
    /// Removes tags, except these, and comments, and decodes entities.
    HtmlStrip(Vec<String>),
    PatternReplace(Arc<JavaPattern>, String),
}

impl CharFilter {
    pub(super) fn apply(&self, text: &str) -> FilteredText {
        match self {
            CharFilter::Mapping(rules) => mapped(text, rules),
            CharFilter::HtmlStrip(kept) => stripped(text, kept),
            CharFilter::PatternReplace(pattern, replacement) => replaced(text, pattern, replacement),
        }
    }
}

fn mapped(text: &str, rules: &[(String, String)]) -> FilteredText {
    let mut builder = Builder::default();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let rule = rules
            .iter()
            .filter(|(from, _)| !from.is_empty() && rest.starts_with(from.as_str()))
            .max_by_key(|(from, _)| from.len());
        let length = match rule {
            Some((from, to)) => {
                builder.replace(from.len(), to);
                from.len()
            }
            None => {
                builder.keep(c.encode_utf8(&mut [0; 4]));
                c.len_utf8()
            }
        };
        rest = rest.get(length..).unwrap_or("");
    }
    builder.finish()
}

fn replaced(text: &str, pattern: &JavaPattern, replacement: &str) -> FilteredText {
    let mut builder = Builder::default();
    let mut done = 0;
    for (start, end, new) in pattern.replacements(text, replacement) {
        builder.keep(text.get(done..start).unwrap_or(""));
        builder.replace(end - start, &new);
        done = end;
    }
    builder.keep(text.get(done..).unwrap_or(""));
    builder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_after_a_replacement_are_corrected() {
        let rules = [
            ("ph".to_owned(), "f".to_owned()),
            (":)".to_owned(), "_happy_".to_owned()),
        ];
        let text = "phone :) x";
        let changed = CharFilter::Mapping(rules.into()).apply(text);
        assert_eq!(changed.text, "fone _happy_ x");
        assert_eq!(changed.correct_offset(0, text), 0);
        assert_eq!(changed.correct_offset(4, text), 5);
        assert_eq!(changed.correct_offset(13, text), 9);
    }
}
