//! The Porter stemmer, the last filter of the `english` analyzer.
//!
//! Guarantees: time is linear in the word; words of less than three letters are not changed.
//! Source: M. F. Porter, "An algorithm for suffix stripping", with the differences of Lucene 4.10's `PorterStemmer`
//! (`bli`, `logi`).

/// Suffixes of step 2 and their replacements.
const STEP_2: [(&str, &str); 21] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("logi", "log"),
];

/// Suffixes of step 3 and their replacements.
const STEP_3: [(&str, &str); 7] = [
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
];

/// Suffixes that step 4 removes, except `ion`.
const STEP_4: [&str; 18] = [
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ou", "ism", "ate", "iti", "ous",
    "ive", "ize",
];

/// Returns the stem of a lower-case word.
pub(super) fn stem(text: &str) -> String {
    let mut word = Word(text.chars().collect());
    if word.0.len() <= 2 {
        return text.to_owned();
    }
    word.step_1();
    word.replace(&STEP_2);
    word.replace(&STEP_3);
    word.step_4();
    word.step_5();
    word.0.into_iter().collect()
}

struct Word(Vec<char>);

impl Word {
    fn ends(&self, suffix: &str) -> bool {
        let length = suffix.len();
        self.0.len() >= length
            && self
                .0
                .iter()
                .rev()
                .zip(suffix.chars().rev())
                .all(|(own, other)| *own == other)
    }

    /// Returns the length of the word without `suffix`.
    fn without(&self, suffix: &str) -> usize {
        self.0.len().saturating_sub(suffix.len())
    }

    fn consonant(&self, at: usize) -> bool {
        match self.0.get(at) {
            Some('a' | 'e' | 'i' | 'o' | 'u') => false,
            Some('y') => at == 0 || !self.consonant(at - 1),
            _ => true,
        }
    }

    /// Returns Porter's measure of the first `length` letters: the number of vowel sequences followed by consonants.
    fn measure(&self, length: usize) -> usize {
        let kinds: Vec<bool> = (0..length).map(|at| self.consonant(at)).collect();
        kinds.windows(2).filter(|pair| matches!(pair, [false, true])).count()
    }

    fn has_vowel(&self, length: usize) -> bool {
        (0..length).any(|at| !self.consonant(at))
    }

    /// Returns whether the first `length` letters end in a double consonant.
    fn double(&self, length: usize) -> bool {
        length >= 2 && self.0.get(length - 1) == self.0.get(length - 2) && self.consonant(length - 1)
    }

    /// Returns whether the first `length` letters end in consonant, vowel, consonant, and the last is not `w`, `x` or
    /// `y`.
    fn short_syllable(&self, length: usize) -> bool {
        length >= 3
            && self.consonant(length - 1)
            && !self.consonant(length - 2)
            && self.consonant(length - 3)
            && !matches!(self.0.get(length - 1), Some('w' | 'x' | 'y'))
    }

    fn set(&mut self, length: usize, end: &str) {
        self.0.truncate(length);
        self.0.extend(end.chars());
    }

    /// Removes plurals, `-ed` and `-ing`, and replaces a final `y` after a vowel.
    fn step_1(&mut self) {
        if self.ends("sses") || self.ends("ies") {
            self.0.truncate(self.0.len() - 2);
        } else if self.ends("s") && !self.ends("ss") {
            self.0.pop();
        }
        if self.ends("eed") {
            if self.measure(self.without("eed")) > 0 {
                self.0.pop();
            }
        } else if let Some(suffix) = ["ed", "ing"].into_iter().find(|suffix| self.ends(suffix)) {
            let length = self.without(suffix);
            if self.has_vowel(length) {
                self.0.truncate(length);
                self.correct_end();
            }
        }
        if self.ends("y") && self.has_vowel(self.without("y")) {
            self.set(self.without("y"), "i");
        }
    }

    /// Corrects the end of the word after the removal of `-ed` or `-ing`.
    fn correct_end(&mut self) {
        let length = self.0.len();
        if self.ends("at") || self.ends("bl") || self.ends("iz") {
            self.0.push('e');
        } else if self.double(length) {
            if !matches!(self.0.last(), Some('l' | 's' | 'z')) {
                self.0.pop();
            }
        } else if self.measure(length) == 1 && self.short_syllable(length) {
            self.0.push('e');
        }
    }

    /// Replaces the first suffix of a table that matches.
    fn replace(&mut self, table: &[(&str, &str)]) {
        if let Some((suffix, end)) = table.iter().find(|(suffix, _)| self.ends(suffix)) {
            let length = self.without(suffix);
            if self.measure(length) > 0 {
                self.set(length, end);
            }
        }
    }

    fn step_4(&mut self) {
        let found = if self.ends("ion") {
            let length = self.without("ion");
            let fits = length > 0 && matches!(self.0.get(length - 1), Some('s' | 't'));
            fits.then_some("ion")
        } else {
            STEP_4.into_iter().find(|suffix| self.ends(suffix))
        };
        if let Some(suffix) = found {
            let length = self.without(suffix);
            if self.measure(length) > 1 {
                self.0.truncate(length);
            }
        }
    }

    /// Removes a final `e`, and one `l` of a final `ll`.
    fn step_5(&mut self) {
        if self.ends("e") {
            let length = self.without("e");
            let measure = self.measure(length);
            if measure > 1 || measure == 1 && !self.short_syllable(length) {
                self.0.pop();
            }
        }
        let length = self.0.len();
        if self.ends("l") && self.double(length) && self.measure(length) > 1 {
            self.0.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("running", "run")]
    #[case("dogs", "dog")]
    #[case("caresses", "caress")]
    #[case("ponies", "poni")]
    #[case("agreed", "agre")]
    #[case("conflated", "conflat")]
    #[case("hopping", "hop")]
    #[case("falling", "fall")]
    #[case("filing", "file")]
    #[case("happy", "happi")]
    #[case("sky", "sky")]
    #[case("relational", "relat")]
    #[case("connections", "connect")]
    #[case("replacement", "replac")]
    #[case("adoption", "adopt")]
    #[case("controlling", "control")]
    #[case("generally", "gener")]
    #[case("is", "is")]
    fn words_are_stemmed(#[case] word: &str, #[case] expected: &str) {
        assert_eq!(stem(word), expected);
    }
}
