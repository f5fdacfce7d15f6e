//! N-grams and path hierarchies.
//!
//! Limits: the path hierarchy has no `replacement`.
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
            _ => return Err(format!("Unknown token type: '{class}'")),
        });
    }
    Ok((!classes.is_empty()).then(|| format!("[{classes}]+")))
}

/// The ancestors of a path, and the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathHierarchy {
    pub(super) delimiter: char,
    /// Number of leading path elements to skip.
    pub(super) skip: usize,
    /// Whether every path ends at the end of the text, as for domain names.
    pub(super) reverse: bool,
}

impl PathHierarchy {
    /// Calls `sink` with the byte offsets of each ancestor path and of the whole path.
    pub(super) fn each(self, text: &str, mut sink: impl FnMut(usize, usize)) {
        let width = self.delimiter.len_utf8();
        if self.reverse {
            let skipped = text.rmatch_indices(self.delimiter).nth(self.skip.wrapping_sub(1));
            let end = if self.skip == 0 {
                text.len()
            } else {
                skipped.map_or(0, |(at, _)| at + width)
            };
            let starts = text.match_indices(self.delimiter).map(|(at, _)| at + width);
            for start in std::iter::once(0).chain(starts).filter(|start| *start < end) {
                sink(start, end);
            }
            return;
        }
        let bounds: Vec<usize> = text.match_indices(self.delimiter).map(|(at, _)| at).collect();
        let own = bounds.iter().filter(|at| **at > 0).copied();
        let last = (!text.is_empty() && !text.ends_with(self.delimiter)).then_some(text.len());
        let ends: Vec<usize> = own.chain(last).collect();
        let start = match self.skip.checked_sub(1) {
            None => 0,
            Some(at) => ends.get(at).copied().unwrap_or(text.len()),
        };
        ends.iter()
            .filter(|end| **end > start)
            .for_each(|end| sink(start, *end));
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
    #[case("a/b/", 0, false, &["a", "a/b"])]
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
