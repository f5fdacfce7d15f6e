//! Analyzers: character filters, a tokenizer and token filters.

use std::sync::Arc;

use super::addresses::{each_classic_token, each_url_email_token};
use super::chars::{CharFilter, FilteredText};
use super::filter::{Filter, fold};
use super::grams::{Grams, PathHierarchy};
use super::language;
use super::lexeme::Lexeme;
use super::normalize::classic;
use super::words::each_word;

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
}

#[derive(Clone, Debug)]
pub(super) enum Tokenizer {
    /// Words, by the word boundary rules of UAX #29.
    Standard,
    /// Runs of letters.
    Letter,
    /// Runs of anything but white space.
    Whitespace,
    /// The whole text as one token.
    Keyword,
    /// The parts between the matches of a pattern, or the matches of one of its groups.
    Pattern(Arc<regex::Regex>, Option<usize>),
    /// N-grams, each at its own position: of the whole text, or of each match of a pattern.
    Grams(Grams, Option<Arc<regex::Regex>>),
    /// The ancestors of a path and the path, all at one position.
    PathHierarchy(PathHierarchy),
    /// URLs, email addresses and words.
    UaxUrlEmail,
    /// Host names, company names, acronyms, numbers and words.
    Classic,
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
}

impl Analyzer {
    pub(super) fn new(tokenizer: Tokenizer, filters: Vec<Filter>) -> Analyzer {
        let plain = matches!(tokenizer, Tokenizer::Standard) && matches!(filters.as_slice(), [Filter::Lowercase]);
        let streams = filters.iter().any(|filter| matches!(filter, Filter::Stream(_)));
        Analyzer {
            tokenizer,
            filters: filters.into(),
            chars: Arc::default(),
            plain,
            streams,
        }
    }

    /// Returns an analyzer with the same tokenizer and other filters.
    pub(super) fn filtered_by(self, filters: Vec<Filter>) -> Analyzer {
        Analyzer::new(self.tokenizer, filters)
    }

    pub(super) fn with_chars(mut self, chars: Vec<CharFilter>) -> Analyzer {
        self.plain &= chars.is_empty();
        self.chars = chars.into();
        self
    }

    /// Returns the default analyzer: lower-case words, without stop words.
    pub fn standard() -> Analyzer {
        Analyzer::new(Tokenizer::Standard, vec![Filter::Lowercase])
    }

    /// Returns the analyzer that makes one term of the whole text.
    pub fn keyword() -> Analyzer {
        Analyzer::new(Tokenizer::Keyword, vec![])
    }

    /// Returns a built-in analyzer by its name.
    pub fn named(name: &str) -> Option<Analyzer> {
        let english = language::stop_words;
        Some(match name {
            "standard" | "default" => Analyzer::standard(),
            "standard_html_strip" => Analyzer::standard().with_chars(vec![CharFilter::HtmlStrip]),
            "classic" => Analyzer::new(
                Tokenizer::Classic,
                vec![Filter::Normalize(classic), Filter::Lowercase, english()],
            ),
            "chinese" => Analyzer::new(Tokenizer::Standard, vec![Filter::Lowercase, english()]),
            "simple" => Analyzer::new(Tokenizer::Letter, vec![Filter::Lowercase]),
            "whitespace" => Analyzer::new(Tokenizer::Whitespace, vec![]),
            "keyword" => Analyzer::keyword(),
            "stop" => Analyzer::new(Tokenizer::Letter, vec![Filter::Lowercase, english()]),
            "pattern" => Analyzer::new(
                Tokenizer::Pattern(Arc::new(regex::Regex::new(r"[\W_]+").ok()?), None),
                vec![Filter::Lowercase],
            ),
            language => Analyzer::new(Tokenizer::Standard, language::filters(language)?),
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
            return self.streamed(text, sink);
        };
        let original = |offset: usize| {
            let back = changes.iter().rev();
            back.fold(offset, |offset, (before, changed)| {
                changed.correct_offset(offset, before)
            })
        };
        self.streamed(&last.text, &mut |token| {
            sink(Token {
                start: original(token.start),
                end: original(token.end),
                ..token
            });
        })
    }

    /// Runs the tokenizer and all token filters.
    fn streamed(&self, text: &str, sink: &mut dyn FnMut(Token<'_>)) -> u32 {
        if !self.streams {
            return self.tokens(text, &self.filters, sink);
        }
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
                start: token.start,
                end: token.end,
                kind: token.kind.or(self.token_type()),
            });
        });
        for (stream, filters) in streams.zip(parts) {
            lexemes = stream.apply(lexemes);
            lexemes = lexemes
                .into_iter()
                .flat_map(|lexeme| refiltered(filters, lexeme))
                .collect();
        }
        for lexeme in &lexemes {
            end = end.max(lexeme.position + 1);
            sink(Token {
                text: &lexeme.text,
                position: lexeme.position,
                start: lexeme.start,
                end: lexeme.end,
                kind: lexeme.kind,
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
            let mut emit = |text: &str| {
                sink(Token {
                    text,
                    position,
                    start,
                    end,
                    kind: None,
                });
            };
            let is_lowercase = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase();
            if plain && piece.bytes().all(is_lowercase) {
                return emit(piece);
            }
            buffer.clear();
            buffer.push_str(piece);
            filtered(filters, &mut buffer, false, &mut emit);
        };
        match &self.tokenizer {
            Tokenizer::Standard => each_word(text, |word| emit(word.start, word.end, word.position)),
            Tokenizer::Letter => runs(text, char::is_alphabetic, &mut emit),
            Tokenizer::Whitespace => runs(text, |c| !c.is_whitespace(), &mut emit),
            Tokenizer::Keyword => {
                emit(0, text.len(), 0);
                1
            }
            Tokenizer::Pattern(pattern, Some(group)) => {
                let mut position = 0;
                let found = pattern.captures_iter(text).filter_map(|found| found.get(*group));
                for part in found.filter(|part| !part.is_empty()) {
                    emit(part.start(), part.end(), position);
                    position += 1;
                }
                position
            }
            Tokenizer::Pattern(pattern, None) => {
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
            Tokenizer::UaxUrlEmail => each_url_email_token(text, &mut emit),
            Tokenizer::Classic => each_classic_token(text, &mut emit),
        }
    }

    /// Returns the type of the tokens, if the tokenizer gives all tokens the same type.
    pub(crate) fn token_type(&self) -> Option<&'static str> {
        (!matches!(
            self.tokenizer,
            Tokenizer::Standard | Tokenizer::UaxUrlEmail | Tokenizer::Classic
        ))
        .then_some("word")
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
    filtered(filters, &mut text, false, &mut |text| {
        made.push(Lexeme {
            text: text.to_owned(),
            ..lexeme.clone()
        });
    });
    made
}

/// Applies the filters to a token and calls `sink` with each resulting term. Stemmers do not change keywords.
fn filtered(filters: &[Filter], text: &mut String, mut keyword: bool, sink: &mut dyn FnMut(&str)) {
    for (at, filter) in filters.iter().enumerate() {
        if let Filter::Grams(grams) = filter {
            let rest = filters.get(at + 1..).unwrap_or(&[]);
            grams.each(text, |start, end| {
                let mut gram = text.get(start..end).unwrap_or("").to_owned();
                filtered(rest, &mut gram, keyword, sink);
            });
            return;
        }
        match filter {
            Filter::KeywordMarker(words) => keyword |= words.contains(text.as_str()),
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
                if folded != *text {
                    filtered(rest, &mut folded, keyword, sink);
                    filtered(rest, text, keyword, sink);
                    return;
                }
            }
            Filter::KeywordRepeat => {
                let rest = filters.get(at + 1..).unwrap_or(&[]);
                filtered(rest, &mut text.clone(), true, sink);
            }
            _ => {}
        }
        let skipped = keyword && filter.is_stemmer();
        if !skipped && !filter.apply(text) {
            return;
        }
    }
    sink(text);
}

fn runs(text: &str, is_token_char: impl Fn(char) -> bool, emit: &mut impl FnMut(usize, usize, u32)) -> u32 {
    let mut position = 0;
    let mut start = None;
    for (at, c) in text.char_indices() {
        match (is_token_char(c), start) {
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
