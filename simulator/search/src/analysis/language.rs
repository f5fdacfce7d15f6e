//! The language analyzers, and stop words and articles by language.
//!
//! Limits: some stemmers differ (see `stem`); Thai text is not divided into words.
//! Source: the analyzers of Elasticsearch 1.5 and of Lucene 4.10's `analysis.*` packages. `stop_words.txt` has the
//! words that Elasticsearch 1.5.2 removes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::cjk_bigram::CjkBigram;
use super::filter::Filter;
use super::normalize::normalization;
use super::stem::{snowball, stemmer};
use super::stream::StreamFilter;
use super::word_set::WordSet;

/// Lines of a language and some of its stop words.
const STOP_WORDS: &str = include_str!("stop_words.txt");

/// The token filters of each language analyzer, which reads words of the standard tokenizer.
const ANALYZERS: [(&str, &str); 34] = [
    ("arabic", "lowercase stop arabic_normalization arabic"),
    ("armenian", "lowercase stop snowball"),
    ("basque", "lowercase stop snowball"),
    ("brazilian", "lowercase stop brazilian"),
    ("bulgarian", "lowercase stop bulgarian"),
    ("catalan", "elision lowercase stop snowball"),
    ("cjk", "cjk_width lowercase cjk_bigram stop"),
    ("czech", "lowercase stop czech"),
    ("danish", "lowercase stop snowball"),
    ("dutch", "lowercase stop dutch_override snowball"),
    ("english", "possessive lowercase stop porter"),
    ("finnish", "lowercase stop snowball"),
    ("french", "elision lowercase stop light_french"),
    ("galician", "lowercase stop galician"),
    ("german", "lowercase stop german_normalization light_german"),
    ("greek", "greek_lowercase stop greek"),
    ("hindi", "lowercase indic_normalization hindi_normalization stop hindi"),
    ("hungarian", "lowercase stop snowball"),
    ("indonesian", "lowercase stop indonesian"),
    ("irish", "irish_hyphen elision irish_lowercase stop snowball"),
    ("italian", "elision lowercase stop light_italian"),
    ("latvian", "lowercase stop latvian"),
    ("norwegian", "lowercase stop snowball"),
    ("persian", "lowercase arabic_normalization persian_normalization stop"),
    ("portuguese", "lowercase stop light_portuguese"),
    ("romanian", "lowercase stop snowball"),
    ("russian", "lowercase stop snowball"),
    ("snowball", "possessive lowercase english_stop english_snowball"),
    ("sorani", "sorani_normalization lowercase stop sorani"),
    ("spanish", "lowercase stop light_spanish"),
    ("swedish", "lowercase stop snowball"),
    ("thai", "lowercase stop"),
    ("turkish", "apostrophe turkish_lowercase stop snowball"),
    ("chinese", "lowercase english_stop closed_gaps"),
];

/// The elided articles of each language.
const ARTICLES: [(&str, &str); 4] = [
    ("catalan", "d l m n s t"),
    ("french", "l m t qu n s j d c jusqu quoiqu lorsqu puisqu"),
    ("irish", "d m b"),
    (
        "italian",
        "c l all dall dell nell sull coll pell gl agl dagl degl negl sugl un m t s v d",
    ),
];

/// Stems of the Dutch analyzer that its stemmer does not return.
const DUTCH: [(&str, &str); 4] = [
    ("fiets", "fiets"),
    ("bromfiets", "bromfiets"),
    ("ei", "eier"),
    ("kind", "kinder"),
];

/// Settings of a language analyzer.
#[derive(Default)]
pub(super) struct Settings {
    /// The stop words, unless they are those of the language.
    pub(super) stop: Option<Filter>,
    /// Words that are not stemmed.
    pub(super) keywords: HashSet<String>,
}

/// Returns the filter of the English stop words.
pub(super) fn stop_words() -> Filter {
    Filter::Stop(WordSet::new(stop_words_of("english").into_iter().flatten(), false))
}

/// Replaces names such as `_english_` by the stop words of the language.
pub(super) fn with_stop_words(words: Vec<String>) -> impl Iterator<Item = String> {
    let named = |name: &str| stop_words_of(name.strip_prefix('_')?.strip_suffix('_')?);
    words
        .into_iter()
        .flat_map(move |word| named(&word).unwrap_or_else(|| vec![word]))
}

/// Returns the stop words of a language.
fn stop_words_of(language: &str) -> Option<Vec<String>> {
    let lines = STOP_WORDS.lines().filter_map(|line| line.split_once(' '));
    let own = lines.filter(|(name, _)| *name == language);
    let words: Vec<String> = own.flat_map(|(_, words)| words.split(' ')).map(str::to_owned).collect();
    (!words.is_empty()).then_some(words)
}

/// Returns the elided articles of French, the default of the `elision` filter.
pub(super) fn french_articles() -> WordSet {
    articles("french").unwrap_or_else(|| WordSet::new([], true))
}

fn articles(language: &str) -> Option<WordSet> {
    let (_, articles) = ARTICLES.iter().find(|(name, _)| *name == language)?;
    Some(WordSet::new(words(articles), true))
}

fn words(text: &str) -> HashSet<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// Returns the token filters of a language analyzer.
pub(super) fn filters(analyzer: &str, settings: &Settings) -> Option<Vec<Filter>> {
    let (_, steps) = ANALYZERS.iter().find(|(name, _)| *name == analyzer)?;
    let mut filters = Vec::new();
    for name in steps.split(' ') {
        filters.push(match &settings.stop {
            Some(stop) if name.ends_with("stop") => stop.clone(),
            _ => step(name, analyzer)?,
        });
        if name.ends_with("lowercase") && !settings.keywords.is_empty() {
            filters.push(Filter::KeywordMarker(WordSet::new(settings.keywords.clone(), false)));
        }
    }
    Some(filters)
}

/// Returns a filter of the analyzer of a language.
fn step(filter: &str, language: &str) -> Option<Filter> {
    Some(match filter {
        "apostrophe" => Filter::Apostrophe,
        "cjk_bigram" => Filter::Stream(Arc::new(StreamFilter::CjkBigram(CjkBigram::default()))),
        "closed_gaps" => Filter::Stream(Arc::new(StreamFilter::ClosedGaps)),
        "dutch_override" => {
            let stems = DUTCH.map(|(word, stem)| (word.to_owned(), stem.to_owned()));
            Filter::StemmerOverride(Arc::new(HashMap::from(stems)))
        }
        "elision" => Filter::Elision(articles(language)?),
        "english_snowball" => Filter::Stem(snowball("english")?),
        "english_stop" => stop_words(),
        "irish_hyphen" => Filter::Stop(WordSet::new(words("h n t"), true)),
        "lowercase" => Filter::Lowercase,
        "possessive" => Filter::Possessive,
        "snowball" => Filter::Stem(snowball(language)?),
        "stop" => Filter::Stop(WordSet::new(stop_words_of(language)?, false)),
        other => match normalization(other) {
            Some(change) => Filter::Normalize(change),
            None => Filter::Stem(stemmer(other)?),
        },
    })
}

/// Returns the token filters of an analyzer of type `snowball`. Default: the stop words of the language, if any.
pub(super) fn snowball_analyzer(language: &str, stop: Option<Filter>) -> Option<Vec<Filter>> {
    let mut filters = vec![Filter::Lowercase];
    if matches!(language, "English" | "Porter" | "Lovins") {
        filters.insert(0, Filter::Possessive);
    }
    let name = language.to_lowercase();
    filters.extend(stop.or_else(|| match name.trim_end_matches('2') {
        own @ ("english" | "dutch" | "french" | "german") => step("stop", own),
        _ => None,
    }));
    filters.push(Filter::Stem(snowball(&name)?));
    Some(filters)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::analysis::Analyzer;

    #[rstest]
    #[case("english", "The dog's running and a Boat", &["dog", "run", "boat"])]
    #[case("snowball", "running generously", &["run", "generous"])]
    #[case("german", "Katzen laufen", &["katz", "lauf"])]
    #[case("french", "l'avion volait", &["avion", "volait"])]
    #[case("german", "Häuser und Straßen", &["haus", "strass"])]
    #[case("portuguese", "os doutores", &["doutor"])]
    #[case("italian", "dell'amicizia", &["amiciz"])]
    #[case("russian", "миры", &["мир"])]
    #[case("german", "die Katze und der Hund", &["katz", "hund"])]
    #[case("spanish", "el perro de la casa", &["perr", "casa"])]
    fn language_analyzers_return_stems(#[case] name: &str, #[case] text: &str, #[case] expected: &[&str]) {
        let terms = Analyzer::named(name).unwrap().terms(text);
        let terms: Vec<&str> = terms.iter().map(|(_, term)| term.as_str()).collect();
        assert_eq!(terms, expected);
    }
}
