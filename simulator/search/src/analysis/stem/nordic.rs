//! Light stemmers of Norwegian (Bokmål and Nynorsk), Swedish, Finnish and Hungarian.
//!
//! Source: J. Savoy, "Light stemming approaches for the French, Portuguese, German and Hungarian languages" and his
//! stemmers for Swedish and Finnish, and Lucene 4.10's Norwegian stemmers.

use super::endings::{Endings, cut, drop_last, length, mapped, nth_last, replace, strip};

const BOKMAL: [Endings; 6] = [
    (7, "heter heten"),
    (5, "dom het"),
    (7, "elser elsen"),
    (6, "ende else este eren"),
    (5, "ere est ene"),
    (4, "er en et st te"),
];

const NYNORSK: [Endings; 8] = [
    (8, "heiter leiken leikar"),
    (7, "heita"),
    (5, "dom"),
    (6, "heit semd leik"),
    (7, "elser elsen"),
    (6, "ande else aste aren"),
    (5, "are ast ene ane"),
    (4, "er en et ar te"),
];

/// Removes a possessive `s`, and then one of the endings or else one of the last letters.
fn nordic(word: &str, endings: &[Endings], letters: &[char]) -> String {
    let mut word = word.to_owned();
    drop_last(&mut word, 4, &['s']);
    if !strip(&mut word, endings) {
        drop_last(&mut word, 3, letters);
    }
    word
}

pub(super) fn light_norwegian(word: &str) -> String {
    nordic(word, &BOKMAL, &['a', 'e', 'n'])
}

pub(super) fn light_nynorsk(word: &str) -> String {
    nordic(word, &NYNORSK, &['a', 'e', 'n'])
}

pub(super) fn minimal_norwegian(word: &str) -> String {
    nordic(word, &[(5, "ene"), (4, "er en et")], &['a', 'e'])
}

pub(super) fn minimal_nynorsk(word: &str) -> String {
    nordic(word, &[(5, "ene ane"), (4, "er en et ar")], &['a', 'e'])
}

pub(super) fn light_swedish(word: &str) -> String {
    let endings = [
        (7, "elser heten"),
        (6, "arne erna ande else aste orna aren"),
        (5, "are ast het"),
        (4, "ar er or en at te et"),
    ];
    nordic(word, &endings, &['t', 'a', 'e', 'n'])
}

fn is_vowel(c: char) -> bool {
    "aeiouyáéíóöőúüű".contains(c)
}

/// Returns whether the letter at this place from the end is a vowel.
fn vowel_at(word: &str, place: usize) -> bool {
    nth_last(word, place).is_some_and(is_vowel)
}

pub(super) fn light_finnish(word: &str) -> String {
    if length(word) < 4 {
        return word.to_owned();
    }
    let mut word = mapped(word, |c| match c {
        'ä' | 'å' => 'a',
        'ö' => 'o',
        other => other,
    });
    finnish_particle(&mut word);
    let adverbs = [
        ("lla", 5, ""),
        ("tse", 5, ""),
        ("sti", 5, ""),
        ("ni", 5, ""),
        ("aa", 5, "a"),
    ];
    replace(&mut word, &adverbs);
    finnish_case(&mut word);
    replace(&mut word, &[("hde", 5, "ksi")]);
    if !strip(&mut word, &[(4, "ei at")]) {
        drop_last(&mut word, 3, &['t', 's', 'j', 'e', 'a', 'i']);
    }
    finnish_end(&mut word);
    word
}

fn finnish_particle(word: &mut String) {
    while strip(word, &[(8, "kin ko")]) {}
    strip(word, &[(11, "dellinen dellisuus")]);
}

fn finnish_case(word: &mut String) {
    let long = [
        ("nnen", 8, "s"),
        ("ntena", 8, "s"),
        ("tten", 8, ""),
        ("eiden", 8, ""),
        ("neen", 6, ""),
        ("niin", 6, ""),
        ("seen", 6, ""),
        ("teen", 6, ""),
        ("inen", 6, ""),
    ];
    if replace(word, &long) {
        return;
    }
    if length(word) > 6 && word.ends_with('n') && vowel_at(word, 1) && nth_last(word, 2) == Some('h') {
        return cut(word, 3);
    }
    let short = [
        ("den", 6, "s"),
        ("ksen", 6, "s"),
        ("ssa", 6, ""),
        ("sta", 6, ""),
        ("lla", 6, ""),
        ("lta", 6, ""),
        ("tta", 6, ""),
        ("ksi", 6, ""),
        ("lle", 6, ""),
        ("na", 5, ""),
        ("ne", 5, ""),
        ("nei", 5, ""),
        ("ja", 4, ""),
        ("ta", 4, ""),
        ("a", 4, ""),
    ];
    if replace(word, &short) || length(word) <= 4 {
        return;
    }
    if word.ends_with('n') {
        let bytes = if vowel_at(word, 1) { 2 } else { 1 };
        cut(word, bytes);
    }
}

fn finnish_end(word: &mut String) {
    drop_last(word, 8, &['e', 'o', 'u']);
    drop_last(word, 4, &['i']);
    if length(word) > 4 {
        for (double, single) in [("kk", "k"), ("pp", "p"), ("tt", "t")] {
            *word = word.replace(double, single);
        }
    }
}

pub(super) fn light_hungarian(word: &str) -> String {
    let mut word = mapped(word, |c| match c {
        'á' => 'a',
        'ë' | 'é' => 'e',
        'í' => 'i',
        'ó' | 'ő' | 'õ' | 'ö' => 'o',
        'ú' | 'ű' | 'ũ' | 'û' | 'ü' => 'u',
        other => other,
    });
    hungarian_case(&mut word);
    hungarian_possessive(&mut word);
    if length(&word) > 3 && word.ends_with('k') {
        let bytes = if matches!(nth_last(&word, 1), Some('a' | 'o' | 'e')) && length(&word) > 4 {
            2
        } else {
            1
        };
        cut(&mut word, bytes);
    }
    drop_last(&mut word, 3, &['a', 'e', 'i', 'o']);
    word
}

/// Returns whether the two letters before this place from the end are the same consonant.
fn double_before(word: &str, place: usize) -> bool {
    !vowel_at(word, place) && nth_last(word, place) == nth_last(word, place + 1)
}

fn hungarian_case(word: &mut String) {
    if strip(
        word,
        &[
            (6, "kent"),
            (5, "nak nek val vel ert rol ban ben bol nal nel hoz hez tol"),
        ],
    ) {
        return;
    }
    if length(word) > 5 && (word.ends_with("al") || word.ends_with("el")) && double_before(word, 2) {
        return cut(word, 3);
    }
    if length(word) <= 4 || strip(word, &[(4, "at et ot va ve ra re ba be ul ig")]) {
        return;
    }
    if (word.ends_with("on") || word.ends_with("en")) && !vowel_at(word, 2) {
        return cut(word, 2);
    }
    match nth_last(word, 0) {
        Some('t' | 'n') => cut(word, 1),
        Some('a' | 'e') if double_before(word, 1) => cut(word, 2),
        _ => {}
    }
}

fn hungarian_possessive(word: &mut String) {
    let consonant = |word: &str, place: usize| !vowel_at(word, place);
    // Endings, the length that the word must exceed, and whether they follow a vowel, if that matters.
    let endings: [(usize, Option<bool>, &str); 9] = [
        (6, Some(false), "atok otok etek"),
        (6, None, "itek itok"),
        (5, Some(false), "unk tok tek"),
        (5, Some(true), "juk"),
        (5, None, "ink"),
        (4, Some(false), "am em om ad ed od uk"),
        (4, Some(true), "nk ja je"),
        (4, None, "im id ik"),
        (3, Some(false), "a e"),
    ];
    let rules = endings
        .iter()
        .flat_map(|(longer_than, vowel, endings)| endings.split(' ').map(move |ending| (*longer_than, *vowel, ending)))
        .chain([(3, Some(true), "m"), (3, Some(true), "d"), (3, None, "i")]);
    let length = length(word);
    let found = rules.into_iter().find(|(longer_than, vowel, ending)| {
        length > *longer_than
            && word.ends_with(ending)
            && vowel.is_none_or(|vowel| vowel != consonant(word, ending.len()))
    });
    cut(word, found.map_or(0, |(_, _, ending)| ending.len()));
}
