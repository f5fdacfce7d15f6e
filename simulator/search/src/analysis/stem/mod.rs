//! Stemmers, which remove the endings of words.
//!
//! Guarantees: time is linear in the word.
//! Limits: no `kstem`; `galician` and `portuguese_rslp` only remove plurals.
//! Source: published algorithms, which each file names, as Lucene 4.10 applies them.

use super::normalize::Normalization;

mod asian;
mod caumanns;
mod endings;
mod iberian;
mod light;
mod nordic;
mod porter;
mod slavic;
mod snowball;

pub(super) use snowball::snowball;

/// Returns the stemmer of a token filter that is a stemmer.
pub(super) fn stemmer_filter(filter: &str) -> Option<Normalization> {
    Some(match filter {
        "arabic_stem" => asian::arabic,
        "brazilian_stem" => iberian::brazilian,
        "czech_stem" => slavic::czech,
        "dutch_stem" => snowball::dutch,
        "french_stem" => snowball::french,
        "german_stem" => caumanns::caumanns,
        "porter_stem" | "porterStem" => porter::stem,
        "russian_stem" => return snowball("russian"),
        _ => return None,
    })
}

/// Returns a stemmer by its name in the token filter `stemmer`, in lower case with underscores.
pub(super) fn stemmer(name: &str) -> Option<Normalization> {
    Some(match name {
        "arabic" => asian::arabic,
        "brazilian" => iberian::brazilian,
        "bulgarian" => slavic::bulgarian,
        "czech" => slavic::czech,
        "dutch_kp" => return snowball("kp"),
        "english" | "porter" => porter::stem,
        "galician" => iberian::minimal_galician,
        "greek" => return snowball("greek"),
        "hindi" => asian::hindi,
        "indonesian" => asian::indonesian,
        "latvian" => slavic::latvian,
        "light_finnish" => nordic::light_finnish,
        "light_french" => light::light_french,
        "light_german" => light::light_german,
        "light_hungarian" => nordic::light_hungarian,
        "light_italian" => light::light_italian,
        "light_norwegian" => nordic::light_norwegian,
        "light_nynorsk" => nordic::light_nynorsk,
        "light_portuguese" => light::light_portuguese,
        "light_russian" => slavic::light_russian,
        "light_spanish" => light::light_spanish,
        "light_swedish" => nordic::light_swedish,
        "minimal_english" => light::minimal_english,
        "minimal_french" => light::minimal_french,
        "minimal_galician" => iberian::minimal_galician,
        "minimal_german" => light::minimal_german,
        "minimal_norwegian" => nordic::minimal_norwegian,
        "minimal_nynorsk" => nordic::minimal_nynorsk,
        "minimal_portuguese" => iberian::minimal_portuguese,
        "porter2" => return snowball("english"),
        "portuguese_rslp" => iberian::minimal_portuguese,
        "sorani" => asian::sorani,
        name => return snowball(name),
    })
}
