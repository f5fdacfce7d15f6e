//! Snowball's stemmers, as of Lucene 4.10.
//!
//! Later versions of Snowball changed some algorithms. Where only a few rules differ, these are undone here.
//!
//! Limits: `kp` is the Dutch stemmer of Snowball 3, which differs for some words with a diaeresis or `ge`.

use rust_stemmers::{Algorithm as Older, Stemmer as OlderStemmer};
use snowball_stemmers_rs::{Algorithm, Stemmer};

use super::super::normalize::Normalization;
use super::endings::{Rule, cut, drop_double, length, mapped, replace};

/// Stems with an algorithm that later Snowball versions did not change.
fn current(algorithm: Algorithm, word: &str) -> String {
    Stemmer::create(algorithm).stem(word).into_owned()
}

/// Stems with an algorithm that later Snowball versions changed.
fn older(algorithm: Older, word: &str) -> String {
    OlderStemmer::create(algorithm).stem(word).into_owned()
}

/// Returns a stemmer by its name in the token filter `snowball`, in lower case.
pub(in crate::analysis) fn snowball(name: &str) -> Option<Normalization> {
    Some(match name {
        "armenian" => |word| current(Algorithm::Armenian, word),
        "basque" => |word| current(Algorithm::Basque, word),
        "catalan" => |word| current(Algorithm::Catalan, word),
        "danish" => |word| current(Algorithm::Danish, word),
        "dutch" => |word| current(Algorithm::DutchPorter, word),
        "english" => |word| older(Older::English, word),
        "finnish" => finnish,
        "french" => |word| older(Older::French, word),
        "german" => german,
        "german2" => german2,
        "greek" => greek,
        "hungarian" => hungarian,
        "irish" => |word| current(Algorithm::Irish, word),
        "italian" => |word| current(Algorithm::Italian, word),
        "kp" => |word| current(Algorithm::Dutch, word),
        "lovins" => lovins,
        "norwegian" => |word| older(Older::Norwegian, word),
        "porter" => |word| current(Algorithm::Porter, word),
        "portuguese" => portuguese,
        "romanian" => |word| older(Older::Romanian, word),
        "russian" => |word| older(Older::Russian, word),
        "spanish" => |word| older(Older::Spanish, word),
        "swedish" => |word| older(Older::Swedish, word),
        "turkish" => |word| current(Algorithm::Turkish, word),
        _ => return None,
    })
}

/// Stems a word with another letter at an offset, so that no rule matches there. Restores the letter if it remains.
fn masked(algorithm: Algorithm, word: &str, at: usize, mask: char) -> String {
    let (start, rest) = word.split_at_checked(at).unwrap_or((word, ""));
    let Some(letter) = rest.chars().next() else {
        return current(algorithm, word);
    };
    let changed = format!("{start}{mask}{}", rest.get(letter.len_utf8()..).unwrap_or(""));
    let stem = current(algorithm, &changed);
    match stem.get(at..).and_then(|rest| rest.strip_prefix(mask)) {
        Some(rest) => format!("{start}{letter}{rest}"),
        None => stem,
    }
}

/// Lucene's stemmer removes only the `n` of `seen`, `siin`, `den` and `tten`, and the long vowel before it.
fn finnish(word: &str) -> String {
    const PARTICLES: [&str; 9] = ["kin", "kaan", "kään", "ko", "kö", "han", "hän", "pa", "pä"];
    const POSSESSIVES: [&str; 7] = ["si", "ni", "nsa", "nsä", "mme", "nne", "an"];
    let stripped = |text: &mut &str, endings: &[&str]| {
        let rest = endings.iter().find_map(|ending| text.strip_suffix(ending));
        *text = rest.unwrap_or(text);
    };
    let mut noun = word;
    if !["seen", "siin", "den", "tten"].iter().any(|case| noun.ends_with(case)) {
        stripped(&mut noun, &PARTICLES);
        stripped(&mut noun, &POSSESSIVES);
    }
    let case = ["seen", "siin", "tten", "den"]
        .into_iter()
        .find(|case| noun.ends_with(case));
    let Some(case) = case else {
        return current(Algorithm::Finnish, word);
    };
    let mut stem = masked(Algorithm::Finnish, word, noun.len() - case.len(), 'w');
    drop_double(&mut stem);
    stem
}

/// Endings of steps that Snowball added to the Greek stemmer, up to the letter that is masked; and what follows.
const GREEK: [(&str, &str); 10] = [
    ("ιζ", "α εσ ε αμε ατε αν ανε ω εισ ει ουμε ετε ουν ουνε"),
    ("ωθ", "ηκα ηκεσ ηκε ηκαμε ηκατε ηκαν ηκανε"),
    ("ισ", "α εσ ε αμε ατε αν ανε ω εισ ει ουμε ετε ουν ουνε"),
    ("ισ", "τοσ του το τε τοι των τουσ τη τησ τα τεσ"),
    ("ισ", "μο μοι μοσ μου μουσ μων"),
    ("ακ", "ι ια"),
    ("ιτσ", "α ασ εσ ων"),
    ("ιδ", "ιο ια ιων"),
    ("ισκ", "οσ ου ο ε"),
    ("ουδακ", "ι ια"),
];

/// Vowels with accents and the final sigma, which Lucene's stemmer does not recognize, and letters that replace them.
const ACCENTED: [(char, char); 12] = [
    ('ς', 'v'),
    ('ά', 'a'),
    ('έ', 'e'),
    ('ή', 'h'),
    ('ί', 'i'),
    ('ό', 'o'),
    ('ύ', 'u'),
    ('ώ', 'w'),
    ('ϊ', 'j'),
    ('ΐ', 'k'),
    ('ϋ', 'q'),
    ('ΰ', 'z'),
];

/// Lucene's stemmer has fewer steps, and does not change words of less than four letters.
fn greek(word: &str) -> String {
    if length(word) < 4 {
        return word.to_owned();
    }
    let hidden = |c| {
        ACCENTED
            .iter()
            .find(|(accented, _)| *accented == c)
            .map_or(c, |(_, plain)| *plain)
    };
    let shown = |c| {
        ACCENTED
            .iter()
            .find(|(_, plain)| *plain == c)
            .map_or(c, |(accented, _)| *accented)
    };
    let plain = mapped(word, hidden);
    if plain != word && !word.contains(|c: char| c.is_ascii_alphabetic()) {
        return mapped(&greek(&plain), shown);
    }
    let found = GREEK.iter().find_map(|(start, endings)| {
        let mut endings = endings.split(' ');
        endings.find_map(|ending| {
            word.strip_suffix(ending)?
                .strip_suffix(start)
                .map(|rest| (rest, *start))
        })
    });
    let mut stem = match found {
        Some((rest, start)) => {
            let last = start.chars().next_back().map_or(0, char::len_utf8);
            masked(Algorithm::Greek, word, rest.len() + start.len() - last, 'ƃ')
        }
        None => current(Algorithm::Greek, word),
    };
    let neuter = ["ματα", "ματων", "ματοσ"]
        .iter()
        .find_map(|ending| word.strip_suffix(ending));
    if neuter.is_some_and(|rest| stem == format!("{rest}μ")) {
        stem.push('α');
    }
    stem
}

/// The later rule that shortens `niss` to `nis` is undone.
fn german(word: &str) -> String {
    let mut stem = older(Older::German, word);
    if stem.ends_with("nis")
        && ["nisse", "nissen", "nisses"]
            .iter()
            .any(|ending| word.ends_with(ending))
    {
        stem.push('s');
    }
    stem
}

/// Replaces `ae`, `oe` and `ue` by umlauts first.
fn german2(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());
    let mut before = ' ';
    let mut letters = word.chars().peekable();
    while let Some(c) = letters.next() {
        let follows_e = letters.peek() == Some(&'e');
        let umlaut = match c {
            'a' => Some('ä'),
            'o' => Some('ö'),
            'u' if !"aeiouyäöüq".contains(before) => Some('ü'),
            _ => None,
        };
        before = c;
        match umlaut.filter(|_| follows_e) {
            Some(umlaut) => {
                folded.push(umlaut);
                letters.next();
                before = 'e';
            }
            None => folded.push(c),
        }
    }
    german(&folded)
}

/// Lucene's stemmer has `õ` and `û` for `ő` and `ű`, which it does not recognize as vowels.
fn hungarian(word: &str) -> String {
    const UNKNOWN: [char; 2] = ['\u{E000}', '\u{E001}'];
    let swapped = mapped(word, |c| match c {
        'ő' => UNKNOWN[0],
        'ű' => UNKNOWN[1],
        'õ' => 'ő',
        'û' => 'ű',
        other => other,
    });
    mapped(&older(Older::Hungarian, &swapped), |c| match c {
        c if c == UNKNOWN[0] => 'ő',
        c if c == UNKNOWN[1] => 'ű',
        'ő' => 'õ',
        'ű' => 'û',
        other => other,
    })
}

/// A later rule that removes `ção` after `u` is undone.
fn portuguese(word: &str) -> String {
    match word.strip_suffix("ução") {
        Some(rest) if !rest.is_empty() => format!("{rest}uçã"),
        _ => older(Older::Portuguese, word),
    }
}

/// Lucene's own Dutch stemmer also shortens `ff`, `mm` and `nn`.
pub(super) fn dutch(word: &str) -> String {
    let word = word.to_lowercase();
    if !word.chars().all(char::is_alphabetic) {
        return word;
    }
    let mut stem = current(Algorithm::DutchPorter, &word);
    if stem.len() < word.len() && ["ff", "mm", "nn"].iter().any(|double| stem.ends_with(double)) {
        stem.pop();
    }
    stem
}

/// Lucene's own French stemmer does not remove its marks of vowels that are not syllabic: upper-case letters.
pub(super) fn french(word: &str) -> String {
    if !word.chars().all(char::is_alphabetic) || word.chars().skip(1).any(char::is_uppercase) {
        return word.to_owned();
    }
    let word = &word.to_lowercase();
    let letters: Vec<char> = word.chars().collect();
    let is_vowel = |place: Option<usize>| {
        let letter = place.and_then(|place| letters.get(place));
        letter.is_some_and(|c| "aeiouyâàëéêèïîôûù".contains(*c))
    };
    let mut before = ' ';
    let stem = older(Older::French, word);
    let marked = stem.chars().enumerate().map(|(at, c)| {
        let after_vowel = is_vowel(at.checked_sub(1)) && before != 'U';
        let before_vowel = is_vowel(Some(at + 1));
        let is_marked = letters.get(at) == Some(&c)
            && match c {
                'u' => before == 'q' || after_vowel && before_vowel,
                'i' => after_vowel && before_vowel,
                'y' => after_vowel || before_vowel,
                _ => false,
            };
        before = if is_marked { c.to_ascii_uppercase() } else { c };
        before
    });
    marked.collect()
}

/// Lucene's Lovins stemmer removes no ending. It shortens a double consonant and replaces the end of the stem.
fn lovins(word: &str) -> String {
    let mut stem = word.to_owned();
    let doubles = ["bb", "dd", "gg", "ll", "mm", "nn", "pp", "rr", "ss", "tt"];
    if doubles.iter().any(|double| stem.ends_with(double)) {
        cut(&mut stem, 1);
    }
    replace(&mut stem, &LOVINS);
    stem
}

/// Replacements of the end of a stem in the Lovins stemmer.
const LOVINS: [Rule; 42] = [
    ("iev", 0, "ief"),
    ("uct", 0, "uc"),
    ("umpt", 0, "um"),
    ("rpt", 0, "rb"),
    ("urs", 0, "ur"),
    ("istr", 0, "ister"),
    ("metr", 0, "meter"),
    ("olv", 0, "olut"),
    ("aul", 0, "aul"),
    ("iul", 0, "iul"),
    ("oul", 0, "oul"),
    ("ul", 0, "l"),
    ("bex", 0, "bic"),
    ("dex", 0, "dic"),
    ("pex", 0, "pic"),
    ("tex", 0, "tic"),
    ("ax", 0, "ac"),
    ("ex", 0, "ec"),
    ("ix", 0, "ic"),
    ("lux", 0, "luc"),
    ("uad", 0, "uas"),
    ("vad", 0, "vas"),
    ("cid", 0, "cis"),
    ("erid", 0, "eris"),
    ("lid", 0, "lis"),
    ("pand", 0, "pans"),
    ("send", 0, "send"),
    ("end", 0, "ens"),
    ("ond", 0, "ons"),
    ("lud", 0, "lus"),
    ("rud", 0, "rus"),
    ("pher", 0, "pher"),
    ("ther", 0, "ther"),
    ("her", 0, "hes"),
    ("mit", 0, "mis"),
    ("ment", 0, "ment"),
    ("ent", 0, "ens"),
    ("ert", 0, "ers"),
    ("net", 0, "net"),
    ("et", 0, "es"),
    ("yt", 0, "ys"),
    ("yz", 0, "ys"),
];
