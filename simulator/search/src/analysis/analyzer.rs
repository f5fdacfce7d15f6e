//! Analyzers: a tokenizer and the filters behind it, by name or by settings.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::filter::{ENGLISH, Filter};
use super::grams::{Grams, each_path};
use super::language;
use super::words::each_word;

/// Longest gram, in characters.
const LONGEST_GRAM: usize = 32;

/// A term cut out of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// The term, as it goes into the index.
    pub text: &'a str,
    /// Its position among the terms of the text, from 0.
    pub position: u32,
    /// The byte offset at which it starts in the text.
    pub start: usize,
    /// The byte offset at which it ends in the text.
    pub end: usize,
}

#[derive(Clone, Debug)]
enum Tokenizer {
    /// Words by UAX #29.
    Standard,
    /// Runs of letters.
    Letter,
    /// Runs of anything but white space.
    Whitespace,
    /// The whole text.
    Keyword,
    /// What stands between the matches of a pattern.
    Pattern(Arc<regex::Regex>),
    /// Parts of the whole text, each at a position of its own.
    Grams(Grams),
    /// The paths above a path, all at one position.
    Paths(char),
}

/// From text to terms. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Analyzer {
    tokenizer: Tokenizer,
    filters: Arc<[Filter]>,
    plain: bool,
}

impl Analyzer {
    fn new(tokenizer: Tokenizer, filters: Vec<Filter>) -> Analyzer {
        let plain = matches!(tokenizer, Tokenizer::Standard) && matches!(filters.as_slice(), [Filter::Lowercase]);
        Analyzer {
            tokenizer,
            filters: filters.into(),
            plain,
        }
    }

    /// The default: words in lower case, no stop words.
    pub fn standard() -> Analyzer {
        Analyzer::new(Tokenizer::Standard, vec![Filter::Lowercase])
    }

    /// The whole text as one term.
    pub fn keyword() -> Analyzer {
        Analyzer::new(Tokenizer::Keyword, vec![])
    }

    /// A built-in analyzer by its name.
    pub fn named(name: &str) -> Option<Analyzer> {
        let english = language::stop_words;
        Some(match name {
            "standard" | "default" | "standard_html_strip" => Analyzer::standard(),
            "simple" => Analyzer::new(Tokenizer::Letter, vec![Filter::Lowercase]),
            "whitespace" => Analyzer::new(Tokenizer::Whitespace, vec![]),
            "keyword" => Analyzer::keyword(),
            "stop" => Analyzer::new(Tokenizer::Letter, vec![Filter::Lowercase, english()]),
            "pattern" => Analyzer::new(
                Tokenizer::Pattern(Arc::new(regex::Regex::new(r"[\W_]+").ok()?)),
                vec![Filter::Lowercase],
            ),
            language => Analyzer::new(Tokenizer::Standard, language::filters(language)?),
        })
    }

    /// An analyzer of an index: one of its own (settings under `analysis`), else a built-in one.
    ///
    /// # Errors
    /// A sentence that says which part of the settings is not understood.
    pub fn configured(name: &str, analysis: Option<&Map<String, Value>>) -> Result<Analyzer, String> {
        let own = analysis
            .and_then(|analysis| analysis.get("analyzer"))
            .and_then(|analyzers| analyzers.get(name));
        let Some(own) = own else {
            return Analyzer::named(name).ok_or_else(|| format!("Analyzer [{name}] not found"));
        };
        let kind = own.get("type").and_then(Value::as_str).unwrap_or("custom");
        match kind {
            "custom" => {
                let tokenizer = own
                    .get("tokenizer")
                    .and_then(Value::as_str)
                    .ok_or_else(|| format!("Custom Analyzer [{name}] must be configured with a tokenizer"))?;
                let names = strings(own.get("filter"));
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                Analyzer::assembled(tokenizer, &names, analysis)
            }
            "pattern" => {
                let pattern = own.get("pattern").and_then(Value::as_str).unwrap_or(r"\W+");
                Ok(Analyzer::new(
                    Tokenizer::Pattern(compiled(pattern)?),
                    vec![Filter::Lowercase],
                ))
            }
            "standard" | "stop" => {
                let base = Analyzer::named(kind).ok_or_else(|| format!("Analyzer [{kind}] not found"))?;
                Ok(match own.get("stopwords") {
                    None => base,
                    Some(words) => {
                        let words = strings(Some(words));
                        let words = if words == ["_english_"] {
                            ENGLISH.iter().map(|word| (*word).to_owned()).collect()
                        } else {
                            words.into_iter().collect()
                        };
                        Analyzer::new(base.tokenizer, vec![Filter::Lowercase, Filter::Stop(Arc::new(words))])
                    }
                })
            }
            "snowball" => {
                let language = own.get("language").and_then(Value::as_str).unwrap_or("English");
                let filters = language::snowball_analyzer(language)
                    .ok_or_else(|| format!("Unknown Analyzer type [{kind}] for [{name}]"))?;
                Ok(Analyzer::new(Tokenizer::Standard, filters))
            }
            kind => Analyzer::named(kind).ok_or_else(|| format!("Unknown Analyzer type [{kind}] for [{name}]")),
        }
    }

    /// An analyzer from a tokenizer and filters by name, as `_analyze` takes them.
    ///
    /// # Errors
    /// A sentence that names the tokenizer or filter that is not there.
    pub fn assembled(
        tokenizer: &str,
        filters: &[&str],
        analysis: Option<&Map<String, Value>>,
    ) -> Result<Analyzer, String> {
        let kind = section(analysis, "tokenizer", tokenizer).and_then(|own| own.get("type")?.as_str());
        // This tokenizer has its filter built in.
        let first = (kind.unwrap_or(tokenizer) == "lowercase").then_some(Filter::Lowercase);
        let tokenizer = tokenizer_of(tokenizer, analysis)?;
        let filters = filters
            .iter()
            .map(|filter| filter_of(filter, analysis))
            .collect::<Result<Vec<_>, _>>()?;
        let filters = first.into_iter().chain(filters.into_iter().flatten());
        Ok(Analyzer::new(tokenizer, filters.collect()))
    }

    /// Gives every term of `text` to `sink`, in order; returns the position after the last one.
    pub fn analyze(&self, text: &str, sink: &mut dyn FnMut(Token<'_>)) -> u32 {
        let mut buffer = String::new();
        let plain = self.plain;
        let mut emit = |start: usize, end: usize, position: u32| {
            let Some(piece) = text.get(start..end) else {
                return;
            };
            buffer.clear();
            buffer.push_str(piece);
            if plain && piece.is_ascii() {
                buffer.make_ascii_lowercase();
                sink(Token {
                    text: &buffer,
                    position,
                    start,
                    end,
                });
                return;
            }
            filtered(&self.filters, &mut buffer, &mut |text| {
                sink(Token {
                    text,
                    position,
                    start,
                    end,
                });
            });
        };
        match &self.tokenizer {
            Tokenizer::Standard => each_word(text, |word| emit(word.start, word.end, word.position)),
            Tokenizer::Letter => runs(text, char::is_alphabetic, &mut emit),
            Tokenizer::Whitespace => runs(text, |c| !c.is_whitespace(), &mut emit),
            Tokenizer::Keyword => {
                emit(0, text.len(), 0);
                1
            }
            Tokenizer::Pattern(pattern) => {
                let mut position = 0;
                let mut start = 0;
                for (from, to) in pattern
                    .find_iter(text)
                    .map(|found| (found.start(), found.end()))
                    .chain([(text.len(), text.len())])
                {
                    if from > start {
                        emit(start, from, position);
                        position += 1;
                    }
                    start = to;
                }
                position
            }
            Tokenizer::Grams(grams) => {
                let mut position = 0;
                grams.each(text, |start, end| {
                    emit(start, end, position);
                    position += 1;
                });
                position
            }
            Tokenizer::Paths(delimiter) => {
                each_path(text, *delimiter, |end| emit(0, end, 0));
                1
            }
        }
    }

    /// The type of its tokens, if it is the same for all.
    pub(crate) fn token_type(&self) -> Option<&'static str> {
        (!matches!(self.tokenizer, Tokenizer::Standard)).then_some("word")
    }

    /// The terms of `text` with their positions.
    pub fn terms(&self, text: &str) -> Vec<(u32, String)> {
        let mut terms = Vec::new();
        self.analyze(text, &mut |token| terms.push((token.position, token.text.to_owned())));
        terms
    }

    /// True if two fields with these analyzers get the same terms from the same text, as far as that is cheap to say.
    pub(crate) fn same_as_standard(&self) -> bool {
        self.plain
    }
}

/// Gives what the filters make of a token to `sink`.
fn filtered(filters: &[Filter], text: &mut String, sink: &mut dyn FnMut(&str)) {
    for (at, filter) in filters.iter().enumerate() {
        if let Filter::Grams(grams) = filter {
            let rest = filters.get(at + 1..).unwrap_or(&[]);
            grams.each(text, |start, end| {
                let mut gram = text.get(start..end).unwrap_or("").to_owned();
                filtered(rest, &mut gram, sink);
            });
            return;
        }
        if !filter.apply(text) {
            return;
        }
    }
    sink(text);
}

fn runs(text: &str, belongs: impl Fn(char) -> bool, emit: &mut impl FnMut(usize, usize, u32)) -> u32 {
    let mut position = 0;
    let mut start = None;
    for (at, c) in text.char_indices() {
        match (belongs(c), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                emit(from, at, position);
                position += 1;
                start = None;
            }
            _ => {}
        }
    }
    if let Some(from) = start {
        emit(from, text.len(), position);
        position += 1;
    }
    position
}

fn compiled(pattern: &str) -> Result<Arc<regex::Regex>, String> {
    regex::RegexBuilder::new(pattern)
        .size_limit(1 << 20)
        .build()
        .map(Arc::new)
        .map_err(|error| format!("pattern [{pattern}]: {error}"))
}

fn section<'a>(analysis: Option<&'a Map<String, Value>>, kind: &str, name: &str) -> Option<&'a Value> {
    analysis
        .and_then(|analysis| analysis.get(kind))
        .and_then(|section| section.get(name))
}

fn tokenizer_of(name: &str, analysis: Option<&Map<String, Value>>) -> Result<Tokenizer, String> {
    let own = section(analysis, "tokenizer", name);
    let kind = own
        .and_then(|own| own.get("type"))
        .and_then(Value::as_str)
        .unwrap_or(name);
    Ok(match kind {
        "standard" | "uax_url_email" | "classic" => Tokenizer::Standard,
        "letter" | "lowercase" => Tokenizer::Letter,
        "whitespace" => Tokenizer::Whitespace,
        "keyword" => Tokenizer::Keyword,
        "pattern" => Tokenizer::Pattern(compiled(
            own.and_then(|own| own.get("pattern"))
                .and_then(Value::as_str)
                .unwrap_or(r"\W+"),
        )?),
        "ngram" | "nGram" => Tokenizer::Grams(grams_of(own, false)),
        "edge_ngram" | "edgeNGram" => Tokenizer::Grams(grams_of(own, true)),
        "path_hierarchy" | "PathHierarchy" => {
            let delimiter = own.and_then(|own| own.get("delimiter")?.as_str()?.chars().next());
            Tokenizer::Paths(delimiter.unwrap_or('/'))
        }
        other => return Err(format!("failed to find tokenizer under [{other}]")),
    })
}

/// The lengths of grams in settings. Default: 1 and 2.
fn grams_of(own: Option<&Value>, edge: bool) -> Grams {
    let number = |key: &str, default: usize| {
        let value = own.and_then(|own| own.get(key));
        value
            .and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()))
            .map_or(default, |number| {
                usize::try_from(number).unwrap_or(LONGEST_GRAM).min(LONGEST_GRAM)
            })
    };
    Grams {
        min: number("min_gram", 1),
        max: number("max_gram", 2),
        edge,
    }
}

fn filter_of(name: &str, analysis: Option<&Map<String, Value>>) -> Result<Vec<Filter>, String> {
    let own = section(analysis, "filter", name);
    let kind = own
        .and_then(|own| own.get("type"))
        .and_then(Value::as_str)
        .unwrap_or(name);
    let number = |key: &str, default: usize| {
        own.and_then(|own| own.get(key))
            .and_then(Value::as_u64)
            .map_or(default, |value| usize::try_from(value).unwrap_or(usize::MAX))
    };
    Ok(match kind {
        "lowercase" => vec![Filter::Lowercase],
        "uppercase" => vec![Filter::Uppercase],
        "standard" => vec![],
        "asciifolding" => vec![Filter::AsciiFolding],
        "trim" => vec![Filter::Trim],
        "reverse" => vec![Filter::Reverse],
        "truncate" => vec![Filter::Truncate(number("length", 10))],
        "length" => vec![Filter::Length {
            min: number("min", 0),
            max: number("max", usize::MAX),
        }],
        "stop" => {
            let words = strings(own.and_then(|own| own.get("stopwords")));
            let english = words.is_empty() || words == ["_english_"];
            vec![Filter::Stop(Arc::new(if english {
                ENGLISH.iter().map(|word| (*word).to_owned()).collect()
            } else {
                words.into_iter().collect()
            }))]
        }
        "ngram" | "nGram" => vec![Filter::Grams(grams_of(own, false))],
        "edge_ngram" | "edgeNGram" => vec![Filter::Grams(grams_of(own, true))],
        "porter_stem" | "porterStem" => vec![Filter::Porter],
        "snowball" | "stemmer" => {
            let text = |key: &str| own.and_then(|own| own.get(key)).and_then(Value::as_str);
            let language = text("language").or(text("name")).unwrap_or("English");
            language::stemmer(kind, language)
                .map(|filter| vec![filter])
                .ok_or_else(|| format!("Invalid stemmer class specified: {language}"))?
        }
        "elision" => vec![Filter::Elision(Arc::new(
            match own.and_then(|own| own.get("articles")) {
                None => language::french_articles(),
                articles => strings(articles).into_iter().collect(),
            },
        ))],
        "apostrophe" => vec![Filter::Apostrophe],
        other => return Err(format!("failed to find token filter under [{other}]")),
    })
}

/// A string, a comma list or an array of strings, as a list.
fn strings(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => text.split(',').map(|part| part.trim().to_owned()).collect(),
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect(),
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case("standard", "The Quick-brown état", &["the", "quick", "brown", "état"])]
    #[case("simple", "It's v2", &["it", "s", "v"])]
    #[case("whitespace", "a-b  C", &["a-b", "C"])]
    #[case("keyword", "a b", &["a b"])]
    #[case("stop", "the Fox and dog", &["fox", "dog"])]
    #[case("pattern", "a-b C", &["a", "b", "c"])]
    fn built_in_analyzers_cut_as_named(#[case] name: &str, #[case] text: &str, #[case] expected: &[&str]) {
        let terms: Vec<String> = Analyzer::named(name)
            .unwrap()
            .terms(text)
            .into_iter()
            .map(|(_, term)| term)
            .collect();
        assert_eq!(terms, expected);
    }

    #[rstest]
    #[case("ngram", &[], "abc", &["a", "ab", "b", "bc", "c"])]
    #[case("whitespace", &["edge_ngram"], "foo b", &["f", "fo", "b"])]
    #[case("standard", &["nGram", "uppercase"], "ab", &["A", "AB", "B"])]
    #[case("path_hierarchy", &[], "/var/log", &["/var", "/var/log"])]
    #[case("lowercase", &[], "It's V2", &["it", "s", "v"])]
    fn tokenizers_and_filters_are_assembled(
        #[case] tokenizer: &str,
        #[case] filters: &[&str],
        #[case] text: &str,
        #[case] expected: &[&str],
    ) {
        let terms = Analyzer::assembled(tokenizer, filters, None).unwrap().terms(text);
        let terms: Vec<&str> = terms.iter().map(|(_, term)| term.as_str()).collect();
        assert_eq!(terms, expected);
    }

    #[test]
    fn a_stop_word_leaves_a_gap_in_the_positions() {
        assert_eq!(
            Analyzer::named("stop").unwrap().terms("quick and brown"),
            [(0, "quick".to_owned()), (2, "brown".to_owned())]
        );
    }

    #[test]
    fn a_custom_analyzer_is_made_of_its_parts() {
        let analysis = json!({"analyzer": {"mine": {"type": "custom", "tokenizer": "whitespace", "filter": ["lowercase", "short"]}}, "filter": {"short": {"type": "length", "max": 3}}});
        let analyzer = Analyzer::configured("mine", analysis.as_object()).unwrap();
        assert_eq!(analyzer.terms("One-two TWO three"), [(1, "two".to_owned())]);
        assert!(Analyzer::configured("absent", analysis.as_object()).is_err());
    }
}
