//! Token filters: letter case, accents, stop words, length, stems.
//!
//! Source: Lucene 4.10's LowerCaseFilter (simple case mapping, one character for one), StopFilter, LengthFilter, ASCIIFoldingFilter,
//! EnglishPossessiveFilter, PorterStemFilter, SnowballFilter, ElisionFilter.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rust_stemmers::Stemmer;
use tantivy::tokenizer::{AsciiFoldingFilter, RawTokenizer, TextAnalyzer, TokenStream};

use super::grams::Grams;
use super::normalize::Normalization;
use super::porter;
use super::stream::StreamFilter;

/// One step between tokenizer and index.
#[derive(Clone, Debug)]
pub(super) enum Filter {
    Lowercase,
    Uppercase,
    /// Removes these words; with `true`, in any letter case.
    Stop(Arc<HashSet<String>>, bool),
    /// Removes all words but these.
    Keep(Arc<HashSet<String>>),
    /// Words that no stemmer changes.
    KeywordMarker(Arc<HashSet<String>>),
    PatternReplace {
        pattern: Arc<regex::Regex>,
        replacement: String,
        all: bool,
    },
    Length {
        min: usize,
        max: usize,
    },
    /// Replaces characters by their counterparts in ASCII; with `true`, keeps the token too.
    AsciiFolding(bool),
    Trim,
    Reverse,
    Truncate(usize),
    /// Removes a trailing `'s`.
    Possessive,
    /// The stem of an English word, by Porter's first algorithm.
    Porter,
    Snowball(rust_stemmers::Algorithm),
    /// Removes one of these words and an apostrophe from the start.
    Elision(Arc<HashSet<String>>),
    /// Removes an apostrophe and what follows it.
    Apostrophe,
    /// Removes this character and what follows it.
    Payload(char),
    Normalize(Normalization),
    Stem(Normalization),
    /// Gives every token twice: as a keyword, and to be stemmed.
    KeywordRepeat,
    /// Words with stems of their own.
    StemmerOverride(Arc<HashMap<String, String>>),
    /// Replaces a token by its grams, at its position.
    Grams(Grams),
    /// A filter over all tokens.
    Stream(Arc<StreamFilter>),
}

/// The stop words of the `stop` analyzer.
pub(super) const ENGLISH: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
    "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
];

impl Filter {
    /// Returns whether it is a stemmer, which spares keywords.
    pub(super) fn is_stemmer(&self) -> bool {
        matches!(self, Filter::Porter | Filter::Snowball(_) | Filter::Stem(_))
    }

    /// Changes `text` in place; false if the token is to be dropped.
    pub(super) fn apply(&self, text: &mut String) -> bool {
        match self {
            Filter::Lowercase => lowercase_in_place(text),
            Filter::Uppercase => *text = text.chars().map(|c| single(c, c.to_uppercase())).collect(),
            Filter::Stop(words, false) => return !words.contains(text.as_str()),
            Filter::Stop(words, true) => return !words.contains(&lowercase(text)),
            Filter::Keep(words) => return words.contains(text.as_str()),
            Filter::PatternReplace {
                pattern,
                replacement,
                all,
            } => {
                let count = usize::from(!all);
                let replaced = pattern.replacen(text, count, replacement.as_str()).into_owned();
                *text = replaced;
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
            Filter::Porter => porter::stem(text),
            Filter::Snowball(algorithm) => {
                let stemmed = Stemmer::create(*algorithm).stem(text).into_owned();
                *text = stemmed;
            }
            Filter::Elision(articles) => {
                if let Some((article, rest)) = text.split_once(['\'', '\u{2019}'])
                    && articles.contains(&lowercase(article))
                {
                    *text = rest.to_owned();
                }
            }
            // What is more than a change of one token: see the analyzer.
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

/// `text` in lower case, one character for one.
pub(crate) fn lowercase(text: &str) -> String {
    let mut text = text.to_owned();
    lowercase_in_place(&mut text);
    text
}

fn lowercase_in_place(text: &mut String) {
    if text.is_ascii() {
        text.make_ascii_lowercase();
    } else {
        *text = text
            .chars()
            .map(|c| if c == 'İ' { 'i' } else { single(c, c.to_lowercase()) })
            .collect();
    }
}

/// The mapping of a character when it is one character, else the character.
fn single(c: char, mut mapped: impl ExactSizeIterator<Item = char>) -> char {
    if mapped.len() == 1 {
        mapped.next().unwrap_or(c)
    } else {
        c
    }
}

/// Replaces every character that has a counterpart in ASCII, as Lucene's table says.
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
    fn characters_are_folded_as_lucene_folds_them(#[case] text: &str, #[case] expected: &str) {
        let mut text = text.to_owned();
        fold(&mut text);
        assert_eq!(text, expected);
    }

    #[rstest]
    #[case("GRÖSSE Größe", "grösse größe")]
    #[case("МИР", "мир")]
    #[case("İstanbul", "istanbul")]
    #[case("ΟΔΟΣ", "οδοσ")]
    fn lower_case_maps_one_character_to_one(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(lowercase(text), expected);
    }
}
