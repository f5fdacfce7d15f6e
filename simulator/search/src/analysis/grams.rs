//! Grams: parts of a text of given lengths; and the paths above a path.
//!
//! Source: Lucene 4.10's `NGramTokenizer`, `EdgeNGramTokenizer`, their token filters and `PathHierarchyTokenizer`.

/// Lengths of grams, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grams {
    pub(super) min: usize,
    pub(super) max: usize,
    /// Whether grams start at the beginning of the text only.
    pub(super) edge: bool,
}

impl Grams {
    /// Gives the byte offsets of every gram of `text` to `sink`: by start, then by length.
    pub(super) fn each(self, text: &str, mut sink: impl FnMut(usize, usize)) {
        let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
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

/// Gives the end of every path that `text` is below of, or is, to `sink`.
pub(super) fn each_path(text: &str, delimiter: char, mut sink: impl FnMut(usize)) {
    for (at, _) in text.match_indices(delimiter).filter(|(at, _)| *at > 0) {
        sink(at);
    }
    if !text.is_empty() && !text.ends_with(delimiter) {
        sink(text.len());
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
    fn grams_are_in_the_order_of_their_starts(#[case] text: &str, #[case] edge: bool, #[case] expected: &[&str]) {
        let mut found = Vec::new();
        Grams { min: 1, max: 2, edge }.each(text, |start, end| found.push(&text[start..end]));
        assert_eq!(found, expected);
    }

    #[rstest]
    #[case("/a/b", &["/a", "/a/b"])]
    #[case("a/b/", &["a", "a/b"])]
    fn a_path_is_below_of_others(#[case] text: &str, #[case] expected: &[&str]) {
        let mut found = Vec::new();
        each_path(text, '/', |end| found.push(&text[..end]));
        assert_eq!(found, expected);
    }
}
