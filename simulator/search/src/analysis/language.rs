//! The language analyzers and their stemmers.
//!
//! Limits:
//! - Stop words are those of NLTK, which differ little from those of Snowball; some languages have none.
//! - The token filter `stemmer` uses the Snowball stemmer if `light.rs` does not have the light stemmer of a
//!   language.
//!
//! Source: the analyzers of Elasticsearch 1.5 and of Lucene 4.10's `analysis.*` packages.

use std::collections::HashSet;
use std::sync::Arc;

use rust_stemmers::Algorithm;

use super::filter::{ENGLISH, Filter};
use super::light::light_stemmer;
use super::normalize::normalization;
use super::stream::StreamFilter;

/// Returns the filter of the English stop words.
pub(super) fn stop_words() -> Filter {
    Filter::Stop(Arc::new(ENGLISH.iter().map(|word| (*word).to_owned()).collect()), false)
}

/// Returns the stop words of a name such as `_english_`.
pub(super) fn named_stop_words(name: &str) -> Option<Vec<String>> {
    stop_words_of(name.strip_prefix('_')?.strip_suffix('_')?)
}

/// Returns the stop words of a language.
fn stop_words_of(language: &str) -> Option<Vec<String>> {
    if language == "english" {
        return Some(ENGLISH.iter().map(|word| (*word).to_owned()).collect());
    }
    let code = match language {
        "arabic" => "ar",
        "basque" => "eu",
        "brazilian" | "portuguese" => "pt",
        "catalan" => "ca",
        "danish" => "da",
        "dutch" => "nl",
        "finnish" => "fi",
        "french" => "fr",
        "german" => "de",
        "greek" => "el",
        "hungarian" => "hu",
        "indonesian" => "id",
        "italian" => "it",
        "norwegian" => "no",
        "romanian" => "ro",
        "russian" => "ru",
        "spanish" => "es",
        "swedish" => "sv",
        "turkish" => "tr",
        // No stop words are available for these languages.
        "armenian" | "bulgarian" | "czech" | "galician" | "hindi" | "irish" | "latvian" | "persian" | "sorani"
        | "thai" => return Some(vec![]),
        _ => return None,
    };
    stop_words::lookup(code).map(|words| words.iter().map(|word| (*word).to_owned()).collect())
}

/// Returns the stop filter of a language, if the language is known.
fn stop_filter(language: &str) -> Option<Filter> {
    stop_words_of(language).map(|words| Filter::Stop(Arc::new(words.into_iter().collect()), false))
}

/// Returns the elided articles of French, the default of the `elision` filter.
pub(super) fn french_articles() -> HashSet<String> {
    [
        "l", "m", "t", "qu", "n", "s", "j", "d", "c", "jusqu", "quoiqu", "lorsqu", "puisqu",
    ]
    .map(str::to_owned)
    .into()
}

fn italian_articles() -> HashSet<String> {
    [
        "c", "l", "all", "dall", "dell", "nell", "sull", "coll", "pell", "gl", "agl", "dagl", "degl", "negl", "sugl",
        "un", "m", "t", "s", "v", "d",
    ]
    .map(str::to_owned)
    .into()
}

/// Returns the Snowball algorithm of a language.
fn algorithm(language: &str) -> Option<Algorithm> {
    Some(match language {
        "arabic" => Algorithm::Arabic,
        "danish" => Algorithm::Danish,
        "dutch" => Algorithm::Dutch,
        "english" | "porter2" => Algorithm::English,
        "finnish" => Algorithm::Finnish,
        "french" => Algorithm::French,
        "german" => Algorithm::German,
        "greek" => Algorithm::Greek,
        "hungarian" => Algorithm::Hungarian,
        "italian" => Algorithm::Italian,
        "norwegian" => Algorithm::Norwegian,
        "portuguese" => Algorithm::Portuguese,
        "romanian" => Algorithm::Romanian,
        "russian" => Algorithm::Russian,
        "spanish" => Algorithm::Spanish,
        "swedish" => Algorithm::Swedish,
        "turkish" => Algorithm::Turkish,
        _ => return None,
    })
}

/// Returns the token filters of a language analyzer.
pub(super) fn filters(analyzer: &str) -> Option<Vec<Filter>> {
    Some(match analyzer {
        "english" => vec![Filter::Possessive, Filter::Lowercase, stop_words(), Filter::Porter],
        "snowball" => return snowball_analyzer("English"),
        "cjk" => {
            let bigrams = Filter::Stream(Arc::new(StreamFilter::CjkBigram(false)));
            let width = normalization("cjk_width").map(Filter::Normalize);
            return Some(
                width
                    .into_iter()
                    .chain([Filter::Lowercase, bigrams, stop_words()])
                    .collect(),
            );
        }
        "arabic" => {
            let first = [Filter::Lowercase].into_iter().chain(stop_filter("arabic"));
            let normalized = normalization("arabic_normalization").map(Filter::Normalize);
            return Some(
                first
                    .chain(normalized)
                    .chain(normalization("arabic_stem").map(Filter::Stem))
                    .collect(),
            );
        }
        "persian" => {
            let normalizations = ["arabic_normalization", "persian_normalization"].into_iter();
            let normalized = normalizations.filter_map(normalization).map(Filter::Normalize);
            return Some([Filter::Lowercase].into_iter().chain(normalized).collect());
        }
        language if algorithm(language).is_none() => {
            return Some(
                [Filter::Lowercase]
                    .into_iter()
                    .chain([stop_filter(language)?])
                    .collect(),
            );
        }
        language => {
            let stemmer = match light_stemmer(&format!("light_{language}")) {
                Some(light) => Filter::Stem(light),
                None => Filter::Snowball(algorithm(language)?),
            };
            let normalized = normalization("german_normalization").filter(|_| language == "german");
            let first = match language {
                "french" => Some(Filter::Elision(Arc::new(french_articles()))),
                "italian" => Some(Filter::Elision(Arc::new(italian_articles()))),
                "turkish" => Some(Filter::Apostrophe),
                _ => None,
            };
            let filters = first.into_iter().chain([Filter::Lowercase]);
            let filters = filters.chain(stop_filter(language));
            filters
                .chain(normalized.map(Filter::Normalize))
                .chain([stemmer])
                .collect()
        }
    })
}

/// Returns the token filters of an analyzer of type `snowball`.
pub(super) fn snowball_analyzer(language: &str) -> Option<Vec<Filter>> {
    let mut filters = vec![Filter::Lowercase];
    let stemmer = stemmer("snowball", language)?;
    if matches!(language, "English" | "Porter") {
        filters.insert(0, Filter::Possessive);
        filters.push(stop_words());
    }
    filters.push(stemmer);
    Some(filters)
}

/// Returns the stemmer of a `snowball` or `stemmer` filter by its name.
pub(super) fn stemmer(filter: &str, name: &str) -> Option<Filter> {
    let name = name.to_lowercase();
    if let Some(light) = light_stemmer(&name).filter(|_| filter == "stemmer") {
        return Some(Filter::Stem(light));
    }
    // The Snowball stemmer replaces a light stemmer that is not implemented.
    let language = name.strip_prefix("light_").unwrap_or(&name);
    let language = language.strip_prefix("minimal_").unwrap_or(language);
    Some(match language {
        "porter" => Filter::Porter,
        "english" if filter == "stemmer" => Filter::Porter,
        "possessive_english" => Filter::Possessive,
        "german2" => Filter::Snowball(Algorithm::German),
        language => Filter::Snowball(algorithm(language)?),
    })
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
