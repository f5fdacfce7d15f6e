//! Normalization of letters by language, and of character widths.
//!
//! Source: Lucene 4.10's normalization and lower-case filters and `CJKWidthFilter`.

use super::indic;
use super::letter_case::lowercase;

/// Returns the normalized form of a token.
pub(super) type Normalization = fn(&str) -> String;

/// Returns the normalization of a token filter by its name.
pub(super) fn normalization(filter: &str) -> Option<Normalization> {
    Some(match filter {
        "german_normalization" => german,
        "scandinavian_normalization" => scandinavian,
        "scandinavian_folding" => scandinavian_folding,
        "arabic_normalization" => arabic,
        "persian_normalization" => persian,
        "cjk_width" => width,
        "hindi_normalization" => indic::hindi,
        "indic_normalization" => indic::indic,
        "sorani_normalization" => sorani,
        "greek_lowercase" => greek_lowercase,
        "irish_lowercase" => irish_lowercase,
        "turkish_lowercase" => turkish_lowercase,
        _ => return None,
    })
}

/// Replaces umlauts and their transcriptions by vowels, except an `e` of another syllable.
fn german(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    // An `e` is removed after `a` and `o`, and after a `u` that follows a consonant.
    let mut joins = false;
    let mut after_vowel = false;
    for c in text.chars() {
        match c {
            'e' if joins => {
                (joins, after_vowel) = (false, true);
                continue;
            }
            'ß' => folded.push_str("ss"),
            'ä' => folded.push('a'),
            'ö' => folded.push('o'),
            'ü' => folded.push('u'),
            other => folded.push(other),
        }
        joins = matches!(c, 'a' | 'o') || c == 'u' && !after_vowel;
        after_vowel = matches!(c, 'a' | 'e' | 'i' | 'o' | 'u' | 'y' | 'q' | 'ä' | 'ö' | 'ü');
    }
    folded
}

/// Replaces pairs of letters that are transcriptions of one Scandinavian letter.
fn scandinavian_pairs(
    text: &str,
    joined: impl Fn(char, char) -> Option<char>,
    single: impl Fn(char) -> char,
) -> String {
    let mut folded = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let pair = chars.peek().and_then(|next| joined(c, *next));
        if pair.is_some() {
            chars.next();
        }
        folded.push(pair.unwrap_or_else(|| single(c)));
    }
    folded
}

fn scandinavian(text: &str) -> String {
    let joined = |first: char, second: char| match (first, second) {
        ('a', 'a' | 'A' | 'o' | 'O') => Some('å'),
        ('A', 'a' | 'A' | 'o' | 'O') => Some('Å'),
        ('a', 'e' | 'E') => Some('æ'),
        ('A', 'e' | 'E') => Some('Æ'),
        ('o', 'e' | 'E' | 'o' | 'O') => Some('ø'),
        ('O', 'e' | 'E' | 'o' | 'O') => Some('Ø'),
        _ => None,
    };
    scandinavian_pairs(text, joined, |c| match c {
        'ä' => 'æ',
        'Ä' => 'Æ',
        'ö' => 'ø',
        'Ö' => 'Ø',
        other => other,
    })
}

fn scandinavian_folding(text: &str) -> String {
    let joined = |first: char, second: char| match (first, second.to_ascii_lowercase()) {
        ('a' | 'A', 'a' | 'e' | 'o') | ('o' | 'O', 'e' | 'o') => Some(first),
        _ => None,
    };
    scandinavian_pairs(text, joined, |c| match c {
        'å' | 'ä' | 'æ' => 'a',
        'Å' | 'Ä' | 'Æ' => 'A',
        'ö' | 'ø' => 'o',
        'Ö' | 'Ø' => 'O',
        other => other,
    })
}

fn arabic(text: &str) -> String {
    text.chars()
        .filter_map(|c| match c {
            '\u{0622}' | '\u{0623}' | '\u{0625}' => Some('\u{0627}'),
            '\u{0649}' => Some('\u{064A}'),
            '\u{0629}' => Some('\u{0647}'),
            // The tatweel, which only stretches a word, and the vowel signs.
            '\u{0640}' | '\u{064B}'..='\u{0652}' => None,
            other => Some(other),
        })
        .collect()
}

fn persian(text: &str) -> String {
    text.chars()
        .filter_map(|c| match c {
            '\u{06CC}' | '\u{06D2}' => Some('\u{064A}'),
            '\u{06A9}' => Some('\u{0643}'),
            '\u{06C0}' | '\u{06C1}' => Some('\u{0647}'),
            '\u{0654}' => None,
            other => Some(other),
        })
        .collect()
}

/// Replaces Arabic letters by their Sorani forms, and removes vowel signs and control characters.
fn sorani(text: &str) -> String {
    let text = text.replace("\u{0647}\u{200C}", "\u{06D5}");
    let mut normal = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        let is_first = normal.is_empty();
        normal.push(match c {
            '\u{064A}' | '\u{0649}' => '\u{06CC}',
            '\u{0643}' => '\u{06A9}',
            '\u{0629}' => '\u{06D5}',
            '\u{0647}' if letters.peek().is_none() => '\u{06D5}',
            '\u{06BE}' => '\u{0647}',
            '\u{0692}' => '\u{0695}',
            '\u{0631}' if is_first => '\u{0695}',
            '\u{0640}' | '\u{064B}'..='\u{0652}' => continue,
            '\u{AD}' | '\u{61C}' | '\u{FEFF}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' => continue,
            other => other,
        });
    }
    normal
}

/// Replaces letters by lower-case letters without accents, and the final form of sigma.
fn greek_lowercase(text: &str) -> String {
    let letter = |c| match c {
        'ά' => 'α',
        'έ' => 'ε',
        'ή' => 'η',
        'ί' | 'ϊ' | 'ΐ' => 'ι',
        'ό' => 'ο',
        'ύ' | 'ϋ' | 'ΰ' => 'υ',
        'ώ' => 'ω',
        'ς' => 'σ',
        other => other,
    };
    lowercase(text).chars().map(letter).collect()
}

/// Replaces letters by lower-case letters, with a hyphen after a mutation: `nAthair` becomes `n-athair`.
fn irish_lowercase(text: &str) -> String {
    let is_mutation = matches!(
        text.chars().take(2).collect::<Vec<_>>().as_slice(),
        ['n' | 't', 'A' | 'E' | 'I' | 'O' | 'U' | 'Á' | 'É' | 'Í' | 'Ó' | 'Ú']
    );
    let mut lower = lowercase(text);
    if is_mutation {
        lower.insert(1, '-');
    }
    lower
}

/// Replaces letters by lower-case letters. `I` becomes a dotless `ı`.
fn turkish_lowercase(text: &str) -> String {
    lowercase(&text.replace("I\u{307}", "i").replace('I', "ı"))
}

/// Replaces full-width ASCII by ASCII, and half-width Katakana by Katakana.
fn width(text: &str) -> String {
    const KATAKANA: &str = "・ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン゙゚";
    let mut folded = String::with_capacity(text.len());
    for c in text.chars() {
        let code = c as u32;
        let narrow = match code {
            0xFF01..=0xFF5E => char::from_u32(code - 0xFEE0),
            0xFF65..=0xFF9F => KATAKANA.chars().nth((code - 0xFF65) as usize),
            _ => None,
        };
        let voiced = |base: char| match base {
            'ッ' => None,
            'カ'..='ト' | 'ハ'..='ホ' => char::from_u32(base as u32 + 1),
            'ウ' => Some('ヴ'),
            _ => None,
        };
        let joined = match (code, folded.chars().last()) {
            (0xFF9E, Some(last)) => voiced(last).map(|joined| (last, joined)),
            (0xFF9F, Some(last @ 'ハ'..='ホ')) => char::from_u32(last as u32 + 2).map(|joined| (last, joined)),
            _ => None,
        };
        match joined {
            Some((_, joined)) => {
                folded.pop();
                folded.push(joined);
            }
            None => folded.push(narrow.unwrap_or(c)),
        }
    }
    folded
}

/// Removes the dots of acronyms, and a final `'s` of words.
pub(super) fn classic(text: &str) -> String {
    if let Some(rest) = text.strip_suffix("'s").or_else(|| text.strip_suffix("'S")) {
        return rest.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let is_acronym = letters.len() >= 4
        && letters
            .chunks(2)
            .all(|pair| matches!(pair, [letter, '.'] if letter.is_alphabetic()));
    if is_acronym {
        text.replace('.', "")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("german_normalization", "weißbier", "weissbier")]
    #[case("german_normalization", "bücher", "bucher")]
    #[case("german_normalization", "buecher", "bucher")]
    #[case("german_normalization", "dauer", "dauer")]
    #[case("scandinavian_normalization", "räksmörgås", "ræksmørgås")]
    #[case("scandinavian_normalization", "blaabaer", "blåbær")]
    #[case("scandinavian_folding", "räksmörgås", "raksmorgas")]
    #[case("scandinavian_folding", "blaabaer", "blabar")]
    #[case("arabic_normalization", "أحمد", "احمد")]
    #[case("indic_normalization", "अाै", "औ")]
    #[case("indic_normalization", "ত্‍", "ৎ")]
    #[case("hindi_normalization", "अँगरेज़ी", "अंगरेजि")]
    #[case("sorani_normalization", "ره‌ي", "ڕەی")]
    #[case("greek_lowercase", "ΟΔΌΣ", "οδοσ")]
    #[case("irish_lowercase", "nAthair", "n-athair")]
    #[case("turkish_lowercase", "ISPARTA İzmir", "ısparta izmir")]
    #[case("persian_normalization", "های", "هاي")]
    #[case("cjk_width", "Ｔｅｓｔ１", "Test1")]
    #[case("cjk_width", "ｶﾞｯﾂ", "ガッツ")]
    fn normalizations_replace_letters(#[case] filter: &str, #[case] text: &str, #[case] expected: &str) {
        assert_eq!(normalization(filter).unwrap()(text), expected);
    }
}
