//! Analyzers: character filters, a tokenizer and token filters.

use std::sync::Arc;

use regex::Regex;

use crate::error::{Result, SearchError};
use crate::java_pattern::JavaPattern;

use super::addresses::{classic_type, each_classic_token, each_url_email_token, url_email_type};
use super::chars::CharFilter;
use super::filter::{Filter, fold};
use super::filtered_text::FilteredText;
use super::grams::{Grams, PathHierarchy};
use super::language::{self, Settings};
use super::lexeme::{Lexeme, WORD, next_position, token_type};
use super::runs::{chinese_words, is_letter, runs, thai_words};
use super::words::{MAX_WORD_LENGTH, each_word};

/// A token of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// The term that is indexed.
    pub text: &'a str,
    /// Position in the text, in tokens, from 0.
    pub position: u32,
    /// Byte offset of the start in the text.
    pub start: usize,
    /// Byte offset of the end in the text.
    pub end: usize,
    /// Token type, if a filter set it.
    pub kind: Option<&'static str>,
    /// Whether stemmers do not change the term.
    pub keyword: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Tokenizer {
    /// Words, by the word boundary rules of UAX #29, and their maximum length in UTF-16 units.
    Standard(usize),
    /// Runs of letters.
    Letter,
    /// Runs of anything but white space.
    Whitespace,
    /// The whole text as one token.
    Keyword,
    /// The parts between the matches of a pattern, or the matches of one of its groups.
    Pattern(Arc<JavaPattern>, Option<usize>),
    /// N-grams, each at its own position: of the whole text, or of each match of a pattern.
    Grams(Grams, Option<Arc<Regex>>),
    /// The ancestors of a path and the path, all at one position.
    PathHierarchy(PathHierarchy),
    /// URLs, email addresses and words, and their maximum length in UTF-16 units.
    UaxUrlEmail(usize),
    /// Host names, company names, acronyms, numbers and words.
    Classic,
}

impl Tokenizer {
    pub(super) const STANDARD: Tokenizer = Tokenizer::Standard(MAX_WORD_LENGTH);
}

/// Converts text to terms. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Analyzer {
    tokenizer: Tokenizer,
    filters: Arc<[Filter]>,
    chars: Arc<[CharFilter]>,
    /// Whether this is the `standard` analyzer.
    plain: bool,
    /// Whether any filter reads several tokens.
    streams: bool,
    /// Number of positions between two values of a field that has no gap of its own.
    gap: u32,
    /// Why it cannot be used.
    failure: Option<Arc<SearchError>>,
}

impl Analyzer {
    pub(super) fn new(tokenizer: Tokenizer, mut filters: Vec<Filter>) -> Analyzer {
        // Only the classic tokenizer returns the types that the filter changes.
        filters.retain(|filter| !matches!(filter, Filter::Classic) || matches!(tokenizer, Tokenizer::Classic));
        let plain = matches!(tokenizer, Tokenizer::Standard(MAX_WORD_LENGTH))
            && matches!(filters.as_slice(), [Filter::Lowercase]);
        let streams = filters.iter().any(|filter| matches!(filter, Filter::Stream(_)));
        Analyzer {
            tokenizer,
            filters: filters.into(),
            chars: Arc::default(),
            plain,
            streams,
            gap: 0,
            failure: None,
        }
    }

    /// Returns an analyzer with the same tokenizer and character filters, and other token filters.
    pub(super) fn filtered_by(self, filters: Vec<Filter>) -> Analyzer {
        let chars = self.chars.to_vec();
        Analyzer::new(self.tokenizer, filters).with_chars(chars)
    }

    pub(super) fn with_chars(mut self, chars: Vec<CharFilter>) -> Analyzer {
        self.plain &= chars.is_empty();
        self.chars = chars.into();
        self
    }

    /// Returns an analyzer that cannot be used.
    pub(super) fn failing(failure: SearchError) -> Analyzer {
        Analyzer {
            plain: false,
            failure: Some(failure.into()),
            ..Analyzer::standard()
        }
    }

    /// Fails if the analyzer cannot be used: Elasticsearch finds some invalid settings when it reads a text.
    pub(crate) fn check(&self) -> Result<()> {
        self.failure.as_deref().map_or(Ok(()), |failure| Err(failure.clone()))
    }

    pub(crate) fn with_gap(mut self, gap: u32) -> Analyzer {
        self.gap = gap;
        self
    }

    /// Returns the number of positions between two values of a field that has no gap of its own.
    pub(crate) fn gap(&self) -> u32 {
        self.gap
    }

    /// Returns the default analyzer: lower-case words, without stop words.
    pub fn standard() -> Analyzer {
        Analyzer::new(Tokenizer::STANDARD, vec![Filter::Lowercase])
    }

    /// Returns the analyzer that makes one term of the whole text.
    pub fn keyword() -> Analyzer {
        Analyzer::new(Tokenizer::Keyword, vec![])
    }

    /// Returns a built-in analyzer by its name.
    pub fn named(name: &str) -> Option<Analyzer> {
        let english = language::stop_words;
        Some(match name {
            // `standard_html_strip` does not remove markup: its character filter is never called.
            "standard" | "default" | "standard_html_strip" => Analyzer::standard(),
            "classic" => Analyzer::new(Tokenizer::Classic, vec![Filter::Classic, Filter::Lowercase, english()]),
            "chinese" => Analyzer::new(
                Tokenizer::Pattern(chinese_words()?, Some(1)),
                language::filters(name, &Settings::default())?,
            ),
            "persian" => {
                let space = ("\u{200C}".to_owned(), " ".to_owned());
                let filters = language::filters(name, &Settings::default())?;
                Analyzer::new(Tokenizer::STANDARD, filters).with_chars(vec![CharFilter::Mapping([space].into())])
            }
            "thai" => Analyzer::new(
                Tokenizer::Pattern(thai_words()?, Some(0)),
                language::filters(name, &Settings::default())?,
            ),
            "simple" => Analyzer::new(Tokenizer::Letter, vec![Filter::Lowercase]),
            "whitespace" => Analyzer::new(Tokenizer::Whitespace, vec![]),
            "keyword" => Analyzer::keyword(),
            "stop" => Analyzer::new(Tokenizer::Letter, vec![Filter::Lowercase, english()]),
            "pattern" => Analyzer::new(Tokenizer::Letter, vec![Filter::Lowercase]),
            language => Analyzer::new(Tokenizer::STANDARD, language::filters(language, &Settings::default())?),
        })
    }

    /// Calls `sink` with each token of `text`, in order. Returns the position after the last token.
    pub fn analyze(&self, text: &str, sink: &mut dyn FnMut(Token<'_>)) -> u32 {
        let mut changes: Vec<(String, FilteredText)> = Vec::new();
        for filter in self.chars.iter() {
            let before = changes
                .last()
                .map_or(text, |(_, changed)| changed.text.as_str())
                .to_owned();
            let changed = filter.apply(&before);
            changes.push((before, changed));
        }
        let Some((_, last)) = changes.last() else {
            return match self.streams {
                true => self.streamed(text, &|offset| offset, sink),
                false => self.tokens(text, &self.filters, sink),
            };
        };
        let original = |offset: usize| {
            let back = changes.iter().rev();
            back.fold(offset, |offset, (before, changed)| {
                changed.correct_offset(offset, before)
            })
        };
        if self.streams {
            return self.streamed(&last.text, &original, sink);
        }
        self.tokens(&last.text, &self.filters, &mut |token| {
            let piece = last.text.get(token.start..token.end).unwrap_or("");
            sink(Token {
                start: original(token.start),
                end: original(token.end),
                kind: token.kind.or(Some(self.token_type(piece))),
                ..token
            });
        })
    }

    /// Runs the tokenizer and all token filters. `original`: offsets in the text before the character filters.
    fn streamed(&self, text: &str, original: &dyn Fn(usize) -> usize, sink: &mut dyn FnMut(Token<'_>)) -> u32 {
        let mut parts = self.filters.split(|filter| matches!(filter, Filter::Stream(_)));
        let streams = self.filters.iter().filter_map(|filter| match filter {
            Filter::Stream(stream) => Some(stream),
            _ => None,
        });
        let mut lexemes = Vec::new();
        let mut end = self.tokens(text, parts.next().unwrap_or(&[]), &mut |token| {
            lexemes.push(Lexeme {
                text: token.text.to_owned(),
                position: token.position,
                start: original(token.start),
                end: original(token.end),
                kind: self.token_type(text.get(token.start..token.end).unwrap_or("")),
                keyword: token.keyword,
            });
        });
        for (stream, filters) in streams.zip(parts) {
            let before = next_position(&lexemes);
            lexemes = stream.apply(lexemes, original(text.len()), end);
            end = stream.end(end, before, next_position(&lexemes));
            lexemes = lexemes
                .into_iter()
                .flat_map(|lexeme| refiltered(filters, lexeme))
                .collect();
        }
        for lexeme in &lexemes {
            sink(Token {
                text: &lexeme.text,
                position: lexeme.position,
                start: lexeme.start,
                end: lexeme.end,
                kind: Some(lexeme.kind),
                keyword: lexeme.keyword,
            });
        }
        end
    }

    /// Runs the tokenizer and the filters that read one token at a time.
    fn tokens(&self, text: &str, filters: &[Filter], sink: &mut dyn FnMut(Token<'_>)) -> u32 {
        let mut buffer = String::new();
        let plain = self.plain;
        let mut emit = |start: usize, end: usize, position: u32| {
            let Some(piece) = text.get(start..end) else {
                return;
            };
            let mut emit = |text: &str, keyword: bool| {
                sink(Token {
                    text,
                    position,
                    start,
                    end,
                    kind: None,
                    keyword,
                });
            };
            let is_lowercase = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase();
            if plain && piece.bytes().all(is_lowercase) {
                return emit(piece, false);
            }
            buffer.clear();
            buffer.push_str(piece);
            filtered(filters, &mut buffer, false, &mut emit);
        };
        match &self.tokenizer {
            Tokenizer::Standard(max) => each_word(text, *max, |word| emit(word.start, word.end, word.position)),
            Tokenizer::Letter => runs(text, is_letter, &mut emit),
            Tokenizer::Whitespace => runs(text, |c| !c.is_whitespace(), &mut emit),
            Tokenizer::Keyword => {
                emit(0, text.len(), 0);
                1
            }
            Tokenizer::Pattern(pattern, Some(group)) => {
                let mut position = 0;
                let found = pattern
                    .groups(text)
                    .filter_map(|groups| groups.get(*group).copied().flatten());
                for (start, end) in found.filter(|(start, end)| end > start) {
                    emit(start, end, position);
                    position += 1;
                }
                position
            }
            Tokenizer::Pattern(pattern, None) => {
                let mut position = 0;
                let mut start = 0;
                for (from, to) in pattern.matches(text).chain([(text.len(), text.len())]) {
                    if from > start {
                        emit(start, from, position);
                        position += 1;
                    }
                    start = to;
                }
                position
            }
            Tokenizer::Grams(grams, kept) => {
                let mut position = 0;
                let runs: Vec<(usize, &str)> = match kept {
                    None => vec![(0, text)],
                    Some(kept) => kept.find_iter(text).map(|run| (run.start(), run.as_str())).collect(),
                };
                for (from, run) in runs {
                    grams.each(run, |start, end| {
                        emit(from + start, from + end, position);
                        position += 1;
                    });
                }
                position
            }
            Tokenizer::PathHierarchy(paths) => {
                paths.each(text, |start, end| emit(start, end, 0));
                1
            }
            Tokenizer::UaxUrlEmail(max) => each_url_email_token(text, *max, &mut emit),
            Tokenizer::Classic => each_classic_token(text, &mut emit),
        }
    }

    /// Returns the type of a token that the tokenizer returned.
    pub(crate) fn token_type(&self, token: &str) -> &'static str {
        let first = self
            .filters
            .iter()
            .take_while(|filter| !matches!(filter, Filter::Stream(_)));
        if first.into_iter().any(|filter| matches!(filter, Filter::Grams(_))) {
            return WORD;
        }
        match self.tokenizer {
            Tokenizer::Standard(_) => token_type(token),
            Tokenizer::UaxUrlEmail(_) => url_email_type(token),
            Tokenizer::Classic => classic_type(token),
            _ => WORD,
        }
    }

    /// Returns the maximum shingle size, in tokens, if the analyzer has a shingle filter.
    pub(crate) fn max_shingle_size(&self) -> Option<usize> {
        self.filters.iter().find_map(|filter| match filter {
            Filter::Stream(stream) => stream.max_shingle_size(),
            _ => None,
        })
    }

    /// Returns the terms of `text` with their positions.
    pub fn terms(&self, text: &str) -> Vec<(u32, String)> {
        let mut terms = Vec::new();
        self.analyze(text, &mut |token| terms.push((token.position, token.text.to_owned())));
        terms
    }

    /// Whether the analyzer is known to produce the same terms as `standard`.
    pub(crate) fn same_as_standard(&self) -> bool {
        self.plain
    }
}

/// Applies filters to a token that a stream filter returned.
fn refiltered(filters: &[Filter], lexeme: Lexeme) -> Vec<Lexeme> {
    let mut made = Vec::new();
    let mut text = lexeme.text.clone();
    let has_grams = filters.iter().any(|filter| matches!(filter, Filter::Grams(_)));
    let kind = if has_grams { WORD } else { lexeme.kind };
    filtered(filters, &mut text, lexeme.keyword, &mut |text, keyword| {
        made.push(Lexeme {
            text: text.to_owned(),
            kind,
            keyword,
            ..lexeme.clone()
        });
    });
    made
}

/// Applies the filters to a token and calls `sink` with each resulting term. The flag is whether the term is a keyword,
/// which stemmers do not change.
fn filtered(filters: &[Filter], text: &mut String, mut keyword: bool, sink: &mut dyn FnMut(&str, bool)) {
    for (at, filter) in filters.iter().enumerate() {
        if let Filter::Grams(grams) = filter {
            let rest = filters.get(at + 1..).unwrap_or(&[]);
            grams.each(text, |start, end| {
                let mut gram = text.get(start..end).unwrap_or("").to_owned();
                filtered(rest, &mut gram, false, sink);
            });
            return;
        }
        match filter {
            Filter::KeywordMarker(words) => keyword |= words.contains(text),
            Filter::StemmerOverride(stems) => {
                if let Some(stem) = stems.get(text.as_str()).filter(|_| !keyword) {
                    text.clone_from(stem);
                    keyword = true;
                }
            }
            Filter::AsciiFolding(true) if !text.is_ascii() => {
                let rest = filters.get(at + 1..).unwrap_or(&[]);
                let mut folded = text.clone();
                fold(&mut folded);
                filtered(rest, &mut folded, keyword, sink);
                filtered(rest, text, keyword, sink);
                return;
            }
            Filter::KeywordRepeat => {
                let rest = filters.get(at + 1..).unwrap_or(&[]);
                filtered(rest, &mut text.clone(), true, sink);
            }
            _ => {}
        }
        let skipped = keyword && filter.skips_keywords();
        if !skipped && !filter.apply(text) {
            return;
        }
    }
    sink(text, keyword);
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[test]
    fn ascii_folding_preserves_the_original_at_its_position() {
        let analysis = json!({
            "analyzer": {"mine": {"tokenizer": "whitespace", "filter": ["fold", "lowercase"]}},
            "filter": {"fold": {"type": "asciifolding", "preserve_original": true}},
        });
        let analyzer = Analyzer::configured("mine", analysis.as_object()).unwrap();
        let terms = analyzer.terms("État plain");
        let expected = [(0, "etat"), (0, "état"), (1, "plain")].map(|(at, term)| (at, term.to_owned()));
        assert_eq!(terms, expected);
    }

    #[rstest]
    #[case("standard", "The Quick-brown état", &["the", "quick", "brown", "état"])]
    #[case("simple", "It's v2", &["it", "s", "v"])]
    #[case("whitespace", "a-b  C", &["a-b", "C"])]
    #[case("keyword", "a b", &["a b"])]
    #[case("stop", "the Fox and dog", &["fox", "dog"])]
    #[case("pattern", "a-b C", &["a", "b", "c"])]
    fn built_in_analyzers_return_terms(#[case] name: &str, #[case] text: &str, #[case] expected: &[&str]) {
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
    #[case("whitespace", &["edge_ngram"], "foo b", &["f", "b"])]
    #[case("standard", &["nGram", "uppercase"], "ab", &["A", "AB", "B"])]
    #[case("path_hierarchy", &[], "/var/log", &["/var", "/var/log"])]
    #[case("lowercase", &[], "It's V2", &["it", "s", "v"])]
    fn tokenizers_and_filters_are_assembled(
        #[case] tokenizer: &str,
        #[case] filters: &[&str],
        #[case] text: &str,
        #[case] expected: &[&str],
    ) {
        let terms = Analyzer::assembled(tokenizer, filters, &[], None).unwrap().terms(text);
        let terms: Vec<&str> = terms.iter().map(|(_, term)| term.as_str()).collect();
        assert_eq!(terms, expected);
    }

    #[test]
    fn stop_words_leave_gaps_in_the_positions() {
        assert_eq!(
            Analyzer::named("stop").unwrap().terms("quick and brown"),
            [(0, "quick".to_owned()), (2, "brown".to_owned())]
        );
    }

    #[test]
    fn custom_analyzers_combine_their_parts() {
        let own = json!({"type": "custom", "tokenizer": "whitespace", "filter": ["lowercase", "short"]});
        let analysis = json!({"analyzer": {"mine": own}, "filter": {"short": {"type": "length", "max": 3}}});
        let analyzer = Analyzer::configured("mine", analysis.as_object()).unwrap();
        assert_eq!(analyzer.terms("One-two TWO three"), [(1, "two".to_owned())]);
        assert!(Analyzer::configured("absent", analysis.as_object()).is_err());
    }
}
