//! Token filters that change or drop one token: letter case, ASCII folding, stop words, length, stemmers.
//!
//! Source: Lucene 4.10's LowerCaseFilter (simple case mapping, one character to one), StopFilter, LengthFilter,
//! ASCIIFoldingFilter, EnglishPossessiveFilter, PorterStemFilter, SnowballFilter, ElisionFilter.

use std::collections::HashMap;
use std::sync::Arc;

use tantivy::tokenizer::{AsciiFoldingFilter, RawTokenizer, TextAnalyzer, TokenStream};

use super::grams::Grams;
use super::letter_case::{lowercase_in_place, uppercase};
use super::normalize::{Normalization, classic};
use super::stream::StreamFilter;
use super::word_set::WordSet;
use crate::java_pattern::JavaPattern;

/// A token filter.
#[derive(Clone, Debug)]
pub(super) enum Filter {
    Lowercase,
    Uppercase,
    /// Removes these words.
    Stop(WordSet),
    /// Removes all other words.
    Keep(WordSet),
    /// Protects these words from stemmers.
    KeywordMarker(WordSet),
    PatternReplace {
        pattern: Arc<JavaPattern>,
        replacement: String,
        all: bool,
    },
    Length {
        min: usize,
        max: usize,
    },
    /// Replaces characters by their ASCII equivalents. If true, keeps the original token too.
    AsciiFolding(bool),
    Trim,
    Reverse,
    Truncate(usize),
    /// Removes a trailing `'s`.
    Possessive,
    /// Removes one of these articles and the apostrophe from the start.
    Elision(WordSet),
    /// Removes an apostrophe and the rest of the token.
    Apostrophe,
    /// Removes this delimiter and the rest of the token.
    Payload(char),
    /// Removes the dots of acronyms and a final `'s`, after the classic tokenizer.
    Classic,
    Normalize(Normalization),
    Stem(Normalization),
    /// Emits every token twice: as a keyword, and to be stemmed.
    KeywordRepeat,
    /// Replaces words by custom stems, which stemmers do not change.
    StemmerOverride(Arc<HashMap<String, String>>),
    /// Replaces a token by its n-grams, at its position.
    Grams(Grams),
    /// A filter that reads several tokens.
    Stream(Arc<StreamFilter>),
}

impl Filter {
    /// Returns whether the filter does not change keywords.
    pub(super) fn skips_keywords(&self) -> bool {
        matches!(self, Filter::Stem(_) | Filter::Truncate(_))
    }

    /// Changes `text` in place. Returns false to drop the token.
    pub(super) fn apply(&self, text: &mut String) -> bool {
        match self {
            Filter::Lowercase => lowercase_in_place(text),
            Filter::Uppercase => *text = uppercase(text),
            Filter::Stop(words) => return !words.contains(text),
            Filter::Keep(words) => return words.contains(text),
            Filter::PatternReplace {
                pattern,
                replacement,
                all,
            } => {
                let most = if *all { usize::MAX } else { 1 };
                *text = pattern.replaced(text, replacement, most);
            }
            Filter::Length { min, max } => return (*min..=*max).contains(&text.chars().count()),
            Filter::AsciiFolding(_) => fold(text),
            Filter::Trim => *text = text.trim().to_owned(),
            Filter::Reverse => *text = text.chars().rev().collect(),
            Filter::Truncate(length) => *text = text.chars().take(*length).collect(),
            Filter::Possessive => {
                let rest = text.strip_suffix(['s', 'S']);
                if let Some(rest) = rest.and_then(|rest| rest.strip_suffix(['\'', '\u{2019}', '\u{FF07}'])) {
                    text.truncate(rest.len());
                }
            }
            Filter::Elision(articles) => {
                if let Some((article, rest)) = text.split_once(['\'', '\u{2019}'])
                    && articles.contains(article)
                {
                    *text = rest.to_owned();
                }
            }
            // The analyzer applies these filters: they emit several tokens or need more state.
            Filter::Grams(_)
            | Filter::Stream(_)
            | Filter::KeywordMarker(_)
            | Filter::KeywordRepeat
            | Filter::StemmerOverride(_) => {}
            Filter::Payload(delimiter) => {
                if let Some(at) = text.find(*delimiter) {
                    text.truncate(at);
                }
            }
            Filter::Classic => *text = classic(text),
            Filter::Normalize(change) | Filter::Stem(change) => *text = change(text),
            Filter::Apostrophe => {
                if let Some(at) = text.find(['\'', '\u{2019}']) {
                    text.truncate(at);
                }
            }
        }
        true
    }
}

/// Replaces characters by their ASCII equivalents, by Lucene's table.
pub(super) fn fold(text: &mut String) {
    if text.is_ascii() {
        return;
    }
    let mut analyzer = TextAnalyzer::builder(RawTokenizer::default())
        .filter(AsciiFoldingFilter)
        .build();
    let mut stream = analyzer.token_stream(text);
    let folded = stream.advance().then(|| stream.token().text.clone());
    drop(stream);
    if let Some(folded) = folded {
        *text = folded;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("Größe Æther naïve façade", "Grosse AEther naive facade")]
    #[case("Ａｂｃ１２３ ﬁne ⑳ ½", "Abc123 fine 20 ½")]
    #[case("ĲŸǱ ẞ „quoted” ‹so› 2⁵", "IJYDZ SS \"quoted\" 'so' 25")]
    #[case("мир 日志", "мир 日志")]
    fn ascii_folding_follows_the_table_of_lucene(#[case] text: &str, #[case] expected: &str) {
        let mut text = text.to_owned();
        fold(&mut text);
        assert_eq!(text, expected);
    }
}
