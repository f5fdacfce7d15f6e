//! Analyzers: character filters, a tokenizer and the token filters behind it.

use std::sync::Arc;

use super::addresses::{each_address, each_classic};
use super::chars::{Changed, CharFilter};
use super::filter::{Filter, fold};
use super::grams::{Grams, Paths};
use super::language;
use super::lexeme::Lexeme;
use super::normalize::classic;
use super::words::each_word;

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
    /// Its type, where a filter made it.
    pub kind: Option<&'static str>,
}

#[derive(Clone, Debug)]
pub(super) enum Tokenizer {
    /// Words by UAX #29.
    Standard,
    /// Runs of letters.
    Letter,
    /// Runs of anything but white space.
    Whitespace,
    /// The whole text.
    Keyword,
    /// What is between the matches of a pattern, or what a group of it matches.
    Pattern(Arc<regex::Regex>, Option<usize>),
    /// Parts of the text, each at a position of its own: of the whole text, or of each match of a pattern.
    Grams(Grams, Option<Arc<regex::Regex>>),
    /// The paths above a path, all at one position.
    Paths(Paths),
    /// Whole addresses of mail and of pages, and words.
    Addresses,
    /// Names of hosts and companies, acronyms, numbers and words.
    Classic,
}

/// From text to terms. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Analyzer {
    tokenizer: Tokenizer,
    filters: Arc<[Filter]>,
    chars: Arc<[CharFilter]>,
    plain: bool,
    /// Whether a filter looks at several tokens.
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

    /// The same tokenizer with other filters.
    pub(super) fn filtered_by(self, filters: Vec<Filter>) -> Analyzer {
        Analyzer::new(self.tokenizer, filters)
    }

    pub(super) fn with_chars(mut self, chars: Vec<CharFilter>) -> Analyzer {
        self.plain &= chars.is_empty();
        self.chars = chars.into();
        self
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

    /// Gives every term of `text` to `sink`, in order; returns the position after the last one.
    pub fn analyze(&self, text: &str, sink: &mut dyn FnMut(Token<'_>)) -> u32 {
        let mut changes: Vec<(String, Changed)> = Vec::new();
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
            back.fold(offset, |offset, (before, changed)| changed.original(offset, before))
        };
        self.streamed(&last.text, &mut |token| {
            sink(Token {
                start: original(token.start),
                end: original(token.end),
                ..token
            });
        })
    }

    /// Runs the tokenizer and all filters.
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

    /// Runs the tokenizer and filters that look at one token at a time.
    fn tokens(&self, text: &str, filters: &[Filter], sink: &mut dyn FnMut(Token<'_>)) -> u32 {
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
                    kind: None,
                });
                return;
            }
            filtered(filters, &mut buffer, false, &mut |text| {
                sink(Token {
                    text,
                    position,
                    start,
                    end,
                    kind: None,
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
            Tokenizer::Paths(paths) => {
                paths.each(text, |start, end| emit(start, end, 0));
                1
            }
            Tokenizer::Addresses => each_address(text, &mut emit),
            Tokenizer::Classic => each_classic(text, &mut emit),
        }
    }

    /// The type of its tokens, if it is the same for all.
    pub(crate) fn token_type(&self) -> Option<&'static str> {
        (!matches!(
            self.tokenizer,
            Tokenizer::Standard | Tokenizer::Addresses | Tokenizer::Classic
        ))
        .then_some("word")
    }

    /// Number of words of its longest shingles, if it makes any.
    pub(crate) fn longest_shingle(&self) -> Option<usize> {
        self.filters.iter().find_map(|filter| match filter {
            Filter::Stream(stream) => stream.longest_shingle(),
            _ => None,
        })
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

/// What filters make of a token that a filter over all tokens made.
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

/// Gives what the filters make of a token to `sink`. Stemmers leave a keyword as it is.
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
        let spared = keyword && filter.is_stemmer();
        if !spared && !filter.apply(text) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[test]
    fn a_folded_token_can_stay_at_its_position() {
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
        let terms = Analyzer::assembled(tokenizer, filters, &[], None).unwrap().terms(text);
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
