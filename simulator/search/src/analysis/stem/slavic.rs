//! Stemmers of Bulgarian, Czech, Russian (light) and Latvian.
//!
//! Source: P. Nakov, "BulStem"; L. Dolamic and J. Savoy, "Indexing and stemming approaches for the Czech language" and
//! "Indexing and searching strategies for the Russian language"; K. Kreslins, "A stemming algorithm for Latvian"; with
//! the minimum word lengths of Lucene 4.10.

use super::endings::{Endings, cut, drop_last, length, nth_last, replace, strip};

pub(super) fn bulgarian(word: &str) -> String {
    let mut word = word.to_owned();
    if length(&word) < 4 || strip(&mut word, &[(5, "ища")]) {
        return word;
    }
    strip(&mut word, &[(6, "ият"), (5, "ът то те та ия"), (4, "ят")]);
    bulgarian_plural(&mut word);
    if length(&word) > 3 {
        drop_last(&mut word, 0, &['я']);
        drop_last(&mut word, 0, &['а', 'о', 'е']);
    }
    replace(&mut word, &[("ен", 4, "н")]);
    if let Some(last) = word.chars().next_back().filter(|_| length(&word) > 5)
        && nth_last(&word, 1) == Some('ъ')
    {
        cut(&mut word, last.len_utf8() + 'ъ'.len_utf8());
        word.push(last);
    }
    word
}

fn bulgarian_plural(word: &mut String) {
    let long = [
        ("овци", 6, "о"),
        ("ове", 6, ""),
        ("еве", 6, "й"),
        ("ища", 5, ""),
        ("та", 5, ""),
        ("ци", 5, "к"),
        ("зи", 5, "г"),
    ];
    if replace(word, &long) {
        return;
    }
    if length(word) > 5 && word.ends_with('и') && nth_last(word, 2) == Some('е') {
        let consonant = nth_last(word, 1).unwrap_or_default();
        cut(word, "еи".len() + consonant.len_utf8());
        word.push('я');
        word.push(consonant);
        return;
    }
    replace(word, &[("си", 4, "х"), ("и", 4, "")]);
}

const CZECH_CASES: [Endings; 5] = [
    (7, "atech"),
    (6, "ětem etem atům"),
    (
        5,
        "ech ich ích ého ěmi emi ému ěte ete ěti eti ího iho ími ímu imu ách ata aty ých ama ami ové ovi ými",
    ),
    (4, "em es ém ím ům at ám os us ým mi ou"),
    (3, "a e i o u ů y á é í ý ě"),
];

pub(super) fn czech(word: &str) -> String {
    let mut word = word.to_owned();
    strip(&mut word, &CZECH_CASES);
    strip(&mut word, &[(5, "ov in ův")]);
    let softened = [
        ("čt", 0, "ck"),
        ("št", 0, "sk"),
        ("c", 0, "k"),
        ("č", 0, "k"),
        ("z", 0, "h"),
        ("ž", 0, "h"),
    ];
    if replace(&mut word, &softened) {
        return word;
    }
    let last = nth_last(&word, 0).unwrap_or_default();
    if nth_last(&word, 1) == Some('e') {
        cut(&mut word, 'e'.len_utf8() + last.len_utf8());
        word.push(last);
    } else if nth_last(&word, 1) == Some('ů') && length(&word) > 2 {
        cut(&mut word, 'ů'.len_utf8() + last.len_utf8());
        word.push('o');
        word.push(last);
    }
    word
}

const RUSSIAN_CASES: [Endings; 4] = [
    (6, "иями оями"),
    (5, "иям иях оях ями оям оьв ами его ему ери ими ого ому ыми оев"),
    (
        4,
        "ая яя ях юю ах ею их ия ию ьв ою ую ям ых ея ам ем ей ём ев ий им ое ой ом ов ые ый ым ми",
    ),
    (3, "а е и о у й ы я ь"),
];

pub(super) fn light_russian(word: &str) -> String {
    let mut word = word.to_owned();
    strip(&mut word, &RUSSIAN_CASES);
    replace(&mut word, &[("ь", 3, ""), ("и", 3, ""), ("нн", 3, "н")]);
    word
}

/// Latvian endings: the number of vowels that a word must exceed, and whether the letter before may be palatalized.
const LATVIAN: [(usize, bool, &str); 9] = [
    (3, false, "ajiem ajai"),
    (2, false, "ajam ajām ajos ajās"),
    (2, true, "iem"),
    (2, false, "ajā ais ai ei"),
    (1, false, "ām am ēm īm im um"),
    (1, true, "us"),
    (1, false, "as ās es"),
    (1, true, "os"),
    (1, false, "ij īs ēs is ie"),
];

/// One-letter endings, in the same form.
const LATVIAN_LETTERS: [(usize, bool, &str); 3] = [(1, true, "u a i"), (1, false, "e ā ē ī ū o"), (0, false, "s š")];

pub(super) fn latvian(word: &str) -> String {
    let mut stem = word.to_owned();
    let vowels = word.chars().filter(|c| "aeiouāīēū".contains(*c)).count();
    let endings = LATVIAN
        .iter()
        .chain(&LATVIAN_LETTERS)
        .flat_map(|(min, palatal, endings)| endings.split(' ').map(move |ending| (*min, *palatal, ending)));
    let found = endings
        .into_iter()
        .find(|(min, _, ending)| vowels > *min && length(word) >= length(ending) + 3 && word.ends_with(ending));
    let Some((_, palatal, ending)) = found else {
        return stem;
    };
    cut(&mut stem, ending.len());
    if palatal {
        unpalatalize(&mut stem, ending == "u");
    }
    stem
}

fn unpalatalize(stem: &mut String, after_u: bool) {
    if after_u && replace(stem, &[("kš", 0, "kst"), ("ņņ", 0, "nn")]) {
        return;
    }
    let letters = [
        ("pj", 0, "p"),
        ("bj", 0, "b"),
        ("mj", 0, "m"),
        ("vj", 0, "v"),
        ("šņ", 0, "sn"),
        ("žņ", 0, "zn"),
        ("šļ", 0, "sl"),
        ("žļ", 0, "zl"),
        ("ļņ", 0, "ln"),
        ("ļļ", 0, "ll"),
        ("č", 0, "c"),
        ("ļ", 0, "l"),
        ("ņ", 0, "n"),
    ];
    replace(stem, &letters);
}
