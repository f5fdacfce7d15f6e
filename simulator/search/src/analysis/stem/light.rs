//! Light and minimal stemmers, which remove inflectional endings (number, gender) and the most common suffixes.
//!
//! Source: J. Savoy's light stemmers for European languages and D. Harman's S-stemmer, with the minimum word lengths of
//! Lucene 4.10.

use super::endings::{drop_double, drop_last, length, mapped, replace};

/// Returns a vowel without its accent.
fn plain_vowel(c: char) -> char {
    match c {
        'à' | 'á' | 'â' | 'ä' => 'a',
        'è' | 'é' | 'ê' | 'ë' => 'e',
        'ì' | 'í' | 'î' | 'ï' => 'i',
        'ò' | 'ó' | 'ô' | 'ö' => 'o',
        'ù' | 'ú' | 'û' | 'ü' => 'u',
        other => other,
    }
}

pub(super) fn minimal_english(word: &str) -> String {
    let mut word = word.to_owned();
    if length(&word) < 3 || word.ends_with("us") || word.ends_with("ss") {
        return word;
    }
    if word.ends_with("ies") && !word.ends_with("eies") && !word.ends_with("aies") {
        replace(&mut word, &[("ies", 3, "y")]);
    } else if !["ies", "aes", "oes", "ees"].iter().any(|ending| word.ends_with(ending)) {
        drop_last(&mut word, 2, &['s']);
    }
    word
}

pub(super) fn light_french(word: &str) -> String {
    let mut word = word.to_owned();
    if !replace(&mut word, &[("eaux", 5, "eau"), ("aux", 5, "al")]) {
        drop_last(&mut word, 5, &['x']);
    }
    drop_last(&mut word, 3, &['x']);
    drop_last(&mut word, 3, &['s']);
    let agents = [
        ("issement", 9, "ir"),
        ("issant", 8, "ir"),
        ("ivement", 7, "if"),
        ("ement", 6, "e"),
        ("ficatrice", 11, "fier"),
        ("ficateur", 10, "fier"),
        ("catrice", 9, "quer"),
        ("cateur", 8, "quer"),
        ("atrice", 8, "er"),
        ("ateur", 7, "er"),
    ];
    let adjectives = [
        ("ième", 5, ""),
        ("teuse", 7, "ter"),
        ("teur", 6, "ter"),
        ("euse", 5, "eu"),
        ("ère", 8, "er"),
        ("ive", 7, "if"),
        ("folle", 4, "fou"),
        ("molle", 4, "mou"),
        ("nnelle", 9, "n"),
        ("nnel", 9, "n"),
    ];
    let nouns = [
        ("esse", 8, "e"),
        ("inage", 7, "in"),
        ("ualisation", 12, "uel"),
        ("isation", 9, ""),
        ("isateur", 9, ""),
        ("ation", 8, ""),
        ("ition", 8, ""),
    ];
    if !replace(&mut word, &agents) {
        replace(&mut word, &[("trice", 6, "teur")]);
        if !replace(&mut word, &adjectives) {
            replace(&mut word, &[("ète", 4, "et")]);
            replace(&mut word, &[("ique", 8, "")]);
            replace(&mut word, &nouns);
        }
    }
    plain_french(&word)
}

/// Removes accents, double letters and final vowels from a French word.
fn plain_french(word: &str) -> String {
    let mut plain = word.to_owned();
    if length(&plain) > 4 {
        plain.clear();
        for c in word.chars() {
            let c = match c {
                'ä' | 'ì' | 'í' | 'ï' | 'ò' | 'ó' | 'ö' | 'ú' | 'ü' | 'ë' => c,
                'ç' => 'c',
                other => plain_vowel(other),
            };
            if !c.is_alphabetic() || !plain.ends_with(c) {
                plain.push(c);
            }
        }
    }
    replace(&mut plain, &[("ie", 4, "")]);
    if length(&plain) > 4 {
        for letter in ['r', 'e', 'e'] {
            drop_last(&mut plain, 0, &[letter]);
        }
        drop_double(&mut plain);
    }
    plain
}

pub(super) fn minimal_french(word: &str) -> String {
    let mut word = word.to_owned();
    if length(&word) < 6 {
        return word;
    }
    if replace(&mut word, &[("aux", 5, "al"), ("x", 5, "")]) {
        return word;
    }
    for letter in ['s', 'r', 'e', 'é'] {
        drop_last(&mut word, 0, &[letter]);
    }
    drop_double(&mut word);
    word
}

/// Letters after which a German `s` or `st` is an ending.
const BEFORE_S: &str = "bdfghklmnt";

/// Removes `ending` if it follows one of those letters.
fn drop_german(word: &mut String, ending: &str, longer_than: usize) {
    let rest = word.strip_suffix(ending);
    let rest = rest.filter(|rest| rest.ends_with(|c| BEFORE_S.contains(c)));
    if let Some(rest) = rest.filter(|_| length(word) > longer_than) {
        word.truncate(rest.len());
    }
}

pub(super) fn light_german(word: &str) -> String {
    let letter = |c| match plain_vowel(c) {
        'e' => c,
        other => other,
    };
    let mut word = mapped(word, letter);
    let cases = [
        ("ern", 5, ""),
        ("em", 4, ""),
        ("en", 4, ""),
        ("er", 4, ""),
        ("es", 4, ""),
        ("e", 3, ""),
    ];
    if !replace(&mut word, &cases) {
        drop_german(&mut word, "s", 3);
    }
    if !replace(&mut word, &[("est", 5, ""), ("er", 4, ""), ("en", 4, "")]) {
        drop_german(&mut word, "st", 4);
    }
    word
}

pub(super) fn minimal_german(word: &str) -> String {
    if length(word) < 5 {
        return word.to_owned();
    }
    let umlaut = |c| match c {
        'ä' => 'a',
        'ö' => 'o',
        'ü' => 'u',
        other => other,
    };
    let mut word = mapped(word, umlaut);
    let endings = [
        ("nen", 6, ""),
        ("en", 5, ""),
        ("se", 5, ""),
        ("es", 5, ""),
        ("er", 5, ""),
        ("n", 4, ""),
        ("e", 4, ""),
        ("s", 4, ""),
        ("r", 4, ""),
    ];
    replace(&mut word, &endings);
    word
}

pub(super) fn light_italian(word: &str) -> String {
    if length(word) < 6 {
        return word.to_owned();
    }
    let mut word = mapped(word, plain_vowel);
    let endings = ["ie", "he", "e", "hi", "ii", "i", "ia", "a", "io", "o"];
    replace(&mut word, &endings.map(|ending| (ending, 5, "")));
    word
}

pub(super) fn light_portuguese(word: &str) -> String {
    let mut word = word.to_owned();
    if length(&word) < 4 {
        return word;
    }
    let plurals = [
        ("res", 4, "r"),
        ("ses", 4, "s"),
        ("les", 4, "l"),
        ("zes", 4, "z"),
        ("ns", 3, "m"),
        ("eis", 4, "el"),
        ("éis", 4, "el"),
        ("ais", 4, "al"),
        ("óis", 4, "ol"),
        ("is", 4, "il"),
        ("ões", 3, "ão"),
        ("ães", 3, "ão"),
        ("mente", 6, ""),
        ("s", 3, ""),
    ];
    let feminine = [
        ("inha", 7, "inho"),
        ("iaca", 7, "iaco"),
        ("eira", 7, "eiro"),
        ("osa", 6, "oso"),
        ("ica", 6, "ico"),
        ("ida", 6, "ido"),
        ("ada", 6, "ado"),
        ("iva", 6, "ivo"),
        ("ama", 6, "amo"),
        ("ona", 6, "ão"),
        ("ora", 6, "or"),
        ("esa", 6, "ês"),
        ("na", 6, "no"),
    ];
    replace(&mut word, &plurals);
    replace(&mut word, &feminine);
    drop_last(&mut word, 4, &['e', 'a', 'o']);
    let letter = |c| match c {
        'ã' => 'a',
        'õ' => 'o',
        'ç' => 'c',
        other => plain_vowel(other),
    };
    mapped(&word, letter)
}

pub(super) fn light_spanish(word: &str) -> String {
    if length(word) < 5 {
        return word.to_owned();
    }
    let mut word = mapped(word, plain_vowel);
    let endings = [
        ("eses", 4, "es"),
        ("ces", 4, "z"),
        ("os", 4, ""),
        ("as", 4, ""),
        ("es", 4, ""),
        ("o", 4, ""),
        ("a", 4, ""),
        ("e", 4, ""),
    ];
    replace(&mut word, &endings);
    word
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::stemmer;

    #[rstest]
    #[case("minimal_english", "queries", "query")]
    #[case("minimal_english", "dogs", "dog")]
    #[case("minimal_english", "glasses", "glasse")]
    #[case("minimal_english", "virus", "virus")]
    #[case("minimal_english", "shoes", "shoes")]
    #[case("minimal_english", "degrees", "degrees")]
    #[case("light_french", "chevaux", "cheval")]
    #[case("light_french", "hiboux", "hibou")]
    #[case("light_french", "chantés", "chant")]
    #[case("light_french", "chanter", "chant")]
    #[case("light_french", "baronnes", "baron")]
    #[case("light_french", "peaux", "peau")]
    #[case("light_french", "anneaux", "aneau")]
    #[case("light_french", "affreuse", "afreu")]
    #[case("light_french", "investissement", "investi")]
    #[case("light_french", "assourdissant", "asourdi")]
    #[case("light_french", "pratiquement", "pratiqu")]
    #[case("light_french", "administrativement", "administratif")]
    #[case("light_french", "justificatrice", "justifi")]
    #[case("light_french", "educatrice", "eduqu")]
    #[case("light_french", "communicateur", "comuniqu")]
    #[case("light_french", "accompagnatrice", "acompagn")]
    #[case("light_french", "productrice", "product")]
    #[case("light_french", "acheteuse", "achet")]
    #[case("light_french", "poreux", "poreu")]
    #[case("light_french", "bijoutière", "bijouti")]
    #[case("light_french", "caissière", "caisi")]
    #[case("light_french", "abrasive", "abrasif")]
    #[case("light_french", "folle", "fou")]
    #[case("light_french", "personnelle", "person")]
    #[case("light_french", "complète", "complet")]
    #[case("light_french", "aromatique", "aromat")]
    #[case("light_french", "faiblesse", "faibl")]
    #[case("light_french", "patinage", "patin")]
    #[case("light_french", "sonorisation", "sono")]
    #[case("light_french", "ritualisation", "rituel")]
    #[case("light_french", "nomination", "nomin")]
    #[case("light_french", "disposition", "dispos")]
    #[case("minimal_french", "chevaux", "cheval")]
    #[case("minimal_french", "maisons", "maison")]
    #[case("minimal_french", "genoux", "genou")]
    #[case("minimal_french", "chat", "chat")]
    #[case("light_german", "häuser", "haus")]
    #[case("light_german", "hauses", "haus")]
    #[case("light_german", "kinder", "kind")]
    #[case("light_german", "kindern", "kind")]
    #[case("light_german", "bauern", "bau")]
    #[case("minimal_german", "bilder", "bild")]
    #[case("minimal_german", "freundinnen", "freundin")]
    #[case("minimal_german", "auto", "auto")]
    #[case("light_italian", "ragazzo", "ragazz")]
    #[case("light_italian", "amiche", "amic")]
    #[case("light_italian", "città", "città")]
    #[case("light_portuguese", "doutores", "doutor")]
    #[case("light_portuguese", "homens", "homem")]
    #[case("light_portuguese", "papéis", "papel")]
    #[case("light_portuguese", "normais", "normal")]
    #[case("light_portuguese", "barris", "barril")]
    #[case("light_portuguese", "botões", "bota")]
    #[case("light_portuguese", "quilométricas", "quilometric")]
    #[case("light_spanish", "chicos", "chic")]
    #[case("light_spanish", "voces", "voz")]
    #[case("light_spanish", "meses", "mes")]
    #[case("light_spanish", "casa", "casa")]
    fn endings_are_removed(#[case] name: &str, #[case] word: &str, #[case] expected: &str) {
        assert_eq!(stemmer(name).unwrap()(word), expected);
    }
}
