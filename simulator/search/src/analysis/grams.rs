//! N-grams and path hierarchies.
//!
//! Source: Lucene 4.10's `NGramTokenizer`, `EdgeNGramTokenizer`, their token filters and `PathHierarchyTokenizer`.

/// Minimum and maximum length of n-grams, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grams {
    pub(super) min: usize,
    pub(super) max: usize,
    /// Whether n-grams start at the start of the text only.
    pub(super) edge: bool,
    /// With `edge`, whether n-grams end at the end of the text instead.
    pub(super) back: bool,
}

impl Grams {
    /// Calls `sink` with the byte offsets of each n-gram, in order of start, then of length.
    pub(super) fn each(self, text: &str, mut sink: impl FnMut(usize, usize)) {
        let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        if self.edge && self.back {
            let lengths = self.min.max(1)..=self.max;
            let starts = lengths.filter_map(|length| bounds.get(bounds.len().checked_sub(length + 1)?));
            starts.for_each(|start| sink(*start, text.len()));
            return;
        }
        let starts = if self.edge { 1 } else { bounds.len() };
        for (at, start) in bounds.iter().enumerate().take(starts) {
            for length in self.min.max(1)..=self.max {
                match bounds.get(at + length) {
                    Some(end) => sink(*start, *end),
                    None => break,
                }
            }
        }
    }
}

/// Names of classes of characters, as the error of an unknown name lists them.
const CHARACTER_CLASSES: &str = "letter, digit, whitespace, punctuation, symbol, unassigned, uppercase_letter, \
    lowercase_letter, titlecase_letter, modifier_letter, other_letter, non_spacing_mark, enclosing_mark, \
    combining_spacing_mark, decimal_digit_number, letter_number, other_number, space_separator, line_separator, \
    paragraph_separator, control, format, private_use, surrogate, dash_punctuation, start_punctuation, \
    end_punctuation, connector_punctuation, other_punctuation, math_symbol, currency_symbol, modifier_symbol, \
    other_symbol, initial_quote_punctuation, final_quote_punctuation";

/// Returns a pattern for runs of characters of these classes, or none if there are no classes.
///
/// # Errors
/// An unknown class.
pub(super) fn token_chars_pattern(names: &[String]) -> Result<Option<String>, String> {
    let mut classes = String::new();
    for class in names {
        classes.push_str(match class.to_ascii_lowercase().as_str() {
            "letter" => r"\p{L}",
            "digit" => r"\p{Nd}",
            "whitespace" => r"\s",
            "punctuation" => r"\p{P}",
            "symbol" => r"\p{S}",
            _ => {
                return Err(format!(
                    "Unknown token type: '{class}', must be one of [{CHARACTER_CLASSES}]"
                ));
            }
        });
    }
    Ok((!classes.is_empty()).then(|| format!("[{classes}]+")))
}

/// The ancestors of a path, and the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathHierarchy {
    pub(super) delimiter: char,
    /// Number of leading path elements to skip; of trailing ones if `reverse` is true.
    pub(super) skip: usize,
    /// Whether every path ends at the end of the text, as for domain names.
    pub(super) reverse: bool,
}

impl PathHierarchy {
    /// Calls `sink` with the byte offsets of each ancestor path and of the whole path.
    pub(super) fn each(self, text: &str, mut sink: impl FnMut(usize, usize)) {
        let delimiters: Vec<usize> = text.match_indices(self.delimiter).map(|(at, _)| at).collect();
        let width = self.delimiter.len_utf8();
        if self.reverse {
            // Starts of the elements. A final delimiter belongs to the last element.
            let after = delimiters.iter().map(|at| at + width).filter(|at| *at < text.len());
            let starts: Vec<usize> = [0].into_iter().chain(after).collect();
            let kept = starts.len().saturating_sub(self.skip);
            let end = starts.get(kept).copied().unwrap_or(text.len());
            starts.iter().take(kept).for_each(|start| sink(*start, end));
            return;
        }
        let bounds = delimiters.into_iter().filter(|at| *at > 0).chain([text.len()]);
        let mut ends: Vec<usize> = bounds.collect();
        ends.dedup();
        let start = match self.skip.checked_sub(1) {
            None => 0,
            Some(at) => ends.get(at).copied().unwrap_or(text.len()),
        };
        let ends = ends.into_iter().filter(|end| *end > start);
        ends.for_each(|end| sink(start, end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("abc", false, &["a", "ab", "b", "bc", "c"])]
    #[case("été", true, &["é", "ét"])]
    #[case("", false, &[])]
    fn grams_are_sorted_by_start(#[case] text: &str, #[case] edge: bool, #[case] expected: &[&str]) {
        let mut found = Vec::new();
        Grams {
            min: 1,
            max: 2,
            edge,
            back: false,
        }
        .each(text, |start, end| found.push(&text[start..end]));
        assert_eq!(found, expected);
    }

    #[rstest]
    #[case("/a/b", 0, false, &["/a", "/a/b"])]
    #[case("a/b/", 0, false, &["a", "a/b", "a/b/"])]
    #[case("/a/b/c", 1, false, &["/b", "/b/c"])]
    #[case("a/b/c", 0, true, &["a/b/c", "b/c", "c"])]
    #[case("a/b/c", 1, true, &["a/b/", "b/"])]
    fn path_hierarchies_have_all_ancestors(
        #[case] text: &str,
        #[case] skip: usize,
        #[case] reverse: bool,
        #[case] expected: &[&str],
    ) {
        let mut found = Vec::new();
        let paths = PathHierarchy {
            delimiter: '/',
            skip,
            reverse,
        };
        paths.each(text, |start, end| found.push(&text[start..end]));
        assert_eq!(found, expected);
    }
}
