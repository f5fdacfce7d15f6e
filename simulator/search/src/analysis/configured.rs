//! Analyzers built from the `analysis` settings of an index in Elasticsearch 1.5.

use serde_json::{Map, Value};

use super::analyzer::{Analyzer, Tokenizer};
use super::filter::Filter;
use super::filter_settings::{filter_of, invalid_stemmer, stop_filter};
use super::language::{self, Settings};
use super::names::{is_global, snake_case};
use super::patterns::pattern_of;
use super::settings::{has_settings, integer, is_late, max_token_length, strings, text, words};
use super::tokenizer_settings::{char_filter_of, tokenizer_of};
use crate::error::{Result, SearchError};

/// Returns whether an analyzer type exists.
pub(super) fn is_type(kind: &str) -> bool {
    kind == "custom" || kind != "classic" && Analyzer::named(&snake_case(kind)).is_some()
}

/// Returns the analyzer that has a name as its `alias`: its own name, and its settings.
pub(crate) fn aliased<'a>(name: &str, analysis: Option<&'a Map<String, Value>>) -> Option<(&'a String, &'a Value)> {
    let all = analysis?.get("analyzer")?.as_object()?;
    all.iter()
        .find(|(_, settings)| strings(settings.get("alias")).iter().any(|alias| alias == name))
}

impl Analyzer {
    /// Returns the default analyzers of an index: at index time, at query time, and of quoted texts.
    ///
    /// # Errors
    /// An invalid setting.
    pub(crate) fn defaults(analysis: Option<&Map<String, Value>>) -> Result<[Analyzer; 3]> {
        let own = |name: &str| {
            let settings = analysis.and_then(|analysis| analysis.get("analyzer")?.get(name));
            let settings = settings.filter(|own| has_settings(own));
            settings.map(|_| Analyzer::configured(name, analysis)).transpose()
        };
        let default = || Analyzer::configured("default", analysis);
        let index = own("default_index")?.map_or_else(default, Ok)?;
        let search = own("default_search")?.map_or_else(default, Ok)?;
        let quote = own("default_search_quote")?.unwrap_or_else(|| search.clone());
        Ok([index, search, quote])
    }

    /// Returns an analyzer of the index settings (`analysis.analyzer`), or else a built-in one.
    ///
    /// # Errors
    /// An invalid setting, unless it is found when the analyzer is used.
    pub fn configured(name: &str, analysis: Option<&Map<String, Value>>) -> Result<Analyzer> {
        match Analyzer::built(name, analysis) {
            Err(error) if is_late(&error) => Ok(Analyzer::failing(error)),
            built => built,
        }
    }

    fn built(name: &str, analysis: Option<&Map<String, Value>>) -> Result<Analyzer> {
        let named = |name: &str| analysis.and_then(|analysis| analysis.get("analyzer")?.get(name));
        let own = named(name).filter(|own| has_settings(own));
        let own = own.or_else(|| aliased(name, analysis).map(|(_, settings)| settings));
        let Some(settings) = own else {
            return Analyzer::named(&snake_case(name))
                .ok_or_else(|| SearchError::illegal(format!("Analyzer [{name}] not found")));
        };
        let kind = text(own, "type").unwrap_or("custom");
        // Elasticsearch ignores an unknown type if there is a tokenizer.
        if kind == "custom" || !is_type(kind) && settings.get("tokenizer").is_some() {
            return custom(name, settings, analysis);
        }
        let stop = words(own, "stopwords")?.or(words(own, "stop_words")?);
        let stop = stop.map(|_| stop_filter(settings)).transpose()?;
        match kind {
            "pattern" => {
                let lowercase = settings.get("lowercase").is_none_or(crate::mapping::truth);
                let filters = lowercase.then_some(Filter::Lowercase).into_iter().chain(stop);
                let pattern = pattern_of(own, "pattern", r"\W+")?;
                Ok(Analyzer::new(Tokenizer::Pattern(pattern, None), filters.collect()))
            }
            "standard" => {
                let tokenizer = Tokenizer::Standard(max_token_length(own)?);
                let filters = [Filter::Lowercase].into_iter().chain(stop);
                Ok(Analyzer::new(tokenizer, filters.collect()))
            }
            "stop" => {
                let stop = stop.unwrap_or_else(language::stop_words);
                Ok(Analyzer::new(Tokenizer::Letter, vec![Filter::Lowercase, stop]))
            }
            "snowball" => {
                let language = text(own, "language").or(text(own, "name")).unwrap_or("English");
                let filters = language::snowball_analyzer(language, stop);
                let filters = filters.ok_or_else(|| invalid_stemmer(language))?;
                Ok(Analyzer::new(Tokenizer::STANDARD, filters))
            }
            kind => {
                let settings = Settings {
                    stop,
                    keywords: words(own, "stem_exclusion")?.unwrap_or_default().into_iter().collect(),
                };
                let kind = snake_case(kind);
                let base = Analyzer::named(&kind)
                    .ok_or_else(|| SearchError::illegal(format!("Unknown Analyzer type [{kind}] for [{name}]")))?;
                Ok(match language::filters(&kind, &settings) {
                    Some(filters) => base.filtered_by(filters),
                    None => base,
                })
            }
        }
    }

    /// Builds an analyzer from names, without an index.
    ///
    /// # Errors
    /// An unknown component.
    pub(crate) fn global(tokenizer: &str, filters: &[&str], chars: &[&str]) -> Result<Analyzer> {
        let kinds = [
            ("tokenizer", std::slice::from_ref(&tokenizer)),
            ("token filter", filters),
            ("char filter", chars),
        ];
        let mut names = kinds
            .iter()
            .flat_map(|(kind, names)| names.iter().map(move |name| (kind, name)));
        match names.find(|(_, name)| !is_global(name)) {
            Some((kind, name)) => Err(SearchError::illegal(format!("failed to find {kind} under [{name}]"))),
            None => Analyzer::assembled(tokenizer, filters, chars, None),
        }
    }

    /// Builds an analyzer from the names of a tokenizer, token filters and character filters, as in `_analyze`.
    ///
    /// # Errors
    /// An unknown component.
    pub fn assembled(
        tokenizer: &str,
        filters: &[&str],
        chars: &[&str],
        analysis: Option<&Map<String, Value>>,
    ) -> Result<Analyzer> {
        let (tokenizer, first) = tokenizer_of(tokenizer, analysis)?;
        let filters = filters.iter().map(|filter| filter_of(filter, analysis));
        let filters = filters.collect::<Result<Vec<_>>>()?;
        let filters = first.into_iter().chain(filters.into_iter().flatten());
        let chars = chars.iter().map(|chars| char_filter_of(chars, analysis));
        let chars = chars.collect::<Result<Vec<_>>>()?;
        Ok(Analyzer::new(tokenizer, filters.collect()).with_chars(chars))
    }
}

/// Builds an analyzer of type `custom`.
fn custom(name: &str, own: &Value, analysis: Option<&Map<String, Value>>) -> Result<Analyzer> {
    let tokenizer = text(Some(own), "tokenizer").ok_or_else(|| {
        SearchError::argument(format!("Custom Analyzer [{name}] must be configured with a tokenizer"))
    })?;
    let (filters, chars) = (strings(own.get("filter")), strings(own.get("char_filter")));
    let filters: Vec<&str> = filters.iter().map(String::as_str).collect();
    let chars: Vec<&str> = chars.iter().map(String::as_str).collect();
    let gap = u32::try_from(integer(Some(own), "position_offset_gap", 0)?).unwrap_or(0);
    let assembled = Analyzer::assembled(tokenizer, &filters, &chars, analysis);
    assembled.map(|analyzer| analyzer.with_gap(gap)).map_err(|error| {
        let Some(what) = error.reason.strip_prefix("failed to find ") else {
            return error;
        };
        let what = what.replace("token filter under", "filter under name");
        let what = what.replace("tokenizer under", "tokenizer under name");
        let what = what.replace("char filter under", "char_filter under name");
        SearchError::argument(format!("Custom Analyzer [{name}] failed to find {what}"))
    })
}

#[cfg(test)]
mod tests;
