//! The stemmer of the token filter `german_stem`.
//!
//! Source: J. Caumanns, "A fast and simple stemming algorithm for German words", as in Lucene 4.10.

use super::endings::{cut, length, strip};

/// Groups of letters that count as one, and the characters that replace them.
const GROUPS: [(&str, char); 6] = [
    ("sch", '$'),
    ("ch", '§'),
    ("ei", '%'),
    ("ie", '&'),
    ("ig", '#'),
    ("st", '!'),
];
/// Replaces a letter that repeats the previous one.
const REPEATED: char = '*';

pub(super) fn caumanns(word: &str) -> String {
    let lower = word.to_lowercase();
    if !lower.chars().all(char::is_alphabetic) {
        return lower;
    }
    let (mut stem, removed) = grouped(&lower);
    strip_endings(&mut stem, removed);
    if length(&stem) > 5 && stem.ends_with("erin*") {
        stem.pop();
        strip_endings(&mut stem, removed);
    }
    if stem.ends_with('z') {
        stem.pop();
        stem.push('x');
    }
    let stem = ungrouped(&stem);
    match stem.find("gege") {
        Some(at) if stem.len() > 4 => stem.get(..at).unwrap_or("").to_owned() + stem.get(at + 2..).unwrap_or(""),
        _ => stem,
    }
}

/// Replaces umlauts, repeated letters and groups. Returns the word and the number of letters that are missing in it.
fn grouped(word: &str) -> (String, usize) {
    let mut made = String::with_capacity(word.len());
    let mut removed = 0;
    let mut rest = word;
    while let Some(c) = rest.chars().next() {
        let plain = match c {
            'ä' => 'a',
            'ö' => 'o',
            'ü' => 'u',
            other => other,
        };
        let mut consumed = c.len_utf8();
        let group = GROUPS.iter().find(|(letters, _)| rest.starts_with(letters));
        if made.ends_with(plain) {
            made.push(REPEATED);
        } else if let Some((letters, short)) = group {
            made.push(*short);
            removed += letters.len() - 1;
            consumed = letters.len();
        } else if c == 'ß' {
            made.push_str("s*");
            removed += 1;
        } else {
            made.push(plain);
        }
        rest = rest.get(consumed..).unwrap_or("");
    }
    (made, removed)
}

fn strip_endings(stem: &mut String, removed: usize) {
    loop {
        let length = length(stem);
        if length <= 3 {
            return;
        }
        let long = |limit: usize, endings: &[&str]| {
            length + removed > limit && endings.iter().any(|ending| stem.ends_with(ending))
        };
        if long(5, &["nd"]) || long(4, &["em", "er"]) {
            cut(stem, 2);
        } else if !strip(stem, &[(3, "e s n t")]) {
            return;
        }
    }
}

fn ungrouped(stem: &str) -> String {
    let mut made = String::with_capacity(stem.len());
    for c in stem.chars() {
        match (c, GROUPS.iter().find(|(_, short)| *short == c)) {
            (REPEATED, _) => made.extend(made.chars().next_back()),
            (_, Some((letters, _))) => made.push_str(letters),
            _ => made.push(c),
        }
    }
    made
}
