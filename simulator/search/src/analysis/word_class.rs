//! Word-break classes of characters.
//!
//! Guarantees: every character has exactly one class; lookups are in constant time for ASCII and by binary search
//! elsewhere.
//! Limits: the tables are of the Unicode version of `regex-syntax`. For punctuation, Unicode 6.3, Lucene's version,
//! has precedence: colons join letters, and the narrow no-break space joins nothing.
//! Source: UAX #29 (word boundaries), UAX #14 (class SA), UAX #24 (scripts Han and Hiragana).

use std::sync::OnceLock;

use regex_syntax::hir::{Class as HirClass, HirKind};

/// Word-break class of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordClass {
    Letter,
    Hebrew,
    Numeric,
    Katakana,
    MidLetter,
    MidNum,
    MidNumLet,
    SingleQuote,
    DoubleQuote,
    ExtendNumLet,
    Extend,
    Han,
    Hiragana,
    SoutheastAsian,
    Other,
}

use WordClass::*;

const ASCII: [WordClass; 128] = ascii();

const fn ascii() -> [WordClass; 128] {
    let mut table = [Other; 128];
    let mut c = 0u8;
    while c < 128 {
        table[c as usize] = match c {
            b'a'..=b'z' | b'A'..=b'Z' => Letter,
            b'0'..=b'9' => Numeric,
            b':' => MidLetter,
            b',' | b';' => MidNum,
            b'.' => MidNumLet,
            b'\'' => SingleQuote,
            b'"' => DoubleQuote,
            b'_' => ExtendNumLet,
            _ => Other,
        };
        c += 1;
    }
    table
}

struct Range {
    start: u32,
    end: u32,
    class: WordClass,
}

/// Returns the class of `c`.
pub(crate) fn word_class(c: char) -> WordClass {
    let code = c as u32;
    if let Some(class) = ASCII.get(code as usize) {
        return *class;
    }
    let table = table();
    let after = table.partition_point(|range| range.start <= code);
    match after.checked_sub(1).and_then(|i| table.get(i)) {
        Some(range) if code <= range.end => range.class,
        _ => Other,
    }
}

fn table() -> &'static [Range] {
    static TABLE: OnceLock<Vec<Range>> = OnceLock::new();
    TABLE.get_or_init(build)
}

/// The classes in order of precedence: a character has the first class whose pattern matches.
const SOURCES: [(&str, WordClass); 16] = [
    (r"[\u{2027}\u{FE13}\u{FE55}\u{FF1A}\u{00B7}\u{0387}\u{05F4}]", MidLetter),
    (
        r"[\u{202F}\u{02C2}-\u{02C5}\u{02D2}-\u{02D7}\u{02DE}\u{02DF}\u{02E5}-\u{02EB}\u{02ED}\u{02EF}-\u{02FF}]",
        Other,
    ),
    (
        r"[\p{wb=Extend}\p{wb=Format}\p{wb=ZWJ}&&[^\p{Thai}\p{Lao}\p{Myanmar}\p{Khmer}]]",
        Extend,
    ),
    (r"\p{sc=Han}", Han),
    (r"\p{sc=Hiragana}", Hiragana),
    (r"\p{wb=Hebrew_Letter}", Hebrew),
    (r"\p{wb=Numeric}", Numeric),
    (r"\p{wb=Katakana}", Katakana),
    (r"\p{wb=MidLetter}", MidLetter),
    (r"\p{wb=MidNum}", MidNum),
    (r"\p{wb=MidNumLet}", MidNumLet),
    (r"\p{wb=Single_Quote}", SingleQuote),
    (r"\p{wb=ExtendNumLet}", ExtendNumLet),
    (
        r"[\p{Thai}\p{Lao}\p{Myanmar}\p{Khmer}\p{Tai_Le}\p{New_Tai_Lue}\p{Tai_Tham}\p{Tai_Viet}&&[\p{L}\p{M}]]",
        SoutheastAsian,
    ),
    (r"[\u{FF10}-\u{FF19}]", Numeric),
    (r"\p{wb=ALetter}", Letter),
];

fn build() -> Vec<Range> {
    let mut taken: Vec<Range> = Vec::new();
    for (pattern, class) in SOURCES {
        let fresh: Vec<Range> = ranges(pattern)
            .into_iter()
            .flat_map(|(start, end)| gaps(&taken, start, end))
            .map(|(start, end)| Range { start, end, class })
            .collect();
        taken.extend(fresh);
        taken.sort_by_key(|range| range.start);
    }
    taken
}

/// Returns the parts of `start..=end` that no range in `taken` (sorted, disjoint) covers.
fn gaps(taken: &[Range], start: u32, end: u32) -> Vec<(u32, u32)> {
    let mut free = Vec::new();
    let mut from = start;
    for range in taken.iter().filter(|range| range.end >= start && range.start <= end) {
        if range.start > from {
            free.push((from, range.start - 1));
        }
        from = range.end + 1;
    }
    if from <= end {
        free.push((from, end));
    }
    free
}

fn ranges(pattern: &str) -> Vec<(u32, u32)> {
    // The patterns are the constants above. A test checks that none of them is invalid or empty.
    let Ok(hir) = regex_syntax::Parser::new().parse(pattern) else {
        return Vec::new();
    };
    match hir.kind() {
        // A class of one character is a literal.
        HirKind::Literal(literal) => std::str::from_utf8(&literal.0)
            .map(|text| text.chars().map(|c| (c as u32, c as u32)).collect())
            .unwrap_or_default(),
        HirKind::Class(HirClass::Unicode(class)) => class
            .ranges()
            .iter()
            .map(|range| (range.start() as u32, range.end() as u32))
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn every_source_pattern_matches_characters() {
        for (pattern, _) in SOURCES {
            assert!(!ranges(pattern).is_empty(), "{pattern}");
        }
    }

    #[rstest]
    #[case('é', Letter)]
    #[case('ß', Letter)]
    #[case('м', Letter)]
    #[case('日', Han)]
    #[case('の', Hiragana)]
    #[case('カ', Katakana)]
    #[case('한', Letter)]
    #[case('א', Hebrew)]
    #[case('ก', SoutheastAsian)]
    #[case('٣', Numeric)]
    #[case('\u{301}', Extend)]
    #[case('\u{200d}', Extend)]
    #[case(':', MidLetter)]
    #[case('：', MidLetter)]
    #[case('’', MidNumLet)]
    #[case('\u{202f}', Other)]
    #[case('…', Other)]
    #[case('😀', Other)]
    fn characters_have_the_class_of_the_standard(#[case] c: char, #[case] class: WordClass) {
        assert_eq!(word_class(c), class);
    }
}
