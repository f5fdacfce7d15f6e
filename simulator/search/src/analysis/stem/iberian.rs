//! Stemmers of Brazilian Portuguese, and the plural step of Portuguese and Galician.
//!
//! Source: V. Orengo and C. Huyck, "A stemming algorithm for the Portuguese language"; Lucene 4.10's Brazilian stemmer.

use super::endings::{Endings, Rule, cut, ending, length, mapped, replace, strip};

/// Endings of Brazilian nouns that are removed from the second region, longest first.
const NOUNS: [Endings; 4] = [
    (5, "imentos amentos adores adoras idades"),
    (4, "acoes imento amento adora ismos istas mente idade"),
    (3, "acao ezas icos icas ismo avel ivel ista osos osas ador ivas ivos"),
    (2, "eza ico ica oso osa iva ivo"),
];

/// Endings of Brazilian verbs that are removed from the region `RV`, longest first.
const VERBS: [Endings; 6] = [
    (6, "issemos essemos assemos ariamos eriamos iriamos"),
    (
        5,
        "iremos eremos aremos avamos iramos eramos aramos asseis esseis isseis arieis erieis irieis",
    ),
    (
        4,
        "irmos iamos armos ermos areis ereis ireis asses esses isses astes assem essem issem ardes erdes irdes ariam \
         eriam iriam arias erias irias estes istes aveis",
    ),
    (
        3,
        "aria eria iria asse esse isse aste este iste arei erei irei aram eram iram avam arem erem irem ando endo indo \
         adas idas aras eras iras avas ares eres ires ieis ados idos amos emos imos arao erao irao",
    ),
    (2, "ada ida ara era iam ado ido ias ais eis ear"),
    (1, "ia ei am em ar er ir as es is eu iu ou"),
];

fn is_vowel(c: char) -> bool {
    matches!(c, 'a' | 'e' | 'i' | 'o' | 'u')
}

/// Returns the text after the first letter from `from` for which `is_end` holds, unless that is the last letter.
fn after(letters: &[char], from: usize, is_end: impl Fn(char) -> bool) -> Option<&[char]> {
    let (_, rest) = letters.split_at_checked(from)?;
    let place = rest.iter().position(|c| is_end(*c))?;
    rest.get(place + 1..).filter(|rest| !rest.is_empty())
}

/// Returns the text after the first consonant that follows a vowel.
fn region(letters: &[char]) -> Option<&[char]> {
    let vowel = letters.iter().position(|c| is_vowel(*c))?;
    after(letters, vowel, |c| !is_vowel(c))
}

/// Returns the region of the endings of verbs.
fn verbal_region(letters: &[char]) -> Option<&[char]> {
    let region = match letters {
        [_, second, ..] if !is_vowel(*second) => after(letters, 2, is_vowel),
        [first, second, ..] if is_vowel(*first) && is_vowel(*second) => after(letters, 2, |c| !is_vowel(c)),
        _ => None,
    };
    region.or_else(|| letters.get(3..))
}

pub(super) fn brazilian(word: &str) -> String {
    let plain = mapped(&word.to_lowercase(), |c| match c {
        'á' | 'â' | 'ã' => 'a',
        'é' | 'ê' => 'e',
        'í' => 'i',
        'ó' | 'ô' | 'õ' => 'o',
        'ú' | 'ü' => 'u',
        'ç' => 'c',
        'ñ' => 'n',
        other => other,
    });
    let stem = plain.trim_matches(['"', '\'', '-', ',', ';', '.', '?', '!']).to_owned();
    if !(3..30).contains(&length(&stem)) {
        return word.to_owned();
    }
    if !stem.chars().all(char::is_alphabetic) {
        return stem;
    }
    let letters: Vec<char> = stem.chars().collect();
    let text = |letters: Option<&[char]>| letters.unwrap_or_default().iter().collect();
    let first = region(&letters);
    let own = Brazilian {
        first: text(first),
        second: text(first.and_then(region)),
        verbal: text(verbal_region(&letters)),
        stem,
    };
    own.stem()
}

/// A Brazilian word and the regions of the whole word.
struct Brazilian {
    stem: String,
    first: String,
    second: String,
    verbal: String,
}

impl Brazilian {
    fn stem(mut self) -> String {
        let verb = |own: &mut Brazilian| {
            let found = VERBS.iter().find_map(|endings| ending(&own.verbal, &[*endings]));
            cut(&mut own.stem, found.map_or(0, str::len));
            // The ending `ira` is kept, but no other ending is removed then.
            found.is_some() || own.verbal.ends_with("ira")
        };
        if !self.noun() && !verb(&mut self) {
            let found = ending(&self.verbal, &[(0, "os a i o")]);
            cut(&mut self.stem, found.map_or(0, str::len));
        }
        if self.verbal.ends_with('e') && self.stem.ends_with('e') {
            self.stem.pop();
            if self.verbal.ends_with("gue") || self.verbal.ends_with("cie") {
                self.stem.pop();
            }
        }
        self.stem
    }

    /// Replaces or removes the ending of a noun.
    fn noun(&mut self) -> bool {
        let replaced = [
            ("uciones", 0, "u"),
            ("logias", 0, "log"),
            ("encias", 0, "ente"),
            ("logia", 0, "log"),
            ("encia", 0, "ente"),
        ];
        let rule = replaced.iter().find(|(ending, ..)| self.second.ends_with(ending));
        if let Some(rule) = rule {
            return replace(&mut self.stem, &[*rule]);
        }
        if self.first.ends_with("amente") {
            return strip(&mut self.stem, &[(0, "amente")]);
        }
        if let Some(found) = NOUNS.iter().find_map(|endings| ending(&self.second, &[*endings])) {
            cut(&mut self.stem, found.len());
            return true;
        }
        let past = ending(&self.verbal, &[(0, "iras ira")]).filter(|ending| {
            let rest = self.stem.strip_suffix(ending);
            rest.is_some_and(|rest| rest.ends_with('e'))
        });
        past.is_some_and(|ending| replace(&mut self.stem, &[(ending, 0, "ir")]))
    }
}

/// Plurals: ending, the length that the word must exceed, replacement, and words that are not changed.
type Plural = (Rule, &'static str);

const PORTUGUESE: [Plural; 11] = [
    (("ns", 2, "m"), ""),
    (("ões", 5, "ão"), ""),
    (("ães", 3, "ão"), "mães"),
    (("ais", 3, "al"), "cais mais"),
    (("éis", 4, "el"), ""),
    (("eis", 4, "el"), ""),
    (("óis", 4, "ol"), ""),
    (("is", 3, "il"), "lápis cais mais crúcis biquínis pois depois dois leis"),
    (("les", 5, "l"), ""),
    (("res", 5, "r"), "árvores"),
    (
        ("s", 2, ""),
        "aliás pires lápis cais mais mas menos férias fezes pêsames crúcis gás atrás moisés através convés ês país \
         após ambas ambos messias depois",
    ),
];

const GALICIAN: [Plural; 19] = [
    (("ns", 2, "n"), "luns furatapóns furatapons"),
    (("ós", 4, "ón"), ""),
    (("ões", 5, "ón"), ""),
    (("ães", 3, "ón"), "mães magalhães"),
    (("ais", 4, "al"), "cais tais mais pais ademais"),
    (("áis", 4, "al"), "cáis táis máis páis ademáis"),
    (("éis", 4, "el"), ""),
    (("eis", 4, "el"), ""),
    (("óis", 4, "ol"), "escornabois"),
    (("ois", 4, "ol"), "escornabois"),
    (("is", 3, "il"), ""),
    (("ís", 3, "il"), "país"),
    (("ás", 4, "al"), ""),
    (("les", 4, "l"), ""),
    (("res", 5, "r"), "baleares londres miraflores"),
    (("ises", 5, "z"), ""),
    (("ses", 4, "s"), ""),
    (("ces", 4, "z"), ""),
    (("s", 2, ""), "atenas martes menos país"),
];

fn singular(word: &str, rules: &[Plural]) -> String {
    let length = length(word);
    let rule = rules.iter().find(|((ending, longer_than, _), kept)| {
        length > *longer_than && word.ends_with(ending) && !kept.split(' ').any(|kept| kept == word)
    });
    let mut word = word.to_owned();
    if let Some((rule, _)) = rule {
        replace(&mut word, &[*rule]);
    }
    word
}

pub(super) fn minimal_portuguese(word: &str) -> String {
    singular(word, &PORTUGUESE)
}

pub(super) fn minimal_galician(word: &str) -> String {
    singular(word, &GALICIAN)
}
